"""Statistics of a class of flows: queue delay per packet, the rest of samples over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailback.metrics.base import Metric, field, recorded

_WORDS = {
    "mean": "Mean",
    "p1": "1st percentile of",
    "p25": "25th percentile of",
    "p50": "Median",
    "p75": "75th percentile of",
    "p99": "99th percentile of",
}

_SAMPLES = {
    "rate_mbit": ("Mbit/s", "frame rate of a TCP flow in an interval"),
    "window_bytes": ("byte", "rate x (mean queue delay + base RTT) of a TCP flow in an interval"),
    "utilisation": ("", "part of the link's capacity that the class has in an interval"),
    "mark_share": ("", "CE marks over packets forwarded in an interval"),
    "drop_share": ("", "drops over packets forwarded and dropped in an interval"),
}


def _ratio(quantity: str) -> Metric:
    read = field(f"samples.{quantity}.mean")

    def value(summary: Mapping[str, Any]) -> float | None:
        means = [read(part) for part in summary.get("classes", ()) if part["flows"]]
        if len(means) != 2:
            return None
        one, other = means
        return one / other if one is not None and other else None

    word = quantity.partition("_")[0]
    doc = f"With two classes that have TCP flows: mean {word} of the first over the second."
    return Metric(f"class_{word}_ratio", "run", "", doc, value, "intervals")


METRICS = (
    *(
        recorded(
            f"delay_ms.{word}",
            "class",
            "ms",
            f"{text} queue delay of the class's forwarded packets.",
            "packets",
        )
        for word, text in _WORDS.items()
    ),
    *(
        Metric(
            f"{quantity}.{word}",
            "class",
            unit,
            f"{text} {what} (record.statistics).",
            field(f"samples.{quantity}.{word}"),
            "intervals",
            most=1.0 if quantity.endswith("_share") else None,
        )
        for quantity, (unit, what) in _SAMPLES.items()
        for word, text in _WORDS.items()
    ),
    _ratio("rate_mbit"),
    _ratio("window_bytes"),
)
