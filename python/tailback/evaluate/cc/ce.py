"""RFC 9743 section 7.1: a sender that sends ECN-capable packets responds to CE marks."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Within

CRITERION = Within(
    id="7.1-ce",
    title="Response to CE by senders of ECT",
    source="RFC 9743 section 7.1, RFC 3168 section 5",
    scenario="7.1-ce.toml",
    measure="link utilisation by a flow whose every packet is marked CE",
    value=measures.of_link("utilisation"),
    bound=0.2,
    needs_ect=True,
    advice="The scenario sends ECT (ecn = true). A congestion control that does not respond "
    "to CE must not send ECT.",
)
