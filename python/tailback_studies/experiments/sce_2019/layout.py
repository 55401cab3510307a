"""Lists the publication's tables: numbers, rows, columns and published values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tailback_studies.reproduction.sources import published_rows

# Congestion controls, in the order of the publication's tables.
CCS = ("cubic", "reno", "reno-sce", "dctcp", "dctcp-sce")
# Every pair of congestion controls, in the order of the publication's tables.
PAIRS = (
    ("cubic", "cubic"),
    ("cubic", "reno"),
    ("cubic", "reno-sce"),
    ("cubic", "dctcp"),
    ("cubic", "dctcp-sce"),
    ("reno", "reno"),
    ("reno", "reno-sce"),
    ("reno", "dctcp"),
    ("reno", "dctcp-sce"),
    ("reno-sce", "reno-sce"),
    ("reno-sce", "dctcp"),
    ("reno-sce", "dctcp-sce"),
    ("dctcp", "dctcp"),
    ("dctcp", "dctcp-sce"),
    ("dctcp-sce", "dctcp-sce"),
)
NAMES = {
    "cubic": "CUBIC",
    "reno": "Reno",
    "reno-sce": "Reno-SCE",
    "dctcp": "DCTCP",
    "dctcp-sce": "DCTCP-SCE",
}
# Options of Cake for pairs of flows: one queue, one queue in which SCE marking begins at the
# target delay, and one queue per flow.
MODES = ("flowblind", "flowblind sce-single", "triple-isolate")
# Modes in which both flows share a queue.
SHARED = MODES[:2]
QUANTITIES = ("throughput_mbit", "tcp_rtt_ms")
UNITS = {"throughput_mbit": "Mbit/s", "tcp_rtt_ms": "ms", "jain": ""}
WORDS = {"throughput_mbit": "throughput", "tcp_rtt_ms": "TCP RTT", "jain": "Jain's index"}


@dataclass(frozen=True)
class SceSetup:
    """The congestion controls and the Cake mode that one table covers."""

    # One of `MODES`. Empty for a table with one flow, because Cake's mode does not affect a
    # single flow.
    mode: str
    # The congestion controls of the flows.
    ccs: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The publication's name for this number of flows."""
        return "one-flow" if len(self.ccs) == 1 else "two-flow"

    @property
    def shared(self) -> bool:
        return self.mode in SHARED

    @property
    def title(self) -> str:
        names = " and ".join(NAMES[cc] for cc in self.ccs)
        return f"{names}, {self.mode}" if self.mode else names


@dataclass(frozen=True)
class TableId:
    """A table of the publication, with its number, quantity and set-up."""

    number: int
    # The quantity of the table: throughput_mbit, tcp_rtt_ms or jain.
    quantity: str
    setup: SceSetup

    @property
    def part(self) -> str:
        return f"table-{self.number}"

    @property
    def title(self) -> str:
        return f"Table {self.number}: {self.setup.title}, {WORDS[self.quantity]}"


@dataclass(frozen=True)
class Grid:
    """The rates (rows) and delays (columns) of a table."""

    # Rates of Cake in Mbit/s.
    rates: tuple[float, ...]
    # Sum (in ms) of netem's delays in both directions.
    delays: tuple[float, ...]


GRIDS = {
    "one-flow": Grid(
        (0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0),
        (0.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0),
    ),
    "two-flow": Grid((1.0, 5.0, 10.0, 50.0, 100.0), (0.0, 10.0, 20.0, 80.0)),
}


def _tables() -> Mapping[int, TableId]:
    """Return the tables.

    Tables 5 to 11 show Jain's index. Later tables show throughput and RTT, first of single flows,
    then of pairs.
    """
    out = [
        TableId(5, "jain", SceSetup("flowblind", ("reno", "reno"))),
        TableId(6, "jain", SceSetup("flowblind", ("reno", "reno-sce"))),
        TableId(7, "jain", SceSetup("flowblind", ("cubic", "dctcp-sce"))),
        TableId(8, "jain", SceSetup("flowblind sce-single", ("reno", "reno-sce"))),
        TableId(9, "jain", SceSetup("flowblind sce-single", ("cubic", "dctcp-sce"))),
        TableId(10, "jain", SceSetup("triple-isolate", ("cubic", "dctcp-sce"))),
        TableId(11, "jain", SceSetup("triple-isolate", ("dctcp", "dctcp-sce"))),
    ]
    number = 12
    for ones in (True, False):
        for quantity in QUANTITIES:
            if ones:
                setups = [SceSetup("", (cc,)) for cc in CCS]
            else:
                setups = [SceSetup(mode, pair) for mode in MODES for pair in PAIRS]
            for setup in setups:
                out.append(TableId(number, quantity, setup))
                number += 1
    return {table.number: table for table in out}


# Every table of measurements, by number.
TABLES = _tables()
SETUPS = tuple(dict.fromkeys(table.setup for table in TABLES.values() if table.number >= 12))

# Durations of a test in seconds, for delays of 20, 40, 80 and 160 ms. The keys are rates in
# Mbit/s. Tests with other delays take 30 s, except as defined in `seconds`.
_SECONDS = {
    0.5: (30, 30, 30, 60),
    1.0: (30, 30, 30, 60),
    2.0: (30, 30, 30, 60),
    5.0: (30, 40, 60, 60),
    10.0: (30, 40, 60, 60),
    25.0: (30, 40, 60, 90),
    50.0: (30, 60, 60, 180),
    100.0: (60, 60, 120, 300),
}


def seconds(rate: float, delay: float) -> int:
    """Return the duration (in seconds) of a test at a rate (in Mbit/s) and a delay (in ms)."""
    if rate == 50 and delay in (0, 10):
        return 40
    if delay < 20:
        return 30
    return _SECONDS[rate][(20.0, 40.0, 80.0, 160.0).index(delay)]


# Key of a value: table, number of the flow (0 for Jain's index), rate, delay.
Key = tuple[int, int, float, float]


@cache
def published() -> Mapping[Key, float]:
    """Read the published values."""
    return {key: value for key, (value, _) in _published().items()}


@cache
def blind() -> frozenset[Key]:
    """Return the held-out values, which were not used until the set-up was frozen."""
    return frozenset(key for key, (_, hidden) in _published().items() if hidden)


@cache
def _published() -> Mapping[Key, tuple[float, bool]]:
    out: dict[Key, tuple[float, bool]] = {}
    for file, column in (("published.csv", "value"), ("jain.csv", "jain")):
        for row in published_rows(__package__, file):
            place = (float(row["rate_mbit"]), float(row["delay_ms"]))
            key = (int(row["table"]), int(row.get("position", 0)), *place)
            out[key] = (float(row[column]), row["blind"] == "yes")
    return out
