"""RFC 9743 section 7.9: sudden changes of the path."""

from __future__ import annotations

from tailback.evaluate.criteria import AgainstThroughput

CRITERION = AgainstThroughput(
    id="7.9",
    title="Sudden changes of the path: throughput",
    source="RFC 9743 section 7.9",
    scenario="7.9-change.toml",
)
