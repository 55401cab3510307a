"""Predicts three quantities: the utilisation by a flow with a sawtooth window, rates at equal mark
probability, and numbers of reductions. Windows are in segments, except windows called x, which are
in bandwidth-delay products (BDP). If a window is reduced while the queue holds q BDP, then x = 1 +
q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

# CUBIC's constant C in segments/s^3, and its backoff factor (RFC 9438 section 5).
CUBIC_C = 0.4
CUBIC_BETA = 0.7


def aimd_utilisation(beta: float, x: float) -> float:
    """Return the share of the capacity that one AIMD flow uses if its window falls from x to beta
    x.

    The window grows by one segment per RTT, and the queue lengthens the RTT. Assumptions: equal
    cycles with one reduction each, windows of many segments, and a busy link while more than one
    BDP is in flight.
    """
    low = beta * x
    if low >= 1:
        return 1.0
    if x <= 1:
        return x * (1 + beta) / 2
    # A window of at most one BDP fills no queue, so a round trip takes the base RTT. If the window
    # is x BDP with x > 1, the queue lengthens the round trip to x times the base RTT.
    above = (x * x - 1) / 2
    return ((1 - low * low) / 2 + above) / ((1 - low) + above)


def cubic_utilisation(beta: float, x: float) -> float:
    """Return the share of the capacity that one CUBIC flow uses.

    The flow's window is W = x (1 - (1 - beta) s^3), where s falls from 1 at the reduction to 0.
    """
    if beta * x >= 1:
        return 1.0
    if x <= 1:
        return x * (3 + beta) / 4
    # The value of s at which the window has grown to one BDP.
    full = math.cbrt((1 - 1 / x) / (1 - beta))
    below = x * ((1 - full) - (1 - beta) * (1 - full**4) / 4)
    return full + below


@dataclass
class _Work:
    """Sums up the sent data (in BDP) and the time that sending takes (in round-trip times)."""

    carried: float = 0.0
    taken: float = 0.0

    def at(self, x: float, rounds: float) -> None:
        """Add `rounds` round trips with a window of x BDP. A round trip takes longer if the window
        exceeds one BDP."""
        self.carried += x * rounds
        self.taken += max(x, 1.0) * rounds


def utilisation_by_cycles(
    cc: str, beta: float, windows: Sequence[float], bdp: float, rtt_s: float, *, fast: bool = True
) -> float:
    """Return the share of the capacity that one flow with unequal cycles uses. `windows` are the
    windows in segments at the measured reductions. In each cycle, the window grows from beta times
    one of these windows to the next of these windows. The computation includes details of Linux
    that the formula leaves out. In the round trip of a reduction, the window does not grow. If the
    receiver ACKs only every second segment, a round trip takes longer by the time to send one
    segment. CUBIC has windows of whole segments, fast convergence (if `fast`), and Reno-friendly
    growth.
    """
    bdp += 1
    work = _Work()
    remembered = 0.0
    for i, before in enumerate(windows):
        after = windows[(i + 1) % len(windows)]
        start = beta * before
        origin = before
        if fast and before < remembered:
            origin = before * (1 + beta) / 2
        remembered = origin
        work.at(start / bdp, 1.0)
        if cc == "reno":
            window = start
            while window < after:
                work.at(window / bdp, 1.0)
                window += 1.0
        else:
            _climb(work, start, origin, after, bdp, rtt_s)
    return min(1.0, work.carried / work.taken) if work.taken else 1.0


def _climb(
    work: _Work, start: float, origin: float, after: float, bdp: float, rtt_s: float
) -> None:
    """Simulate CUBIC's window from `start` to `after`, one round trip at a time."""
    k = math.cbrt(max(0.0, origin - start) / CUBIC_C)
    alpha = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
    top = max(origin, start)
    t, friendly, window = 0.0, start, start
    # This code repeats `work.at`, because function calls are too slow for millions of round trips.
    carried, taken = work.carried, work.taken
    while window < after and t < 120:
        x = window / bdp
        lasting = x if x > 1.0 else 1.0
        carried += x
        taken += lasting
        t += rtt_s * lasting
        friendly += alpha
        rise = CUBIC_C * abs(t + rtt_s - k) ** 3
        curve = top + (-float(int(rise)) if t + rtt_s < k else rise)
        window = min(max(window, curve, friendly), 1.5 * window)
    work.carried, work.taken = carried, taken


def reno_window(beta: float, p: float) -> float:
    """Return the mean window of AIMD if the window grows by 1 per RTT and every 1/p-th segment is
    marked.
    """
    return math.sqrt((1 + beta) / (2 * (1 - beta) * p))


def cubic_window(beta: float, p: float, rtt_s: float) -> float:
    """Return the mean window of CUBIC (RFC 9438 equation 5)."""
    return float((CUBIC_C * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt_s / p) ** 0.75)


def reno_ratio(beta: float, standard: float = 0.5) -> float:
    """Return the rate of Reno with `beta` divided by the rate of Reno with `standard`, at the same
    mark probability."""
    return reno_window(beta, 1.0) / reno_window(standard, 1.0)


def cubic_ratio(beta: float, standard: float = 0.7) -> float:
    """Return `reno_ratio` for CUBIC, without Reno-friendly growth."""
    return cubic_window(beta, 1.0, 1.0) / cubic_window(standard, 1.0, 1.0)


@cache
def random_constant(beta: float) -> float:
    """Return W sqrt(p) for AIMD, if each segment is marked independently with probability p (Dumas,
    Guillemin and Robert 2002). The value is sqrt(2/pi) prod (1 - beta^2n) / (1 - beta^(2n-1)). For
    beta = 1/2, this value is 1.3098.
    """
    out = math.sqrt(2 / math.pi)
    for n in range(1, 2000):
        out *= (1 - beta ** (2 * n)) / (1 - beta ** (2 * n - 1))
    return out


def random_ratio(beta: float, standard: float = 0.5) -> float:
    """Return `reno_ratio` for random marks."""
    return random_constant(beta) / random_constant(standard)


def ratio(cc: str, beta: float) -> float:
    """Return the ratio that the ABE paper predicts at equal mark probability: the rate with `beta`
    divided by the rate with the standard factor."""
    return reno_ratio(beta) if cc == "reno" else cubic_ratio(beta)


def utilisation(cc: str, beta: float, x: float) -> float:
    """Return the utilisation that the formula predicts for one flow."""
    return aimd_utilisation(beta, x) if cc == "reno" else cubic_utilisation(beta, x)


def steps(beta: float) -> int:
    """Return the number of reductions that halve a window: log_beta(0.5), rounded up."""
    return math.ceil(round(math.log(0.5) / math.log(beta), 9))
