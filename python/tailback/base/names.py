"""Checks names that users type, and suggests the nearest valid name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tailback.base.foreign import line

MOST_NAMED = 24
"""The largest number of names in one line of a message."""


def unknown(
    kind: str, name: str, valid: Sequence[str], also: Sequence[str] = (), where: str = ""
) -> str:
    """Return the error message for a name that does not exist. The message lists the names in
    `valid`, and suggests the nearest name in `valid` or `also`.

    If there are many valid names, the message lists only the names similar to `name`. If the
    message does not list all names, the text `where` says how to list them."""
    import difflib

    near = nearest(name, valid, also)
    hint = f'; did you mean "{near}"?' if near is not None else ""
    begins = f'{kind} "{line(name)}" does not exist; expected one of '
    every = runs(valid)
    if len(every) <= MOST_NAMED:
        return f"{begins}{', '.join(every)}{hint}"
    likely = [candidate for candidate in valid if name and (name in candidate or candidate in name)]
    likely += difflib.get_close_matches(name, valid, n=MOST_NAMED)
    shown = list(dict.fromkeys(likely or valid))[: MOST_NAMED // 3]
    listed = f" ({where})" if where else ""
    return f"{begins}{len(set(valid))}{listed}, such as {', '.join(shown)}{hint}"


SIMILAR = 0.65
"""The message suggests a valid name if its similarity to the unknown name, from 0 to 1, is at least
this number."""


def nearest(name: str, valid: Sequence[str], also: Sequence[str] = ()) -> str | None:
    """Return the name that the user probably meant.

    The comparison ignores case, leading dashes and file suffixes. If suffixes counted, two
    unrelated names would look similar because both end in .toml.
    """
    import difflib

    near = [one for one in valid if name and one.startswith(f"{name}_")][:1]
    if not near and (stem := _UNIT.sub("", name)):
        # If the name has another unit, suggest the same quantity in the unit that tailback uses.
        near = [one for one in valid if _UNIT.sub("", one) == stem and one != stem][:1]
    if near:
        return near[0]
    plain: dict[str, str] = {}
    for one in (*valid, *also):
        plain.setdefault(_bare(one), one)
    close = difflib.get_close_matches(_bare(name), plain, n=1, cutoff=SIMILAR)
    return plain[close[0]] if close else None


_UNIT = re.compile(
    r"_(ns|us|ms|s|sec|seconds|[kmg]?bit|[kmg]?bps|[kmg]?b|bytes|packets|pkts|percent|pct)$", re.I
)
"""Matches the unit at the end of a quantity's name."""


def _bare(name: str) -> str:
    """Return a name in lower case, without dashes and suffix, for comparison with other names."""
    return name.lstrip("-").removesuffix(".toml").lower()


def runs(names: Sequence[str]) -> list[str]:
    """Return the names without repetition. Three or more names with successive numbers (fig1, fig2,
    fig3) become one text, "fig1 to fig3".
    """
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
    """Return the name with its last number increased by one."""
    stem = name.rstrip("0123456789")
    return f"{stem}{int(name[len(stem) :]) + 1}" if stem != name else ""
