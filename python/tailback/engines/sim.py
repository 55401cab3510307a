"""The simulator: in this process, with the interpreter's lock released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailback._native import engine_version

if TYPE_CHECKING:
    from tailback._native import Control, Scenario, Store


@dataclass(frozen=True)
class Sim:
    """Engine `sim`."""

    name: str = "sim"
    version: str = engine_version()

    def run(self, scenario: Scenario, index: int, store: Store, control: Control) -> None:
        """Runs one point and stores its folder."""
        scenario.run(index, store, control)


ENGINE = Sim()
