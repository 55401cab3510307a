"""RFC 9743 section 7.9: sudden changes of the path."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import PERFORMANCE, Against

CRITERION = Against(
    id="7.9",
    title="Sudden changes of the path: throughput",
    source="RFC 9743 section 7.9",
    scenario="7.9-change.toml",
    measure="loss of throughput against CUBIC, as a share",
    value=measures.total_mbit("subject"),
    better="more",
    unit=" Mbit/s",
    margin=PERFORMANCE,
)
