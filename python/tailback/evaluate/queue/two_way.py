"""RFC 7928 section 9.2: traffic in both directions."""

from __future__ import annotations

from tailback.evaluate.queue.placed import pair

CRITERIA = pair(
    "9.2", "Two-way traffic", "9.2-two-way.toml", quick={"duration": "40s"}, rtt_ms=None
)
