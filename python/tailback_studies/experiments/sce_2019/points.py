"""Makes the scenarios of the published tables, and computes the numbers of the tables from the
runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tailback.metrics.statistics import estimate
from tailback.report import TableCell
from tailback.running.batch import Job
from tailback_studies.experiments.sce_2019.layout import (
    GRIDS,
    QUANTITIES,
    SETUPS,
    TABLES,
    UNITS,
    SceSetup,
    TableId,
    blind,
    published,
    seconds,
)
from tailback_studies.reproduction.entries import Entry as BaseEntry
from tailback_studies.reproduction.sources import scenario, set_value

# Round-trip time (in ms) of the test bed without netem's delay.
BASE_MS = 0.9
# Congestion controls of Linux without the patches of SCE.
STOCK = ("cubic", "reno", "dctcp")
# Field of the summary of a flow, by quantity.
_FIELDS = {"throughput_mbit": "throughput_mbit", "tcp_rtt_ms": "srtt_ms_mean"}
# Options of Cake by mode. Tests with one flow use the first mode.
_QUEUES: Mapping[str, Mapping[str, Any]] = {
    "": {"flow": "flowblind", "sce": "on"},
    "flowblind": {"flow": "flowblind", "sce": "on"},
    "flowblind sce-single": {"flow": "flowblind", "sce": "single"},
    "triple-isolate": {"flow": "triple-isolate", "sce": "on"},
}

# A value's position in a table: rate in Mbit/s, delay in ms.
Place = tuple[float, float]


@dataclass(frozen=True)
class SceVariant:
    """Changes to the scenario files."""

    # Options by congestion control, which replace the options in the scenario file.
    ccs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Options of Cake in every mode.
    queue: Mapping[str, Any] = field(default_factory=dict)
    # Options of Cake by mode.
    modes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Other values of the scenario, by path.
    set: Mapping[str, Any] = field(default_factory=dict)
    # Factor by which the length of each test is multiplied.
    stretch: float = 1.0
    # Length of every test in seconds. 0 selects the publication's lengths.
    seconds: float = 0.0
    # Base round-trip time of the test bed in ms.
    base_ms: float = BASE_MS


AS_PUBLISHED = SceVariant()


@dataclass(frozen=True)
class SceEntry(BaseEntry):
    """A number in a table of the publication, and its measurement.

    Cells of tables with pairs contain two such numbers.
    """

    table: TableId
    # Number of the flow (1 or 2), or 0 for a value that describes both flows.
    position: int
    rate_mbit: float
    delay_ms: float

    @property
    def cc(self) -> str:
        """The flow's congestion control. If the value describes both flows, the names of both
        congestion controls, joined by "/"."""
        ccs = self.table.setup.ccs
        return ccs[self.position - 1] if self.position else "/".join(ccs)

    @property
    def peer(self) -> str:
        """The congestion control of the other flow."""
        ccs = self.table.setup.ccs
        return ccs[2 - self.position] if self.position and len(ccs) == 2 else ""

    @property
    def place(self) -> Place:
        """The rate and the delay of the value."""
        return self.rate_mbit, self.delay_ms

    def error(self, kind: str) -> float | None:
        """Return the error of the value. If `kind` is "capacity", the error of a throughput is
        divided by Cake's rate."""
        if kind != "capacity":
            return super().error(kind)
        if self.table.quantity != "throughput_mbit" or self.cell.error is None:
            return None
        return self.cell.error / self.rate_mbit

    @property
    def coordinates(self) -> dict[str, Any]:
        """The table, row and column of the value, and its flows."""
        return {
            "table": self.table.number,
            "kind": self.table.setup.kind,
            "mode": self.table.setup.mode,
            "cc": self.cc,
            "peer": self.peer,
            "position": self.position,
            "rate_mbit": self.rate_mbit,
            "delay_ms": self.delay_ms,
        }


@dataclass(frozen=True)
class SceBatch:
    """A job that measures some values of a set-up."""

    setup: SceSetup
    places: Sequence[Place]
    job: Job


@cache
def cc_options() -> dict[str, dict[str, Any]]:
    """Return the options of each congestion control in the scenario files."""
    listed = scenario(__package__, "one-flow")["sweep"]["flows.flow.cc"]
    tables = [{"name": value} if isinstance(value, str) else dict(value) for value in listed]
    return {table["name"]: table for table in tables}


def plan(
    wanted: Mapping[SceSetup, Sequence[Place]],
    *,
    seeds: int,
    engine: str = "sim",
    variant: SceVariant = AS_PUBLISHED,
) -> list[SceBatch]:
    """Return a batch for each set-up. The batch measures the wanted values of the set-up."""
    stock = engine != "sim"
    return [
        SceBatch(setup, places, Job(_scenario(setup, places, variant, stock=stock), {}, seeds))
        for setup, places in wanted.items()
        if places
    ]


def _scenario(
    setup: SceSetup, places: Sequence[Place], variant: SceVariant, *, stock: bool
) -> dict[str, Any]:
    document = scenario(__package__, setup.kind)
    queue = {"aqm": "cake", "tins": "besteffort", **_QUEUES[setup.mode]}
    if stock:
        # Turn SCE off, because Linux does not support SCE. Turning SCE off has little effect if no
        # flow uses SCE. Remove the settings of TCP, because receive buffers in the guest have a
        # fixed size.
        queue["sce"] = "off"
        del document["tcp"]
    document["bottleneck"]["queue"] = {
        **queue,
        **variant.queue,
        **variant.modes.get(setup.mode, {}),
    }
    for flow, cc in zip(document["flows"], setup.ccs, strict=True):
        options = {"name": cc} if stock else {**cc_options()[cc], **variant.ccs.get(cc, {})}
        flow["cc"] = options if len(options) > 1 else cc
    lengths = [
        (variant.seconds or seconds(rate, delay)) * variant.stretch for rate, delay in places
    ]
    axis = {
        "bottleneck.rate": [f"{round(rate * 1000)}kbit" for rate, _ in places],
        "path.rtt": [f"{round((delay + variant.base_ms) * 1000)}us" for _, delay in places],
        "duration": [f"{length:g}s" for length in lengths],
    }
    document["sweep"] = {"zip": [axis]}
    for path, value in variant.set.items():
        set_value(document, path, value)
    return document


def every(setups: Iterable[SceSetup]) -> dict[SceSetup, list[Place]]:
    """Return all values of each set-up."""
    out = {}
    for setup in setups:
        grid = GRIDS[setup.kind]
        out[setup] = [(rate, delay) for rate in grid.rates for delay in grid.delays]
    return out


def sample(setups: Iterable[SceSetup]) -> dict[SceSetup, list[Place]]:
    """Return a fixed sample of values.

    For tables with one flow, the sample has every rate and every delay once for each congestion
    control. For tables with pairs, the sample has one value for each pair and mode.
    """
    out: dict[SceSetup, list[Place]] = {}
    for setup in setups:
        grid = GRIDS[setup.kind]
        at = SETUPS.index(setup)
        if setup.kind == "one-flow":
            out[setup] = [
                (rate, grid.delays[(3 * row + at) % len(grid.delays)])
                for row, rate in enumerate(grid.rates)
            ]
        else:
            # A table of pairs has 20 values. 7 and 20 are coprime, so 20 consecutive set-ups would
            # use every value once.
            row, column = divmod(7 * at % (len(grid.rates) * len(grid.delays)), len(grid.delays))
            out[setup] = [(grid.rates[row], grid.delays[column])]
    return out


def stock(setup: SceSetup) -> bool:
    """Return whether Linux without the SCE patches can run the set-up."""
    return set(setup.ccs) <= set(STOCK) and "sce" not in setup.mode


def entries(
    tables: Iterable[TableId], batches: Sequence[SceBatch], runs: Sequence[Iterable[Any]]
) -> list[SceEntry]:
    """Return the measured values of these tables, in the order of the publication, including values
    without a published value."""
    by_place: dict[tuple[SceSetup, Place], list[dict[str, Any]]] = {}
    for batch, results in zip(batches, runs, strict=True):
        # Find the table cell that each run measures, by the rate and RTT of the run.
        names = {_place_key(*place): place for place in batch.places}
        for run in results:
            key = (round(float(run.params["bottleneck.rate"])), float(run.params["path.rtt"]))
            place = names[min(names, key=lambda k, key=key: _distance(k, key))]  # type: ignore[misc]
            by_place.setdefault((batch.setup, place), []).append(run.summary)
    known, hidden = published(), blind()
    out = []
    for table in tables:
        places = next((b.places for b in batches if b.setup == table.setup), ())
        positions = (0,) if table.quantity == "jain" else range(1, len(table.setup.ccs) + 1)
        for place in places:
            summaries = by_place.get((table.setup, place), [])
            for position in positions:
                each = [_value(summary, table.quantity, position) for summary in summaries]
                cell_key = (table.number, position, *place)
                cell = TableCell.of(
                    _id(table, position, place),
                    table.quantity,
                    UNITS[table.quantity],
                    known.get(cell_key),
                    estimate(each),
                )
                cell = replace(cell, blind=cell_key in hidden and "dctcp" not in table.setup.ccs)
                values = tuple(value for value in each if value is not None)
                out.append(SceEntry(table, position, *place, cell=cell, values=values))
    return out


def _place_key(rate: float, delay: float) -> tuple[int, float]:
    return round(rate * 1e6), (delay + BASE_MS) * 1e6


def _distance(one: tuple[int, float], other: tuple[int, float]) -> tuple[int, float]:
    return abs(one[0] - other[0]), abs(one[1] - other[1])


def _value(summary: Mapping[str, Any], quantity: str, position: int) -> float | None:
    if position == 0:
        value: float | None = summary["jain"]
    else:
        value = summary["flows"][position - 1][_FIELDS[quantity]]
    return value


def _id(table: TableId, position: int, place: Place) -> str:
    text = f"Table {table.number}/{place[0]:g}Mbit/{place[1]:g}ms"
    return text if len(table.setup.ccs) == 1 or position == 0 else f"{text}/{position}"


def tables_of(setups: Iterable[SceSetup], quantities: Sequence[str] | None = None) -> list[TableId]:
    """Return the tables of these set-ups, by number."""
    wanted = set(setups)
    chosen = (*QUANTITIES, "jain") if quantities is None else quantities
    return [t for t in TABLES.values() if t.setup in wanted and t.quantity in chosen]


def options_told() -> list[str]:
    """Return the options of the congestion controls as text."""
    return [
        f"{name}: {', '.join(f'{key} = {value}' for key, value in table.items() if key != 'name')}"
        for name, table in cc_options().items()
        if len(table) > 1
    ]
