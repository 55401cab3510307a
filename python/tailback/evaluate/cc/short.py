"""RFC 9743 section 5.2.3: harm to short flows."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import HarmTo

CRITERION = HarmTo(
    id="5.2.3",
    title="Harm to short flows",
    source="RFC 9743 section 5.2.3",
    scenario="5.2.3-short.toml",
    quick={"duration": "40s"},
    measure="harm by the tested algorithm to the mean completion time, minus the harm by CUBIC",
    value=measures.requests("short"),
    better="less",
    incumbents=("cubic",),
    incumbent_at="",
    margin=0.1,
)
