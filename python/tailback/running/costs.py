"""Estimates packets, CPU time and memory of runs before they begin."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from tailback.base.numbers import bytes_text, grouped, short
from tailback.errors import ScenarioWarning

HOUR_S = 3600.0
"""If runs need more than this CPU time, in seconds, `warn_of_hours` prints a warning."""

_UNITS = (("s", 1.0), ("min", 60.0), ("h", HOUR_S), ("days", 24 * HOUR_S))


class Estimated(Protocol):
    """The functions that an engine must provide so that costs can be estimated."""

    def cpu_s(self, packets: int) -> float:
        """Estimate the CPU time of a run (in seconds) from the number of packets on all links."""


@dataclass(frozen=True)
class Cost:
    """The total cost of some runs."""

    runs: int
    packets: int
    """Number of packets at all links. A packet that passes two links counts twice."""
    cpu_s: float
    memory: int
    """Memory of the largest run, in bytes."""

    def text(self) -> str:
        """The cost as text: packets and CPU time of all runs together, and memory of one run."""
        cost = f"about {_count(self.packets)} packets, {duration_text(self.cpu_s)} of CPU time"
        memory = f"{bytes_text(self.memory)} of memory"
        if self.runs == 1:
            return f"1 run: {cost}, {memory}"
        each = ""
        if self.cpu_s >= 1:
            each = f" (on average {duration_text(self.cpu_s / self.runs)} a run)"
        return f"{self.runs} runs: {cost} in total{each}, at most {memory} a run"


def total(runs: Iterable[tuple[int, Estimated, int]]) -> Cost:
    """Return the total cost of runs. Each run is a tuple of packets, engine and memory in bytes."""
    estimates = list(runs)
    return Cost(
        len(estimates),
        sum(packets for packets, _, _ in estimates),
        sum(engine.cpu_s(packets) for packets, engine, _ in estimates),
        max((memory for _, _, memory in estimates), default=0),
    )


def warn_of_hours(cost: Cost) -> None:
    """Warn if runs need more than an hour of CPU time."""
    if cost.cpu_s <= HOUR_S:
        return
    warnings.warn(
        f"{cost.text()}; expected a shorter duration, lower rates or fewer points, unless that "
        "is what you want",
        ScenarioWarning,
        stacklevel=3,
    )


def duration_text(seconds: float) -> str:
    """Format a duration for people."""
    if seconds < 1:
        return "less than 1 s"
    unit, scale = next((u, s) for u, s in reversed(_UNITS) if seconds >= s)
    return f"{short(seconds / scale, 2)} {unit}"


def _count(packets: int) -> str:
    """Format an estimated number of packets with two digits."""
    packets = int(float(f"{packets:.2g}"))
    for scale, word in ((1e12, " million million"), (1e9, " billion"), (1e6, " million")):
        if packets >= scale:
            return f"{packets / scale:g}{word}"
    return grouped(packets)
