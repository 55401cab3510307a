"""RFC 7928 sections 7.2 and 9.1: bursty applications, and a mix of applications."""

from __future__ import annotations

from collections.abc import Callable

from tailback.evaluate.measures import of_traffic
from tailback.evaluate.queue.placed import REFERENCE, QueueAgainst
from tailback.store.results import Run

APPLICATION = 0.1
"""Largest relative increase of an application's completion time that counts as no worse."""


def _section(
    number: str, suffix: str, title: str, what: str, value: Callable[[Run], float | None]
) -> QueueAgainst:
    return QueueAgainst(
        id=f"{number}-{suffix}",
        title=f"{title}: {suffix}",
        source=f"RFC 7928 section {number}",
        scenario={"7.2": "7.2-bursts.toml", "9.1": "9.1-mix.toml"}[number],
        quick={"duration": "40s"},
        measure=f"{what} minus that with {REFERENCE}, divided by the larger of the two",
        value=value,
        unit=" ms",
        margin=APPLICATION,
    )


_PAGES = of_traffic("pages", "page_load_ms.mean")
_VIDEO = of_traffic("video", "frames.delay_ms.p95")
_STREAM = of_traffic("stream", "one_way_delay_ms.p99")
_CALL = of_traffic("call", "one_way_delay_ms.p99")

CRITERIA = (
    _section("7.2", "pages", "Bursts", "mean page load time", _PAGES),
    _section("7.2", "video", "Bursts", "95th percentile of the frame delay", _VIDEO),
    _section("7.2", "stream", "Bursts", "99th percentile of the one-way delay", _STREAM),
    _section("9.1", "call", "Traffic mix", "99th percentile of the one-way delay", _CALL),
    _section("9.1", "pages", "Traffic mix", "mean page load time", _PAGES),
    _section("9.1", "video", "Traffic mix", "95th percentile of the frame delay", _VIDEO),
)
