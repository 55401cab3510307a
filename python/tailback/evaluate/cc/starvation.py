"""RFC 9743 section 5.2: no flow starves."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Within

CRITERION = Within(
    id="5.2-starvation",
    title="Starvation",
    source="RFC 9743 section 5.2",
    scenario="5.2-starvation.toml",
    quick={"duration": "40s", "sweep": {"bottleneck.queue.limit": ["1bdp", "4bdp"]}},
    measure=(
        "lowest throughput among the tested algorithm, CUBIC and Reno, divided by the fair share"
    ),
    value=measures.lowest_share,
    bound=0.1,
    better="more",
)
