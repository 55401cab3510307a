"""RFC 7928 section 8.2.6: capacity that changes. The RFC requires the comparison with tail drop
(MUST)."""

from __future__ import annotations

from tailback.evaluate.queue.placed import pair

CRITERIA = pair("8.2.6", "Changing capacity", "8.2.6-capacity.toml", quick={}, buffer=825)
