"""Defines the class of a test case of BBR's draft. A case has a scenario, a situation in which BBR
is tested, and a rule for the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tailback.evaluate.bbr.trace import Spell, StateTrace
from tailback.evaluate.model import SectionVerdict
from tailback.store.results import Run

CASES = Path(__file__).resolve().parent / "cases"

SOURCE = "draft-ietf-ccwg-bbr-06 appendix"

FLOW = "bbr"
"""The name of the evaluated flow in every scenario."""

MSS, FRAME = 1448, 1514
"""Sizes of a full packet in bytes: its TCP payload (MSS), and its Ethernet frame."""


@dataclass(frozen=True)
class Finding:
    """The result of a case in one run: verdict, numbers and note."""

    verdict: SectionVerdict
    measure: str
    value: float | None
    bound: float | None
    note: str
    at: int | None = None
    """Index of the sample that decided the verdict. The table of the report shows the samples
    around the deciding sample."""
    flow: str = FLOW


def passed(ok: bool) -> SectionVerdict:
    return "pass" if ok else "fail"


def missed(measure: str, note: str) -> Finding:
    """Return the result `undecided`, for a run that never reached the situation of the case."""
    return Finding("undecided", measure, None, None, note)


@dataclass(frozen=True)
class Observed:
    """A run of a case, with the trace of its flow."""

    run: Run
    traces: Mapping[str, StateTrace]
    event_s: float | None
    """The time of the scenario's event, in seconds. None if the case has no event."""

    @property
    def trace(self) -> StateTrace:
        return self.traces[FLOW]

    def at_event(self, state: str) -> tuple[Spell | None, Spell | None]:
        """Find the last period in this state that begins before the event. Return this period and
        the period of the next state.
        """
        trace, event = self.trace, self.event_s
        spells = [s for s in trace.of_state(state) if event and trace.start(s) <= event]
        return (spells[-1], trace.after(spells[-1])) if spells else (None, None)


@dataclass(frozen=True)
class Aim:
    """An event that is timed to happen when BBR enters a state.

    A first run without the event shows when BBR enters that state. In a second run, the event
    happens at the time when BBR enters the state.
    """

    quiet: Mapping[str, object]
    """Values to set in the scenario for the run without the event."""
    find: Callable[[StateTrace], float | None]
    """Returns the time of the event, or None if BBR never enters the state."""
    set: Callable[[float], Mapping[str, object]]
    """Returns the scenario values that make the event happen at a given time."""


@dataclass(frozen=True)
class Case:
    id: str
    """The section of the draft's appendix, `A.1` to `A.22`."""
    title: str
    measure: str
    needs: tuple[str, ...]
    """Names of the recorded quantities that the verdict needs."""
    judge: Callable[[Observed], Finding]
    aim: Aim | None = None
    flows: tuple[str, ...] = (FLOW,)
    side: Literal["at most", "at least", "exactly"] = field(default="at most", kw_only=True)
    """Whether the value must be at most, at least or exactly the bound for the case to pass."""
    note: str = field(default="", kw_only=True)
    """Details that the draft leaves open or defines in two ways, and the choices that the case
    makes."""

    @property
    def file(self) -> Path:
        return CASES / f"a{int(self.id.removeprefix('A.')):02d}.toml"

    @property
    def source(self) -> str:
        return f"{SOURCE} {self.id}"


def payload_mbit(rate_mbit: float) -> float:
    """Return the TCP payload rate (in Mbit/s) of a link with this rate."""
    return rate_mbit * MSS / FRAME


def seconds(value: float) -> str:
    return f"{round(value * 1e9)}ns"


def entry_of(
    *states: str, nth: int = 0, since: float = 0.0
) -> Callable[[StateTrace], float | None]:
    """Return a function that finds the time just after the ACK at which BBR enters one of these
    states."""

    def find(trace: StateTrace) -> float | None:
        spells = trace.of_state(*states, since=since)
        return trace.start(spells[nth]) + 1e-6 if len(spells) > nth else None

    return find
