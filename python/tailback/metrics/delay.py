"""Queue delay of a link."""

from tailback.metrics.base import recorded

_WORDS = {
    "mean": "Mean",
    "p1": "1st percentile of",
    "p25": "25th percentile of",
    "p50": "Median",
    "p75": "75th percentile of",
    "p99": "99th percentile of",
    "max": "Largest",
}

METRICS = tuple(
    recorded(
        f"delay_ms.{word}",
        "link",
        "ms",
        f"{text} queue delay of forwarded packets, own serialisation not included.",
        "packets",
    )
    for word, text in _WORDS.items()
)
