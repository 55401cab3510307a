"""Finds the sources of this installation's engine, in the checkout or in the installed package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tailback import _native
from tailback.errors import TailbackError
from tailback.plugins.shipping import CHECKOUT, CRATES, SHIPPED


@dataclass(frozen=True)
class Sources:
    """A cargo workspace with the engine's sources."""

    root: Path
    checkout: bool

    def manifest(self, members: list[str]) -> str:
        """Return the workspace's Cargo.toml with its list of members replaced."""
        text = (self.root / "Cargo.toml").read_text(encoding="utf-8")
        listed = ", ".join(f'"{member}"' for member in members)
        return re.sub(r"(?m)^members = \[.*?\]", lambda _: f"members = [{listed}]", text, count=1)

    @property
    def lock(self) -> bytes:
        """Return the content of the workspace's Cargo.lock."""
        return (self.root / "Cargo.lock").read_bytes()

    @property
    def oldest_rust(self) -> str:
        """Return the oldest version of Rust that compiles the sources."""
        found = re.search(r'(?m)^rust-version = "(.*)"', self.manifest([]))
        return found[1] if found else "stable"


@cache
def find() -> Sources:
    """Find the sources of this installation."""
    for root, checkout in ((CHECKOUT, True), (SHIPPED, False)):
        if all((root / "crates" / name / "Cargo.toml").exists() for name in CRATES):
            return Sources(root, checkout)
    version = _native.engine_version()
    raise TailbackError(
        f"the sources of the engine {version} are not part of this installation; "
        "install tailback from a wheel or a checkout"
    )
