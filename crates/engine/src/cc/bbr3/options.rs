//! The options that BBR versions 2 and 3 share.

use crate::cc::bbr_model::{number, switch, time, whole};
use crate::registry::Opt;
use crate::units::Time;

pub(in crate::cc) const CWND_GAIN: Opt = number(
    "cwnd_gain",
    "Largest amount of data in flight, in bandwidth-delay products.",
    (1.0, 3.9),
    "2",
);
pub(in crate::cc) const UP_GAIN: Opt = number(
    "up_gain",
    "Gain of the pacing rate in PROBE_UP.",
    (1.0, 3.9),
    "1.25",
);
pub(in crate::cc) const HEADROOM: Opt = number(
    "headroom",
    "Share of inflight_hi that BBR leaves to other flows between probes.",
    (0.0, 0.9),
    "0.15",
);
pub(in crate::cc) const PROBE_WAIT: Opt = time(
    "probe_wait",
    "Shortest time between two probes.",
    Time::from_ms(1),
    "2s",
);
pub(in crate::cc) const PROBE_WAIT_RANDOM: Opt = time(
    "probe_wait_random",
    "Largest random time that BBR adds to probe_wait.",
    Time::ZERO,
    "1s",
);
pub(in crate::cc) const PROBE_ROUNDS: Opt = whole(
    "probe_rounds",
    "Largest number of round trips between two probes. If BBR aims to have fewer segments in \
        flight than this number, the limit is one round trip per segment.",
    (1, 250),
    "63",
);
pub(in crate::cc) const MIN_RTT_WINDOW: Opt = time(
    "min_rtt_window",
    "Time for which the smallest RTT stays valid.",
    Time::from_ms(100),
    "10s",
);
pub(in crate::cc) const PROBE_RTT_INTERVAL: Opt = time(
    "probe_rtt_interval",
    "Time from one PROBE_RTT to the next, unless a smaller RTT is measured.",
    Time::from_ms(100),
    "5s",
);
pub(in crate::cc) const PROBE_RTT: Opt = time(
    "probe_rtt",
    "Duration of PROBE_RTT, in which the window is small; 0: no PROBE_RTT.",
    Time::ZERO,
    "200ms",
);
pub(in crate::cc) const PROBE_RTT_GAIN: Opt = number(
    "probe_rtt_gain",
    "Window in PROBE_RTT, in bandwidth-delay products.",
    (0.0, 1.0),
    "0.5",
);
pub(in crate::cc) const MIN_WINDOW: Opt = whole(
    "min_window",
    "Smallest window, in segments.",
    (1, 1000),
    "4",
);
pub(in crate::cc) const PACING_MARGIN: Opt = whole(
    "pacing_margin",
    "Percent by which the pacing rate stays below the estimated bandwidth.",
    (0, 50),
    "1",
);
pub(in crate::cc) const ACK_AGGREGATION: Opt = switch(
    "ack_aggregation",
    "Whether bursts of ACKs enlarge the window, so that the sender does not stall between two bursts.",
    "true",
);
pub(in crate::cc) const TRACE: Opt = switch(
    "trace",
    "Whether the run records BBR's whole state, which `tailback evaluate bbr` needs.",
    "false",
);
pub(in crate::cc) const ECN_RESPONSE: Opt = switch(
    "ecn_response",
    "Whether BBR responds to CE marks. A sender that responds to CE marks sets ECT, and the receiver echoes every mark, as for DCTCP.",
    "false",
);
pub(in crate::cc) const ECN_MAX_RTT: Opt = time(
    "ecn_max_rtt",
    "BBR ignores marks until the smallest RTT is at most this value; with 0, BBR never ignores \
     marks.",
    Time::ZERO,
    "5ms",
);
pub(in crate::cc) const ECN_THRESHOLD: Opt = number(
    "ecn_threshold",
    "A probe for bandwidth ends if more than this share of its data in flight is marked.",
    (0.01, 1.0),
    "0.5",
);
pub(in crate::cc) const ECN_FACTOR: Opt = number(
    "ecn_factor",
    "Factor of the response to marks: a round trip with marks reduces inflight_lo by the fraction ecn_factor * alpha.",
    (0.0, 1.0),
    "0.3333",
);
pub(in crate::cc) const ECN_ALPHA_GAIN: Opt = number(
    "ecn_alpha_gain",
    "Weight of the latest round trip in alpha, which is the moving average of the share of marked packets.",
    (0.005, 1.0),
    "0.0625",
);
