"""RFC 9743 section 7.5: paths with a long delay."""

from __future__ import annotations

from tailback.evaluate.criteria import AgainstThroughput

CRITERION = AgainstThroughput(
    id="7.5",
    title="Long delay",
    source="RFC 9743 section 7.5",
    scenario="7.5-long.toml",
)
