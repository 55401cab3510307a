"""Lists the runs that the publication's tables report, with their names and published values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tailback_studies.reproduction.sources import published_rows

RATE_MBIT = 100
# Packet size (in bytes) for converting buffers to packets.
PACKET = 1500
# Marking threshold or target of all queues in ms, by base round-trip time in ms.
THRESHOLDS_MS: Mapping[int, int] = {10: 5, 2: 1}
BUFFERS_BDP = (0.5, 1.0, 2.0, 4.0, 8.0)
# The buffer of `--quick`, in BDP.
QUICK_BDP = 2.0
# Name of each queue in the publication, and its name in our report. The order is the same as in
# the table of errors.
QUEUES: Mapping[str, str] = {
    "FIFO": "FIFO",
    "single_queue_FQ": "step queue",
    "pie_drop": "PIE, drops",
    "Codel_drop": "CoDel, drops",
    "Codel": "CoDel, ECN",
    "FQ": "FQ",
    "FQ_Codel": "FQ-CoDel",
    "FQ_Codel_L4S": "FQ-CoDel, L4S",
    "DualPI2": "DualPI2",
}
# Queues that also run with several flows of Prague or CUBIC.
QUEUES_OF_MANY = ("FIFO", "single_queue_FQ", "Codel", "FQ_Codel", "FQ_Codel_L4S", "DualPI2")
# Numbers of flows of Prague and of CUBIC.
MANY = (
    *((1, n) for n in (2, 5, 10, 25)),
    *((n, 1) for n in (2, 5, 10, 25)),
    *((n, n) for n in (2, 5, 10, 25)),
)
# The competitors at 10 ms, each with its use of ECN.
COMPETITORS = (
    ("cubic", "noecn"),
    ("cubic", "ecn"),
    ("bbr", "noecn"),
    ("bbr3", "noecn"),
    ("bbr3", "ecn"),
    ("bbr3", "ecnlow"),
)
WORDS = {"cubic": "CUBIC", "bbr": "BBR", "bbr3": "BBRv3"}
ECN_WORDS = {"noecn": "no ECN", "ecn": "ECN", "ecnlow": "marks used"}

# Columns of a published row: the rates of both sides (Prague and its competitor), and the smoothed
# RTT of the first flow of each side.
RATES = ("prague_mbit", "classic_mbit")
SRTTS = ("prague_srtt_ms", "classic_srtt_ms")
COLUMNS = (*RATES, *SRTTS)
# Names of the publication's columns with the mean and the standard deviation over ten trials.
SOURCE_COLUMNS: Mapping[str, tuple[str, str]] = {
    "prague_mbit": ("tput_l4s_mbit", "sd_tput_l4s"),
    "classic_mbit": ("tput_classic_mbit", "sd_tput_classic"),
    "prague_srtt_ms": ("srtt_l4s_ms", "sd_srtt_l4s"),
    "classic_srtt_ms": ("srtt_classic_ms", "sd_srtt_classic"),
}


@dataclass(frozen=True)
class PamRow:
    """A row of the publication, in which flows of Prague and flows of a competitor share a
    queue."""

    rtt_ms: int
    aqm: str
    buffer_bdp: float
    classic: str
    ecn: str
    n_prague: int = 1
    n_classic: int = 1

    @property
    def many(self) -> bool:
        return (self.n_prague, self.n_classic) != (1, 1)

    @property
    def part(self) -> str:
        """The part of the experiment that runs the published row."""
        if self.many:
            return "many"
        return "2ms" if self.rtt_ms == 2 else self.classic

    @property
    def group(self) -> str:
        """The competitor in words, for headings."""
        if self.many:
            return "CUBIC, ECN, several flows"
        return f"{WORDS[self.classic]}, {ECN_WORDS[self.ecn]}, {self.rtt_ms} ms"

    @property
    def name(self) -> str:
        """The published row's prefix in the ids of its values, such as the ids in all-cells.csv."""
        flows = f"{self.n_prague}-{self.n_classic}"
        buffer = f"{self.buffer_bdp:g}bdp"
        return f"{self.rtt_ms}ms/{self.aqm}/{buffer}/{self.classic}-{self.ecn}/{flows}"

    @property
    def buffer_bytes(self) -> int:
        return int(self.buffer_bdp * RATE_MBIT * 1000 * self.rtt_ms / 8)

    @property
    def buffer_packets(self) -> int:
        """The buffer in packets, rounded up as in the publication."""
        return self.buffer_bytes // PACKET + 1


ROWS: tuple[PamRow, ...] = (
    *(
        PamRow(10, aqm, buffer, classic, ecn)
        for classic, ecn in COMPETITORS
        for aqm in QUEUES
        for buffer in BUFFERS_BDP
    ),
    *(
        PamRow(2, aqm, buffer, "bbr3", ecn)
        for ecn in ECN_WORDS
        for aqm in QUEUES
        for buffer in BUFFERS_BDP
    ),
    *(
        PamRow(10, aqm, buffer, "cubic", "ecn", *flows)
        for flows in MANY
        for aqm in QUEUES_OF_MANY
        for buffer in BUFFERS_BDP
    ),
)


@dataclass(frozen=True)
class PublishedCell:
    """A published mean over several trials."""

    mean: float
    sd: float
    """Standard deviation over the trials."""
    trials: int


@cache
def published() -> Mapping[tuple[PamRow, str], PublishedCell]:
    """Read the published means. The package does not contain held-out rows."""
    out: dict[tuple[PamRow, str], PublishedCell] = {}
    for line in published_rows(__package__, "published.csv"):
        row = PamRow(
            int(line["rtt_ms"]),
            line["aqm"],
            float(line["buffer_bdp"]),
            line["classic_cc"],
            line["ecn_mode"],
            int(line["n_l4s"]),
            int(line["n_classic"]),
        )
        for column, (mean, sd) in SOURCE_COLUMNS.items():
            cell = PublishedCell(float(line[mean]), float(line[sd]), int(line["n_trials"]))
            out[row, column] = cell
    return out


@cache
def known_rows() -> frozenset[PamRow]:
    """Return the rows with published values in this package."""
    return frozenset(row for row, _ in published())
