"""RFC 9743 section 7.8: response to transient events."""

from __future__ import annotations

from tailback.evaluate.criteria import AgainstThroughput

CRITERION = AgainstThroughput(
    id="7.8",
    title="Transient events",
    source="RFC 9743 section 7.8",
    scenario="7.8-transient.toml",
)
