"""RFC 9743 section 7.3: a varying minimum delay."""

from __future__ import annotations

from tailback.evaluate.criteria import AgainstThroughput

CRITERION = AgainstThroughput(
    id="7.3",
    title="Varying minimum delay",
    source="RFC 9743 section 7.3",
    scenario="7.3-delay.toml",
)
