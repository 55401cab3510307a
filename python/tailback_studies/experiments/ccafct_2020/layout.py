"""Defines the rows and columns of the published tables, and reads the published values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tailback_studies.reproduction.sources import published_rows

WORDS = {"": "alone", "cubic": "beside CUBIC", "prague": "beside Prague"}
# Round-trip times in ms, and the competitors. An empty name means that there is no competitor.
RTTS_MS = (10, 20, 40, 80, 160)
COMPETITORS = ("", "cubic", "prague")
# Statistics of the completion times of requests.
STATISTICS = ("geomean", "median", "p95")


@dataclass(frozen=True)
class CcafctRow:
    """A row of the published tables: a round-trip time and a competitor."""

    rtt_ms: int
    competitor: str

    @property
    def name(self) -> str:
        """Identifies the published row in ids of values."""
        return f"{self.rtt_ms}ms/{self.competitor or 'alone'}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have a value in this published row."""
        times = tuple(f"{name}_ms" for name in STATISTICS)
        return times + tuple(f"{name}_harm" for name in STATISTICS if self.competitor)

    @property
    def alone(self) -> CcafctRow:
        """The row with the same RTT and without a competitor, from which harm is computed."""
        return CcafctRow(self.rtt_ms, "")


ROWS: tuple[CcafctRow, ...] = tuple(CcafctRow(rtt, cc) for rtt in RTTS_MS for cc in COMPETITORS)


@cache
def published() -> Mapping[tuple[CcafctRow, str], float]:
    """Read the published values, without held-out rows."""
    out: dict[tuple[CcafctRow, str], float] = {}
    for line in published_rows(__package__, "published.csv"):
        row = CcafctRow(int(line["rtt_ms"]), line["competitor"])
        out.update({(row, column): float(line[column]) for column in row.columns})
    return out


@dataclass(frozen=True)
class LinuxCcafctRow:
    """The geometric mean of a row on the kernel engine, and the harm of this row with its
    interval."""

    geomean_ms: float
    harm: float | None
    spread: tuple[float, float] | None


@cache
def on_linux() -> Mapping[CcafctRow, LinuxCcafctRow]:
    """Read the results of the kernel engine, which the README describes."""
    out = {}
    for line in published_rows(__package__, "linux.csv"):
        known = bool(line["geomean_harm"])
        spread = (float(line["low"]), float(line["high"])) if known else None
        harm = float(line["geomean_harm"]) if known else None
        row = CcafctRow(int(line["rtt_ms"]), line["competitor"])
        out[row] = LinuxCcafctRow(float(line["geomean_ms"]), harm, spread)
    return out


@cache
def published_rtts() -> tuple[int, ...]:
    """Return the round-trip times that have published values in this package."""
    held = {row.rtt_ms for row, _ in published()}
    return tuple(rtt for rtt in RTTS_MS if rtt in held)
