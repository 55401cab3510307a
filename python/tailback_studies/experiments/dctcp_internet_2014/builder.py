"""Provides the measurements to the sections, and collects the values and claims that the sections
check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from tailback.figures.theme import Chart
from tailback.report import Facts, Mark, ReportFigure, Section, TableCell
from tailback.report.tables import mark
from tailback_studies.experiments.dctcp_internet_2014 import points as pts
from tailback_studies.experiments.dctcp_internet_2014 import table1
from tailback_studies.experiments.dctcp_internet_2014.words import seconds

# Deviations from the paper's set-up in every figure.
DEVIATIONS = (
    "a packet-level simulator with Linux's TCP algorithms instead of Linux 3.2.18 in virtual "
    "machines",
    "SACK, RACK and PRR as in today's Linux; 3.2 reduced the window by rate halving",
)
# Deviations of the kernel engine from the paper's set-up.
LINUX_DEVIATIONS = (
    "Linux of today with modules of tailback's own (`sch_wred`, `tcp_dctcp_2014`, "
    "`tcp_reno_acks`) instead of Linux 3.2.18",
    "SACK, RACK and PRR as in today's Linux; 3.2 reduced the window by rate halving",
    "frames of 1500 B with Ethernet among them: 1434 B of payload, not 1448 B",
)
RATIO = "throughput Reno / DCTCP"
UTILISATION = "utilisation"
OCCUPANCY = "mean queue in BDP"


@dataclass
class DctcpMeasures:
    """The measurements that one call of the experiment makes."""

    # The data frame of each batch, with a row for each run (`points.table`).
    frames: dict[str, pl.DataFrame]
    # Recorded series (time_s, flow, quantity, value), by batch. Each data frame is from one run of
    # a sweep point.
    series: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    engine: str = "sim"
    version: str = ""
    quick: bool = False
    # The data frames of the simulator, if `frames` are from the kernel engine.
    simulated: dict[str, pl.DataFrame] = field(default_factory=dict)
    # Batches that the engine cannot run, with reasons.
    refused: Mapping[str, str] = field(default_factory=dict)
    # Duration and warm-up of each batch.
    lengths: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class Builder:
    """Provides the measurements to the sections, and collects values and claims."""

    def __init__(self, measured: DctcpMeasures) -> None:
        self.measured = measured
        self.cells: list[TableCell] = []
        self.claims: list[tuple[str, str, str, Mark]] = []
        self.published = table1.published()
        self._shares: dict[str, pts.EqualShare | None] = {}

    def facts(
        self, *batches: str, options: Sequence[str] = (), deviations: Sequence[str] = ()
    ) -> Facts:
        """Return facts about the runs of these batches."""
        known = [b for b in batches if b in self.measured.frames]
        frames = [self.measured.frames[b] for b in known]
        lengths = list(dict.fromkeys(self.measured.lengths.get(b, ("", "")) for b in known))
        return Facts(
            runs=sum(f.height for f in frames),
            seeds=max((f["seed"].n_unique() for f in frames), default=0),
            duration=", ".join(dict.fromkeys(seconds(d) for d, _ in lengths if d)) + " simulated",
            warmup=", ".join(dict.fromkeys(seconds(w) for _, w in lengths if w)),
            engine=f"{self.measured.engine} {self.measured.version}".strip(),
            options=tuple(options),
            deviations=(*self._deviations, *deviations),
        )

    @property
    def _deviations(self) -> Sequence[str]:
        return DEVIATIONS if self.measured.engine == "sim" else LINUX_DEVIATIONS

    def by_part(self) -> dict[str, Facts]:
        """Return facts about the batches of each group."""
        groups: dict[str, list[str]] = {}
        for name in self.measured.frames:
            groups.setdefault(name.partition("/")[0].partition("-m")[0], []).append(name)
        return {group: self.facts(*names) for group, names in groups.items()}

    def share(self, tag: str, m: float) -> pts.EqualShare | None:
        """Return the K/M at which both flows have equal rates, for one row of Table I."""
        if tag not in self._shares:
            frame = self.measured.frames.get(f"step-{tag}")
            self._shares[tag] = None if frame is None else table1.share(frame, m)
        return self._shares[tag]

    def claim(self, says: str, found: str, criterion: str, holds: bool) -> None:
        """Record a claim of the paper, with the measurement, the criterion, and the result."""
        self.claims.append((says, found, criterion, mark(holds, no="does not hold")))


def drawn(part: str, heading: str, title: str, chart: Chart, caption: str, facts: Facts) -> Section:
    """Return a section with a single figure."""
    return Section(part, heading, [ReportFigure(part, title, chart, caption, facts)])
