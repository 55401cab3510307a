"""RFC 9743 sections 6 and 6.1: a range of rates, delays and buffers."""

from __future__ import annotations

from tailback.evaluate.criteria import AgainstThroughput

CRITERION = AgainstThroughput(
    id="6.1",
    title="Paths with tail-drop queues",
    source="RFC 9743 section 6.1",
    scenario="6.1-range.toml",
    quick={
        "duration": "40s",
        "sweep": {
            "zip": [
                {
                    "bottleneck.rate": ["2Mbit", "10Mbit", "100Mbit"],
                    "path.rtt": ["50ms", "200ms", "10ms"],
                }
            ]
        },
    },
)
