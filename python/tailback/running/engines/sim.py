"""Runs scenarios in the simulator, in this process. Python's interpreter lock is released while the
simulator runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailback._native import engine_version
from tailback.base import machine

if TYPE_CHECKING:
    from tailback._native import Control, Point, Scenario, Store

PACKET_S = 100e-9
"""CPU time in seconds for each packet at a link. This CPU time was measured
(docs/evidence/performance.md)."""


@dataclass(frozen=True)
class Sim:
    """The engine `sim`."""

    name: str = "sim"
    version: str = engine_version()

    def load(self, read: Callable[[Mapping[str, Any]], Scenario]) -> Scenario:
        """Read a scenario, and reject a scenario that does not fit into memory."""
        return read({"engine": self.name, "memory": machine.memory_available()})

    def memory(self, point: Point) -> int:
        """Estimate the memory of a run in bytes."""
        return point.memory

    def cpu_s(self, packets: int) -> float:
        """Estimate the CPU time of a run (in seconds) from the number of packets on all links."""
        return packets * PACKET_S

    def run(self, scenario: Scenario, index: int, store: Store, control: Control) -> None:
        """Run one sweep point and store its folder."""
        scenario.run(index, store, control)


ENGINE = Sim()
