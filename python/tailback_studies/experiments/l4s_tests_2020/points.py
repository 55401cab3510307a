"""Makes the scenario of each published experiment, and computes the published quantities from its
runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tailback.metrics.statistics import estimate
from tailback.report import TableCell
from tailback.running.batch import Job
from tailback_studies.experiments.l4s_tests_2020.layout import DEFECTS, L4sRow, published
from tailback_studies.reproduction.entries import Entry as BaseEntry
from tailback_studies.reproduction.sources import scenario, set_value

# Options of congestion controls in the publication's kernel tree. Prague in this tree does not
# scale its increase with the RTT. This version of Prague adds up fractional changes of its window
# until they reach a whole segment.
CCS: Mapping[str, Mapping[str, Any]] = {"prague": {"rtt_scaling": "off", "window": "carry"}}

# The publication's queues. Options that are not listed have tc's defaults.
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "dualpi2": {"aqm": "dualpi2", "min_qlen_step": 2},
    "pfifo(1000)": {"aqm": "fifo", "limit": "1000p"},
    "pfifo(200)": {"aqm": "fifo", "limit": "200p"},
    "fq_codel": {"aqm": "fq_codel"},
    "fq_codel(1q)": {"aqm": "fq_codel", "flows": 1},
    "fq_codel(1q,1ms/20ms)": {
        "aqm": "fq_codel",
        "flows": 1,
        "target": "1ms",
        "interval": "20ms",
    },
    "pie": {"aqm": "pie", "ecn": True},
    "pie(100p/5ms)": {
        "aqm": "pie",
        "limit": "100p",
        "target": "5ms",
        "tupdate": "32ms",
        "alpha": 2,
        "beta": 20,
        "ecn": True,
    },
    **{
        f"red({limit}b)": {
            "aqm": "red",
            "limit": f"{limit}b",
            "avpkt": "1000b",
            "burst": "tc",
            "adaptive": True,
            "bandwidth": "50Mbit",
            "ecn": True,
        }
        for limit in (150_000, 400_000)
    },
}

# For each table, the end of a run and the start of its measured time, both in seconds.
# `--quick` uses the times of S6.
WINDOWS: Mapping[str, tuple[float, float]] = {"s1": (179.0, 60.0), "s6": (59.0, 40.0)}
QUICK_WINDOW = WINDOWS["s6"]


@dataclass(frozen=True)
class L4sVariant:
    """Changes to the set-up of each published row."""

    queue: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of queues, by their `aqm`."""
    ccs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options by congestion control."""
    set: Mapping[str, Any] = field(default_factory=dict)
    """Other values, by path."""


AS_PUBLISHED = L4sVariant()


class L4sStored(Protocol):
    """The parts of a stored run that this experiment reads."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """The run's summary."""


@dataclass(frozen=True)
class L4sEntry(BaseEntry):
    """The published and the measured value of one column in a row of the publication's table."""

    row: L4sRow
    column: str

    def error(self, kind: str) -> float | None:
        """Return the error of the measured value. If `kind` is "capacity", the error of a rate is
        divided by the link's rate."""
        error = super().error(kind)
        if kind == "capacity":
            return None if error is None else error / self.row.rate_mbit
        return error

    @property
    def coordinates(self) -> dict[str, Any]:
        """The table, row and column of the value, and the parameters of the run."""
        first, second = self.row.flows
        return {
            "table": self.row.table,
            "row": self.row.name,
            "column": self.column,
            "rate_mbit": self.row.rate_mbit,
            "queue": self.row.queue,
            "first": first.cc,
            "first_rtt_ms": first.rtt_ms,
            "second": second.cc,
            "second_rtt_ms": second.rtt_ms,
            "second_ecn": not second.bleached,
        }


def job(row: L4sRow, *, seeds: int, quick: bool = False, variant: L4sVariant = AS_PUBLISHED) -> Job:
    """Return the job that runs a published row's scenario."""
    return Job(made(row, quick=quick, variant=variant), {}, seeds)


def made(row: L4sRow, *, quick: bool = False, variant: L4sVariant = AS_PUBLISHED) -> dict[str, Any]:
    """Return the scenario that reproduces a row of the publication."""
    out = scenario(__package__, row.table)
    end, counted = QUICK_WINDOW if quick else WINDOWS[row.table]
    out["duration"], out["warmup"] = f"{end:g}s", f"{end - counted:g}s"
    bottleneck = out["bottleneck"]
    bottleneck["rate"] = f"{row.rate_mbit}Mbit"
    queue = QUEUES[row.queue]
    bottleneck["queue"] = {**queue, **variant.queue.get(queue["aqm"], {})}
    out["path"]["rtt"] = f"{max(flow.rtt_ms for flow in row.flows)}ms"
    for table, flow in zip(out["flows"], row.flows, strict=True):
        table["cc"] = _cc(flow.cc, variant)
        table["ecn"] = not flow.bleached
        if row.table == "s1":
            table["rtt"] = f"{flow.rtt_ms}ms"
    for path, value in variant.set.items():
        set_value(out, path, value)
    return out


def _cc(name: str, variant: L4sVariant = AS_PUBLISHED) -> str | dict[str, Any]:
    options = {**CCS.get(name, {}), **variant.ccs.get(name, {})}
    return {"name": name, **options} if options else name


def stock(row: L4sRow) -> bool:
    """Return whether Linux without Prague can run the published row."""
    return all(flow.cc != "prague" for flow in row.flows)


# --- values --------------------------------------------------------------------------------------

UNITS = {"D1": "Mbit/s", "D2": "Mbit/s", "jain": "", "ratio": ""}
# Quantity of each column.
QUANTITIES = {"D1": "delivery_mbit", "D2": "delivery_mbit", "jain": "jain", "ratio": "ratio"}


def entries(rows: Sequence[L4sRow], results: Sequence[Iterable[L4sStored]]) -> list[L4sEntry]:
    """Return the published and measured values of these published rows, in the order of the
    publication."""
    known = published()
    out = []
    for row, stored in zip(rows, results, strict=True):
        found = [values(row, run.summary) for run in stored]
        for column in row.columns:
            samples = [sample[column] for sample in found]
            name = f"{row.table}/{row.name}/{column}"
            value = known.get((row.table, row.name, column))
            cell = TableCell.of(
                name, QUANTITIES[column], UNITS[column], value, estimate(samples), note=note(row)
            )
            # Only values of S6 are held out, because the publication's text contains values of S1.
            cell = replace(cell, blind=row.table != "s1")
            kept = tuple(sample for sample in samples if sample is not None)
            out.append(L4sEntry(row, column, cell=cell, values=kept))
    return out


def note(row: L4sRow) -> str:
    """Return what is wrong with a row in the publication, or ""."""
    return DEFECTS.get(row, "")


def values(row: L4sRow, summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the value of each column of a published row, computed from one run. A value is None if
    the run did not measure it."""
    rates = [flow["throughput_mbit"] for flow in summary["flows"]]
    first, second = rates
    made = None
    if first is not None and second is not None:
        made = _jain(rates) if row.table == "s1" else (first / second if second else None)
    return dict(zip(row.columns, (first, second, made), strict=True))


def _jain(rates: Sequence[float]) -> float | None:
    squares = sum(rate * rate for rate in rates)
    total = sum(rates)
    return total * total / (len(rates) * squares) if squares else None
