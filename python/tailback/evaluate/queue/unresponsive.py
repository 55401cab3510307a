"""RFC 7928 section 5.3: unresponsive traffic."""

from __future__ import annotations

from tailback.evaluate.queue.placed import pair

CRITERIA = pair(
    "5.3",
    "Unresponsive traffic",
    "5.3-unresponsive.toml",
    quick={"duration": "40s", "sweep": {"traffic.udp.rate": ["10Mbit", "24Mbit"]}},
)[:1]
"""The criterion for unresponsive traffic. Only the delay is tested. A queue that does not separate
flows cannot protect goodput from traffic that takes the whole link."""
