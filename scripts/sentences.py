"""Lists or draws the sentences that users and contributors of this project read.

    python scripts/sentences.py [--draw N] [--seed N] [--kind docs|help|comments]

Without options, it prints every sentence of the README, CONTRIBUTING.md, docs, help texts, comments
and docstrings as `FILE:LINE: sentence`. A sentence of a help text has the command and the option
instead of the file. With `--draw N`, it prints N sentences, a third of each kind. Show such a draw
to a reader without context, to check whether the texts are plain. The list has neither code nor
sentences of fewer than five words."""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import tokenize
from collections.abc import Iterator

import click

import plain

ROOT = plain.ROOT
KINDS = ("docs", "help", "comments")
MIN_WORDS = 5
"""Shorter sentences, such as names of sections, are left out."""
_END = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)[)\"*]*\s+(?=[\"(*`A-Z0-9\[]|tailback\b|quinn\b|--\w)"
)
"""Matches the space between two sentences. Names of programs in lower case may begin a sentence."""

Sentence = tuple[str, str]
"""Where a sentence is, and the sentence."""


def _split(where: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a paragraph."""
    for sentence in _END.split(re.sub(r"^(?:[-*]|\d+\.) ", "", " ".join(text.split()))):
        long_enough = len(re.findall(r"\w[\w'-]*", sentence)) >= MIN_WORDS
        if long_enough and re.search(r"""[.!?][)"'*`]*$""", sentence):
            yield where, sentence.strip()


def docs() -> Iterator[Sentence]:
    """Yield the sentences of the pages, table cells included."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for path in pages:
        name = path.relative_to(ROOT).as_posix()
        for line, paragraph in plain.paragraphs(path.read_text(encoding="utf-8")):
            yield from _split(f"{name}:{line}", paragraph)


def helps() -> Iterator[Sentence]:
    """Yield the sentences of the help of every command, options included."""
    from tailback.cli.main import cli

    def walk(command: click.Command, path: str) -> Iterator[Sentence]:
        for paragraph in re.split(r"\n\s*\n", command.help or ""):
            if "\b" not in paragraph:
                yield from _split(path, paragraph)
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.help:
                yield from _split(f"{path} {parameter.opts[-1]}", parameter.help)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None, name
                yield from walk(child, f"{path} {name}")

    yield from walk(cli, "tailback")


def comments() -> Iterator[Sentence]:
    """Yield the sentences of comments and docstrings of Python and Rust."""
    for path in plain.files():
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        if path.suffix == ".rs":
            yield from _blocks(name, _rust_comments(text))
        elif path.suffix == ".py":
            yield from _blocks(name, _python_comments(text))
            for node in ast.walk(ast.parse(text)):
                if (
                    isinstance(node, ast.Expr)
                    and isinstance(node.value, ast.Constant)
                    and isinstance(node.value.value, str)
                ):
                    for paragraph in re.split(r"\n\s*\n", node.value.value):
                        yield from _split(f"{name}:{node.lineno}", paragraph)


def _rust_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of comments of a Rust module, without lines of code in examples."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*//[/!]?\s?(.*)", line) or re.search(r"[;,{}]\s+//\s(.*)", line)
        if match:
            fence = match[1].startswith("```")
            fenced ^= fence
            yield number, "" if fence or fenced else match[1]


def _python_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of comments of a Python module."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


def _blocks(name: str, lines: Iterator[tuple[int, str]]) -> Iterator[Sentence]:
    """Join comments on consecutive lines, and yield their sentences."""
    start, last, block = 0, -1, ""
    for number, line in [*lines, (-9, "")]:
        ends = number != last + 1 or not line.strip() or re.match(r"\s*(?:[-*#|]|\d+\.) ", line)
        if ends and block:
            yield from _split(f"{name}:{start}", block)
            block = ""
        start = start if block else number
        block, last = f"{block} {line}".strip(), number


def main() -> None:
    """Print all sentences, or a draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--draw", type=int, help="How many sentences to draw.")
    parser.add_argument("--seed", type=int, default=1, help="The seed of the draw.")
    parser.add_argument("--kind", choices=KINDS, help="Only sentences of this kind.")
    options = parser.parse_args()
    sources = dict(zip(KINDS, (docs, helps, comments), strict=True))
    kinds = [options.kind] if options.kind else list(KINDS)
    chance = random.Random(options.seed)
    for place, kind in enumerate(kinds):
        sentences = list(dict.fromkeys(sources[kind]()))
        if options.draw:
            # The first kinds have one sentence more if the number cannot be divided evenly.
            share = (options.draw + len(kinds) - 1 - place) // len(kinds)
            sentences = chance.sample(sentences, min(share, len(sentences)))
        for where, sentence in sentences:
            print(f"{where}: {sentence}")


if __name__ == "__main__":
    main()
