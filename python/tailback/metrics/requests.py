"""How long the requests of a source of short connections took, by their size."""

from collections.abc import Callable, Mapping
from typing import Any

from tailback.metrics.base import Metric, field

BINS = (
    ("1kB", 1_000),
    ("3kB", 3_000),
    ("9kB", 9_000),
    ("27kB", 27_000),
    ("81kB", 81_000),
    ("243kB", 243_000),
    ("729kB", 729_000),
    ("1MB", 1_000_000),
)
"""Name and upper bound in bytes of each bin; each begins where the one before it ends."""

_STATISTICS = {
    "": "mean",
    ".p1": "1st percentile",
    ".p25": "25th percentile",
    ".p50": "median",
    ".p75": "75th percentile",
    ".p99": "99th percentile",
}


def of_bin(upto_bytes: int, path: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Reads a statistic of the bin of requests that ends at this size."""
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
        "requests",
        "flow",
        "",
        "Connections begun, of a source of requests.",
        field("completions.started"),
        "count",
    ),
    Metric(
        "requests_completion_s",
        "flow",
        "s",
        "Mean time from connect to last byte of all completed requests of a source.",
        _of_all,
        "requests",
    ),
    *(
        Metric(
            f"completion_s.{name}",
            "flow",
            "s",
            f"Mean time from connect to last byte of requests of up to {name}.",
            of_bin(upto_bytes, "completion_s.mean"),
            "requests",
        )
        for name, upto_bytes in BINS
    ),
    *(
        Metric(
            f"normalised.{name}{end}",
            "flow",
            "",
            f"(size / link rate + 2 RTT) / completion time, {which} over requests of up to {name}.",
            of_bin(upto_bytes, f"normalised.{end[1:] or 'mean'}"),
            "requests",
            most=1.0,
        )
        for name, upto_bytes in BINS
        for end, which in _STATISTICS.items()
    ),
)
