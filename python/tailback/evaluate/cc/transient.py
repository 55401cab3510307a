"""RFC 9743 section 7.8: transient events."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import PERFORMANCE, Against

CRITERION = Against(
    id="7.8",
    title="Transient events",
    source="RFC 9743 section 7.8",
    scenario="7.8-transient.toml",
    measure="loss of throughput against CUBIC, as a share",
    value=measures.total_mbit("subject"),
    better="more",
    unit=" Mbit/s",
    margin=PERFORMANCE,
)
