"""Lists pauses of an application that make every sample of the delivery rate
application-limited."""

from __future__ import annotations

from tailback.evaluate.bbr.case import seconds

EVERY_S = 0.02
"""Period of the pauses, in seconds. The application writes only in the first half of each
period."""


def pauses(since_s: float, span_s: float) -> list[list[str]]:
    """Return the pauses that begin at `since_s` and continue for `span_s` seconds, as a value for
    `flows.pause`."""
    count = round(span_s / EVERY_S)
    begins = [since_s + n * EVERY_S for n in range(count)]
    return [[seconds(at), seconds(at + EVERY_S / 2)] for at in begins]
