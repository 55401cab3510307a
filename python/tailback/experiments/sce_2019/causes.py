"""The set-up with the basis of each part, and causes of what does not come out."""

from __future__ import annotations

from tailback.experiments.sce_2019.points import Entry

#: What, value here, basis.
DECLARED: tuple[tuple[str, str, str], ...] = (
    (
        "bottleneck",
        "Cake, besteffort, on both egresses: ACKs pass a second one",
        "stated",
    ),
    (
        "modes",
        "flowblind, flowblind with sce-single, triple-isolate; SCE on in each",
        "stated",
    ),
    (
        "delay",
        "netem, half of it each way, and 0.9 ms in all for the test bed",
        "stated; the 0.9 ms are inferred from its RTTs",
    ),
    ("ECN", "negotiated by all", "stated"),
    ("pairs", "both flows start together, within one round-trip time", "inferred"),
    (
        "seconds of a cell",
        "30 to 300, by rate and delay",
        "the authors' later scripts; the one cell of 300 s agrees",
    ),
    ("not counted", "nothing: the throughput is that of the whole test", "inferred"),
    ("TCP RTT", "mean of the sender's smoothed RTT, sampled every 0.2 s", "stated"),
    ("pacing", "none", "inferred"),
)


def cause(entry: Entry) -> str:
    """Why a cell is off, where that is known."""
    del entry
    return "unexplained"
