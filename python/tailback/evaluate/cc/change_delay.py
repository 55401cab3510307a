"""RFC 9743 section 7.9: the queue delay after sudden changes of the path."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import DELAY, Against

CRITERION = Against(
    id="7.9-delay",
    title="Sudden changes of the path: delay",
    source="RFC 9743 section 7.9",
    scenario="7.9-change.toml",
    measure="mean queue delay minus CUBIC's, divided by the larger of the two",
    value=measures.of_link("delay_ms.mean"),
    unit=" ms",
    margin=DELAY,
)
