"""RFC 7928 section 5.4: a flow of LEDBAT, which is to have less than best effort."""

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
        measure=f"loss of Reno's goodput against {REFERENCE}, as a share of the larger value",
        value=total_mbit("bulk"),
    ),
)
"""In a queue that stays short, LEDBAT does not see the delay to which it yields. The last criterion
shows what this costs the flow of Reno."""
