"""Reports phrases that the style of this project bans, and sentences that are too long.

    python scripts/plain.py [FILE ...]
    python scripts/plain.py --unclean > scripts/plain-unclean.txt

Without FILE, it reads the README, the CHANGELOG, docs, and comments, docstrings and string literals
of Python and Rust. It prints `FILE:LINE: what is wrong`. The exit status is 1 if a file with
findings is not in `plain-unclean.txt`, or if that list has a file without findings. `--unclean`
prints a new version of the list."""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNCLEAN = ROOT / "scripts" / "plain-unclean.txt"
"""The list of files that are still to be rewritten. Do not add files to it."""
MAX_WORDS = 35
"""Largest number of words in a sentence on a page."""

_PARTICIPLE = r"been|yet|\w*(?:ed|en|wn|ne|me|run|put|set|cut|sent|built|kept|lost|read|made|got)"
BANNED: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:is|are|was|were|being|(?<!cannot )(?<!can )(?<!could )(?<!not )be) (?:said|told)\b",
        "name the actor: tailback prints, warns",
    ),
    (r"\b(?:cannot|can|could not|could) be told\b", "cannot be decided, cannot be distinguished"),
    (rf"\b(?:has|have|had) not\b(?! (?:{_PARTICIPLE})\b)", "does not have"),
    (r"\bwhat (?:\w+ ){0,3}lacks?\b", "without X"),
    (r"\bstands?\b(?! (?:for|still|out|alone)\b)|\bstood\b", "is, is listed, is frozen"),
    (r"\b(?:none|nothing|not) to be had\b|\bthere is none\b", "does not exist"),
    (r"\bpass(?:es|ed)? over\b", "skip"),
    (r"\b[Jj]udges?\b", "criterion"),
    (r"(?<![\w-])[Bb]lind\b", "held-out"),
    (r"\d ?% below\b", "Nth percentile"),
    (r"\brefused by\b", "rejected, unsupported"),
    (r"(?:^|[.;:] )Who (?!knows\b)(?![^.]*\?)", "name what acts: a program that"),
    (r"\b(?:he|himself|his)\b", "a program, a user: it, they"),
    (r"\b(?:[Ff]iles?|[Tt]exts?|[Bb]ytes|[Ll]oad|[Cc]ode) of others\b", "untrusted, foreign"),
    (r"\bsomebody else\b|\bwhat he likes\b", "name the actor"),
    (r"\bnobody (?:looks?|had seen|has seen|has missed|reads)\b", "unused, held-out"),
    (r"\b(?:the )?very same\b", "identical"),
    (r"\b[Tt]ak(?:e|es|en) (?:it |them )?away\b", "delete, remove"),
    (r"\banew\b", "again"),
    (r"\bgoes on where it was\b", "resumes"),
    (r"\bwhat there is to\b", "the choices"),
    (r"\btwentieth\b", "5 %"),
    (r"\bway of the data\b|\broom of each idea\b", "data flow, code map"),
    (r"\bnot [a-z]+ed besides\b|\bdoes besides\b", "also, other"),
    (r"\bWrite none\b|\bneeds? none\b", "do not write; need no X"),
    (r"\bAs small as can be\b", "minimise"),
    (r"\basks? for (?:less|more) the\b", "loosens, tightens"),
)
_BANNED = tuple((re.compile(pattern, re.MULTILINE), advice) for pattern, advice in BANNED)


@dataclass(frozen=True)
class Finding:
    """A violation of the style."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def findings(path: str, text: str) -> list[Finding]:
    """Return every finding in a file, in the order of its lines."""
    if path.endswith(".md"):
        pieces = [*paragraphs(text)]
        return [
            *(Finding(path, line, what) for line, piece in pieces for what in _phrases(piece)),
            *(Finding(path, line, what) for line, piece in pieces for what in _long(piece)),
        ]
    pieces = [*(_python(text) if path.endswith(".py") else _rust(text))]
    return [Finding(path, line, what) for line, piece in pieces for what in _phrases(piece)]


def _phrases(text: str) -> Iterator[str]:
    """Yield each banned phrase of a text, with the phrase to write instead."""
    plain = re.sub(r"`[^`]*`", "`", text)
    for pattern, advice in _BANNED:
        for match in pattern.finditer(plain):
            yield f'"{match[0].strip(" .;:")}": {advice}'


def _long(text: str) -> Iterator[str]:
    """Yield each sentence of a paragraph that has too many words."""
    plain = re.sub(r"`[^`]*`|\[([^\]]*)\]\([^)]*\)", lambda m: m[1] or "Code", text)
    for sentence in re.split(r"(?<=[.!?:;])[)\"*]*\s+(?=[\"(*`A-Z0-9])", plain):
        words = re.findall(r"\w[\w.,'/%+-]*", sentence)
        if len(words) > MAX_WORDS:
            yield f"a sentence of {len(words)} words: {' '.join(words[:6])} ..."


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs, items and cells of a page, each with its first line. Skip code."""
    fenced = False
    start, paragraph = 0, ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        fence = bare.startswith("```")
        fenced ^= fence
        ends = fence or fenced or not bare or bare.startswith(("#", "|", "- ", "* ", "!["))
        ends = ends or re.match(r"\d+\. ", bare) is not None
        if ends and paragraph:
            yield start, paragraph
            paragraph = ""
        if fence or fenced or line.startswith("    "):
            continue
        if bare.startswith("|"):
            for cell in bare.strip("|").split("|"):
                yield number, cell.strip()
        elif bare.startswith("#"):
            yield number, bare.lstrip("# ")
        elif bare:
            start = start if paragraph else number
            paragraph = f"{paragraph} {bare}".strip()


_OPENING = re.compile(r"""^\s*(?:#:?\s*|[rbfRBF]{0,2}["']+)""")
"""Matches the characters before the text of a comment or a string."""


_KEY = re.compile(r"""["']\w+["']""")
"""Matches a string of one word, which is a key or a name and not checked."""


def _python(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and strings of a module with their lines."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds and not _KEY.fullmatch(token.string):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, _OPENING.sub("", line)


def _rust(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and string literals of a module with their lines."""
    for number, line in enumerate(text.splitlines(), 1):
        for piece in re.findall(r"//[/!]?(.*)|\"((?:[^\"\\]|\\.)*)\"", line):
            yield number, (piece[0] or piece[1]).strip()


def files() -> Iterator[Path]:
    """Yield the files that the script checks by default. Skip this script and its test."""
    yield ROOT / "CONTRIBUTING.md"
    yield ROOT / "README.md"
    yield ROOT / "CHANGELOG.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))
    for folder in ("python", "scripts", "benches", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.name not in ("plain.py", "test_plain.py"):
                yield path
    for folder in ("crates", "fuzz"):
        yield from sorted(p for p in (ROOT / folder).rglob("*.rs") if "target" not in p.parts)


def unclean() -> set[str]:
    """Return the files listed in `plain-unclean.txt`."""
    return set(UNCLEAN.read_text(encoding="utf-8").split())


def main(names: list[str]) -> int:
    """Print the findings of these files, or of all files. Return the exit status."""
    if names == ["--unclean"]:
        for path in files():
            name = path.relative_to(ROOT).as_posix()
            if findings(name, path.read_text(encoding="utf-8")):
                print(name)
        return 0
    paths = [Path(name).resolve() for name in names] or list(files())
    listed, status = unclean(), 0
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        wrong = findings(name, path.read_text(encoding="utf-8"))
        if names or name not in listed:
            for finding in wrong:
                print(finding)
            status |= bool(wrong)
        elif not wrong:
            print(f"{name}: nothing is wrong with it: remove it from {UNCLEAN.name}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
