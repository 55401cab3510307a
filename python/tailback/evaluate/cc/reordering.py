"""RFC 9743 section 7.7: reordering."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import PERFORMANCE, Against

CRITERION = Against(
    id="7.7",
    title="Reordering",
    source="RFC 9743 section 7.7",
    scenario="7.7-reordering.toml",
    quick={"duration": "40s"},
    measure="loss of throughput against CUBIC, as a share",
    value=measures.total_mbit("subject"),
    better="more",
    unit=" Mbit/s",
    margin=PERFORMANCE,
)
