"""The engine's sources as a package ships them. Run as a program it puts them there: before a wheel
is made, when nothing of tailback can be imported yet."""

from __future__ import annotations

import shutil
from pathlib import Path

CRATES = ("record", "engine", "conformance", "scenario", "guest", "run", "binding")
"""The folders of `crates/` that a copy of the engine is compiled from."""

FILES = ("Cargo.toml", "Cargo.lock")

CHECKOUT = Path(__file__).resolve().parents[3]
SHIPPED = Path(__file__).resolve().parent / "sources"
"""Where a package has them."""


def copy_to(target: Path = SHIPPED) -> None:
    """Puts the sources of a checkout into a folder."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in FILES:
        shutil.copy2(CHECKOUT / name, target / name)
    for name in CRATES:
        left_out = shutil.ignore_patterns("snapshots", "target", "*.snap", "*.snap.new")
        shutil.copytree(CHECKOUT / "crates" / name, target / "crates" / name, ignore=left_out)


if __name__ == "__main__":
    copy_to()
