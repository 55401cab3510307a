"""What theory says: utilisation of a sawtooth, rates at equal mark probability, steps of reduction.

Windows are in segments, or in bandwidth-delay products where they are called x: then x = 1 + the
queue at the moment of the reduction over the bandwidth-delay product.
"""

from __future__ import annotations

import math
from functools import cache

#: C of CUBIC, segments/s^3 (RFC 9438 section 5).
CUBIC_C = 0.4


def aimd_utilisation(beta: float, x: float) -> float:
    """Share of the capacity that one AIMD flow uses whose window falls from x to beta x.

    It grows by one segment per RTT, and the RTT by what is queued. Assumes equal cycles with one
    reduction each, a window of many segments, and a link that never waits while more than a
    bandwidth-delay product is in flight.
    """
    low = beta * x
    if low >= 1:
        return 1.0
    if x <= 1:
        return x * (1 + beta) / 2
    # Below one BDP a round trip takes 1 and carries the window; above, it takes the window.
    above = (x * x - 1) / 2
    return ((1 - low * low) / 2 + above) / ((1 - low) + above)


def cubic_utilisation(beta: float, x: float) -> float:
    """The same for CUBIC's curve: W = x (1 - (1 - beta) s^3), s from 1 (the reduction) to 0."""
    if beta * x >= 1:
        return 1.0
    if x <= 1:
        return x * (3 + beta) / 4
    # W reaches one BDP where s is:
    full = ((1 - 1 / x) / (1 - beta)) ** (1 / 3)
    below = x * ((1 - full) - (1 - beta) * (1 - full**4) / 4)
    return full + below


def reno_window(beta: float, p: float) -> float:
    """Mean window of AIMD with an increase of 1 when every 1/p-th segment is marked."""
    return math.sqrt((1 + beta) / (2 * (1 - beta) * p))


def cubic_window(beta: float, p: float, rtt_s: float) -> float:
    """Mean window of CUBIC (RFC 9438 equation 5)."""
    return float((CUBIC_C * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt_s / p) ** 0.75)


def friendly_window(beta: float, p: float, standard: float) -> float:
    """Mean window of CUBIC's Reno-friendly part, whose increase belongs to the standard beta."""
    alpha = 3 * (1 - standard) / (1 + standard)
    return math.sqrt(alpha * (1 + beta) / (2 * (1 - beta) * p))


def reno_ratio(beta: float, standard: float = 0.5) -> float:
    """Rate of Reno with `beta` over one with `standard` at the same mark probability."""
    return reno_window(beta, 1.0) / reno_window(standard, 1.0)


def cubic_ratio(beta: float, standard: float = 0.7) -> float:
    """The same for CUBIC on its curve."""
    return cubic_window(beta, 1.0, 1.0) / cubic_window(standard, 1.0, 1.0)


@cache
def random_constant(beta: float) -> float:
    """W sqrt(p) of AIMD when each segment is marked with probability p by itself (Dumas, Guillemin
    and Robert 2002): sqrt(2/pi) prod (1 - beta^2n) / (1 - beta^(2n-1)); 1.3098 for one half."""
    out = math.sqrt(2 / math.pi)
    for n in range(1, 2000):
        out *= (1 - beta ** (2 * n)) / (1 - beta ** (2 * n - 1))
    return out


def random_ratio(beta: float, standard: float = 0.5) -> float:
    """`reno_ratio` with marks at random."""
    return random_constant(beta) / random_constant(standard)


def ratio(cc: str, beta: float) -> float:
    """The reference's ratio at equal mark probability, of this congestion control to itself."""
    return reno_ratio(beta) if cc == "reno" else cubic_ratio(beta)


def utilisation(cc: str, beta: float, x: float) -> float:
    """Of one flow of this congestion control."""
    return aimd_utilisation(beta, x) if cc == "reno" else cubic_utilisation(beta, x)


def steps(beta: float) -> int:
    """Reductions that at least halve a window: log_beta(0.5), rounded up."""
    return math.ceil(round(math.log(0.5) / math.log(beta), 9))
