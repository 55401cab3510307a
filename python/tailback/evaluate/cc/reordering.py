"""RFC 9743 section 7.7: reordering."""

from __future__ import annotations

from tailback.evaluate.criteria import AgainstThroughput

CRITERION = AgainstThroughput(
    id="7.7",
    title="Reordering",
    source="RFC 9743 section 7.7",
    scenario="7.7-reordering.toml",
    quick={"duration": "40s"},
)
