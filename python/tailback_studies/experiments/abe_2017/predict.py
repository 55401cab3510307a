"""What theory predicts: utilisation of a sawtooth, rates at equal mark probability, steps of
reduction.

Windows are in segments, or in bandwidth-delay products where they are called x. Then x = 1 + q,
where q is the queue at the reduction over the bandwidth-delay product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

#: C of CUBIC, segments/s^3, and its factor (RFC 9438 section 5).
CUBIC_C = 0.4
CUBIC_BETA = 0.7


def aimd_utilisation(beta: float, x: float) -> float:
    """Return the share of the capacity that one AIMD flow uses when its window falls from x to beta
    x.

    The window grows by one segment per RTT; queueing lengthens the RTT. Assumes equal cycles with
    one reduction each, a window of many segments, and a link that never idles while more than a
    bandwidth-delay product is in flight.
    """
    low = beta * x
    if low >= 1:
        return 1.0
    if x <= 1:
        return x * (1 + beta) / 2
    # Below one BDP a round trip takes 1 and carries the window x; above one BDP it takes x.
    above = (x * x - 1) / 2
    return ((1 - low * low) / 2 + above) / ((1 - low) + above)


def cubic_utilisation(beta: float, x: float) -> float:
    """Return the same share for CUBIC, whose curve is W = x (1 - (1 - beta) s^3). Here s goes from
    1 (the reduction) to 0."""
    if beta * x >= 1:
        return 1.0
    if x <= 1:
        return x * (3 + beta) / 4
    # W reaches one BDP where s is:
    full = math.cbrt((1 - 1 / x) / (1 - beta))
    below = x * ((1 - full) - (1 - beta) * (1 - full**4) / 4)
    return full + below


@dataclass
class _Work:
    """Return the data carried, in bandwidth-delay products, and the time taken, in round-trip
    times.
    """

    carried: float = 0.0
    taken: float = 0.0

    def at(self, x: float, rounds: float) -> None:
        """Add `rounds` round trips, each as long as a window of `x` makes it."""
        self.carried += x * rounds
        self.taken += max(x, 1.0) * rounds


def utilisation_by_cycles(
    cc: str, beta: float, windows: Sequence[float], bdp: float, rtt_s: float, *, fast: bool = True
) -> float:
    """Return this share with unequal cycles. Each cycle goes from beta times a window (segments, as
    measured at the reductions) up to the next window.

    It includes the parts of Linux's algorithm that the formula leaves out. In the round trip of the
    reduction the window is down and does not grow. ACKs for two segments lengthen a round trip by
    one segment. CUBIC also has whole segments, fast convergence (if `fast`) and Reno's growth where
    it is ahead.
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
    """Follow CUBIC from `start` until it has reached `after`, round trip by round trip."""
    k = math.cbrt(max(0.0, origin - start) / CUBIC_C)
    alpha = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
    top = max(origin, start)
    t, friendly, window = 0.0, start, start
    # Like `work.at`, but fast enough for millions of round trips.
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
    """Return the mean window of AIMD with an increase of 1 when every 1/p-th segment is marked."""
    return math.sqrt((1 + beta) / (2 * (1 - beta) * p))


def cubic_window(beta: float, p: float, rtt_s: float) -> float:
    """Return the mean window of CUBIC (RFC 9438 equation 5)."""
    return float((CUBIC_C * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt_s / p) ** 0.75)


def reno_ratio(beta: float, standard: float = 0.5) -> float:
    """Return the rate of Reno with `beta` over that of Reno with `standard`, at the same mark
    probability."""
    return reno_window(beta, 1.0) / reno_window(standard, 1.0)


def cubic_ratio(beta: float, standard: float = 0.7) -> float:
    """Return this ratio for CUBIC on its curve."""
    return cubic_window(beta, 1.0, 1.0) / cubic_window(standard, 1.0, 1.0)


@cache
def random_constant(beta: float) -> float:
    """W sqrt(p) of AIMD when each segment is marked independently with probability p (Dumas,
    Guillemin and Robert 2002): sqrt(2/pi) prod (1 - beta^2n) / (1 - beta^(2n-1)); 1.3098 for one
    half.
    """
    out = math.sqrt(2 / math.pi)
    for n in range(1, 2000):
        out *= (1 - beta ** (2 * n)) / (1 - beta ** (2 * n - 1))
    return out


def random_ratio(beta: float, standard: float = 0.5) -> float:
    """Return `reno_ratio` if marks are random."""
    return random_constant(beta) / random_constant(standard)


def ratio(cc: str, beta: float) -> float:
    """Return the reference's ratio at equal mark probability, of this congestion control to itself
    with the standard factor."""
    return reno_ratio(beta) if cc == "reno" else cubic_ratio(beta)


def utilisation(cc: str, beta: float, x: float) -> float:
    """Return the predicted utilisation of one flow of this congestion control."""
    return aimd_utilisation(beta, x) if cc == "reno" else cubic_utilisation(beta, x)


def steps(beta: float) -> int:
    """Return the reductions that at least halve a window: log_beta(0.5), rounded up."""
    return math.ceil(round(math.log(0.5) / math.log(beta), 9))
