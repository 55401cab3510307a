"""Lists the runs that the publication's tables report, with their names and published values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tailback_studies.reproduction.sources import published_rows

WORDS = {"prague": "Prague", "cubic": "CUBIC", "reno": "Reno"}

RATES_MBIT = (50, 10)
# Base round-trip times (in ms) of the first and the second flow.
RTTS_MS = ((10, 10), (20, 10), (20, 20), (80, 80), (80, 20), (160, 10))
CCS = (
    ("prague", "prague"),
    ("cubic", "prague"),
    ("prague", "cubic"),
    ("cubic", "cubic"),
)
# Queues of S1 by rate, in the order of the publication. The limit of pfifo depends on the rate.
QUEUES_S1: Mapping[int, tuple[str, ...]] = {
    50: ("dualpi2", "pfifo(1000)", "fq_codel"),
    10: ("dualpi2", "pfifo(200)", "fq_codel"),
}
# A queue of S1 that Linux does not have. Rows with this queue are not run.
NOT_RUN = "cnq_codel_af"
QUEUES_S6 = (
    "fq_codel(1q)",
    "fq_codel(1q,1ms/20ms)",
    "pie",
    "pie(100p/5ms)",
    "red(150000b)",
    "red(400000b)",
)
# Rate and round-trip time of S6.
S6_MBIT, S6_RTT_MS = 50, 20


@dataclass(frozen=True)
class Flow:
    """One of the two flows of a published row."""

    cc: str
    rtt_ms: int
    # Whether the flow's ECN field is cleared before the queue.
    bleached: bool = False

    @property
    def word(self) -> str:
        return self.cc


@dataclass(frozen=True)
class L4sRow:
    """A published run of two flows through a queue."""

    # The table of the published row: `s1` or `s6`.
    table: str
    rate_mbit: int
    queue: str
    flows: tuple[Flow, Flow]

    @property
    def name(self) -> str:
        """Return the name of the row in the publication's files."""
        first, second = self.flows
        if self.table == "s6":
            ecn = "noecn" if second.bleached else "ecn"
            return f"{self.queue}/{first.cc}-vs-{second.cc}-{ecn}"
        rtts = f"{first.rtt_ms}ms-{second.rtt_ms}ms"
        return f"{self.rate_mbit}Mbit/{self.queue}/{rtts}/{first.cc}-vs-{second.cc}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with numbers: the rates of both flows, and Jain's index or the ratio of the
        rates."""
        return ("D1", "D2", "jain" if self.table == "s1" else "ratio")


S1: tuple[L4sRow, ...] = tuple(
    L4sRow("s1", rate, queue, (Flow(first, rtts[0]), Flow(second, rtts[1])))
    for rate in RATES_MBIT
    for queue in QUEUES_S1[rate]
    for rtts in RTTS_MS
    for first, second in CCS
)
S6: tuple[L4sRow, ...] = tuple(
    L4sRow("s6", S6_MBIT, queue, (Flow("prague", S6_RTT_MS), Flow(cc, S6_RTT_MS, bleached)))
    for queue in QUEUES_S6
    for cc in ("cubic", "reno")
    for bleached in (False, True)
)
ROWS = S1 + S6

# Rows that are wrong in the publication, and the reason why each is wrong. The goals exclude them.
DEFECTS: Mapping[L4sRow, str] = {
    L4sRow("s1", 50, "pfifo(1000)", (Flow("cubic", 10), Flow("prague", 10))): (
        "in this row the publication repeats the row of cubic at 20 ms and prague at 10 ms, digit "
        "by digit"
    ),
}

# Key of a value: table, name of the published row, column.
Key = tuple[str, str, str]


@cache
def published() -> Mapping[Key, float]:
    """Read the published values of the rows that are run. The package does not contain
    held-out rows."""
    out: dict[Key, float] = {}
    for line in published_rows(__package__, "rtt.csv"):
        if line["queue"] == NOT_RUN:
            continue
        flows = tuple(Flow(line[w], int(line[f"{w}_rtt_ms"])) for w in ("first", "second"))
        row = L4sRow("s1", int(line["rate_mbit"]), line["queue"], (flows[0], flows[1]))
        out["s1", row.name, "D1"] = float(line["first_mbit"])
        out["s1", row.name, "D2"] = float(line["second_mbit"])
        out["s1", row.name, "jain"] = float(line["jain"])
    for line in published_rows(__package__, "rfc3168.csv"):
        cc, _, ecn = line["second"].partition("-")
        rtt = int(line["rtt_ms"])
        second = Flow(cc, rtt, ecn == "noecn")
        row = L4sRow(
            "s6", int(line["rate_mbit"]), line["queue"], (Flow(line["first"], rtt), second)
        )
        one, two = float(line["first_mbit"]), float(line["second_mbit"])
        # The published ratio is rounded to a whole number, so compute the ratio from the rates.
        out["s6", row.name, "D1"], out["s6", row.name, "D2"] = one, two
        out["s6", row.name, "ratio"] = one / two
    return out


@cache
def published_names() -> frozenset[tuple[str, str]]:
    """Return the table and the name of each row with published values in this package."""
    return frozenset((table, name) for table, name, _ in published())


def twin(row: L4sRow) -> tuple[L4sRow, tuple[int, int]] | None:
    """Find the row that has the same flows in the opposite order. Return the row that was found,
    and the positions in it of `row`'s flows.

    If the round-trip times are equal, the order of two congestion controls does not matter. Two
    equal flows are interchangeable.
    """
    first, second = row.flows
    if row.table != "s1" or first.rtt_ms != second.rtt_ms:
        return None
    return L4sRow("s1", row.rate_mbit, row.queue, (second, first)), (1, 0)
