//! BBR version 2, as in `tcp_bbr2.c` of the branch v2alpha of github.com/google/bbr (commit
//! 0487ade5). Version 3 (`bbr3`) was developed from version 2. Version 2 has the same model and the
//! same phases as version 3, with these differences:
//!
//! - In STARTUP, the pacing rate and the window both have a gain of 2.885. In DRAIN, the gain of
//!   the window is still 2.885. In PROBE_DOWN, the pacing rate has a gain of 0.75. PROBE_UP does
//!   not increase the window.
//! - STARTUP ends if the bandwidth estimate has not grown by a quarter within three round trips.
//!   STARTUP also ends after eight ACKs with losses in one round trip. If losses end STARTUP, BBR
//!   sets `inflight_hi` to the estimated bandwidth-delay product.
//! - PROBE_UP ends when two conditions hold: PROBE_UP has lasted for at least the smallest RTT, and
//!   1.25 bandwidth-delay products are in flight. In version 3, PROBE_UP ends when the delivery
//!   rate stops growing.
//! - At the end of a round trip, BBR first restarts the measurement of delivered data and delivery
//!   rate, and then changes the phase. Version 3 changes the phase before it restarts the
//!   measurement.
//! - With `ecn_response`, marks also lower `bw_lo`. A probe sets an upper bound on the bandwidth if
//!   the share of marks reaches `ecn_threshold` in each of the probe's samples. This upper bound
//!   rises when a bandwidth sample exceeds the bound. When marking ends, version 3 starts a probe
//!   early, but version 2 does not.
//! - BBR ignores a loss that a tail loss probe has repaired.
//!
//! With `version = "l4s"`, BBR follows `tcp_bbr2.c` of the L4S team's Linux 5.15
//! (github.com/L4STeam/linux, commit 009adfe4). This variant differs from v2alpha as follows:
//!
//! - BBR responds to marks at every RTT. BBR uses Accurate ECN and ECT(1).
//! - A mark lowers only `inflight_lo`, as in version 3. A mark does not lower `bw_lo` and sets no
//!   bound on the bandwidth.
//! - PROBE_DOWN has a gain of 0.91. PROBE_UP adds 0.25 to the gain of the window.
//! - To detect growth in STARTUP, BBR checks every bandwidth sample. v2alpha checks only the
//!   largest bandwidth, once per round trip.
//!
//! Deviations from the L4S team's file: if the receiver does not support Accurate ECN, the flow
//! runs without ECN in tailback. Without Accurate ECN at the receiver, the L4S team's Linux uses
//! ECT(0) and the echo of RFC 3168. The L4S team's file also has a second condition for the end of
//! PROBE_UP (`bw_probe_exit`), which is off.
//!
//! Deviations from the branch v2alpha: `bbr2` deviates like `bbr` in bursts, in clocks, and in the
//! RTT of a single small segment. The branch has a fast path for application-limited flows, which
//! only saves CPU time. tailback does not have this fast path. `fast_ack_mode` is not implemented:
//! in tailback, only the receiver decides when to send ACKs. In v2alpha, BBR may lower the window
//! when a spurious recovery ends. In tailback, BBR never lowers the window when a spurious recovery
//! ends. `usage_based_cwnd`, `refill_add_inc` and `ecn_reprobe_gain`, which are off in v2alpha, are
//! not implemented.

use super::bbr_model::{TSO_SEGS, number, whole};
use super::bbr3::{self, options};
use super::contract::Build;
use crate::registry::kernel::{Kernel, Module};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt};

/// The variant of Google's branch, as a value of the option `version`.
const V2ALPHA: &str = "v2alpha";

/// The registry entry of `bbr2`.
pub const ENTRY: Entry<Build> = Entry {
    name: "bbr2",
    doc: "BBR version 2, the predecessor of bbr3. A probe for bandwidth ends when 1.25 bandwidth-delay products are in flight.",
    follows: "github.com/google/bbr, branch v2alpha (tcp_bbr2.c)",
    options: &[
        Opt {
            name: "version",
            doc: "Variant of version 2: \"v2alpha\" of Google's branch, or \"l4s\" of the L4S team's Linux 5.15, which responds to marks and uses Accurate ECN and ECT(1). The variant sets the defaults of some options below.",
            kind: Kind::Word(&[V2ALPHA, bbr3::L4S]),
            default: Some(V2ALPHA),
            tc: None,
        },
        number(
            "startup_gain",
            "Gain of the pacing rate in STARTUP; 2.885 is 2/ln 2.",
            (1.1, 3.9),
            "2.885",
        ),
        number(
            "startup_cwnd_gain",
            "Largest number of bandwidth-delay products in flight in STARTUP and DRAIN.",
            (1.1, 3.9),
            "2.885",
        ),
        number(
            "drain_gain",
            "Gain of the pacing rate in DRAIN.",
            (0.1, 1.0),
            "0.3466",
        ),
        options::CWND_GAIN,
        options::UP_GAIN,
        bbr3::derived(
            "up_cwnd_gain",
            "Value that PROBE_UP adds to cwnd_gain; default: 0, or 0.25 with version = \"l4s\".",
            (0.0, 0.9),
        ),
        bbr3::derived(
            "down_gain",
            "Gain of the pacing rate in PROBE_DOWN; default: 0.75, or 0.91 with version = \"l4s\".",
            (0.1, 1.0),
        ),
        number(
            "loss_threshold",
            "A probe for bandwidth ends if more than this share of its data in flight is lost. The \
                value is rounded down to a multiple of 1/256.",
            (0.004, 0.9),
            "0.02",
        ),
        number(
            "beta",
            "Factor by which a round trip with losses multiplies bw_lo and inflight_lo. 1 - beta is rounded down to a multiple of 1/256.",
            (0.1, 0.99),
            "0.7",
        ),
        options::HEADROOM,
        whole(
            "startup_losses",
            "Number of ACKs with losses, within one round trip of recovery, that end STARTUP. 0: losses never end STARTUP.",
            (0, 15),
            "8",
        ),
        options::PROBE_WAIT,
        options::PROBE_WAIT_RANDOM,
        options::PROBE_ROUNDS,
        options::MIN_RTT_WINDOW,
        options::PROBE_RTT_INTERVAL,
        options::PROBE_RTT,
        options::PROBE_RTT_GAIN,
        options::MIN_WINDOW,
        options::PACING_MARGIN,
        options::ACK_AGGREGATION,
        TSO_SEGS,
        options::TRACE,
        Opt {
            doc: "Whether BBR responds to CE marks; default: only with version = \"l4s\". A sender that responds to CE marks sets ECT. The receiver echoes every mark, as for DCTCP, or with version = \"l4s\" by Accurate ECN.",
            default: None,
            ..options::ECN_RESPONSE
        },
        Opt {
            doc: "BBR ignores marks until the smallest RTT is at most this value; 0: BBR never ignores marks. Default: 5 ms, or 0 with version = \"l4s\".",
            default: None,
            ..options::ECN_MAX_RTT
        },
        options::ECN_THRESHOLD,
        options::ECN_FACTOR,
        options::ECN_ALPHA_GAIN,
    ],
    // BBR version 2 is not built into any kernel. So the option `module` must name a module that
    // registers a congestion control `bbr2`.
    kernel: Kernel::Module(&Module {
        version: Some(V2ALPHA),
        ..Module::named("bbr2", None)
    }),
    rules: Rules::NONE,
    finish: bbr3::finish_version_2,
    build: |options| {
        super::hook::made("bbr2");
        bbr3::version_2(options)
    },
};
