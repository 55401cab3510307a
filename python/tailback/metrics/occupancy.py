"""Occupancy of a link's queue."""

from tailback.metrics.base import recorded

METRICS = (
    recorded(
        "occupancy_bytes_mean",
        "link",
        "byte",
        "Time-weighted mean backlog, without the packet in transmission.",
        "time",
    ),
)
