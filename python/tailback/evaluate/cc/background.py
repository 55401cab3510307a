"""RFC 9743 section 5.2.1: background flows of LEDBAT (RFC 6817), a congestion control that is
widely deployed without being a standard.

LEDBAT slows down when it competes with any flow that fills the queue. The verdict therefore
compares the subject's harm to LEDBAT with CUBIC's harm to LEDBAT, not with the harm of a second
LEDBAT flow."""

from __future__ import annotations

from tailback.evaluate import measures
from tailback.evaluate.criteria import AgainstThroughput, HarmTo

_SCENARIO = "5.2.1-background.toml"

QUICK_SEEDS = 30
"""The number of seeds with `--quick`, which is three times the number in most sections. With a
short buffer, the shares of two flows differ much between seeds. The confidence interval over ten
seeds would be wider than the margin."""

CRITERIA = (
    HarmTo(
        id="5.2.1-background",
        title="Harm to LEDBAT background flows",
        source="RFC 9743 section 5.2.1, RFC 6817",
        scenario=_SCENARIO,
        quick_seeds=QUICK_SEEDS,
        measure="harm by the tested algorithm to LEDBAT's throughput, minus the harm by CUBIC",
        value=measures.of_flows("background", "throughput_mbit"),
        better="more",
        incumbents=("cubic",),
        incumbent_at="",
    ),
    AgainstThroughput(
        id="5.2.1-beside-background",
        title="Throughput beside LEDBAT background flows",
        source="RFC 9743 section 5.2.1, RFC 6817",
        scenario=_SCENARIO,
        quick_seeds=QUICK_SEEDS,
    ),
)
