"""Presents a qlog file as results, so that it can be compared with a run on the same path.

A file counts as one run. Throughput counts acknowledged data. If the log lists the frames of
packets, only stream data counts. Otherwise whole packets count. Values that the log does not
contain are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.errors import InputErrors, TailbackError
from tailback.interop import foreign, qlog_file, qlog_pairing
from tailback.interop.qlog_file import Sender, is_named_so
from tailback.interop.qlog_pairing import Partner
from tailback.metrics.statistics import nearest_rank
from tailback.programs import qlog
from tailback.programs.qlog import Samples
from tailback.store.results import Results, Run

if TYPE_CHECKING:
    import polars as pl

ENGINE = "qlog"
"""The engine name of these results."""

METRICS = (
    "flow.throughput_mbit",
    "flow.rtt_ms.mean",
    "flow.rtt_ms.p50",
    "flow.rtt_ms.p99",
    "flow.srtt_ms_mean",
    "flow.drops",
    "flow.marks",
)
"""The metrics that are compared by default. Losses that a sender declares are compared with
drops."""


@dataclass(frozen=True)
class QlogRun(foreign.ForeignRun):
    sender: Sender
    warmup_s: float
    """The time to leave out at the start, in seconds. This time equals the warm-up of the compared
    runs."""
    unit_ms: float
    """The unit of the RTTs in the file, in ms."""
    partner: Partner | None
    """The sender of the compared run. The comparison treats the log as a log of this sender."""

    @property
    def _since_ms(self) -> float:
        return self.sender.first_ms + 1e3 * self.warmup_s

    def _after(self, samples: Samples) -> list[float]:
        return [value for at, value in samples if at >= self._since_ms]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The fields of a run's summary that can be computed from the file."""
        span = (self.sender.last_ms - self._since_ms) / 1e3
        return {
            "params": self.params,
            "seed": self.seed,
            "run_id": self.run_id,
            "duration_s": self.warmup_s + max(span, 0.0),
            "warmup_s": self.warmup_s,
            "flows": [] if self._is_program else [self._flow(span)],
            "programs": [self._flow(span)] if self._is_program else [],
            "queues": {},
            "traffic": [],
            "jain": None,
        }

    @property
    def _is_program(self) -> bool:
        return self.partner is not None and self.partner.kind == "program"

    @property
    def _name(self) -> str:
        own = self.sender.title or self.sender.path.stem
        return own if self.partner is None else self.partner.name

    def _flow(self, span: float) -> dict[str, Any]:
        sender = self.sender
        latest = [self.unit_ms * rtt for rtt in self._after(sender.trace.latest_rtt)]
        smoothed = [self.unit_ms * rtt for rtt in self._after(sender.trace.smoothed_rtt)]
        acked = None if sender.acked is None else sum(self._after(sender.acked))
        marks = None if sender.marked is None else self._after(sender.marked)
        lost = None if sender.lost is None else [t for t in sender.lost if t >= self._since_ms]
        return {
            "name": self._name,
            "throughput_mbit": acked * 8e-6 / span if acked is not None and span > 0 else None,
            "rtt_ms": {
                "mean": sum(latest) / len(latest) if latest else None,
                "p50": nearest_rank(latest, 0.5),
                "p99": nearest_rank(latest, 0.99),
                "max": max(latest, default=None),
            },
            "srtt_ms_mean": sum(smoothed) / len(smoothed) if smoothed else None,
            "drops": None if lost is None else len(lost),
            "marks": marks[-1] - marks[0] if marks else None,
        }

    def series(self) -> pl.DataFrame:
        """Return the samples: time_ns, flow, link, quantity, value. The quantity `cwnd_bytes` is
        the congestion window.
        """
        trace, name = self.sender.trace, self._name
        columns = (
            ("cwnd_bytes", trace.cwnd, 1.0),
            ("srtt_ns", trace.smoothed_rtt, 1e6 * self.unit_ms),
        )
        rows = [
            (round((at - self.sender.first_ms) * 1e6), name, None, quantity, value * factor)
            for quantity, samples, factor in columns
            for at, value in samples
        ]
        return foreign.series(rows)


@dataclass(frozen=True)
class QlogSource:
    """The results of one qlog file."""

    sender: Sender

    def results(
        self,
        root: Path,
        params: dict[str, float | str],
        labels: dict[str, str],
        warmup_s: float,
        compared: Run | None,
    ) -> Results:
        """Return the results with the file as their only run. `compared` is a run with which the
        file will be compared.

        Raises `InputError` if no sender of that run clearly corresponds to the log.
        """
        sender = self.sender
        partner = None if compared is None else qlog_pairing.partner(sender, compared)
        unit = qlog.rtt_unit_ms(sender.trace, partner.base_ms if partner else 0.0)
        name = sender.path.name
        run = QlogRun(params, labels, 0, name, sender.path, sender, warmup_s, unit, partner)
        return Results(
            id=f"{sender.path.stem}-{sender.sha256[:8]}",
            title=sender.path.stem,
            engine=ENGINE,
            version="qlog",
            axes=[],
            points=[run],
            root=root,
        )


def is_source(path: Path) -> bool:
    """Return whether a path is a qlog file."""
    return is_named_so(path)


def read_sources(paths: Sequence[Path]) -> list[QlogSource]:
    """Read files, and report all errors together."""
    read, problems = [], []
    for path in paths:
        try:
            read.append(QlogSource(qlog_file.read(path)))
        except TailbackError as error:
            problems.append(str(error))
    if problems:
        raise InputErrors(*problems)
    return read
