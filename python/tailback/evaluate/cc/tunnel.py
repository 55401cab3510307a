"""RFC 9743 section 6.2: the sender responds to congestion marks made inside a tunnel."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Within

CRITERION = Within(
    id="6.2",
    title="Tunnels: response to CE in the outer header",
    source="RFC 9743 section 6.2, RFC 6040 section 4",
    scenario="6.2-tunnel.toml",
    measure="link utilisation by a flow whose every packet is marked CE inside a tunnel",
    value=measures.of_link("utilisation"),
    bound=0.2,
    needs_ect=True,
)
