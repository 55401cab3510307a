"""Decides the verdicts of cases for a program, from its packets and from the qlog that it writes.

A program does not report BBR's variables. If the qlog names BBR's state, this module uses this
state. Otherwise, this module infers two states from packets. STARTUP ends when the program sends
more slowly than the bottleneck delivers. In PROBE_RTT, the data in flight falls to half of the BDP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tailback.evaluate import logged
from tailback.evaluate.bbr.case import Case, Finding, missed, passed
from tailback.evaluate.bbr.cases import a03, a10, a12, a14, a15, a17
from tailback.evaluate.bbr.packet_trace import STEP_S, PacketTrace
from tailback.evaluate.logged import LogTrace

FULL = 0.95
"""The link counts as full if its throughput is at least this share of its rate."""

SLOWER = 0.8
"""A sender counts as slower than the bottleneck if its rate is below this share of the delivery
rate. Both rates are measured over one RTT of the empty path, and in case A.3 over half an RTT."""

FEW_FRAMES = 3
"""A queue with at most this many frames counts as empty."""

SHOWN = ("cwnd", "in_flight", "min_rtt_ms", "acked_bytes", "ca_state", "mode", "phase")
"""Quantities of a sender that can be computed from packets or read from a qlog."""

RATE_MBIT = 20.0
"""Rate of the link in the cases A.1, A.3 and A.10."""

APPLICATION = "The test limits what the application writes, which tailback cannot do for a program."


@dataclass(frozen=True)
class Seen:
    """The packets and the qlog of a program when it runs a case."""

    packets: PacketTrace
    log: LogTrace | None
    """None if the program wrote no qlog that can be read."""
    unread: Sequence[str] = ()
    """Why files of the program could not be read."""

    def full(self, mbit: float, since_s: float = 0.0) -> int | None:
        """Return the first interval at whose end a link of this rate has been full for one RTT."""
        p = self.packets
        later = range(p.index(since_s), len(p.times)) if p.times else range(0)
        wanted = FULL * mbit
        return next((i for i in later if p.mbit(p.delivered, i, p.base_s) >= wanted), None)

    def slower(self, since: int) -> int | None:
        """Return the first interval after `since` with a send rate below the bottleneck's delivery
        rate, both measured over the last RTT."""
        p = self.packets
        for i in range(since + 1, len(p.times)):
            if p.mbit(p.sent, i, p.base_s) < SLOWER * p.mbit(p.delivered, i, p.base_s):
                return i
        return None

    def startup_end(self, mbit: float) -> tuple[int | None, int | None, str]:
        """Return when the link was first full, when STARTUP ended, and the state that followed
        STARTUP (empty if the log does not name it)."""
        full = self.full(mbit)
        spells = self.log.spells("STARTUP") if self.log else []
        if spells:
            _, end, state = spells[0]
            return full, self.packets.index(end), state
        return full, None if full is None else self.slower(full), ""

    def window(self, index: int) -> str:
        """Return a sentence with the congestion window in the qlog around an interval."""
        if self.log is None:
            return ""
        at, rtt = self.packets.times[index], self.packets.rtts[index]
        since = max(at - 2 * rtt, self.log.cwnd[0][0])
        before = logged.at(self.log.cwnd, since)
        low = logged.least(self.log.cwnd, since, at)
        if before is None or low is None:
            return ""
        if low == before:
            return f" The qlog shows a constant window of {before:.0f} bytes."
        return f" In the qlog, the window fell from {before:.0f} to {low:.0f} bytes."


Judge = Callable[[Seen], Finding]

PLATEAU = "rounds at the full rate before the sender slows, difference from 3.5"
ROUNDS, OFF = 3.5, 1.0
"""STARTUP ends after four rounds: one round that sets the baseline of the delivery rate, and three
rounds without growth. Packets do not show where a round begins, so the count may be off by half a
round at either end."""


def plateau(seen: Seen) -> Finding:
    """A.1: pass if sending slows about three rounds after the link was full, without a loss."""
    p = seen.packets
    full, end, state = seen.startup_end(RATE_MBIT)
    if full is None:
        return Finding("fail", PLATEAU, None, OFF, "The link was never full.", 0)
    last = len(p.times) - 1
    lost = p.lost(0, p.times[last if end is None else end])
    if lost:
        note = f"{lost} packets were dropped before the sender slowed below the delivery rate."
        return Finding("fail", PLATEAU, None, OFF, note, end or last)
    if end is None:
        note = "The sender never slowed below the delivery rate: STARTUP did not end in DRAIN."
        return Finding("fail", PLATEAU, None, OFF, note, last)
    rounds = p.rounds(full, end)
    ok = abs(rounds - ROUNDS) <= OFF and state in ("", "DRAIN")
    led = f"STARTUP led to {state}" if state else "The sender slowed below the delivery rate"
    note = f"{led} {rounds:.1f} rounds after the link was full, without a loss.{seen.window(end)}"
    return Finding(passed(ok), PLATEAU, abs(rounds - ROUNDS), OFF, note, end)


GAIN = "sending rate divided by delivery rate in DRAIN"
GAIN_STEP = 0.05
"""How much the ratio of two measured rates may differ from the pacing gain."""
PAUSE = 0.2
"""The smallest ratio of the send rate to the delivery rate that counts as DRAIN. The smallest
pacing gain of any version of BBR in DRAIN is 0.35 (versions 1 and 2). A sender with a smaller ratio
has therefore paused."""


def drain(seen: Seen) -> Finding:
    """A.3: pass if BBR sends at half of the delivery rate until the queue is empty."""
    p = seen.packets
    full, end, state = seen.startup_end(RATE_MBIT)
    if full is None or end is None:
        return missed(
            GAIN, "The sender never slowed below the delivery rate, so no DRAIN was seen."
        )
    if p.lost(0, p.times[end]):
        return missed(GAIN, "Losses came before the sender slowed, so no DRAIN was seen.")
    if state not in ("", "DRAIN"):
        return missed(GAIN, f"STARTUP led to {state}, so no DRAIN was seen.")
    spells = seen.log.spells("DRAIN") if seen.log else []
    if spells:
        first, again = p.index(spells[0][0] + p.base_s / 2), p.index(spells[0][1] + p.base_s / 2)
    else:
        short = p.base_s / 2
        slow = [
            i
            for i in range(max(end - round(p.base_s / STEP_S), 0), len(p.times))
            if p.mbit(p.sent, i, short) < SLOWER * p.mbit(p.delivered, i, short)
        ]
        if not slow:
            return missed(GAIN, "The sender was slower for too short a time to measure a gain.")
        first = slow[0]
        again = next(i for i in range(first, len(p.times) + 1) if i not in slow) - 1
        # Rates are means over the last half RTT, so a rate may stay low for up to half an RTT after
        # DRAIN.
        again = p.index(p.times[min(again, len(p.times) - 1)] - short)
    passed_s = p.times[again] - p.times[first]
    if passed_s < p.base_s / 2:
        return missed(GAIN, "The sender was slower for too short a time to measure a gain.")
    gain = (p.sent[again] - p.sent[first]) / (p.delivered[again] - p.delivered[first])
    if gain < PAUSE and not state:
        note = f"The sender stopped instead of slowing, so this was not DRAIN.{seen.window(end)}"
        return missed(GAIN, note)
    left = min(p.backlog[first : again + 3]) / p.frame
    ok = abs(gain - a03.BOUND) <= GAIN_STEP and left <= FEW_FRAMES
    note = f"When DRAIN ended, the queue held {left:.0f} frames.{seen.window(end)}"
    return Finding(passed(ok), GAIN, gain, a03.BOUND, note, again)


def probe_rtt(seen: Seen) -> Finding:
    """A.10: pass if after 5 s the data in flight stays at half of the BDP for 200 ms."""
    p = seen.packets
    full = seen.full(RATE_MBIT)
    if full is None:
        return missed(a10.MEASURE, "The link was never full.")
    bdp = RATE_MBIT * 1e6 / 8 * p.base_s
    target = max(a10.LEAST * p.frame, a10.GAIN * bdp + p.frame)
    spells = seen.log.spells("PROBE_RTT") if seen.log else []
    if spells:
        since, until, after = spells[0]
    else:
        dip = _dip(p, full, target)
        if dip is None:
            return _no_probe_rtt(p, full)
        since, until, after = p.times[dip[0]], p.times[dip[1]], ""
        if dip[1] == len(p.times) - 1:
            return missed(a10.MEASURE, "The run ended before the data in flight rose again.")
    inside = [
        i for i, at in enumerate(p.times) if since <= at <= until and p.in_flight[i] <= target
    ]
    lasted = 1e3 * STEP_S * len(inside)
    window = min((p.in_flight[i] for i in inside), default=0.0) / p.frame
    begins = since >= a10.INTERVAL_S
    ok = (
        begins
        and lasted >= a10.BOUND
        and after in ("", "UP", "DOWN", "CRUISE", "REFILL", "PROBE_BW")
    )
    at = p.index(since)
    note = (
        f"PROBE_RTT began at {since:.2f} s{'' if begins else ', before the 5 s had passed'}, with "
        f"as few as {window:.0f} frames in flight; half of the BDP is "
        f"{a10.GAIN * bdp / p.frame:.0f}.{seen.window(at)}"
    )
    return Finding(passed(ok), a10.MEASURE, lasted, a10.BOUND, note, at)


DIP = 10
"""Number of intervals for which the data in flight must be low to count as PROBE_RTT."""


def _dip(p: PacketTrace, since: int, target: float) -> tuple[int, int] | None:
    """Return the first and last interval of the first period in which at most `target` bytes are in
    flight."""
    first = None
    for i in range(since, len(p.times) + 1):
        low = i < len(p.times) and p.in_flight[i] <= target
        if low and first is None:
            first = i
        elif not low:
            if first is not None and i - first >= DIP:
                return first, i - 1
            first = None
    return None


IN_UP = "rounds in UP, difference from 3.5"


def plateau_in_up(seen: Seen) -> Finding:
    """A.5: pass if UP leads to DOWN after about three rounds, without a loss.

    Rounds are counted as for case A.1. Without a qlog, the case cannot be decided, because packets
    do not show when UP begins and ends.
    """
    p = seen.packets
    if seen.log is None or not seen.log.states:
        note = "Packets do not show when UP begins and ends, and no qlog names BBR's states."
        return Finding("not observable", "", None, None, note)
    spells = seen.log.spells("UP")
    if not spells:
        return missed(IN_UP, "UP was not seen to begin and end.")
    since, until, state = spells[0]
    lost = p.lost(since, until)
    rounds = p.rounds(p.index(since), p.index(until))
    off = abs(rounds - ROUNDS)
    ok = state == "DOWN" and not lost and off <= OFF
    note = f"UP led to {state} after {rounds:.1f} rounds; {lost} packets were dropped during UP."
    return Finding(passed(ok), IN_UP, off, OFF, note, p.index(until))


SAME_RTT = 1.02
"""An RTT of at most this factor times the smallest RTT counts as the smallest RTT."""


def _no_probe_rtt(p: PacketTrace, full: int) -> Finding:
    """Return the result for a run in which the data in flight never fell to the level of PROBE_RTT:
    `fail` if BBR should have entered PROBE_RTT, otherwise `undecided`.
    """
    known = [(at, rtt) for at, rtt in zip(p.times, p.rtts, strict=True) if at >= p.first_s]
    smallest = min(rtt for _, rtt in known)
    again = max(at for at, rtt in known if rtt <= SAME_RTT * smallest)
    waited = p.times[-1] - again
    note = (
        "The data in flight never stayed at half of the BDP; the smallest RTT was last seen at "
        f"{again:.2f} s."
    )
    if waited > a10.INTERVAL_S + 1:
        return Finding("fail", a10.MEASURE, 0.0, a10.BOUND, note, full)
    return missed(a10.MEASURE, note)


AGGREGATED = "delivery rate when STARTUP ends (% of the link's rate)"


def aggregation(seen: Seen) -> Finding:
    """A.12: pass if STARTUP fills the link with more than two BDPs in flight, and ends."""
    p = seen.packets
    full, end, _ = seen.startup_end(a12.RATE_MBIT)
    if full is None:
        most = max((p.mbit(p.delivered, i, p.base_s) for i in range(len(p.times))), default=0.0)
        note = "The link was never full."
        return Finding("fail", AGGREGATED, 100 * most / a12.RATE_MBIT, a12.BOUND, note, 0)
    if end is None:
        note = "The sender never slowed below the delivery rate: STARTUP did not end."
        return Finding("fail", AGGREGATED, None, a12.BOUND, note, len(p.times) - 1)
    found = 100 * p.mbit(p.delivered, end, 2 * p.base_s) / a12.RATE_MBIT
    bdp = a12.RATE_MBIT * 1e6 / 8 * p.base_s
    most = max(p.in_flight[: end + 1])
    lost = p.lost(0, p.times[end])
    ok = found >= a12.BOUND and most > 2 * bdp and not lost
    note = (
        f"Up to {most / p.frame:.0f} frames were in flight at a BDP of {bdp / p.frame:.0f}; "
        f"{lost} packets were dropped before the sender slowed. Packets do not show BBR's "
        f"variable extra_acked."
    )
    return Finding(passed(ok), AGGREGATED, found, a12.BOUND, note, end)


def tiny(seen: Seen) -> Finding:
    """A.14: pass if the window is never below four packets and the link stays full."""
    p = seen.packets
    inside = [i for i, at in enumerate(p.times) if at >= a14.SINCE_S]
    if not inside:
        return missed(a14.MEASURE, f"No packet came after {a14.SINCE_S:g} s.")
    payload = p.frame - p.header
    at = min(inside, key=lambda i: p.in_flight[i])
    low = None
    if seen.log is not None:
        low = logged.least(seen.log.cwnd, a14.SINCE_S, p.times[-1])
    window = p.in_flight[at] / p.frame if low is None else low / payload
    share = 100 * p.mbit(p.delivered, inside[-1], p.times[inside[-1]] - a14.SINCE_S) / a14.RATE_MBIT
    ok = window >= a14.BOUND - ROUNDED and share >= a14.FULL
    source = "the data in flight, measured from packets" if low is None else "the qlog"
    note = f"The smallest window is taken from {source}. {a14.used(share)}"
    return Finding(passed(ok), a14.MEASURE, window, a14.BOUND, note, at)


ROUNDED = 0.1
"""By how many packets the computed window may be too small, because packets differ in length."""


def growth(seen: Seen) -> Finding:
    """A.15: fail if BBR never finds the new rate. Otherwise the case is not observable, because
    packets do not show how many rounds of UP it took to find the rate."""
    p = seen.packets
    found = seen.full(a15.RATE_MBIT, a15.CHANGE_S)
    if found is None:
        since = p.index(a15.CHANGE_S)
        most = max(p.mbit(p.delivered, i, p.base_s) for i in range(since, len(p.times)))
        note = f"The rate was not found: the delivery reached {most:.1f} Mbit/s."
        return Finding("fail", a15.MEASURE, None, a15.BOUND, note, len(p.times) - 1)
    note = (
        f"The link was full {p.times[found] - a15.CHANGE_S:.2f} s after its rate changed. "
        "Packets do not show how many rounds of UP passed until then."
    )
    return Finding("not observable", "", None, None, note, found)


def policed(seen: Seen) -> Finding:
    """A.17: pass if in the last 5 s few packets are lost, and the flow gets the policer's token
    rate."""
    p = seen.packets
    since, last = p.index(a17.SETTLED_S), len(p.times) - 1
    drops = p.lost(p.times[since], p.times[last])
    arrived = (p.delivered[last] - p.delivered[since]) / p.frame
    lost = 100 * drops / (arrived + drops) if arrived + drops else 0.0
    share = 100 * p.mbit(p.delivered, last, p.times[last] - p.times[since]) / a17.RATE_MBIT
    ok = lost <= a17.BOUND and share >= a17.LEAST
    note = (
        f"In the last 5 s the flow got {share:.0f} % of the policer's tokens. Packets do not show "
        f"BBR's "
        f"short-term bounds (bw_lo, inflight_lo)."
    )
    return Finding(passed(ok), a17.MEASURE, lost, a17.BOUND, note, since)


JUDGES: Mapping[str, Judge] = {
    "A.1": plateau,
    "A.3": drain,
    "A.5": plateau_in_up,
    "A.10": probe_rtt,
    "A.12": aggregation,
    "A.14": tiny,
    "A.15": growth,
    "A.17": policed,
}
"""The cases that can be decided for a program, each with the function that decides it."""

SIDES: Mapping[str, str] = {"A.5": "at most"}
"""For some cases, whether a program's value must be at most or at least the bound. The entry
replaces `Case.side`."""

BY_STATES = ("A.5",)
"""The cases among `JUDGES` that are observable only if a qlog names BBR's states."""

OF_APPLICATION = ("A.2", "A.6", "A.7", "A.11", "A.20", "A.22")
"""The cases in which the scenario limits what the application writes."""


def unobservable(case: Case) -> str:
    """Return the reason why a program's packets cannot decide a case, or an empty text if they
    can."""
    if case.id in JUDGES:
        return ""
    if case.id in OF_APPLICATION:
        return APPLICATION
    lacking = [name for name in case.needs if name not in SHOWN]
    names = ", ".join(lacking)
    return f"Neither packets nor a qlog show these internal values of BBR: {names}."
