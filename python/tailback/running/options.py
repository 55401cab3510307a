"""Defines the options for executing runs, which commands and functions share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from tailback.base import arguments
from tailback.base.names import unknown
from tailback.errors import InputError
from tailback.store import layout


class RunKeywords(TypedDict, total=False):
    """The keyword arguments of `tailback.run` and related functions, which are the fields of
    `RunOptions`."""

    seeds: int | None
    jobs: int | None
    cores: int
    out: Path | str | None
    progress: bool | None
    engine: str
    plugins: Sequence[Path | str]
    read_only: bool


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How to execute runs. Only `seeds`, `engine` and `plugins` can change results."""

    seeds: int | None = None
    """Number of seeds of every sweep point. None means the scenario's number."""
    jobs: int | None = None
    """How many runs to execute at the same time. None means as many as the cores allow."""
    cores: int = 1
    """Number of cores for each run of the simulator."""
    out: Path = layout.DEFAULT
    """Folder of results."""
    progress: bool | None = None
    """Whether to show progress, on stderr or in the notebook. None shows progress unless
    TAILBACK_QUIET is set."""
    engine: str = "sim"
    """Name of the engine: `sim`, `kernel` or `kernel-realtime`."""
    plugins: tuple[Path | str, ...] = ()
    """Folders of plugins with the user's algorithms."""
    read_only: bool = False
    """Whether to write nothing. If true, every run must already be stored."""

    @classmethod
    def of(cls, **keywords: Unpack[RunKeywords]) -> RunOptions:
        """Check keyword arguments and return them as options. A value of None means the default.

        Raises `InputError` for an unknown keyword or a value of a wrong type.
        """
        for name in keywords:
            if name not in RunKeywords.__annotations__:
                raise InputError(unknown("keyword", name, list(RunKeywords.__annotations__)))
        given = {name: value for name, value in keywords.items() if value is not None}
        checked: dict[str, Any] = {}
        for name, value in given.items():
            if name in ("seeds", "jobs", "cores"):
                checked[name] = arguments.count(name, value)
            elif name == "out":
                checked[name] = Path(arguments.path(name, value))
            elif name == "plugins":
                checked[name] = tuple(arguments.values(name, value))
            else:
                checked[name] = value
        return cls(**checked)
