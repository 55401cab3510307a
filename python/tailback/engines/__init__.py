"""Engines: what runs a point and leaves a run folder. One file for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tailback.errors import InputError
from tailback.names import unknown

if TYPE_CHECKING:
    from tailback._native import Control, Scenario, Store


class Engine(Protocol):
    """Runs points; called from several threads at once."""

    @property
    def name(self) -> str:
        """The word of `--engine`."""

    @property
    def version(self) -> str:
        """Release and hash of what it is made of; results of two versions are never mixed."""

    def run(self, scenario: Scenario, index: int, store: Store, control: Control) -> None:
        """Runs one point and stores its folder."""


def get(name: str) -> Engine:
    """The engine of this name."""
    if name == "sim":
        from tailback.engines import sim

        return sim.ENGINE
    if name == "kernel":
        raise InputError("engine kernel: not built into this version; use --engine sim")
    raise InputError(unknown("engine", name, ["sim"]))
