"""Completion time of a flow of given size."""

from tailback.metrics.base import recorded

METRICS = (
    recorded(
        "completion_s", "flow", "s", "From the flow's start until its last byte was delivered."
    ),
)
