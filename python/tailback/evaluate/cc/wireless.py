"""RFC 9743 section 6.4: wireless paths."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import PERFORMANCE, Against

CRITERION = Against(
    id="6.4",
    title="Wireless paths",
    source="RFC 9743 section 6.4",
    scenario="6.4-wireless.toml",
    measure="loss of throughput against CUBIC, as a share",
    value=measures.total_mbit("subject"),
    better="more",
    unit=" Mbit/s",
    margin=PERFORMANCE,
)
