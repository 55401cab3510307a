"""RFC 9743 section 7.1: throughput through queues with active management."""

from __future__ import annotations

from tailback.evaluate.criteria import AgainstThroughput

CRITERION = AgainstThroughput(
    id="7.1",
    title="Active queue management: throughput",
    source="RFC 9743 section 7.1",
    scenario="7.1-aqm.toml",
    quick={"duration": "40s"},
)
