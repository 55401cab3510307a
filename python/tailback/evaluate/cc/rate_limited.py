"""Tests the rule for application-limited senders (draft-ietf-ccwg-ratelimited-increase)."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Within
from tailback.store.results import Run

FIRST = 10.0
"""The initial window in segments. The measure counts the initial window as data in flight, even if
less was sent."""


RATE_MBIT = 2.0
"""The rate at which the scenario's application writes, in Mbit/s."""


def _growth(run: Run) -> float | None:
    """Return the largest window divided by the window that the rule allows. The rule allows twice
    the largest amount of data in flight.

    If the congestion control estimates a rate, return its mean estimate divided by twice the
    application's rate.
    """
    if rates := measures.series(run, "bw_mbit"):
        late = [value for when, value in rates if when > run.summary["duration_s"] / 2]
        return None if not late else sum(late) / len(late) / (2 * RATE_MBIT)
    window, flight = (measures.series(run, what) for what in ("cwnd", "in_flight"))
    if not window or not flight:
        return None
    most = max(FIRST, max(value for _, value in flight))
    return max(value for _, value in window) / (2 * most)


CRITERION = Within(
    id="rate-limited",
    title="Window growth of an application-limited flow",
    source="draft-ietf-ccwg-ratelimited-increase-10 section 3",
    scenario="rate-limited.toml",
    quick={"duration": "20s"},
    unobservable=(
        "The scenario limits what the application writes, and tailback cannot limit what a "
        "program writes."
    ),
    measure="largest window / (2 x most data in flight), or estimated rate / (2 x the "
    "application's rate)",
    value=_growth,
    bound=1.0,
)
