"""Reads the state of a BBR sender after every ACK from the records of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tailback.store.results import Run

MODES = ("STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT")
PHASES = ("UP", "DOWN", "CRUISE", "REFILL")
IN_PROBE_BW = (*PHASES, "PROBE_BW")

OF_INTERVALS = ("srtt_ns", "delivered_bytes")
"""Quantities that a run samples at the end of each record interval, not after each ACK."""

BOUNDS = ("inflight_hi", "inflight_lo", "bw_lo_mbit", "headroom")
"""Quantities for which the value 0 means that no bound is set."""


@dataclass(frozen=True)
class Spell:
    """A period in one state, from sample `first` to sample `last`."""

    state: str
    first: int
    last: int


class StateTrace:
    """Samples of a sender's state in order of time.

    `values` contains a list for each quantity, with one value for each sample.
    """

    def __init__(self, times: Sequence[float], values: dict[str, list[float]]) -> None:
        self.times = times
        """Time of each sample, in seconds."""
        self.values = values

    @classmethod
    def of(cls, run: Run, flow: str) -> StateTrace:
        """Read the trace of a flow, from a run with `record.series = "acks"`."""
        import polars as pl

        wide = (
            run.series()
            .filter(
                pl.col("flow") == flow,
                pl.col("link").is_null(),
                ~pl.col("quantity").is_in(OF_INTERVALS),
            )
            # Several ACKs may arrive at the same time. The rows of a quantity are in order of
            # arrival.
            .with_columns(nth=pl.int_range(pl.len()).over("time_ns", "quantity"))
            .pivot(on="quantity", index=["time_ns", "nth"], values="value")
            .sort("time_ns", "nth")
            .fill_null(strategy="forward")
            .fill_null(0.0)
        )
        times = [at / 1e9 for at in wide["time_ns"].to_list()]
        names = [name for name in wide.columns if name not in ("time_ns", "nth")]
        return cls(times, {name: wide[name].to_list() for name in names})

    def has(self, names: Iterable[str]) -> bool:
        return not self.lacks(names)

    def lacks(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in self.values]

    def at(self, index: int, name: str) -> float:
        """Return the value of a quantity after the ACK with this index."""
        return self.values[name][index]

    def bound(self, index: int, name: str) -> float:
        """Return a bound after the ACK with this index, or infinity if no bound is set."""
        value = self.values[name][index]
        return value if value > 0 else float("inf")

    @cached_property
    def states(self) -> list[str]:
        modes = [MODES[int(mode)] for mode in self.values["mode"]]
        # Records of BBR version 1 do not name the phases of PROBE_BW.
        if "inflight_hi" not in self.values or "phase" not in self.values:
            return modes
        phases = self.values["phase"]
        return [
            PHASES[int(phase)] if mode == "PROBE_BW" else mode
            for mode, phase in zip(modes, phases, strict=True)
        ]

    @cached_property
    def spells(self) -> list[Spell]:
        """The periods in which BBR stays in one state, in order of time."""
        found: list[Spell] = []
        first = 0
        for index in range(1, len(self.states) + 1):
            if index == len(self.states) or self.states[index] != self.states[first]:
                found.append(Spell(self.states[first], first, index - 1))
                first = index
        return found

    def start(self, spell: Spell) -> float:
        return self.times[spell.first]

    def after(self, spell: Spell) -> Spell | None:
        place = self.spells.index(spell) + 1
        return self.spells[place] if place < len(self.spells) else None

    def first(self, state: str) -> tuple[Spell | None, Spell | None]:
        spells = self.of_state(state)
        return (spells[0], self.after(spells[0])) if spells else (None, None)

    def of_state(self, *states: str, since: float = 0.0) -> list[Spell]:
        return [s for s in self.spells if s.state in states and self.start(s) >= since]

    def between(self, since: float, until: float) -> Iterator[int]:
        """Yield the indices of the samples between two times, both ends included."""
        return (i for i, at in enumerate(self.times) if since <= at <= until)

    def inside(self, spell: Spell) -> range:
        return range(spell.first, spell.last + 1)

    def delivered(self, first: int, last: int) -> float:
        """Return the rate (in Mbit/s) at which payload was acknowledged between two samples."""
        span = self.times[last] - self.times[first]
        if span <= 0:
            return 0.0
        return (self.at(last, "acked_bytes") - self.at(first, "acked_bytes")) * 8e-6 / span


SHOWN = (
    "cwnd",
    "in_flight",
    "bdp",
    "inflight_hi",
    "bw_lo_mbit",
    "max_bw_mbit",
    "pacing_gain",
    "round",
    "full_bw_rounds",
)
"""The columns of the table with the samples around a decision."""

AROUND = 3
"""How many state changes before and after a decision the table shows."""


def around(trace: StateTrace, index: int) -> list[dict[str, float | str]]:
    """Return the deciding sample, the sample before it, and the samples at the state changes before
    and after these two.
    """
    place = next(n for n, spell in enumerate(trace.spells) if spell.first <= index <= spell.last)
    spells = trace.spells[max(0, place - AROUND + 1) : place + AROUND]
    wanted = sorted({max(index - 1, 0), index, *(spell.first for spell in spells)})
    names = [name for name in SHOWN if name in trace.values]
    return [
        {
            "time_s": round(trace.times[i], 6),
            "state": trace.states[i],
            **{name: trace.at(i, name) for name in names},
        }
        for i in wanted
    ]


def table(rows: Sequence[dict[str, float | str]]) -> list[str]:
    if not rows:
        return []
    heads = list(rows[0])
    cells = [heads, *([_cell(row[head]) for head in heads] for row in rows)]
    widths = [max(len(line[n]) for line in cells) for n in range(len(heads))]
    return [
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
        for line in cells
    ]


def _cell(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.6g}"
