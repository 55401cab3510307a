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
        "netem, half of it each way, and 0.9 ms in all for the test bed",
        "stated; the 0.9 ms are inferred from its RTTs",
    ),
    ("ECN", "negotiated by all three; DCTCP on both ends", "stated; the receiver inferred"),
    (
        "seconds of a cell",
        "30 to 300, by rate and delay",
        "the authors' later scripts; the one cell of 300 s agrees",
    ),
    ("not counted", "nothing: the throughput is that of the whole test", "inferred"),
    ("TCP RTT", "mean of the sender's smoothed RTT, sampled every 0.2 s", "stated"),
    ("segmentation", "every segment is a packet (no TSO, GSO, GRO)", "tailback's default"),
    ("pacing", "none", "inferred"),
)

_RECEIVER = (
    "probably the receiver: one that echoes a mark until the sender's CWR (RFC 3168) instead of "
    "DCTCP's precise echo gives 6.13 ms at 100 Mbit/s and 0 ms, 6.34 ms at 50 Mbit/s and 0 ms"
)
_DCTCP_LONG = (
    "not explained; Linux's DCTCP cuts little where the draft's cut nearly by half. An RFC 3168 "
    "receiver changes nothing here (40.87 at 50 Mbit/s, 80 ms), without ECN it is too little "
    "(33.66)"
)
_LOW_RATE = (
    "not explained: 1 to 1.4 packet times below the draft. At 0.5 Mbit/s and 0 ms offloads and "
    "small packets beside the flow change it by less than 1 %"
)
_CUBIC_LONG = (
    "not explained; without HyStart the number is the same, and with a small packet every 200 ms "
    "beside the flow too"
)


def cause(quantity: str, cc: str, rate_mbit: float, delay_ms: float) -> str:
    """Why a cell is off, where that is known; what was ruled out where it is not."""
    if quantity == "tcp_rtt_ms":
        if rate_mbit <= 2:
            return _LOW_RATE
        return _RECEIVER if cc == "dctcp" and delay_ms <= 10 else "not explained"
    if cc == "dctcp" and rate_mbit >= 5:
        return _DCTCP_LONG
    if cc == "cubic" and (rate_mbit, delay_ms) == (100.0, 160.0):
        return _CUBIC_LONG
    return "not explained"
