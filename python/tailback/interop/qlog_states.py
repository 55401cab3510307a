"""Finds the congestion states of a sender, and names them as in qlog.

For BBR, the states are the states of BBR's state machine, such as DRAIN. Other senders have the
states of RFC 9002: slow start, congestion avoidance and recovery. With `record.series = "acks"`,
the states of RFC 9002 are derived from the congestion state and the window at each ACK. With other
recordings, only the end of the first slow start is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SLOW_START, AVOIDANCE, RECOVERY = "slow_start", "congestion_avoidance", "recovery"

CWR, FAST_RECOVERY, LOSS = 2, 3, 4
"""The congestion states of Linux that count as recovery."""

TRIGGERS = {CWR: "ecn", FAST_RECOVERY: "fast_recovery", LOSS: "timeout"}

MODES = ("startup", "drain", "probe_bw", "probe_rtt")
PHASES = ("probe_bw_up", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill")

Row = tuple[int, str | None, str, float]
"""A row of the series: time in ns, link, quantity, value."""


@dataclass(frozen=True)
class State:
    """A change of a sender's congestion state."""

    at_ns: int
    old: str | None
    new: str
    trigger: str | None


def states(rows: Sequence[Row], accounted: Mapping[str, Any]) -> Iterator[State]:
    """Yield the changes of a sender's congestion state. `accounted` is the sender's entry in the
    run's `account.json`."""
    found = _of_bbr(rows) or _of_acks(rows, accounted) or _of_account(accounted)
    before: str | None = None
    for at, name, trigger in found:
        if name != before:
            yield State(at, before, name, trigger if before is not None else None)
            before = name


def bbr_state(mode: float, phase: float | None, version_3: bool) -> str:
    """Return qlog's name of a state of BBR. BBR version 1 has gain cycles, which do not have
    names."""
    name = MODES[int(mode)] if 0 <= mode < len(MODES) else f"mode_{mode:g}"
    if name == "probe_bw" and version_3 and phase is not None and 0 <= phase < len(PHASES):
        return PHASES[int(phase)]
    return name


def _of_bbr(rows: Sequence[Row]) -> list[tuple[int, str, str | None]]:
    version_3 = any(quantity == "inflight_hi" for _, _, quantity, _ in rows)
    found: list[tuple[int, str, str | None]] = []
    mode: float | None = None
    phase: float | None = None
    at_last = 0
    for at, _, quantity, value in rows:
        if quantity not in ("mode", "phase"):
            continue
        # The engine records BBR's mode (such as ProbeBW) and its phase (such as UP) at the same
        # time, and writes the mode first.
        if mode is not None and at != at_last:
            found.append((at_last, bbr_state(mode, phase, version_3), None))
        at_last = at
        if quantity == "mode":
            mode = value
        else:
            phase = value
    if mode is not None:
        found.append((at_last, bbr_state(mode, phase, version_3), None))
    return found


def _of_acks(
    rows: Sequence[Row], accounted: Mapping[str, Any]
) -> list[tuple[int, str, str | None]]:
    if not any(quantity == "ca_state" for _, _, quantity, _ in rows):
        return []
    end = accounted.get("slow_start")
    found: list[tuple[int, str, str | None]] = []
    latest: dict[str, float] = {}
    for at, _, quantity, value in rows:
        if quantity not in ("cwnd", "ssthresh", "ca_state"):
            continue
        latest[quantity] = value
        if quantity != "ca_state":
            continue
        state = int(value)
        if state in TRIGGERS:
            found.append((at, RECOVERY, TRIGGERS[state]))
        elif latest["cwnd"] < latest.get("ssthresh", float("inf")):
            found.append((at, SLOW_START, None))
        else:
            first = end is not None and all(name == SLOW_START for _, name, _ in found[-1:])
            why = end["why"] if end is not None and first and at >= end["at_ns"] else None
            found.append((at, AVOIDANCE, why))
    return found


def _of_account(accounted: Mapping[str, Any]) -> list[tuple[int, str, str | None]]:
    end = accounted.get("slow_start")
    if end is None:
        return []
    return [(0, SLOW_START, None), (end["at_ns"], AVOIDANCE, end["why"])]
