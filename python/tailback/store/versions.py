"""Parses an engine's version, which consists of a release, a hash of the sources, and compiled-in
plugins."""

from __future__ import annotations

import re

PLUGIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
"""Matches the names that a plugin may have."""


def engine_of(version: str) -> str:
    """Return an engine's version without plugins."""
    return _OF_CRATES.sub(r"\1", version)


def hashes_of(version: str) -> dict[str, str]:
    """Return the hash of each plugin in an engine's version."""
    added = version.removeprefix(engine_of(version)).split(".")
    parts = (one.rpartition("-") for one in added)
    return {name: digest for name, _, digest in parts if PLUGIN_NAME.fullmatch(name)}


_OF_CRATES = re.compile(r"(\+[0-9a-f]{16}(?:-realtime)?)\.[^, ]*")
