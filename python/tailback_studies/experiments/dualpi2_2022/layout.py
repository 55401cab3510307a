"""Defines the result files of the publication: their names, their rows and columns, and the
published values.

An archive contains the runs of one pair of congestion controls on one queue. A case is a run of the
archive. An overload run counts as two cases: one for its TCP flows, and one for its UDP flow. The
suffix `_ecn` marks the class of the flows with ECN (L on DualPI2). The suffix `_nonecn` marks the
class of other flows (C).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tailback_studies.reproduction.sources import published_rows

MIXED, OVERLOAD = "mixed-rtt", "overload"


@dataclass(frozen=True)
class Archive:
    """A published archive of runs with one pair of congestion controls on one queue."""

    # The name of the archive in the publication.
    name: str
    # The folder inside the archive.
    run: str
    # The kind of runs: MIXED or OVERLOAD.
    kind: str
    # The queue: dualpi2, pie or fq_codel.
    aqm: str
    # Congestion controls of the flow with ECN and of the flow without ECN.
    ccs: tuple[str, str]

    @property
    def part(self) -> str:
        """The name of the part that runs this archive, for the command line."""
        if self.kind == OVERLOAD:
            return self.name.replace("_res_", "-")
        return self.name.removesuffix("_res_mr")

    @property
    def any_ect(self) -> bool:
        """Whether DualPI2's option `any_ect` is set. The publication states the option for all runs
        except overload runs of Prague and CUBIC."""
        return self.aqm == "dualpi2" and (self.kind == MIXED or self.ccs[1] == "reno")

    @property
    def title(self) -> str:
        """The archive's congestion controls and queue as text."""
        first, second = (WORDS[cc] for cc in self.ccs)
        ecn = "" if self.ccs[0] == "prague" else "ECN-"
        return f"{ecn}{first} and {second} on {WORDS[self.aqm]}"


WORDS = {
    "prague": "Prague",
    "cubic": "CUBIC",
    "reno": "Reno",
    "dualpi2": "DualPI2",
    "pie": "PIE",
    "fq_codel": "FQ-CoDel",
}


def _mixed(name: str, aqm: str, target: int, ccs: tuple[str, str]) -> Archive:
    return Archive(f"{name}_res_mr", f"mr2_{name}_100msecn{target}ms_40_0", MIXED, aqm, ccs)


def _overload(name: str, ccs: tuple[str, str]) -> Archive:
    return Archive(
        f"{name}_res_overload", f"o_{name}_100msecn20ms_100_10", OVERLOAD, "dualpi2", ccs
    )


# The archives of mixed round-trip times and of overload, as the publication's repository lists
# them. The data of this package does not include the results of the archives with Reno. On PIE and
# FQ-CoDel, the flow with ECN beside Reno is CUBIC (see the open questions).
ARCHIVES: tuple[Archive, ...] = (
    _mixed("pcdualpi2", "dualpi2", 20, ("prague", "cubic")),
    _mixed("ecpie", "pie", 15, ("cubic", "cubic")),
    _mixed("ecfqcodel", "fq_codel", 20, ("cubic", "cubic")),
    _mixed("prdualpi2", "dualpi2", 20, ("prague", "reno")),
    _mixed("erpie", "pie", 15, ("cubic", "reno")),
    _mixed("erfqcodel", "fq_codel", 20, ("cubic", "reno")),
    _overload("pcdualpi2", ("prague", "cubic")),
    _overload("prdualpi2", ("prague", "reno")),
)

# Round-trip times (in ms) of the flow with ECN and of the flow without ECN. An RTT of 0 means that
# the run does not have this flow.
RTTS_ECN = (5, 100)
RTTS_NONECN = (0, 5, 10, 20, 50, 100)
# UDP payload rates (in Mbit/s) in overload runs, and the number of TCP flows in each class (`s5`
# in the names of runs).
UDP_MBIT = (50, 70, 100, 140, 200)
TCP_FLOWS = 5
# Base round-trip time (in ms) in overload runs.
OVERLOAD_RTT = 10
# Numbers of flows that send packets in L and in C. There are five flows in each class. The key is
# the class of the UDP flow. The published percentiles of the rate per flow show how many flows
# send. If the 1st percentile is 0 and the 25th percentile is not, one of five flows is idle. With
# UDP in C, the flows in L have a 25th percentile of 0 and a 75th percentile of 5/3 of the mean, so
# three of the five flows send.
ACTIVE: Mapping[str, tuple[int, int]] = {"L": (4, 4), "C": (3, 4)}
# Exceptions to `ACTIVE` with Prague and CUBIC, derived from the published window statistics. The
# key consists of the rates (in Mbit/s) of UDP in L and in C.
ACTIVE_IN: Mapping[tuple[int, int], tuple[int, int]] = {(140, 0): (3, 4)}


@dataclass(frozen=True)
class Run:
    """A run of the publication. An overload run has two rows in the tables: one for its TCP flows,
    and one for its UDP flow."""

    archive: Archive
    # Round-trip times in ms. An RTT of 0 means that the run does not have this flow.
    rtt_ecn: int
    rtt_nonecn: int
    # Number of TCP flows in each class.
    flows: int = 1
    # UDP payload rate (in Mbit/s) in the class with ECN and in the class without ECN.
    udp: tuple[int, int] = (0, 0)

    @property
    def active_by_class(self) -> tuple[int, int]:
        """Number of TCP flows that were not idle, in the class with ECN and in the class without
        ECN. In an overload run, these numbers depend on the class of the UDP flow."""
        if self.archive.kind == MIXED:
            return self.flows, self.flows
        return ACTIVE["L" if self.udp[0] else "C"]

    @property
    def active(self) -> tuple[int, int]:
        """Number of TCP flows that were not idle, in the class with ECN and in the class without
        ECN. For the runs in `ACTIVE_IN`, these numbers differ from `active_by_class`."""
        counted = ACTIVE_IN.get(self.udp) if self.archive.ccs[1] == "cubic" else None
        return counted or self.active_by_class

    @property
    def stem(self) -> str:
        """The name of the run in the publication's files."""
        if self.archive.kind == OVERLOAD:
            ecn, nonecn = self.udp
            return f"mix_1000d_u{ecn}s{self.flows}_r_u{nonecn}s{self.flows}"
        other = f"5{self.rtt_nonecn:03d}" if self.rtt_nonecn else "0"
        return f"mix_1000_d5{self.rtt_ecn:03d}_r{other}"

    @property
    def title(self) -> str:
        """A short label for axes: the round-trip times, or the UDP rate."""
        if self.archive.kind == OVERLOAD:
            where = "L" if self.udp[0] else "C"
            return f"{where} {sum(self.udp)}"
        return f"{self.rtt_ecn}/{self.rtt_nonecn or 'none'}"

    @property
    def words(self) -> str:
        """The label of `title` with units."""
        if self.archive.kind == OVERLOAD:
            where = "L" if self.udp[0] else "C"
            return f"{sum(self.udp)} Mbit/s of UDP in {where}"
        return f"{self.title} ms"

    @property
    def cases(self) -> tuple[DualPi2Case, ...]:
        """The rows of the publication's tables that report this run."""
        if self.archive.kind == OVERLOAD:
            return DualPi2Case(self, "tcp"), DualPi2Case(self, "udp")
        return (DualPi2Case(self, ""),)


@dataclass(frozen=True)
class DualPi2Case:
    """A row of the publication's tables.

    The row reports the TCP flows or the UDP flow of an overload run, or all flows of a run without
    UDP.
    """

    run: Run
    # The flows whose statistics the row has: "tcp" or "udp" in overload, otherwise "".
    whose: str

    @property
    def name(self) -> str:
        """The name of the row in the publication's files."""
        return f"{self.run.stem}_{self.whose}" if self.whose else self.run.stem

    @property
    def classes(self) -> tuple[str | None, str | None]:
        """Names of our traffic classes for the columns `_ecn` and `_nonecn`. A name is None if the
        class has no flow.
        """
        run = self.run
        if self.whose == "udp":
            ecn, nonecn = run.udp
            return ("L-udp" if ecn else None, "C-udp" if nonecn else None)
        return "L", "C" if run.rtt_nonecn else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have a value in this published row."""
        ecn, nonecn = self.classes
        both = ecn is not None and nonecn is not None
        out = []
        for column in COLUMNS:
            stem = column.rpartition("_")[0]
            if column in RATIOS:
                held = both
            elif stem.endswith("_nonecn"):
                held = nonecn is not None
            elif stem.endswith("_ecn"):
                held = ecn is not None
            else:
                held = True
            if held:
                out.append(column)
        return tuple(out)


RATIOS = ("rate_ratio", "window_ratio")
# Suffixes of the columns of a quantity.
STATISTICS = ("mean", "p1", "p25", "p75", "p99", "stddev")
# Quantities and their units, in the publication's order of columns.
QUANTITIES: Mapping[str, str] = {
    "qs_ecn": "ms",
    "qs_nonecn": "ms",
    "rpf_ecn": "byte/s",
    "rpf_nonecn": "byte/s",
    "util": "%",
    "marks_ecn": "%",
    "drops_ecn": "%",
    "drops_nonecn": "%",
    "marks_nonecn": "%",
    "win_ecn": "byte",
    "win_nonecn": "byte",
}
COLUMNS: tuple[str, ...] = (
    *RATIOS,
    *(f"{quantity}_{statistic}" for quantity in QUANTITIES for statistic in STATISTICS),
)


def _runs() -> tuple[Run, ...]:
    out = []
    for archive in ARCHIVES:
        if archive.kind == OVERLOAD:
            for rate in UDP_MBIT:
                for udp in ((0, rate), (rate, 0)):
                    out.append(Run(archive, OVERLOAD_RTT, OVERLOAD_RTT, TCP_FLOWS, udp))
        else:
            out += [Run(archive, ecn, other) for ecn in RTTS_ECN for other in RTTS_NONECN]
    return tuple(out)


RUNS = _runs()
CASES: tuple[DualPi2Case, ...] = tuple(case for run in RUNS for case in run.cases)

# Key of a value: archive, case, column.
Key = tuple[str, str, str]


@cache
def published() -> Mapping[Key, float]:
    """Return the published values. The package does not contain held-out rows."""
    out: dict[Key, float] = {}
    for row in published_rows(__package__, "published.csv"):
        for column in COLUMNS:
            value = float(row[column])
            if not math.isnan(value):
                out[row["archive"], row["case"], column] = value
    return out


@cache
def published_runs() -> frozenset[Run]:
    """Return the runs with published values in this package."""
    known = {(archive, case) for archive, case, _ in published()}
    return frozenset(c.run for c in CASES if (c.run.archive.name, c.name) in known)
