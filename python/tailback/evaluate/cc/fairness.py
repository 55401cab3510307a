"""RFC 9743 section 5.1.4: flows of the same congestion control share fairly."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Against

CRITERION = Against(
    id="5.1.4",
    title="Fairness among its own flows",
    source="RFC 9743 section 5.1.4",
    scenario="5.1.4-fairness.toml",
    quick={"duration": "50s"},
    subject_at=("flows.subject.cc", "flows.joiner.cc"),
    measure=(
        "Jain's index of CUBIC flows minus that of the tested algorithm's flows, with flows that "
        "join after 10 s"
    ),
    value=measures.jain,
    better="more",
    share=False,
    margin=0.1,
)
