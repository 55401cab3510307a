"""Lists sections of RFC 9743 that no run can decide."""

from __future__ import annotations

from tailback.evaluate.criteria import TextOnly


def _section(number: str, title: str, write: str) -> TextOnly:
    return TextOnly(id=number, title=title, source=f"RFC 9743 section {number}", write=write)


CRITERIA = (
    _section(
        "5.3.1",
        "Deviations from principles",
        "Explain where the algorithm deviates from RFC 2914 and RFC 7141, and why.",
    ),
    _section(
        "5.3.2",
        "Incremental deployment",
        "Write how the algorithm can be deployed in only a part of the Internet, and what happens "
        "during such a deployment.",
    ),
    _section(
        "7.2",
        "Circuit breakers",
        "Write how the algorithm behaves with circuit breakers (RFC 8084) on its path.",
    ),
    _section(
        "7.10",
        "Multipath",
        "Write how subflows share a bottleneck and fail over; for multipath transports only.",
    ),
    _section(
        "7.11",
        "Data centres",
        "State which other congestion controls may share a data centre with the algorithm, and at "
        "which RTTs.",
    ),
    _section("8", "Security", "Write what an attacker can do to, or with, the algorithm."),
)
