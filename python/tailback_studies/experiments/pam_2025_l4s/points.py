"""Makes the scenario of each published experiment, and computes the published quantities from its
runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tailback.metrics.statistics import estimate
from tailback.report import TableCell
from tailback.running.batch import Job
from tailback_studies.experiments.pam_2025_l4s.layout import (
    COLUMNS,
    RATE_MBIT,
    RATES,
    THRESHOLDS_MS,
    PamRow,
    published,
)
from tailback_studies.reproduction.entries import Entry as BaseEntry
from tailback_studies.reproduction.sources import scenario

# Options of competitors that respond to ECN marks.
RESPONDING: Mapping[str, Any] = {"ecn_response": True}


class PamStored(Protocol):
    """The parts of a stored run that this experiment reads."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """The run's summary."""


@dataclass(frozen=True)
class PamEntry(BaseEntry):
    """The published and the measured value of one column in a row of the publication's table."""

    row: PamRow
    column: str

    @property
    def is_rate(self) -> bool:
        """Whether the value is a rate rather than a round-trip time."""
        return self.column in RATES

    def error(self, kind: str) -> float | None:
        """Return the error of the measured value. If `kind` is "capacity", the error of a rate is
        divided by the link's rate."""
        error = super().error(kind)
        if kind == "capacity":
            return None if error is None else error / RATE_MBIT
        return error

    @property
    def coordinates(self) -> dict[str, Any]:
        """The publication's names of the row and column."""
        return {
            "rtt_ms": self.row.rtt_ms,
            "aqm": self.row.aqm,
            "buffer_bdp": self.row.buffer_bdp,
            "classic_cc": self.row.classic,
            "ecn_mode": self.row.ecn,
            "n_l4s": self.row.n_prague,
            "n_classic": self.row.n_classic,
            "column": self.column,
        }


def queue(row: PamRow) -> dict[str, Any]:
    """Return the queue of a published row. Options that are not set have tc's defaults."""
    target = f"{THRESHOLDS_MS[row.rtt_ms]}ms"
    limit = f"{row.buffer_packets}p"
    codel = {"limit": limit, "target": target, "interval": "100ms"}
    # The authors' kernels are older than 6.7, which added the fast path of fq.
    fq = {"aqm": "fq", "limit": limit, "flow_limit": limit, "fast_path": False}
    queues: dict[str, dict[str, Any]] = {
        "FIFO": {"aqm": "fifo", "limit": f"{row.buffer_bytes}b"},
        "single_queue_FQ": {**fq, "orphan_mask": 0, "ce_threshold": target},
        "pie_drop": {"aqm": "pie", "limit": limit, "target": target, "ecn": False},
        "Codel_drop": {"aqm": "codel", **codel, "ecn": False},
        "Codel": {"aqm": "codel", **codel, "ecn": True},
        "FQ": {**fq, "ce_threshold": target},
        "FQ_Codel": {"aqm": "fq_codel", **codel, "ecn": True},
        "FQ_Codel_L4S": {
            "aqm": "fq_codel",
            **codel,
            "ecn": True,
            "ce_threshold": "1ms",
            "ce_threshold_selector": "0x01/0x01",
        },
        "DualPI2": {"aqm": "dualpi2", "target": target},
    }
    return queues[row.aqm]


def made(row: PamRow) -> dict[str, Any]:
    """Return the scenario that reproduces a row of the publication."""
    out = scenario(__package__, "shared")
    out["bottleneck"]["queue"] = queue(row)
    out["path"]["rtt"] = f"{row.rtt_ms}ms"
    prague, classic = out["flows"]
    prague["count"], classic["count"] = row.n_prague, row.n_classic
    responds = row.ecn == "ecnlow"
    classic["cc"] = {"name": row.classic, **RESPONDING} if responds else row.classic
    classic["ecn"] = row.ecn != "noecn"
    return out


def job(row: PamRow, *, seeds: int) -> Job:
    """Return the job that runs a published row's scenario."""
    return Job(made(row), {}, seeds)


# --- values --------------------------------------------------------------------------------------


def values(row: PamRow, summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the columns of a published row, computed from one run.

    The columns are the rates of both sides (Prague and its competitor), and the mean smoothed RTT
    of the first flow of each side. A value is None if the run did not measure it.
    """
    flows = summary["flows"]
    sides = (flows[: row.n_prague], flows[row.n_prague :])
    rates = [_total([flow["throughput_mbit"] for flow in side]) for side in sides]
    return dict(zip(COLUMNS, (*rates, *(side[0]["srtt_ms_mean"] for side in sides)), strict=True))


def _total(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None


def entries(rows: Sequence[PamRow], results: Sequence[Iterable[PamStored]]) -> list[PamEntry]:
    """Return the published and measured values of these published rows, in the order of the
    publication."""
    known = published()
    out = []
    for row, stored in zip(rows, results, strict=True):
        found = [values(row, run.summary) for run in stored]
        for column in COLUMNS:
            samples = [sample[column] for sample in found]
            quantity, unit = ("rate_mbit", "Mbit/s") if column in RATES else ("srtt_ms", "ms")
            cell = known.get((row, column))
            mean = cell.mean if cell else None
            name = f"{row.name}/{column}"
            shown = TableCell.of(name, quantity, unit, mean, estimate(samples))
            kept = tuple(sample for sample in samples if sample is not None)
            out.append(PamEntry(row, column, cell=shown, values=kept))
    return out
