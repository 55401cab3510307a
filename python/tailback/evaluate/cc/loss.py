"""RFC 9743 section 5.1.3: no persistently high loss rate."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Against

CRITERION = Against(
    id="5.1.3",
    title="Packet loss",
    source="RFC 9743 section 5.1.3",
    scenario="5.1.3-loss.toml",
    quick={
        "duration": "30s",
        "sweep": {"bottleneck.queue.limit": ["0.1bdp", "0.5bdp"], "flows.subject.count": [1, 10]},
    },
    measure="loss rate at small buffers, minus CUBIC's",
    value=measures.lost_share,
    share=False,
    margin=0.02,
)
