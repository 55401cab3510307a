"""Defines what the experiments vary: congestion controls, backoff factors, queues, round-trip
times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailback.errors import InputError
from tailback_studies.reproduction import sources

# Parts of the experiment in the order of the command line, with their titles.
PARTS: Mapping[str, str] = {
    "experiment-1": "One CUBIC flow at 20 Mbit/s",
    "experiment-2": "One NewReno flow on CoDel at 10 Mbit/s",
    "experiment-3": "One NewReno flow on PIE at 10 Mbit/s",
    "experiment-4": "One CUBIC flow on CoDel and on PIE at 10 Mbit/s",
    "equal-probability": "Rate at equal mark probability",
    "experiment-5": "Convergence: a flow enters after 30 s",
    "experiment-6": "Ten against ten",
    "experiment-7": "Short flows that end near the end of slow start",
    "trade-off": "What a gentler factor gains, and what it costs",
}
# Parts of the experiment that can also run on Linux.
KERNEL_PARTS = ("experiment-1", "experiment-2", "experiment-3", "experiment-4")

NAMES = {"reno": "NewReno", "cubic": "CUBIC"}
# Factor by which the window is multiplied after a loss, and after a mark without ABE.
STANDARD = {"reno": 0.5, "cubic": 0.7}
# Factor that RFC 8511 recommends after a mark.
RECOMMENDED = {"reno": 0.8, "cubic": 0.85}
BETAS: Mapping[str, tuple[float, ...]] = {
    "reno": (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
    "cubic": (0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
}
QUICK_BETAS: Mapping[str, tuple[float, ...]] = {
    "reno": (0.5, 0.7, 0.8, 0.9),
    "cubic": (0.7, 0.8, 0.85, 0.9),
}
# Backoff factors that figures show. More curves could not be distinguished.
DRAWN: Mapping[str, tuple[float, ...]] = {
    "reno": (0.5, 0.7, 0.8, 0.9, 0.95),
    "cubic": (0.7, 0.8, 0.85, 0.9, 0.95),
}
# Round-trip times (in ms) of the experiments with one flow.
RTTS = (10, 20, 40, 80, 160, 320)


@dataclass(frozen=True)
class AbeQueue:
    """A queue discipline with its options in the experiments."""

    id: str
    title: str
    options: Mapping[str, Any]


QUEUES = {
    queue.id: queue
    for queue in (
        AbeQueue(
            "codel",
            "CoDel",
            {"aqm": "codel", "target": "5ms", "interval": "100ms", "limit": "1000p", "ecn": True},
        ),
        AbeQueue("pie", "PIE of 2014", {"aqm": "pie", "version": "linux-3.14", "ecn": True}),
        AbeQueue("pie-8033", "PIE (RFC 8033)", {"aqm": "pie", "ecn": True}),
        AbeQueue("fq_codel", "FQ-CoDel", {"aqm": "fq_codel"}),
        AbeQueue("cake", "Cake", {"aqm": "cake"}),
        AbeQueue("dualpi2", "DualPI2, classic queue", {"aqm": "dualpi2"}),
    )
}


def options(queue: str, engine: str) -> dict[str, Any]:
    """Return a queue's options for an engine. Of the two versions of PIE, current Linux has only
    PIE of RFC 8033."""
    if engine != "sim" and queue == "pie":
        queue = "pie-8033"
    return dict(QUEUES[queue].options)


def kernel_only(parts: tuple[str, ...], asked: bool, name: str) -> tuple[str, ...]:
    """Return the parts of the experiment that can run on Linux. Raise an error for an explicitly
    requested part that cannot run on Linux."""
    if asked:
        for part in parts:
            if part not in KERNEL_PARTS:
                raise InputError(
                    f"{name}: only the simulator runs {part}; expected --engine sim, or one of "
                    f"{', '.join(KERNEL_PARTS)}"
                )
    return tuple(part for part in parts if part in KERNEL_PARTS)


def scenario(name: str) -> dict[str, Any]:
    """Read a scenario file of the experiment. Return a copy, which the caller may modify."""
    return sources.scenario(__package__, name)


def bdp(rate_mbit: float, rtt_ms: float) -> float:
    """Return the path's bandwidth-delay product in full segments."""
    return rate_mbit * 1e3 * rtt_ms / 8 / 1514


def rtt_text(rtt_ms: float) -> str:
    """Return a round-trip time in the notation of scenario files."""
    return f"{rtt_ms:g}ms"
