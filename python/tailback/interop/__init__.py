"""Runs in the formats of other tools: what `tailback export` writes.

A new format is a new file and one line in `_MODULES`; its module has a
constant `FORMAT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

from tailback.base.names import unknown
from tailback.errors import InputError

_MODULES = {
    "csv": "tailback.interop.csv",
    "flent": "tailback.interop.flent",
    "pcapng": "tailback.interop.pcapng",
    "qlog": "tailback.interop.qlog",
    "qlog-0.3": "tailback.interop.qlog_old",
}

NAMES = tuple(_MODULES)


class Format(Protocol):
    """A format to export to."""

    @property
    def suffix(self) -> str:
        """Ending of the file, with the dot."""

    def export(self, run: Path, out: Path, interfaces: Sequence[str]) -> list[Path]:
        """Write a run folder to a file; return what was written.

        `interfaces` are the interfaces of a packet capture to write; empty: all.
        """


def get(name: str) -> Format:
    """The format of this name."""
    if name not in _MODULES:
        raise InputError(unknown("format", name, NAMES))
    chosen: Format = import_module(_MODULES[name]).FORMAT
    return chosen
