"""RFC 9743 section 5.1.2: no needless queue."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import DELAY, Against

CRITERION = Against(
    id="5.1.2",
    title="Queueing delay",
    source="RFC 9743 section 5.1.2",
    scenario="5.1.2-queue.toml",
    quick={"duration": "40s", "sweep": {"bottleneck.queue.limit": ["1bdp", "4bdp"]}},
    measure="mean queue delay minus CUBIC's, divided by the larger of the two",
    value=measures.of_link("delay_ms.mean"),
    unit=" ms",
    margin=DELAY,
)
