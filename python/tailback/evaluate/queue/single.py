"""RFC 7928 sections 5.1.1 and 5.2: one long flow."""

from __future__ import annotations

from tailback.evaluate.queue.placed import pair

CRITERIA = (
    *pair("5.1.1", "One flow of Reno", "5.1.1-reno.toml", quick={"duration": "60s"}),
    *pair("5.2", "One flow of CUBIC", "5.2-cubic.toml", quick={"duration": "60s"}),
)
