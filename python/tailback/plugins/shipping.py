"""Copies the engine's sources into a package. This file runs as a script before a wheel is built,
so it cannot import tailback.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

CRATES = ("record", "engine", "conformance", "scenario", "guest", "run", "sim", "binding")
"""The folders of `crates/` from which a copy of the engine is compiled."""

FILES = ("Cargo.toml", "Cargo.lock")
LEFT_OUT = {"snapshots", "target"}

CHECKOUT = Path(__file__).resolve().parents[3]
SHIPPED = Path(__file__).resolve().parent / "sources"
"""The folder of the engine's sources in an installed package."""


def copy_to(target: Path = SHIPPED) -> None:
    """Copy the sources of a checkout into a folder, and remove other files from this folder."""
    wanted = {path.relative_to(CHECKOUT) for path in _sources()}
    for path in [path for path in target.rglob("*") if path.is_file()]:
        if path.relative_to(target) not in wanted:
            path.unlink()
    for relative in sorted(wanted):
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / relative, target / relative)


def _sources() -> Iterator[Path]:
    yield from (CHECKOUT / name for name in FILES)
    for name in CRATES:
        for path in (CHECKOUT / "crates" / name).rglob("*"):
            inner = path.relative_to(CHECKOUT / "crates" / name).parts
            if path.is_file() and not LEFT_OUT & set(inner) and ".snap" not in path.suffixes:
                yield path


if __name__ == "__main__":
    copy_to()
