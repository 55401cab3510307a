"""RFC 9743 section 5.2.1: harm to the throughput of standard flows."""

from __future__ import annotations

from tailback.evaluate.criteria import HarmToThroughput

CRITERION = HarmToThroughput(
    id="5.2.1",
    title="Harm to standard flows: throughput",
    source="RFC 9743 section 5.2.1",
    scenario="5.2.1-bulk.toml",
    quick={
        "duration": "35s",
        "bottleneck.queue.limit": "1bdp",
        "sweep": {"zip": [{"flows.incumbent.count": [1, 2], "flows.subject.count": [1, 1]}]},
    },
    quick_seeds=20,
)
