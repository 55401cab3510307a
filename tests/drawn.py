"""Chooses the published values that tests compare with the simulator. The hash of a value's name
decides, so nobody can choose values with good results.

A table in the repository contains the results of the drawn values, so that a diff shows changes of
these results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

HERE = Path(__file__).parent / "drawn"

T = TypeVar("T")


def draw(items: Iterable[T], name: Callable[[T], str], count: int) -> list[T]:
    """Return the `count` items with the smallest hashes of their names."""

    def by(item: T) -> str:
        return hashlib.sha256(name(item).encode()).hexdigest()

    return sorted(items, key=by)[:count]


def check(name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Compare rows with the table of this name, or write the table if it is missing."""
    table = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in table)
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    path = HERE / f"{name}.txt"
    if not path.exists():
        HERE.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        raise AssertionError(f"{path} did not exist and was written: look at it")
    assert text == path.read_text(encoding="utf-8"), "moved; delete the table to write it again"
