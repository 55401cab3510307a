"""RFC 9743 section 7.1: the delay of queues with active management."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import DELAY, Against

CRITERION = Against(
    id="7.1-delay",
    title="Active queue management: delay",
    source="RFC 9743 section 7.1",
    scenario="7.1-aqm.toml",
    quick={"duration": "40s"},
    measure="mean queue delay minus CUBIC's, divided by the larger of the two",
    value=measures.of_link("delay_ms.mean"),
    unit=" ms",
    margin=DELAY,
)
