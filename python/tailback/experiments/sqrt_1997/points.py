"""From the scenario to a job, and from its runs to the formula's cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tailback.metrics.statistics import estimate
from tailback.report import Cell
from tailback.reproduction import sources
from tailback.reproduction.entries import Entry
from tailback.results import Results
from tailback.running import Job

PACKAGE = "tailback.experiments.sqrt_1997"
RTT_MS = 100.0
SEGMENT_BITS = 8 * 1448


@dataclass(frozen=True, kw_only=True)
class Point(Entry):
    """A window at a loss."""

    loss: float

    @property
    def coordinates(self) -> dict[str, Any]:
        """The loss."""
        return {"loss": self.loss}


def job(*, quick: bool, seeds: int) -> Job:
    """Every loss; a quick run is short."""
    scenario = sources.scenario(PACKAGE, "loss")
    if quick:
        scenario["duration"] = "50s"
    return Job(scenario, {}, seeds)


def entries(results: Sequence[Results]) -> list[Point]:
    """The cells in the order of the source."""
    published = {
        float(row["loss"]): float(row["window"])
        for row in sources.published_rows(PACKAGE, "published.csv")
    }
    made = []
    for runs in (runs for result in results for runs in result.groups()):
        loss = float(runs[0].params["bottleneck.loss"])
        # Segments in a round trip.
        bits = [1e3 * RTT_MS * run.summary["flows"][0]["throughput_mbit"] for run in runs]
        values = tuple(value / SEGMENT_BITS for value in bits)
        name = f"Equation 3/{loss:g}"
        cell = Cell.of(name, "window", "segments", published[loss], estimate(values))
        made.append(Point(cell=cell, values=values, loss=loss))
    return made
