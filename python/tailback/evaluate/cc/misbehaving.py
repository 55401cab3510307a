"""RFC 9743 section 7.6: a receiver gains nothing by dividing its ACKs."""

from __future__ import annotations

import math

from tailback.evaluate import measures
from tailback.evaluate.criteria import Within
from tailback.store.results import Run


def _share(run: Run) -> float | None:
    """Return the throughput of the flow with a receiver that divides ACKs, as a multiple of the
    fair share."""
    flows = [measures.at(flow, "throughput_mbit") for flow in run.summary["flows"]]
    cheat = measures.total_mbit("subject")(run)
    whole = math.fsum(value for value in flows if value is not None)
    return cheat * len(flows) / whole if cheat is not None and whole else None


CRITERION = Within(
    id="7.6",
    title="Misbehaving nodes: a receiver that divides ACKs",
    source="RFC 9743 section 7.6, RFC 3465 section 2.1",
    scenario="7.6-misbehaving.toml",
    quick={"duration": "60s"},
    unobservable="The receiver is part of the program, so that tailback cannot change its ACKs.",
    measure="throughput of a flow whose receiver divides ACKs, divided by its fair share",
    value=_share,
    bound=1.5,
    subject_at=("flows.subject.cc", "flows.honest.cc"),
)
