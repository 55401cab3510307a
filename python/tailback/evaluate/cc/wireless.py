"""RFC 9743 section 6.4: wireless paths."""

from __future__ import annotations

from tailback.evaluate.criteria import AgainstThroughput

CRITERION = AgainstThroughput(
    id="6.4",
    title="Wireless paths",
    source="RFC 9743 section 6.4",
    scenario="6.4-wireless.toml",
)
