"""Removes comments from source files, because they do not affect the program."""

from __future__ import annotations

import re

SUFFIXES = (".rs", ".go")
"""Endings of the source files that follow the rules below for comments."""

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
    """Remove comments and superfluous white space. Keep strings and character literals
    unchanged."""
    kept, between, at = [], "", 0
    while (token := _TOKEN.search(text, at)) is not None:
        between += text[at : token.start()]
        at = token.end()
        if token["literal"] is not None:
            kept += [_narrow(between), token["literal"]]
            between = ""
        elif token["open"] is not None:
            # Insert a space, because a comment may separate two words. Rust comments may be nested.
            between += " "
            depth = 1
            while depth and (edge := _EDGE.search(text, at)) is not None:
                depth += 1 if edge[0] == "/*" else -1
                at = edge.end()
    return "".join([*kept, _narrow(between + text[at:])])


def _narrow(code: str) -> str:
    """Reduce each run of white space to one space or line break.

    Line breaks are kept, because in Go they end statements.
    """
    return _SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", code)
