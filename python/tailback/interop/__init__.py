"""Writes runs in the formats of other tools, for `tailback export`.

To add a format, write a module with a constant `FORMAT`, and add a line to `_MODULES`.
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
    @property
    def suffix(self) -> str:
        """Ending of the file name, with the dot."""

    def export(self, run: Path, out: Path, interfaces: Sequence[str]) -> list[Path]:
        """Write the run stored in the folder `run` to the file `out`, and return the paths of all
        files written.

        `interfaces` names the interfaces of a packet capture to write. If `interfaces` is empty,
        all interfaces are written.
        """


def get(name: str) -> Format:
    if name not in _MODULES:
        raise InputError(unknown("format", name, NAMES))
    chosen: Format = import_module(_MODULES[name]).FORMAT
    return chosen
