"""RFC 9743 section 5.1.1 and RFC 5681 section 3.1: after a timeout, a sender begins with few
packets."""

from __future__ import annotations

from collections.abc import Sequence

from tailback.evaluate import measures
from tailback.evaluate.criteria import Within
from tailback.evaluate.logged import LogTrace, least
from tailback.store.results import Run

BACK_S, RTT_S = 12.0, 0.05
"""The time at which the scenario's outage ends, and the round-trip time of the path without queues,
in seconds."""


DATAGRAM_BYTES = 1472
"""The largest UDP payload of a packet. RFC 9002 section 7.2 sets the initial window to ten such
packets."""

DATA_BYTES = 1000
"""A datagram with data has at least this many bytes. In a bulk transfer, a sender fills its
datagrams, including its probes. Datagrams with only ACK and PING frames are shorter."""


def _flight_after_outage(run: Run) -> float | None:
    """Return the largest number of segments in flight within one round trip of the first delivery
    after the outage."""
    delivered = measures.series(run, "delivered_bytes")
    before = measures.last_before(delivered, BACK_S)
    first = next((when for when, value in delivered if when > BACK_S and value != before), None)
    if first is None:
        return None
    flight = measures.series(run, "in_flight")
    return max((v for when, v in flight if first <= when <= first + RTT_S), default=None)


def _arrived_after_outage(run: Run) -> float | None:
    """Return how many full datagrams arrive after the outage, within one and a half round trips of
    the first datagram with data. The counted datagrams are those that the sender had in flight in
    the first round trip."""
    delivered = measures.series(run, "delivered_bytes")
    before = measures.last_before(delivered, BACK_S)
    first = _first_data(delivered)
    if first is None or before is None:
        return None
    after = measures.last_before(delivered, first + 1.5 * RTT_S)
    return None if after is None else (after - before) / DATAGRAM_BYTES


def _first_data(delivered: Sequence[tuple[float, float]]) -> float | None:
    """Return the time at which the first datagram with data arrived after the outage. An ACK that
    the sender sends between two probes does not count, because the sender does not yet know that
    the outage is over.
    """
    before = measures.last_before(delivered, BACK_S)
    if before is None:
        return None
    arrived = ((when, value - before) for when, value in delivered if when > BACK_S)
    return next((when for when, more in arrived if more >= DATA_BYTES), None)


def _logged_window(run: Run) -> str:
    """Return the smallest window that a program's qlog shows within one round trip after the
    outage.
    """
    [program] = measures.named(run, "subject")
    delivered = measures.series(run, "delivered_bytes")
    begun = next((when for when, value in delivered if value), 0.0)
    first = _first_data(delivered)
    log, _ = LogTrace.of(run, program["name"], begun - RTT_S / 2)
    window = None if log is None or first is None else least(log.cwnd, first, first + RTT_S)
    return "" if window is None else f"Its qlog has a window of {window:.0f} bytes then."


CRITERION = Within(
    id="5.1.1-timeout",
    title="Congestion collapse: after timeouts",
    source="RFC 9743 section 5.1.1, RFC 5681 section 3.1",
    scenario="5.1.1-timeout.toml",
    measure="most segments in flight in the first round trip after an outage of 2 s",
    value=_flight_after_outage,
    bound=10.0,
    of_programs={
        "measure": "datagrams of 1472 B that arrive in the first 1.5 round trips after an outage "
        "of 2 s",
        "value": _arrived_after_outage,
        "logged": _logged_window,
    },
)
