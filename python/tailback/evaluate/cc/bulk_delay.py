"""RFC 9743 section 5.2: harm to the delay of standard flows."""

from __future__ import annotations

from dataclasses import replace

from tailback.evaluate import measures
from tailback.evaluate.cc import bulk

CRITERION = replace(
    bulk.CRITERION,
    id="5.2.1-delay",
    title="Harm to standard flows: delay",
    source="RFC 9743 sections 5.2 and 5.2.1",
    measure=(
        "harm by the tested algorithm to the incumbent's mean RTT, minus the harm by a second "
        "flow of the incumbent's algorithm"
    ),
    value=measures.of_flows("incumbent", "rtt_ms.mean"),
    better="less",
)
