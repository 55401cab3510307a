"""RFC 9743 section 5.2: harm to standard flows by loss."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import HarmTo

CRITERION = HarmTo(
    id="5.2.1-loss",
    title="Harm to standard flows: loss",
    source="RFC 9743 sections 5.2 and 5.2.1",
    scenario="5.2.1-bulk.toml",
    quick={
        "duration": "35s",
        "bottleneck.queue.limit": "1bdp",
        "sweep": {"zip": [{"flows.incumbent.count": [1, 2], "flows.subject.count": [1, 1]}]},
    },
    quick_seeds=20,
    measure="increase of the share of packets lost, less what the incumbent does to itself",
    value=measures.lost_share_of("incumbent"),
    better="less",
    absolute=True,
    margin=0.01,
)
