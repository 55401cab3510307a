"""Runs a bottleneck inside another program, such as a test harness, which provides the event loop
and the clock.

    bottleneck = tailback.Bottleneck(text)
    bottleneck.push(now, 1200, "ect0", handle=1)
    while (delivery := bottleneck.poll(now)) is not None:
        ...                    # delivery.ecn is None if the datagram was dropped
    wake_at = bottleneck.next()

`text` is a scenario with one entry in `[[programs]]`. In the results, the datagrams that are pushed
belong to this program. Times are integers in nanoseconds and begin at 0.
"""

from __future__ import annotations

from tailback._native import Bottleneck, Delivery

__all__ = ["Bottleneck", "Delivery"]
