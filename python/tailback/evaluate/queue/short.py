"""RFC 7928 section 5.1.2: short flows that compete with a long flow."""

from __future__ import annotations

from tailback.evaluate.queue.placed import REFERENCE, QueueAgainst, of_short

CRITERION = QueueAgainst(
    id="5.1.2",
    title="Short flows beside a long flow",
    source="RFC 7928 section 5.1.2",
    scenario="5.1.2-short.toml",
    measure=f"completion time minus that with {REFERENCE}, divided by the larger of the two",
    value=of_short,
    unit=" s",
    margin=0.1,
)
