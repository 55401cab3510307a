"""RFC 9743 section 7.3: a varying minimum delay."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import PERFORMANCE, Against

CRITERION = Against(
    id="7.3",
    title="Varying minimum delay",
    source="RFC 9743 section 7.3",
    scenario="7.3-delay.toml",
    measure="loss of throughput against CUBIC, as a share",
    value=measures.total_mbit("subject"),
    better="more",
    unit=" Mbit/s",
    margin=PERFORMANCE,
)
