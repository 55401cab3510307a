"""Makes the scenario of each published experiment, and computes the published quantities from its
runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from tailback.metrics.statistics import estimate
from tailback.report import TableCell
from tailback.running.batch import Job
from tailback_studies.experiments.dualpi2_2022.layout import (
    MIXED,
    OVERLOAD,
    QUANTITIES,
    RATIOS,
    STATISTICS,
    DualPi2Case,
    Run,
    published,
)
from tailback_studies.experiments.dualpi2_2022.recorder import recorded
from tailback_studies.reproduction.entries import Entry as BaseEntry
from tailback_studies.reproduction.sources import scenario, set_value

# Length of the measured time (in seconds) in a full run and in a quick run.
SECONDS = 250.0
QUICK_SECONDS = 50.0
# Time from the start of the flows to the start of the published measurement, in seconds. At an RTT
# of 100 ms, every published sample of a Prague flow without competitors shows a full link. The
# flow's window grows by one segment per RTT, so the flow needs 33 s to fill the link.
BEFORE = 40.0
# Bytes of frame and payload of iperf's UDP packets.
UDP_FRAME, UDP_PAYLOAD = 1512, 1470
# Queues of the archives other than DualPI2, as `tc qdisc` printed them. Missing options have tc's
# default.
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "pie": {"aqm": "pie", "limit": "40000p", "target": "15ms", "tupdate": "16ms", "ecn": True},
    "fq_codel": {
        "aqm": "fq_codel",
        "limit": "40000p",
        "target": "5ms",
        "interval": "100ms",
        "ecn": True,
    },
}
# Queues with which unpatched Linux can run the experiments. DualPI2 is not in this list, because
# its L class needs Prague.
STOCK = ("pie", "fq_codel")

_PERCENT = 100.0
_BYTES_PER_MBIT = 125_000.0


@dataclass(frozen=True)
class DualPi2Variant:
    """Changes to the scenario files and to the evaluation of runs."""

    # Options of the queue, by the queue's name.
    queue: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Options by congestion control.
    ccs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Other keys of flows, by congestion control.
    flows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Other values by path, e.g. "bottleneck.link".
    set: Mapping[str, Any] = field(default_factory=dict)
    # Bytes of a UDP frame per byte of payload. This factor converts UDP rates, which count
    # payload, to rates of frames.
    udp_overhead: float = UDP_FRAME / UDP_PAYLOAD
    # The time (in seconds) by which flows of the classic class start later than other flows.
    later: float = 0.0
    # Which TCP flows send in overload: "counted" is `Run.active`, "general" is
    # `Run.active_by_class`, and "all" is all five flows.
    active: Literal["counted", "general", "all"] = "counted"
    # Time (in ms) that is added to every base round-trip time.
    longer: float = 0.0
    # Whether `any_ect` of DualPI2 is set for the runs for which the publication states it.
    any_ect: bool = True
    # Whether to round queue delays as the publication's recorder did.
    recorder: bool = True
    # Time from the start of the flows to the start of the published measurement, in seconds.
    before: float = BEFORE


AS_PUBLISHED = DualPi2Variant()


class DualPi2Stored(Protocol):
    """The parts of a stored run that this experiment reads."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """The run's summary."""

    def series(self) -> Any:
        """Return the run's series."""

    def histogram(self, quantity: str) -> Any:
        """Return a histogram of the run."""


@dataclass(frozen=True)
class DualPi2Entry(BaseEntry):
    """The published and the measured value of one column in a row of the publication's table."""

    case: DualPi2Case
    column: str

    @property
    def run(self) -> Run:
        return self.case.run

    @property
    def quantity(self) -> str:
        """The column's name without the suffix for the statistic, such as `_mean`."""
        return self.column if self.column in RATIOS else self.column.rpartition("_")[0]

    @property
    def coordinates(self) -> dict[str, Any]:
        """The archive, row and column of the published value, and the parameters of its run."""
        ecn, nonecn = self.run.udp
        return {
            "archive": self.run.archive.name,
            "run": self.run.archive.run,
            "case": self.case.name,
            "column": self.column,
            "aqm": self.run.archive.aqm,
            "rtt_ecn_ms": self.run.rtt_ecn,
            "rtt_nonecn_ms": self.run.rtt_nonecn or None,
            "flows": self.run.flows,
            "udp_ecn_mbit": ecn,
            "udp_nonecn_mbit": nonecn,
        }


def job(
    run: Run, *, seeds: int, seconds: float = SECONDS, variant: DualPi2Variant = AS_PUBLISHED
) -> Job:
    """Return the job that runs the scenario that `made` returns."""
    return Job(made(run, seconds, variant), {}, seeds)


def left_out(run: Run) -> float:
    """Return the start-up time (in s) that the publication does not measure.

    This time is 4 s plus 40 times the larger round-trip time of the two flows.
    """
    return 4 + 40 * max(run.rtt_ecn, run.rtt_nonecn) / 1000


def made(run: Run, seconds: float, variant: DualPi2Variant) -> dict[str, Any]:
    """Return the scenario that reproduces a run of the publication."""
    archive = run.archive
    out = scenario(__package__, archive.kind)
    warmup = variant.before + left_out(run)
    out["warmup"] = f"{warmup:g}s"
    out["duration"] = f"{warmup + seconds:g}s"
    queue = dict(QUEUES.get(archive.aqm, out["bottleneck"]["queue"]))
    if archive.any_ect and variant.any_ect:
        queue["any_ect"] = True
    out["bottleneck"]["queue"] = {**queue, **variant.queue.get(archive.aqm, {})}
    for flow, cc in zip(out["flows"], archive.ccs, strict=True):
        options = variant.ccs.get(cc, {})
        flow["cc"] = {"name": cc, **options} if options else cc
        flow.update(variant.flows.get(cc, {}))
    if variant.later:
        out["flows"][1]["start"] = f"{variant.later:g}s"
    if archive.kind == MIXED:
        out["path"]["rtt"] = f"{max(run.rtt_ecn, run.rtt_nonecn)}ms"
        out["flows"][0]["rtt"] = f"{run.rtt_ecn + variant.longer:g}ms"
        out["flows"][1]["rtt"] = f"{run.rtt_nonecn + variant.longer:g}ms"
        if not run.rtt_nonecn:
            del out["flows"][1]
    else:
        counts = {"counted": run.active, "general": run.active_by_class, "all": (run.flows,) * 2}
        for flow, count in zip(out["flows"], counts[variant.active], strict=True):
            flow["count"] = count
            flow["rtt"] = f"{run.rtt_ecn + variant.longer:g}ms"
        _udp(out["traffic"][0], run, variant)
    for path, value in variant.set.items():
        set_value(out, path, value)
    return out


def _udp(source: dict[str, Any], run: Run, variant: DualPi2Variant) -> None:
    ecn, nonecn = run.udp
    source["rate"] = f"{round((ecn + nonecn) * 1e6 * variant.udp_overhead)}bit"
    source["class"] = "L-udp" if ecn else "C-udp"
    source["ecn"] = "ect1" if ecn else "not-ect"


def stock(run: Run) -> bool:
    """Return whether unpatched Linux, which does not have Prague, can execute this run instead of
    the authors' kernel.
    """
    return run.archive.aqm in STOCK


# --- values --------------------------------------------------------------------------------------


def entries(
    runs: Sequence[Run],
    results: Sequence[Iterable[DualPi2Stored]],
    variant: DualPi2Variant = AS_PUBLISHED,
) -> list[DualPi2Entry]:
    """Return the published and measured values of these runs, in the order of the publication."""
    known = published()
    out = []
    for run, stored in zip(runs, results, strict=True):
        each = list(stored)
        for case in run.cases:
            rows = [values(case, result, recorder=variant.recorder) for result in each]
            for column in case.columns:
                samples = [row[column] for row in rows]
                value = estimate(samples)
                key = (run.archive.name, case.name, column)
                cell = TableCell.of("/".join(key), column, unit(column), known.get(key), value)
                # Rows without published values in this package are held out. Held-out rows were not
                # used to choose the set-up.
                cell = replace(cell, blind=key not in known)
                kept = tuple(result for result in samples if result is not None)
                out.append(DualPi2Entry(case, column, cell=cell, values=kept))
    return out


def unit(column: str) -> str:
    return "" if column in RATIOS else QUANTITIES[column.rpartition("_")[0]]


def values(
    case: DualPi2Case, stored: DualPi2Stored, *, recorder: bool = True
) -> dict[str, float | None]:
    """Return the value of each column of a published row, computed from one run. A value is None if
    the run did not measure it."""
    classes = {entry["name"]: entry for entry in stored.summary["classes"]}
    out: dict[str, float | None] = {}
    for side, name in zip(("ecn", "nonecn"), case.classes, strict=True):
        if name is None:
            continue
        entry = classes[name]
        rtt = case.run.rtt_ecn if side == "ecn" else case.run.rtt_nonecn
        rate = _rate(case, entry, stored)
        delay = entry["delay_ms"]
        if recorder:
            delay = recorded(stored.histogram(f"delay_ns.{name}"))
        for quantity, found in _of_class(entry, rtt, rate, delay).items():
            for statistic in STATISTICS:
                out[f"{quantity}_{side}_{statistic}"] = found.get(statistic)
    for statistic, value in _utilisation(case, stored).items():
        out[f"util_{statistic}"] = value
    if None not in case.classes:
        out["rate_ratio"] = _ratio(out["rpf_ecn_mean"], out["rpf_nonecn_mean"])
        out["window_ratio"] = _ratio(out["win_ecn_mean"], out["win_nonecn_mean"])
    return out


def _of_class(
    entry: Mapping[str, Any],
    rtt: float,
    rate: Mapping[str, float | None],
    delay: Mapping[str, float | None],
) -> dict[str, Mapping[str, float | None]]:
    """Return the statistics of a traffic class, by quantity, in the publication's units."""
    samples = entry["samples"]
    # The window of a flow is its rate times its RTT. For all samples, compute the RTT from the
    # run's mean queue delay, and not from the queue delay of each second.
    seconds = None if delay["mean"] is None else (delay["mean"] + rtt) / 1000
    return {
        "qs": delay,
        "rpf": rate,
        "win": {} if seconds is None else _scaled(rate, seconds),
        "marks": _scaled(samples["mark_share"], _PERCENT),
        "drops": _scaled(samples["drop_share"], _PERCENT),
    }


def _rate(
    case: DualPi2Case, entry: Mapping[str, Any], stored: DualPi2Stored
) -> dict[str, float | None]:
    """Return statistics of the rate (in byte/s) per flow and second. Idle flows count as 0."""
    samples = entry["samples"]
    if case.whose == "udp":
        # Use the class's link utilisation, because flow rates exist only for TCP.
        return _scaled(samples["utilisation"], _capacity() / 8)
    idle = case.run.flows - entry["flows"]
    if not idle:
        return _scaled(samples["rate_mbit"], _BYTES_PER_MBIT)
    found = _rates(entry, stored)
    zeros = [0.0] * (len(found) // entry["flows"] * idle)
    return _scaled(statistics([*found, *zeros]), _BYTES_PER_MBIT)


def _rates(entry: Mapping[str, Any], stored: DualPi2Stored) -> list[float]:
    """Return the samples of the rate (in Mbit/s) of every flow in a class, one per second."""
    import polars as pl

    names = pl.col("flow").str.replace(r"/\d+$", "")
    frame = stored.series().filter(pl.col("quantity") == "rate_mbit", names == entry["name"])
    values: list[float] = frame["value"].to_list()
    return values


def _capacity() -> float:
    """Return the link's rate (in bit/s) in overload runs."""
    text: str = scenario(__package__, OVERLOAD)["bottleneck"]["rate"]
    return float(text.removesuffix("Mbit")) * 1e6


def _scaled(stat: Mapping[str, float | None] | None, factor: float) -> dict[str, float | None]:
    if stat is None:
        return {}
    return {
        name: None if (value := stat.get(name)) is None else value * factor for name in STATISTICS
    }


def _ratio(first: float | None, second: float | None) -> float | None:
    return None if first is None or not second else first / second


def _utilisation(case: DualPi2Case, stored: DualPi2Stored) -> dict[str, float | None]:
    """Return statistics of the link's utilisation (in %) by all classes of the published row.

    The utilisation is computed for each second.
    """
    names = [name for name in case.classes if name is not None]
    if len(names) == len(stored.summary["classes"]):
        (queue,) = stored.summary["queues"].values()
        return _scaled(queue["samples"]["utilisation"], _PERCENT)
    if len(names) == 1:
        (entry,) = (e for e in stored.summary["classes"] if e["name"] == names[0])
        return _scaled(entry["samples"]["utilisation"], _PERCENT)
    return statistics([_PERCENT * value for value in _together(names, stored)])


def _together(names: Sequence[str], stored: DualPi2Stored) -> list[float]:
    """Return the total utilisation by these classes, for each second."""
    import polars as pl

    wanted = [f"class.{name}.utilisation" for name in names]
    frame = stored.series().filter(pl.col("quantity").is_in(wanted))
    sums: list[float] = frame.group_by("time_ns").agg(pl.col("value").sum())["value"].to_list()
    return sums


def statistics(samples: Sequence[float]) -> dict[str, float | None]:
    """Return the publication's statistics: mean, percentiles by nearest rank, and sample standard
    deviation."""
    n = len(samples)
    if not n:
        return dict.fromkeys(STATISTICS)
    mean = math.fsum(samples) / n
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in samples) / (n - 1)) if n > 1 else None
    ranked = sorted(samples)
    out: dict[str, float | None] = {"mean": mean}
    for percent in (1, 25, 75, 99):
        out[f"p{percent}"] = ranked[math.ceil(percent * n / 100) - 1]
    return {**out, "stddev": deviation}
