"""The set-up with the basis of each part, and causes of what does not come out."""

from __future__ import annotations

#: What, value here, basis.
DECLARED: tuple[tuple[str, str, str], ...] = (
    (
        "bottleneck",
        "Cake, flowblind besteffort, on both egresses: ACKs pass a second one",
        "stated",
    ),
    (
        "delay",
        "netem, half of it each way, plus 0.9 ms in all for the test bed",
        "stated; the 0.9 ms inferred from its RTTs",
    ),
    ("ECN", "negotiated by all three; DCTCP on both ends", "stated"),
    (
        "seconds of a cell",
        "30 to 300, by rate and delay",
        "the authors' later scripts; the 300 s cell agrees",
    ),
    ("not counted", "nothing: throughput is over the whole test, slow start included", "inferred"),
    ("TCP RTT", "mean of the sender's smoothed RTT, sampled every 0.2 s", "stated"),
    (
        "segmentation",
        "every segment is a packet (no TSO, GSO, GRO)",
        "inferred: Cake splits super-packets",
    ),
    ("application", "1 MB writes, no pacing", "as netperf's stream"),
)


def cause(quantity: str, cc: str, rate_mbit: float, delay_ms: float) -> str:
    """Why a cell is off, where that is known."""
    return "unexplained"
