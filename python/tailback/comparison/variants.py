"""Parses requested variants, from the command line and from Python."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tailback.base import toml
from tailback.errors import InputError
from tailback.running import engines


@dataclass(frozen=True)
class Variant:
    name: str
    sets: dict[str, str] = field(default_factory=dict)
    """TOML text of each replaced value, by its path in the scenario, in the order of the command
    line."""
    engine: str = "sim"
    kernel: str | None = None
    """Name of a guest kernel, for the kernel engine only."""
    quiet: bool = False
    """Whether to suppress warnings about the scenario, because the scenario is unusual on
    purpose."""


def parse(texts: Sequence[str], engine: str = "sim") -> list[Variant]:
    """Parse the `--variant` options, each `NAME` or `NAME:KEY=VALUE`. Return the variants in order
    of first appearance."""
    sets: dict[str, dict[str, str]] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        name = name.strip()
        if not name or "=" in name:
            raise InputError(f"--variant {text}: expected NAME or NAME:KEY=VALUE")
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise InputError(f"--variant {text}: not UTF-8 text; use names in UTF-8")
        if not colon:
            if name in sets:
                raise InputError(
                    f"--variant {text}: a variant of this name already exists; rename it"
                )
            sets[name] = {}
            continue
        path, equals, value = rest.partition("=")
        path = path.strip()
        if not equals or not path:
            raise InputError(f"--variant {text}: expected NAME:KEY=VALUE")
        keys = sets.setdefault(name, {})
        if path in keys:
            raise InputError(f'--variant {text}: variant "{name}" has {path} already; remove it')
        keys[path] = value
    return [variant_of(name, keys, engine) for name, keys in sets.items()]


def toml_text(path: str, value: object) -> str:
    """Return a Python value as TOML text, but without quotes for the keys `engine` and `kernel`."""
    return str(value) if path in ("engine", "kernel") else toml.value(value)


def values_of(sets: Mapping[str, str]) -> dict[str, object]:
    """Parse TOML values. A word that is not valid TOML is a string without quotes."""
    values: dict[str, object] = {}
    for path, text in sets.items():
        try:
            values[path] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            values[path] = text
    return values


def variant_of(name: str, sets: Mapping[str, str], engine: str) -> Variant:
    rest = {path: value for path, value in sets.items() if path not in ("engine", "kernel")}
    chosen = sets.get("engine", engine).strip().strip('"')
    kernel = sets.get("kernel")
    kernel = kernel.strip().strip('"') if kernel is not None else None
    if kernel is not None and chosen not in engines.KERNELS:
        raise InputError(
            f'variant "{name}": kernel = {kernel} is for engine kernel, but this one runs on '
            f"{chosen}; add --variant {name}:engine=kernel"
        )
    return Variant(name, rest, chosen, kernel)
