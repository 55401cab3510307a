"""Reads the congestion window and the states of BBR from the qlog of a program."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tailback.programs import logs
from tailback.programs.qlog import Samples, Trace
from tailback.store.results import Run

STATE_NAMES = {
    "startup": "STARTUP",
    "drain": "DRAIN",
    "probertt": "PROBE_RTT",
    "probebw": "PROBE_BW",
    "probebwup": "UP",
    "probebwdown": "DOWN",
    "probebwcruise": "CRUISE",
    "probebwrefill": "REFILL",
}
"""BBR's states, keyed by their names in logs. The names are in lower case and without a prefix such
as `bbr2`."""

_PREFIX = re.compile(r"^bbr(v?\d)?(?=[a-z])")


@dataclass(frozen=True)
class LogTrace:
    """The windows and states in a sender's qlog. Times are seconds since the start of the run."""

    cwnd: Samples
    """Pairs of a time and the congestion window in bytes."""
    states: Sequence[tuple[float, str]] = ()
    """Pairs of a time and the state of BBR that begins at that time, named as in the draft. Empty
    if the log names no states."""

    @classmethod
    def of(cls, run: Run, program: str, first_s: float) -> tuple[LogTrace | None, list[str]]:
        """Read the log of a program, or return None if no log shows congestion windows. Also
        return why files could not be read.

        `first_s` is the time at which the program sent its first packet. The times in a log count
        from the start of the connection. This function shifts the times of the log so that the
        first event is at `first_s`. Dates in the log are not used, because the guest's clock starts
        at its boot, not at the start of the run.
        """
        found, unread = logs.sender(run.stored, program)
        return None if found is None else cls.placed(found, first_s), unread

    @classmethod
    def placed(cls, trace: Trace, first_s: float) -> LogTrace:
        """Shift all times of a log so that its first event is at `first_s`, and return the log."""
        first_ms = min(samples[0][0] for samples in (trace.cwnd, trace.states) if samples)
        offset = first_s - first_ms / 1e3
        named = [(at / 1e3 + offset, _state(name)) for at, name in trace.states]
        states = [(at, name) for at, name in named if name]
        return cls([(at / 1e3 + offset, value) for at, value in trace.cwnd], states)

    def spells(self, state: str) -> list[tuple[float, float, str]]:
        """For each period in a state, return its start, its end and the next state. Leave out the
        last period if it has no end.
        """
        return [
            (self.states[i][0], self.states[i + 1][0], self.states[i + 1][1])
            for i in range(len(self.states) - 1)
            if self.states[i][1] == state and self.states[i + 1][1] != state
        ]


def at(samples: Samples, time: float) -> float | None:
    """Return the last value at or before a time, or None before the first value."""
    index = bisect_right(samples, (time, float("inf"))) - 1
    return samples[index][1] if index >= 0 else None


def least(samples: Samples, since: float, until: float) -> float | None:
    """Return the smallest value that was in effect between two times, or None if there is no
    value."""
    inside = [value for when, value in samples if since < when <= until]
    held = at(samples, since)
    return min([*inside, *([] if held is None else [held])], default=None)


def state(log: LogTrace, time: float) -> str:
    """Return the state at a time, or `-` if the log does not name the state."""
    index = bisect_right(log.states, (time, chr(0x10FFFF))) - 1
    return log.states[index][1] if index >= 0 else "-"


def _state(name: str) -> str:
    return STATE_NAMES.get(_PREFIX.sub("", re.sub(r"[^a-z0-9]", "", name.lower())), "")
