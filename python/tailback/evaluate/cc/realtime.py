"""RFC 9743 section 5.2.2: harm to real-time traffic."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import HarmTo

CRITERION = HarmTo(
    id="5.2.2",
    title="Harm to real-time traffic",
    source="RFC 9743 section 5.2.2",
    scenario="5.2.2-realtime.toml",
    quick={"duration": "40s"},
    measure="harm by the tested algorithm to the mean frame delay, minus the harm by CUBIC",
    value=measures.of_flows("call", "chunks.took_ms.mean"),
    better="less",
    incumbents=("cubic",),
    incumbent_at="",
    margin=0.1,
)
