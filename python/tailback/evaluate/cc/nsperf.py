"""The five experiments of nsperf (github.com/google/bbr), written for the second version of BBR.

nsperf publishes figures but no thresholds, so the authors of tailback chose the margins. Paths,
sweeps and times are the same as in nsperf. nsperf starts flows one after the other. tailback
starts them at random times within the same period.
"""

from __future__ import annotations

from typing import Any

from tailback.evaluate import measures
from tailback.evaluate.criteria import DELAY, Against, AgainstThroughput, HarmToThroughput

LOSS = 0.02
"""A share of retransmitted segments counts as no worse if it exceeds the reference's share by at
most this number."""

_FEW = 5
"""Number of seeds on paths of 1 Gbit/s. Few seeds suffice on these paths, because runs differ
little, and each run takes a long time."""


def _drops(reference: str) -> dict[str, Any]:
    """Return the measure that a section about retransmissions uses for a program and its reference.

    Encrypted packets do not show whether they are retransmissions. At 1 Gbit/s, a qlog of every
    packet would be too large. For a program, the section therefore counts drops.
    """
    measure = f"share of packets that the queue drops, minus {reference}'s"
    return {"measure": measure, "value": measures.lost_share}


_COEXIST = {
    "duration": "60s",
    "sweep": {"bottleneck.queue.limit": ["0.1bdp", "1bdp", "8bdp"]},
}
_ECN = {
    "duration": "4s",
    "sweep": {"zip": [{"flows.subject.count": [1, 10], "start_jitter": ["5ms", "50ms"]}]},
}

CRITERIA = (
    HarmToThroughput(
        id="nsperf-coexist",
        title="Harm to the throughput of CUBIC",
        source="nsperf, coexist",
        scenario="nsperf-coexist.toml",
        quick=_COEXIST,
        incumbents=("cubic",),
        incumbent_at="",
    ),
    AgainstThroughput(
        id="nsperf-coexist-rate",
        title="Throughput beside CUBIC",
        source="nsperf, coexist",
        scenario="nsperf-coexist.toml",
        quick=_COEXIST,
    ),
    AgainstThroughput(
        id="nsperf-random-loss",
        title="Throughput under random loss",
        source="nsperf, random_loss",
        scenario="nsperf-random-loss.toml",
        quick={"duration": "15s", "sweep": {"bottleneck.loss": [1e-5, 1e-3, 0.02]}},
        quick_seeds=_FEW,
        seeds=10,
    ),
    Against(
        id="nsperf-shallow",
        title="Retransmissions in a shallow buffer",
        source="nsperf, shallow",
        scenario="nsperf-shallow.toml",
        quick={
            "duration": "20s",
            "sweep": {"zip": [{"flows.subject.count": [1, 10], "start_jitter": ["100ms", "1.4s"]}]},
        },
        quick_seeds=_FEW,
        seeds=_FEW,
        measure="retransmission rate, minus CUBIC's",
        value=measures.share_of("subject", "retransmits"),
        share=False,
        margin=LOSS,
        of_programs=_drops("CUBIC"),
    ),
    Against(
        id="nsperf-bufferbloat",
        title="Round-trip time in deep buffers",
        source="nsperf, bufferbloat",
        scenario="nsperf-bufferbloat.toml",
        quick={"duration": "40s", "sweep": {"bottleneck.queue.limit": ["1bdp", "10bdp"]}},
        subject_at=("flows.subject.cc", "flows.second.cc"),
        measure="median RTT minus CUBIC's, divided by the larger of the two",
        value=measures.of_flows("subject", "rtt_ms.p50"),
        unit=" ms",
        margin=DELAY,
    ),
    Against(
        id="nsperf-ecn",
        title="Round-trip time with marks at a shallow threshold",
        source="nsperf, ecn_bulk",
        scenario="nsperf-ecn.toml",
        quick=_ECN,
        quick_seeds=_FEW,
        seeds=10,
        measure="median RTT minus DCTCP's, divided by the larger of the two",
        value=measures.of_flows("subject", "rtt_ms.p50"),
        unit=" ms",
        margin=DELAY,
        reference_name="DCTCP",
    ),
    Against(
        id="nsperf-ecn-loss",
        title="Retransmissions with marks at a shallow threshold",
        source="nsperf, ecn_bulk",
        scenario="nsperf-ecn.toml",
        quick=_ECN,
        quick_seeds=_FEW,
        seeds=10,
        measure="retransmission rate, minus DCTCP's",
        value=measures.share_of("subject", "retransmits"),
        share=False,
        margin=LOSS,
        reference_name="DCTCP",
        of_programs=_drops("DCTCP"),
    ),
)
