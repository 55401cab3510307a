"""RFC 9743 section 5.1.5: short and long flows of the same congestion control."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import DELAY, Against

CRITERION = Against(
    id="5.1.5",
    title="Short flows beside long flows of the same algorithm",
    source="RFC 9743 section 5.1.5",
    scenario="5.1.5-short-own.toml",
    quick={"duration": "40s"},
    subject_at=("flows.subject.cc", "traffic.short.cc"),
    unobservable="The section needs many short connections, which a program cannot open.",
    measure="mean completion time minus CUBIC's, divided by the larger of the two",
    value=measures.requests("short"),
    unit=" s",
    margin=DELAY,
)
