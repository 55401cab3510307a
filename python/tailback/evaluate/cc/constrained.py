"""RFC 9743 section 7.4: constrained devices and very slow paths."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Against

CRITERION = Against(
    id="7.4",
    title="Constrained paths",
    source="RFC 9743 section 7.4",
    scenario="7.4-constrained.toml",
    measure="loss rate, minus CUBIC's",
    value=measures.lost_share,
    share=False,
    margin=0.05,
)
