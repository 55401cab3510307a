"""Round-trip time of a flow."""

from tailback.metrics.base import recorded

METRICS = (
    recorded("rtt_ms.mean", "flow", "ms", "Mean RTT of unretransmitted data.", "samples"),
    recorded("rtt_ms.p50", "flow", "ms", "Median RTT of unretransmitted data.", "samples"),
    recorded(
        "rtt_ms.p99", "flow", "ms", "99th percentile of the RTT of unretransmitted data.", "samples"
    ),
    recorded(
        "srtt_ms_mean", "flow", "ms", "The sender's srtt, sampled every record interval.", "samples"
    ),
)
