"""Throughput of a flow."""

from tailback.metrics.base import recorded

METRICS = (
    recorded(
        "throughput_mbit",
        "flow",
        "Mbit/s",
        "Payload delivered in order, over the flow's measured time.",
    ),
)
