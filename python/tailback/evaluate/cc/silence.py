"""RFC 9743 section 5.2: the sender stops if it receives no further feedback."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Within

CRITERION = Within(
    id="5.2-silence",
    title="Loss of feedback",
    source="RFC 9743 section 5.2",
    scenario="5.2-silence.toml",
    measure="packets sent from 1 s to 30 s after feedback ends",
    value=measures.of_flows("subject", "packets"),
    bound=10.0,
    # QUIC may send two packets with each probe timeout (RFC 9002 section 6.2.4).
    of_programs={"bound": 20.0},
)
