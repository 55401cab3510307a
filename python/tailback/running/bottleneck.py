"""Provides a bottleneck alone, for a program or a test harness with its own loop and clock.

    bottleneck = tailback.Bottleneck(text)
    bottleneck.push(now, 1200, "ect0", handle=1)
    while (delivery := bottleneck.poll(now)) is not None:
        ...                    # delivery.ecn is None if it was dropped
    wake_at = bottleneck.next()

`text` is a scenario with one entry of `[[programs]]`, to which the datagrams belong. Times are
integers in nanoseconds, from 0 on.
"""

from __future__ import annotations

from tailback._native import Bottleneck, Delivery

__all__ = ["Bottleneck", "Delivery"]
