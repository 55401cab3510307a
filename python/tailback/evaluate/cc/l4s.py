"""RFC 9331 section 4.3: the L4S requirements for a congestion control, tested on the paths of
published tests.

The RFC has few thresholds. If the tested algorithm competes with CUBIC or Reno, its harm to CUBIC
or Reno decides the verdict. The RFC does not set the other bounds, so the authors of tailback chose
them. Packets of controls that send ECT(1) use the L4S queue, and all other packets use the classic
queue.
"""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import DELAY, Against, HarmToThroughput, Within
from tailback.store.results import Run


def _marks_per_round(run: Run) -> float | None:
    """Return the number of the tested algorithm's packets that are marked per round trip."""
    [flow] = measures.named(run, "subject")
    rtt = measures.at(flow, "rtt_ms.mean")
    seconds = flow["to_s"] - flow["from_s"]
    return None if rtt is None else float(flow["marks"] * rtt / 1e3 / seconds)


def _near_over_far(run: Run) -> float | None:
    """Return the throughput of the flow with the short RTT divided by the throughput of the flow
    with the long RTT."""
    near, far = (measures.total_mbit(name)(run) for name in ("subject", "far"))
    return near / far if near is not None and far else None


CRITERIA = (
    HarmToThroughput(
        id="L4S-coexist",
        title="Dual queue: harm to CUBIC",
        source="RFC 9331 section 4.3, l4s-tests S1",
        scenario="l4s-coexist.toml",
        quick={
            "duration": "40s",
            "sweep": {
                "zip": [
                    {"flows.incumbent.rtt": ["10ms", "80ms"], "flows.subject.rtt": ["10ms", "20ms"]}
                ]
            },
        },
        incumbents=("cubic",),
        incumbent_at="",
    ),
    HarmToThroughput(
        id="L4S-classic-ecn",
        title="Queue with classic ECN: harm to CUBIC",
        source="RFC 9331 section 4.3, l4s-tests S6",
        scenario="l4s-classic-ecn.toml",
        quick={"duration": "40s"},
        incumbents=("cubic",),
        incumbent_at="",
    ),
    HarmToThroughput(
        id="L4S-loss",
        title="Queue without ECN marks: harm to Reno",
        source="RFC 9331 section 4.3",
        scenario="l4s-loss.toml",
        quick={"duration": "40s", "sweep": {"bottleneck.queue.limit": ["1bdp"]}},
        incumbents=("reno",),
        incumbent_at="",
    ),
    Within(
        id="L4S-marks",
        title="Marks per round trip at increasing link rates",
        source="RFC 9331 section 4.3",
        scenario="l4s-marks.toml",
        quick={"duration": "30s"},
        measure="marks per round trip",
        value=_marks_per_round,
        bound=1.0,
        better="more",
    ),
    Against(
        id="L4S-rtt",
        title="Rates at round-trip times of 5 and 100 ms",
        source="RFC 9331 section 4.3",
        scenario="l4s-rtt.toml",
        quick={"duration": "50s"},
        subject_at=("flows.subject.cc", "flows.far.cc"),
        measure="rate at 5 ms divided by rate at 100 ms, minus CUBIC's ratio, divided by "
        "the larger of the two",
        value=_near_over_far,
        margin=DELAY,
    ),
    Within(
        id="L4S-tiny",
        title="Windows smaller than one packet",
        source="RFC 9331 section 4.3",
        scenario="l4s-tiny.toml",
        quick={"duration": "20s"},
        measure="mean queue delay, ms",
        value=measures.of_link("delay_ms.mean"),
        bound=2.0,
    ),
)
