"""Functions that sections use to measure a run. Each function returns None if the run does not have
the value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tailback.metrics import requests as _requests
from tailback.store.results import Run

Part = Mapping[str, Any]


def named(run: Run, name: str) -> list[Part]:
    """Return the flows or programs that one table of the scenario defines. If the table's name is
    `subject`, its flows are called `subject`, or `subject/1`, `subject/2` and so on.
    """
    return [one for one in senders(run) if one["name"].partition("/")[0] == name]


def senders(run: Run) -> list[Part]:
    return [*run.summary["flows"], *run.summary.get("programs", ())]


def at(part: Part, path: str) -> float | None:
    value: Any = part
    for key in path.split("."):
        if value is None:
            return None
        value = value.get(key)
    return None if value is None else float(value)


def mean(values: Iterable[float | None]) -> float | None:
    found = list(values)
    known = [value for value in found if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(found) else None


def total(values: Iterable[float | None]) -> float | None:
    found = list(values)
    known = [value for value in found if value is not None]
    return math.fsum(known) if known and len(known) == len(found) else None


def of_flows(name: str, path: str) -> Callable[[Run], float | None]:
    """Return a measure: the number at `path` in the summaries of the flows with this name, averaged
    over these flows."""
    return lambda run: mean(at(flow, path) for flow in named(run, name))


def of_traffic(name: str, path: str) -> Callable[[Run], float | None]:
    """Return a measure: the number at `path` in the summaries of the sources with this name,
    averaged over these sources."""

    def value(run: Run) -> float | None:
        parts = run.summary["traffic"]
        return mean(at(one, path) for one in parts if one["name"].partition("/")[0] == name)

    return value


def requests(name: str) -> Callable[[Run], float | None]:
    """Return a measure: the mean completion time of a traffic source's requests."""
    [whole] = [metric for metric in _requests.METRICS if metric.path == "requests_completion_s"]

    def value(run: Run) -> float | None:
        found = [one for one in run.summary["traffic"] if one["name"].partition("/")[0] == name]
        return mean(whole.value(one) for one in found)

    return value


def of_link(path: str, link: str = "bottleneck") -> Callable[[Run], float | None]:
    """Return a measure: the number at a path such as `delay_ms.mean` in the summary of a link."""
    return lambda run: at(run.summary["queues"][link], path)


def total_mbit(name: str) -> Callable[[Run], float | None]:
    """Return a measure: the total throughput of the flows with this name."""
    return lambda run: total(at(flow, "throughput_mbit") for flow in named(run, name))


def lost_share(run: Run) -> float | None:
    """Return the drops at the bottleneck divided by the packets that arrived at the bottleneck."""
    queue = run.summary["queues"]["bottleneck"]
    arrived = queue["packets"] + queue["drops"]
    return queue["drops"] / arrived if arrived else None


def share_of(name: str, path: str) -> Callable[[Run], float | None]:
    """Return a measure: a count of the flows with a name, such as drops, divided by the data
    packets that these flows sent."""

    def value(run: Run) -> float | None:
        count, packets = (
            total(at(flow, one) for flow in named(run, name)) for one in (path, "packets")
        )
        return count / packets if count is not None and packets else None

    return value


def jain(run: Run) -> float | None:
    if not run.summary.get("programs"):
        return at(run.summary, "jain")
    found = [at(one, "throughput_mbit") for one in senders(run)]
    known = [one for one in found if one is not None]
    squares = math.fsum(one * one for one in known)
    if len(known) < len(found) or not squares:
        return None
    return math.fsum(known) ** 2 / (len(known) * squares)


def lowest_share(run: Run) -> float | None:
    """Return the lowest throughput of any flow or program, divided by the fair share."""
    found = [at(one, "throughput_mbit") for one in senders(run)]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or not known or not math.fsum(known):
        return None
    return min(known) * len(known) / math.fsum(known)


def series(run: Run, quantity: str, name: str = "subject") -> list[tuple[float, float]]:
    """Return the recorded series of the first flow with this name.

    Each entry is a pair of a time (in seconds) and a value.
    """
    import polars as pl

    flows = [flow["name"] for flow in named(run, name)]
    frame = run.series().filter(
        pl.col("quantity") == quantity, pl.col("flow") == flows[0] if flows else pl.lit(False)
    )
    return [
        (time / 1e9, value)
        for time, value in zip(frame["time_ns"].to_list(), frame["value"].to_list(), strict=True)
    ]


def last_before(samples: Sequence[tuple[float, float]], time: float) -> float | None:
    """Return the last value of a series before or at a time."""
    known = [value for when, value in samples if when <= time]
    return known[-1] if known else None


def first_after(samples: Sequence[tuple[float, float]], time: float) -> float | None:
    """Return the first value of a series at or after a time."""
    return next((value for when, value in samples if when >= time), None)
