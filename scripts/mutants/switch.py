"""Compiles many mutants into one program. Each mutant is a changed copy of a function's body.

Compiling takes longer than testing, so all mutants are compiled at once. The function becomes a
`match` on the number in the environment variable TAILBACK_MUTANT, with an arm for each mutant and
one for the original body. Some code cannot read an environment variable: the compiler evaluates
constants and `const fn`. In functions that return `impl Trait`, the arms of the `match` would have
different types.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "TAILBACK_MUTANT"

CHOICE = f"""
/// The mutant that is switched on; 0: none.
#[doc(hidden)]
pub fn chosen_mutant() -> u32 {{
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| {{
        std::env::var("{VARIABLE}").map_or(0, |text| text.parse().expect("a number"))
    }})
}}
"""
"""Code that is added to a crate's root."""

Span = tuple[int, int]


@dataclass(frozen=True)
class Change:
    """A mutant, with byte offsets into its file."""

    number: int
    span: Span
    replacement: str
    body: Span
    """The offsets of the body of the function that contains the change."""


@dataclass(frozen=True)
class Arm:
    """The lines of a mutant's arm of the `match`."""

    first: int
    last: int
    number: int


def place(text: str, entry: Mapping[str, Any], number: int) -> Change | None:
    """Convert an entry of `cargo mutants --list --json`. Return None if the function cannot have a
    `match`."""
    function = entry["function"]
    if function is None:
        return None
    span, whole = offsets(text, entry["span"]), offsets(text, function["span"])
    body = body_of(text, whole)
    signature = text[whole[0] : body[0]]
    if re.search(r"\bconst\s+(unsafe\s+)?fn\b", signature) or re.search(r"->\s*impl\b", signature):
        return None
    if not (body[0] <= span[0] and span[1] <= body[1]):
        return None
    return Change(number, span, entry["replacement"], body)


def offsets(text: str, span: Mapping[str, Any]) -> Span:
    """Convert a span of lines and columns, both counted from 1, to offsets."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def at(end: str) -> int:
        line, column = int(span[end]["line"]), int(span[end]["column"])
        return starts[line - 1] + column - 1

    return at("start"), at("end")


_TOKEN = re.compile(
    r"""//[^\n]* | (?P<comment>/\*) | b?r(?P<hashes>\#*)" | b?"(?:[^"\\]|\\.)*" """
    r"""| b?'(?:[^'\\\n]|\\[^\n']+|\\')' | '\w+ | [{}]""",
    re.VERBOSE | re.DOTALL,
)


def body_of(text: str, function: Span) -> Span:
    """Return the offsets of a function's body: the text in its last pair of outermost braces."""
    depth, opened, at = 0, function[0], function[0]
    while (token := _TOKEN.search(text, at, function[1])) is not None:
        at = token.end()
        if token["comment"]:
            at = text.index("*/", at) + 2
        elif token["hashes"] is not None:
            at = text.index('"' + token["hashes"], at) + 1 + len(token["hashes"])
        elif token[0] == "{":
            opened = token.end() if depth == 0 else opened
            depth += 1
        elif token[0] == "}":
            depth -= 1
    return opened, function[1] - 1


def with_switches(text: str, changes: Iterable[Change]) -> tuple[str, list[Arm]]:
    """Return the file's text with an arm for each mutant, and the lines of the arms."""
    by_body: defaultdict[Span, list[Change]] = defaultdict(list)
    outermost = _outermost([change.body for change in changes])
    for change in changes:
        by_body[outermost[change.body]].append(change)
    pieces: list[str] = []
    arms: list[Arm] = []
    at = line = 0

    def add(piece: str) -> None:
        nonlocal line
        pieces.append(piece)
        line += piece.count("\n")

    for body in sorted(by_body):
        add(text[at : body[0]] + "\nmatch crate::chosen_mutant() {\n")
        for change in by_body[body]:
            first = line + 1
            before, after = text[body[0] : change.span[0]], text[change.span[1] : body[1]]
            add(f"{change.number} => {{\n{before}{change.replacement}{after}\n}}\n")
            arms.append(Arm(first, line, change.number))
        add(f"_ => {{{text[body[0] : body[1]]}}}\n}}\n")
        at = body[1]
    add(text[at:])
    return "".join(pieces), arms


def _outermost(bodies: Sequence[Span]) -> dict[Span, Span]:
    """Map each body to the outermost function body that contains it."""
    return {
        body: min(other for other in bodies if other[0] <= body[0] and body[1] <= other[1])
        for body in bodies
    }


def crate_root(file: str) -> Path:
    """Return the root file of the crate to which a file belongs."""
    return Path(*Path(file).parts[:2], "src", "lib.rs")
