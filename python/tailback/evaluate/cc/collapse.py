"""RFC 9743 section 5.1.1: no congestion collapse when loss rises."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Within
from tailback.store.results import Run

RTT_S = 0.05
"""The round-trip time of the scenario's path without queues."""


def _sent_per_round(run: Run) -> float | None:
    """Return how many data packets a flow sends per round trip, averaged over the whole time in
    which it runs.
    """
    flows = measures.named(run, "subject")
    rounds = (flows[0]["to_s"] - flows[0]["from_s"]) / RTT_S
    packets = measures.mean(measures.at(flow, "packets") for flow in flows)
    return None if packets is None else packets / rounds


CRITERION = Within(
    id="5.1.1-loss",
    title="Congestion collapse: rising loss",
    source="RFC 9743 section 5.1.1",
    scenario="5.1.1-rising-loss.toml",
    measure="data packets that a flow sends per round trip while most packets are lost",
    value=_sent_per_round,
    bound=1.0,
)
