"""Makes a job for each published row, and computes values from the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from tailback.metrics.harm import harm
from tailback.metrics.statistics import estimate, nearest_rank
from tailback.report import TableCell
from tailback.running.batch import Job
from tailback_studies.experiments.ccafct_2020.layout import STATISTICS, CcafctRow, published
from tailback_studies.experiments.ccafct_2020.spread import interval
from tailback_studies.reproduction.entries import Entry as BaseEntry
from tailback_studies.reproduction.sources import lines, scenario, set_value

# Number of requests of each row in a full and a quick run.
REQUESTS, QUICK_REQUESTS = 900, 300
# A competitor starts `BEFORE` seconds before the first request, and stops `TAIL` seconds after the
# last request. The last requests of a run may take up to `AFTER` seconds.
BEFORE, TAIL, AFTER = 20, 10, 60
# The competitors in the order in which the publication's program runs them.
ORDER = ("", "cubic", "prague")


@dataclass(frozen=True)
class CcafctVariant:
    """Changes to the set-up, for runs that differ from the publication."""

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
    """A published number, which is one column of a published row."""

    row: CcafctRow
    column: str
    spread: tuple[float, float] | None = None
    """The 95 % interval of a harm over blocks of requests."""

    @property
    def is_inside(self) -> bool | None:
        """Whether the published value lies in the interval. None if the value or the interval is
        unknown.
        """
        if self.spread is None or self.cell.published is None:
            return None
        return self.spread[0] <= self.cell.published <= self.spread[1]

    @property
    def is_harm(self) -> bool:
        """Whether the value is harm, which is computed from two rows. Other values are times."""
        return self.column.endswith("_harm")

    @property
    def coordinates(self) -> dict[str, Any]:
        """The row and column of the value."""
        return {
            "rtt_ms": self.row.rtt_ms,
            "competitor": self.row.competitor or None,
            "column": self.column,
            "spread": list(self.spread) if self.spread else None,
        }


def job(
    rtt_ms: int,
    *,
    seeds: int,
    quick: bool = False,
    kernel: bool = False,
    variant: CcafctVariant = AS_PUBLISHED,
) -> Job:
    """Return the job that runs all rows of a round-trip time. The kernel engine leaves out the row
    of Prague, because Linux does not have Prague."""
    competitors = ("cubic",) if kernel else ORDER[1:]
    out = made(rtt_ms, quick=quick, variant=variant, competitors=competitors)
    return Job(out, {}, seeds)


def made(
    rtt_ms: int,
    *,
    quick: bool = False,
    competitors: Sequence[str] = ORDER[1:],
    variant: CcafctVariant = AS_PUBLISHED,
) -> dict[str, Any]:
    """Return the scenario of a round-trip time. The scenario runs the rows of this round-trip time
    one after the other."""
    out = scenario(__package__, "requests")
    count = QUICK_REQUESTS if quick else REQUESTS
    gaps, lengths = requests()
    lasts = math.ceil(sum(gaps[:count]) / 1e9)
    out["path"]["rtt"] = f"{rtt_ms}ms"
    begin, flows, sources = 0, [], []
    for competitor in ORDER:
        if competitor and competitor not in competitors:
            continue
        (source,) = (one for one in out["traffic"] if one["name"] == source_of(competitor))
        start = begin + BEFORE * bool(competitor)
        end = start + lasts + TAIL * bool(competitor)
        source["start"] = f"{start}s"
        source["gaps"] = [f"{gap}ns" for gap in gaps[:count]]
        source["lengths"] = [f"{length}b" for length in lengths[:count]]
        source.update(variant.requests)
        sources.append(source)
        if competitor:
            (flow,) = (one for one in out["flows"] if one["name"] == competitor)
            flow.update(start=f"{begin}s", stop=f"{end}s")
            flows.append(flow)
        begin = end
    duration = start + lasts + AFTER
    out["duration"] = f"{duration}s"
    if flows:
        flows[-1]["stop"] = f"{duration}s"
    out.update(flows=flows, traffic=sources)
    if not flows:
        del out["flows"]
    for path, value in variant.set.items():
        set_value(out, path, value)
    return out


def source_of(competitor: str) -> str:
    """Return the name of the source of a row's requests."""
    return f"beside-{competitor}" if competitor else "alone"


@cache
def requests() -> tuple[list[int], list[int]]:
    """Read the publication's requests. Return the gap before each request (in ns), and the length
    of each response (in bytes).
    """
    gaps = lines(__package__, "scenarios/gaps.txt")
    lengths = lines(__package__, "scenarios/lengths.txt")
    return [int(gap.removesuffix("ns")) for gap in gaps], [int(length) for length in lengths]


# --- values --------------------------------------------------------------------------------------


def statistics(times_ms: Sequence[float]) -> dict[str, float | None]:
    """Return the statistics that the publication uses: the geometric mean, and percentiles by
    nearest rank."""
    if not times_ms:
        return dict.fromkeys(STATISTICS)
    logs = math.fsum(math.log(time) for time in times_ms) / len(times_ms)
    middle, high = nearest_rank(times_ms, 0.5), nearest_rank(times_ms, 0.95)
    return dict(zip(STATISTICS, (math.exp(logs), middle, high), strict=True))


def times_ms(stored: CcafctStored, row: CcafctRow) -> list[float]:
    """Return the completion times (in ms) of a row's requests, in the order of the requests."""
    import polars as pl

    own = pl.col("flow") == source_of(row.competitor)
    frame = stored.series().filter(own & (pl.col("quantity") == "completion_ns"))
    begun = frame["time_ns"] - frame["value"]
    values: list[float] = (frame["value"] / 1e6).gather(begun.arg_sort()).to_list()
    return values


def entries(
    rows: Sequence[CcafctRow], results: Mapping[int, Iterable[CcafctStored]]
) -> list[CcafctEntry]:
    """Return the values of these published rows, in the order of the publication. `results` has the
    runs of each round-trip time. Harm is computed for each seed, and the values are averaged."""
    stored = {rtt: list(runs) for rtt, runs in results.items()}
    by_row = {
        row: {run.seed: times_ms(run, row) for run in stored.get(row.rtt_ms, [])} for row in rows
    }
    known = published()
    out = []
    for row in rows:
        here, alone = by_row[row], by_row.get(row.alone, {})
        for column in row.columns:
            is_harm = column.endswith("_harm")
            values = _column(column, _statistics(here), _statistics(alone))
            quantity, unit = ("harm", "") if is_harm else ("completion_ms", "ms")
            name = f"{row.name}/{column}"
            cell = TableCell.of(name, quantity, unit, known.get((row, column)), estimate(values))
            kept = tuple(value for value in values if value is not None)
            pairs = [(alone[seed], here[seed]) for seed in here if is_harm and seed in alone]
            spread = interval(pairs, column.removesuffix("_harm")) if is_harm else None
            out.append(CcafctEntry(row, column, spread, cell=cell, values=kept))
    return out


BySeed = Mapping[int, Mapping[str, float | None]]


def _statistics(times: Mapping[int, Sequence[float]]) -> BySeed:
    return {seed: statistics(every) for seed, every in times.items()}


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
