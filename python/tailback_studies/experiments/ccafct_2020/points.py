"""Makes a job for each published row, and computes values from the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tailback.metrics.harm import harm
from tailback.metrics.statistics import estimate, nearest_rank
from tailback.report import TableCell
from tailback.running.batch import Job
from tailback_studies.experiments.ccafct_2020.layout import STATISTICS, CcafctRow, published
from tailback_studies.experiments.l4s_tests_2020.points import CCS
from tailback_studies.reproduction.entries import Entry as BaseEntry
from tailback_studies.reproduction.sources import scenario, set_value

#: How long requests start, in s, in a full and a quick run.
SECONDS, QUICK_SECONDS = 180.0, 60.0
#: How long the competitor runs before the first request, and how long the last requests may take,
#: in s.
BEFORE, AFTER = 20.0, 60.0


@dataclass(frozen=True)
class CcafctVariant:
    """Changes of the set-up, for runs that differ from the publication."""

    set: Mapping[str, Any] = field(default_factory=dict)
    """Values that replace values of the scenario, by path."""
    requests: Mapping[str, Any] = field(default_factory=dict)
    """Keys that are set in the table of the requests."""


AS_PUBLISHED = CcafctVariant()


class CcafctStored(Protocol):
    """The parts of a stored run from which values are computed."""

    @property
    def seed(self) -> int:
        """The run's seed."""

    def series(self) -> Any:
        """Return the run's recorded series."""


@dataclass(frozen=True)
class CcafctEntry(BaseEntry):
    """A published number: a column of a published row."""

    row: CcafctRow
    column: str

    @property
    def is_harm(self) -> bool:
        """Whether the value is harm, which is computed from two rows, and not a time."""
        return self.column.endswith("_harm")

    @property
    def coordinates(self) -> dict[str, Any]:
        """The value's row and column."""
        return {
            "rtt_ms": self.row.rtt_ms,
            "competitor": self.row.competitor or None,
            "column": self.column,
        }


def job(
    row: CcafctRow,
    *,
    seeds: int,
    quick: bool = False,
    kernel: bool = False,
    variant: CcafctVariant = AS_PUBLISHED,
) -> Job:
    """Return the job that runs a published row. On Linux, offloads are on, as in the publication.

    On the kernel engine, each request opens a connection, because the guest's client does not reuse
    connections.
    """
    out = made(row, quick=quick, variant=variant)
    if kernel:
        out["path"]["offloads"] = True
        (source,) = out["traffic"]
        for key in ("reuse", "idle"):
            source.pop(key, None)
    return Job(out, {}, seeds)


def made(
    row: CcafctRow, *, quick: bool = False, variant: CcafctVariant = AS_PUBLISHED
) -> dict[str, Any]:
    """Return the scenario of a published row."""
    out = scenario(__package__, "requests")
    seconds = QUICK_SECONDS if quick else SECONDS
    out["duration"] = f"{BEFORE + seconds + AFTER:g}s"
    out["path"]["rtt"] = f"{row.rtt_ms}ms"
    (source,) = out["traffic"]
    source["stop"] = f"{BEFORE + seconds:g}s"
    source.update(variant.requests)
    if row.competitor:
        options = CCS.get(row.competitor)
        cc = {"name": row.competitor, **options} if options else row.competitor
        out["flows"][0]["cc"] = cc
    else:
        del out["flows"]
    for path, value in variant.set.items():
        set_value(out, path, value)
    return out


# --- values --------------------------------------------------------------------------------------


def statistics(times_ms: Sequence[float]) -> dict[str, float | None]:
    """Return the statistics of the publication: geometric mean, and nearest-rank percentiles."""
    if not times_ms:
        return dict.fromkeys(STATISTICS)
    logs = math.fsum(math.log(time) for time in times_ms) / len(times_ms)
    middle, high = nearest_rank(times_ms, 0.5), nearest_rank(times_ms, 0.95)
    return dict(zip(STATISTICS, (math.exp(logs), middle, high), strict=True))


def times_ms(stored: CcafctStored) -> list[float]:
    """Return the completion times of a run's requests, ms."""
    import polars as pl

    frame = stored.series().filter(pl.col("quantity") == "completion_ns")
    values: list[float] = (frame["value"] / 1e6).to_list()
    return values


def entries(
    rows: Sequence[CcafctRow], results: Sequence[Iterable[CcafctStored]]
) -> list[CcafctEntry]:
    """Return the values of these published rows, in the order of the publication. Harm is computed
    for each seed, then averaged."""
    by_row = {
        row: {run.seed: statistics(times_ms(run)) for run in stored}
        for row, stored in zip(rows, results, strict=True)
    }
    known = published()
    out = []
    for row in rows:
        for column in row.columns:
            values = _column(column, by_row[row], by_row.get(row.alone, {}))
            quantity, unit = ("harm", "") if column.endswith("_harm") else ("completion_ms", "ms")
            name = f"{row.name}/{column}"
            cell = TableCell.of(name, quantity, unit, known.get((row, column)), estimate(values))
            kept = tuple(value for value in values if value is not None)
            out.append(CcafctEntry(row, column, cell=cell, values=kept))
    return out


BySeed = Mapping[int, Mapping[str, float | None]]


def _column(column: str, by_seed: BySeed, alone: BySeed) -> list[float | None]:
    statistic, _, what = column.rpartition("_")
    if what == "ms":
        return [by_name[statistic] for by_name in by_seed.values()]
    out: list[float | None] = []
    for seed, by_name in by_seed.items():
        contended, before = by_name[statistic], alone.get(seed, {}).get(statistic)
        both = contended is not None and before is not None
        out.append(harm(before, contended, "less") if both else None)  # type: ignore[arg-type]
    return out
