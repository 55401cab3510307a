"""RFC 9743 section 7.1: queues with active management."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import PERFORMANCE, Against

CRITERION = Against(
    id="7.1",
    title="Active queue management: throughput",
    source="RFC 9743 section 7.1",
    scenario="7.1-aqm.toml",
    quick={"duration": "40s"},
    measure="loss of throughput against CUBIC, as a share",
    value=measures.total_mbit("subject"),
    better="more",
    unit=" Mbit/s",
    margin=PERFORMANCE,
)
