"""Metrics of the completion times of a source's requests, by request size."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from tailback.metrics import fields
from tailback.metrics.base import Metric, field

BINS = fields.bins()
"""Name and upper bound in bytes of each bin of sizes. A bin begins where the previous bin ends."""

_SIZES = (
    f"up to {BINS[0][0]}",
    *(f"above {below} and up to {name}" for (below, _), (name, _) in pairwise(BINS)),
)
"""The range of sizes of each bin, as text for the documentation."""

SOURCES = ("traffic",)
"""The kinds of parts that have requests."""

_STATISTICS = {
    "": "Mean",
    ".p1": "1st percentile",
    ".p25": "25th percentile",
    ".p50": "Median",
    ".p75": "75th percentile",
    ".p99": "99th percentile",
}


def of_bin(upto_bytes: int, path: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Return a function that reads a statistic of the requests in this size bin."""
    read = field(path)

    def value(part: Mapping[str, Any]) -> float | None:
        bins = (part.get("completions") or {}).get("bins", ())
        return next((read(bin_) for bin_ in bins if bin_["upto_bytes"] == upto_bytes), None)

    return value


def _of_all(part: Mapping[str, Any]) -> float | None:
    bins = [one for one in (part.get("completions") or {}).get("bins", ()) if one["n"]]
    total = sum(one["n"] for one in bins)
    return sum(one["n"] * one["completion_s"]["mean"] for one in bins) / total if total else None


METRICS = (
    Metric(
        "requests_completion_s",
        "flow",
        "s",
        "Mean completion time of a source's completed requests, from connect to the last byte.",
        _of_all,
        "requests",
        better="less",
        only=SOURCES,
    ),
    *(
        Metric(
            f"completion_s.{name}",
            "flow",
            "s",
            f"Mean completion time of requests with sizes {sizes}, from connect to the last byte.",
            of_bin(upto_bytes, "completion_s.mean"),
            "requests",
            better="less",
            only=SOURCES,
        )
        for (name, upto_bytes), sizes in zip(BINS, _SIZES, strict=True)
    ),
    *(
        Metric(
            f"normalised.{name}{end}",
            "flow",
            "",
            f"{which} of the ratio of ideal to completion time, for requests with sizes {sizes}. "
            "The ideal time of a request is size / link rate + 2 RTT.",
            of_bin(upto_bytes, f"normalised.{end[1:] or 'mean'}"),
            "requests",
            most=1.0,
            better="more",
            only=SOURCES,
        )
        for (name, upto_bytes), sizes in zip(BINS, _SIZES, strict=True)
        for end, which in _STATISTICS.items()
    ),
)
