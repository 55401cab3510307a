"""RFC 9743 section 5.2.2: harm to video that adapts its bitrate to the path."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import Better, HarmTo


def _section(suffix: str, title: str, what: str, path: str, better: Better) -> HarmTo:
    return HarmTo(
        id=f"5.2.2-{suffix}",
        title=f"Harm to video: {title}",
        source="RFC 9743 section 5.2.2",
        scenario="5.2.2-video.toml",
        quick={"duration": "40s"},
        measure=f"harm by the tested algorithm to {what}, minus the harm by CUBIC",
        value=measures.of_traffic("video", path),
        better=better,
        incumbents=("cubic",),
        incumbent_at="",
        margin=0.1,
    )


_DELAY = "frames.delay_ms.p95"

CRITERIA = (
    _section("video", "delay", "the 95th percentile of the frame delay", _DELAY, "less"),
    _section("bitrate", "bitrate", "the video's bitrate", "frames.bitrate_mbit", "more"),
)
