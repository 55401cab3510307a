"""Names that users type."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from tailback.foreign import line


def unknown(kind: str, name: str, valid: Sequence[str], also: Sequence[str] = ()) -> str:
    """Message about a name that does not exist: what does, and the nearest, of `also` too."""
    near = difflib.get_close_matches(name, [*valid, *also], n=1)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return f'{kind} "{line(name)}" does not exist; expected one of {", ".join(runs(valid))}{hint}'


def runs(names: Sequence[str]) -> list[str]:
    """The names, each once; those that count on (fig1, fig2, fig3) as "fig1 to fig3"."""
    groups: list[list[str]] = []
    for name in dict.fromkeys(names):
        if groups and name == _next(groups[-1][-1]):
            groups[-1].append(name)
        else:
            groups.append([name])
    return [
        text
        for group in groups
        for text in (group if len(group) < 3 else [f"{group[0]} to {group[-1]}"])
    ]


def _next(name: str) -> str:
    """The name with its last number one higher."""
    stem = name.rstrip("0123456789")
    return f"{stem}{int(name[len(stem) :]) + 1}" if stem != name else ""
