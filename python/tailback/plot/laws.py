"""Draws the laws of congestion controls: the throughput or window that a formula predicts for a
probability of loss.

To add a law, add an entry to `LAWS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback.base.names import unknown
from tailback.errors import InputErrors
from tailback.metrics import group_of
from tailback.plot import values
from tailback.plot.dimensions import Dimension
from tailback.plot.plan import PlotPlan, Rows

POINTS = 60
"""Number of points of a drawn curve."""

SCALABLE = 0.4
"""The constant C of RFC 9438, in segments per second cubed."""
BETA = 0.7
"""CUBIC's factor for the window after a loss, if the scenario does not set it."""


@dataclass(frozen=True)
class Conditions:
    """The parameters of a law, except the probability of loss."""

    rtt_s: float
    """The RTT without queues."""
    mss: int
    """Payload of a segment, in bytes."""
    beta: float


@dataclass(frozen=True)
class Law:
    """A formula for the mean window."""

    title: str
    window: Callable[[float, Conditions], float]
    """The mean window in segments, for a probability of loss."""


def reno(loss: float, _: Conditions) -> float:
    """Return the mean of Reno's window, which grows by a segment per round trip and is halved by a
    loss."""
    return math.sqrt(1.5 / loss)


def cubic(loss: float, at: Conditions) -> float:
    """Return the mean window of CUBIC, RFC 9438 section 5.1. CUBIC's window is never smaller than
    Reno's (section 4.3).
    """
    factor = math.sqrt(math.sqrt(SCALABLE * (3 + at.beta) / (4 * (1 - at.beta))))
    return max(factor * math.pow(at.rtt_s / loss, 0.75), reno(loss, at))


LAWS = {
    "rfc9438": Law("RFC 9438", cubic),
    "reno": Law("1.22 / √p", reno),
}
"""The laws by their names."""

SERIES = ("cwnd", "in_flight")
"""The series, in segments, to whose figures a law can be added."""


def check(plan: PlotPlan, laws: Sequence[str]) -> None:
    """Raise `InputErrors` for unknown laws, and for a figure that cannot show them."""
    wrong = [f"--law: {unknown('law', name, list(LAWS))}" for name in laws if name not in LAWS]
    if laws and plan.kind.name != "line":
        wrong.append(f"--law: {plan.kind.name} does not draw laws; set --kind line")
    elif laws:
        over = plan.x
        keys = over.keys if isinstance(over, Dimension) else ()
        if len(keys) != 1 or keys[0].rpartition(".")[2] != "loss":
            wrong.append(
                "--law: the x axis is no probability of loss; expected --x bottleneck.loss"
            )
        if _in_units(plan) is None:
            wrong.append(f"--law: no law predicts {plan.y.name}; expected --y throughput_mbit")
    if wrong:
        raise InputErrors(*wrong)


def _in_units(plan: PlotPlan) -> Callable[[float, Conditions], float] | None:
    """Return the conversion from a window to the units of the y axis."""
    if plan.y.metric is not None and plan.y.metric.path == "throughput_mbit":
        return lambda window, at: window * at.mss * 8 / at.rtt_s / 1e6
    if plan.y.metric is None and plan.y.name in SERIES:
        return lambda window, _: window
    return None


def rows(plan: PlotPlan, across: Sequence[float]) -> Rows:
    """Return the curves of the plan's laws in each panel, between the ends of the x axis."""
    laws, convert = plan.look.laws, _in_units(plan)
    found = [x for x in across if x > 0]
    if not laws or convert is None or len(found) < 2:
        return []
    low, high = min(found), max(found)
    curves: dict[tuple[str, str, Conditions], None] = {}
    for place in values.places(plan, plan.y):
        _, _, column, row = place.roles
        flows = plan.members[place.run].run.manifest["canonical"]["flows"]
        for settings in flows:
            if settings["name"] in (place.part, group_of(place.part)):
                curves.setdefault((column, row, _conditions(settings)))
    several = len({conditions.rtt_s for _, _, conditions in curves}) > 1
    made: Rows = []
    for number, (column, row, at) in enumerate(curves):
        for order, name in enumerate(laws):
            # Place the names of laws apart from each other, because the curves of laws may
            # coincide.
            named = (2 + 30 * (order + number)) % (POINTS - 2)
            title = LAWS[name].title + (f", {at.rtt_s * 1e3:g} ms" if several else "")
            for step in range(POINTS):
                loss = low * (high / low) ** (step / (POINTS - 1))
                made.append(
                    {
                        **{"column": column, "row": row, "x": loss, "law": f"{name} {number}"},
                        "predicted": convert(LAWS[name].window(loss, at), at),
                        "title": title if step == named else "",
                    }
                )
    return made


def _conditions(settings: Mapping[str, Any]) -> Conditions:
    """Return the flow's RTT, MSS and CUBIC factor, on which a law depends."""
    own = settings["cc"]
    beta = own.get("options", {}).get("beta", BETA) if own["name"] == "cubic" else BETA
    return Conditions(settings["rtt"] / 1e9, settings["tcp"]["mss"], beta)
