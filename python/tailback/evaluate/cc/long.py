"""RFC 9743 section 7.5: paths with a long delay."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import PERFORMANCE, Against

CRITERION = Against(
    id="7.5",
    title="Long delay",
    source="RFC 9743 section 7.5",
    scenario="7.5-long.toml",
    measure="loss of throughput against CUBIC, as a share",
    value=measures.total_mbit("subject"),
    better="more",
    unit=" Mbit/s",
    margin=PERFORMANCE,
)
