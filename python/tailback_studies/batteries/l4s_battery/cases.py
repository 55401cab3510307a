"""Describes each scenario of the set by its link rate, round-trip times, numbers of flows, and UDP
traffic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LINKS = (4.0, 12.0, 40.0, 120.0, 200.0)
"""Link rates of the parts with equal RTTs, in Mbit/s."""
RTTS = (5.0, 10.0, 20.0, 50.0, 100.0)
"""Base RTTs of the parts with equal RTTs, in ms. Class C has the same RTTs in the part with mixed
RTTs."""
L_RTTS = (5.0, 100.0)
"""RTTs of class L in the part with mixed RTTs, in ms."""
UDP = (50.0, 70.0, 100.0, 140.0, 200.0)
"""UDP rates of the overload part, in Mbit/s."""
SIZES = {
    1_000: "1kB",
    3_000: "3kB",
    9_000: "9kB",
    27_000: "27kB",
    81_000: "81kB",
    243_000: "243kB",
    729_000: "729kB",
    1_000_000: "1MB",
}
"""Upper ends of the bins of short flows in bytes, with their names in metrics."""


@dataclass(frozen=True)
class Spot:
    """The values of a sweep point that determine where the figures show it."""

    link: float
    """Rate of the link, in Mbit/s."""
    l_rtt: float | None
    """RTT of the flows in class L, in ms. None if L has no flow."""
    c_rtt: float | None
    l_flows: int
    c_flows: int
    udp: float = 0.0
    """Rate of the UDP traffic, in Mbit/s."""
    udp_in: str = ""
    """The class of the UDP traffic: L or C. Empty without UDP traffic."""


def spot(file: str, params: Mapping[str, Any]) -> Spot:
    """Return the values that determine where the figures show a sweep point.

    `file` is the name of the scenario file without its ending.
    """

    def ms(path: str, default: float) -> float:
        return float(params.get(path, default * 1e6)) / 1e6

    def mbit(path: str, default: float) -> float:
        return float(params.get(path, default * 1e6)) / 1e6

    if file.startswith("flows"):
        one_class = {"flows-L": (10, 0), "flows-C": (0, 10)}
        swept = tuple(int(params.get(f"flows.{name}.count", 1)) for name in "LC")
        low, classic = one_class.get(file, swept)
        return Spot(40.0, 10.0 if low else None, 10.0 if classic else None, low, classic)
    if file.startswith("mixed-rtt"):
        low_rtt = ms("flows.L.rtt", 5)
        if file == "mixed-rtt-L":
            return Spot(40.0, low_rtt, None, 1, 0)
        return Spot(40.0, low_rtt, ms("flows.C.rtt", 5), 1, 1)
    if file.startswith("overload"):
        where = file.removeprefix("overload-")
        return Spot(100.0, 10.0, 10.0, 1, 1, mbit(f"traffic.{where}-udp.rate", 50), where)
    rtt = ms("path.rtt", 10)
    return Spot(mbit("bottleneck.rate", 40), rtt, rtt, 1, 1)


def words(file: str, params: Mapping[str, Any]) -> str:
    """Return a name for a sweep point of a scenario file. Names are unique within a part."""
    at = spot(file, params)
    if file.startswith("flows"):
        return f"{at.l_flows} L, {at.c_flows} C"
    if file.startswith("mixed-rtt"):
        other = "none" if at.c_rtt is None else f"{at.c_rtt:g} ms"
        return f"L {at.l_rtt:g} ms, C {other}"
    if file.startswith("overload"):
        return f"UDP {at.udp:g} Mbit/s in {at.udp_in}"
    return f"{at.link:g} Mbit/s, {at.l_rtt:g} ms"
