"""RFC 7928 section 10.2: two queues in series."""

from __future__ import annotations

from tailback.evaluate.queue.placed import pair

CRITERIA = pair(
    "10.2",
    "Two queues in series",
    "10.2-series.toml",
    quick={"duration": "40s"},
    subject_at=("links.first.queue", "links.second.queue"),
    rtt_ms=None,
)
