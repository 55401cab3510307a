"""RFC 7928 section 6.2: flows with different round-trip times."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.queue.placed import REFERENCE, QueueAgainst

CRITERION = QueueAgainst(
    id="6.2",
    title="Fairness between round-trip times",
    source="RFC 7928 section 6.2",
    scenario="6.2-rtt.toml",
    quick={"duration": "80s", "sweep": {"flows.second.rtt": ["20ms", "560ms"]}},
    buffer=925,
    measure=f"Jain's index with {REFERENCE} minus Jain's index with the tested algorithm",
    value=measures.jain,
    better="more",
    share=False,
    margin=0.1,
)
