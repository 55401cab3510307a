"""Sources without their comments: what a program is compiled from."""

from __future__ import annotations

import re

SUFFIXES = (".rs", ".go")
"""Files in which the rules below find the comments."""

_TOKEN = re.compile(
    r"""
    (?P<literal>
        \bb?r(?P<hashes>\#*)"[\s\S]*?"(?P=hashes)      # a raw string of Rust
        | "(?:[^"\\]|\\[\s\S])*"                       # a string
        | `[^`]*`                                      # a raw string of Go
        | '(?:[^'\\\n]|\\(?:x..|u\{[^}]*\}|u....|.))'  # a character, unlike a lifetime
    )
    | //[^\n]*
    | (?P<open>/\*)
    """,
    re.VERBOSE,
)
_EDGE = re.compile(r"/\*|\*/")
_SPACE = re.compile(r"\s+")


def without_comments(text: str) -> str:
    """Remove comments and superfluous white space; keep strings and characters as they are."""
    kept, between, at = [], "", 0
    while (token := _TOKEN.search(text, at)) is not None:
        between += text[at : token.start()]
        at = token.end()
        if token["literal"] is not None:
            kept += [_narrow(between), token["literal"]]
            between = ""
        elif token["open"] is not None:
            # A space, because a comment separates two words. Comments of Rust may be nested.
            between += " "
            depth = 1
            while depth and (edge := _EDGE.search(text, at)) is not None:
                depth += 1 if edge[0] == "/*" else -1
                at = edge.end()
    return "".join([*kept, _narrow(between + text[at:])])


def _narrow(code: str) -> str:
    """One space or line break for each run of white space: Go ends statements at line breaks."""
    return _SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", code)
