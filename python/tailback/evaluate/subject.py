"""The subject of an evaluation: an algorithm, and how a scenario names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tailback import _native, registry
from tailback.base.names import unknown
from tailback.errors import InputError
from tailback.evaluate.model import Request

KINDS = {"cc": "congestion control", "aqm": "queue discipline"}


@dataclass(frozen=True)
class Subject:
    """An algorithm that is evaluated, or that it is compared with."""

    name: str
    value: str | Mapping[str, object]
    """What a scenario writes for it."""

    def with_options(self, key: str, **options: object) -> Mapping[str, object] | str:
        """What a scenario writes for it with options; `key` is the word for its name."""
        if not options:
            return self.value
        table = {key: self.value} if isinstance(self.value, str) else dict(self.value)
        return {**table, **options}


def resolve(kind: Literal["cc", "aqm"], request: Request) -> Subject:
    """The subject of a request.

    Raises `InputError` for a name that neither the registry nor a plugin has. With the kernel
    engine such a name is one that only the kernel has.
    """
    name = request.name
    known = [entry["name"] for entry in registry.entries(kind)] + _of_plugins(kind, request)
    if name in known:
        return Subject(name, name)
    if request.run.engine != "sim" and registry_is_free(name):
        word = "name" if kind == "cc" else "aqm"
        return Subject(name, {word: name, "kernel": True})
    raise InputError(unknown(KINDS[kind], name, known))


def registry_is_free(name: str) -> bool:
    """Whether a name can be one of the kernel's: letters, digits, underscores."""
    return name.isascii() and name.replace("_", "").isalnum()


def _of_plugins(kind: str, request: Request) -> list[str]:
    from tailback.plugins import asked, copies

    folders = [*map(Path, request.run.plugins), *asked.by_environment()]
    if not folders:
        return []
    copy = copies.native(folders)
    return [] if copy is _native else [one["name"] for one in copies.entries(copy)[kind]]
