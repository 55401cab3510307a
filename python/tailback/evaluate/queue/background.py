"""RFC 7928 section 5.4: a flow of LEDBAT, which should yield to best-effort traffic."""

from __future__ import annotations

from dataclasses import replace

from tailback.evaluate.measures import total_mbit
from tailback.evaluate.queue.placed import REFERENCE, pair

_BOTH = pair("5.4", "LEDBAT beside Reno", "5.4-ledbat.toml", quick={"duration": "60s"})

CRITERIA = (
    *_BOTH,
    replace(
        _BOTH[1],
        id="5.4-reno",
        title="LEDBAT beside Reno: goodput of Reno",
        measure=(
            f"Reno's goodput with {REFERENCE} minus that with the tested algorithm, divided by "
            "the larger of the two"
        ),
        value=total_mbit("bulk"),
    ),
)
"""LEDBAT slows down if it measures queueing delay. In a short queue, LEDBAT measures too little
delay and keeps its rate. The last criterion shows how much goodput the Reno flow then loses."""
