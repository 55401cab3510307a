//! BBR version 2, as in `tcp_bbr2.c` of the branch v2alpha of github.com/google/bbr (commit
//! 0487ade5). Version 3 (`bbr3`) was developed from it. Version 2 has the model and the phases of
//! version 3, with these differences:
//!
//! - STARTUP has a gain of 2.885 for both the pacing rate and the window. DRAIN keeps this gain for
//!   the window. PROBE_DOWN has a gain of 0.75 for the pacing rate. PROBE_UP does not enlarge the
//!   window.
//! - STARTUP ends after three round trips in which the bandwidth estimate has not grown by a
//!   quarter, or after eight ACKs with losses in one round trip. In the second case, `inflight_hi`
//!   becomes the estimated bandwidth-delay product.
//! - PROBE_UP ends when it has lasted for at least the smallest RTT and 1.25 bandwidth-delay
//!   products are in flight. In version 3 it ends when the delivery rate stops growing.
//! - At the end of a round trip, BBR restarts its measurement of delivered data and delivery rate
//!   before it changes the phase. Version 3 restarts the measurement after the change of phase.
//! - With `ecn_response`, marks also lower `bw_lo`. If the share of marks exceeds `ecn_threshold`
//!   in every sample of a probe, the bandwidth gets an upper bound, which rises when a bandwidth
//!   sample exceeds it. Unlike in version 3, the end of marking does not start a probe early.
//! - BBR ignores a loss that a tail loss probe repaired.
//!
//! Deviations: the same as those of `bbr` for bursts, clocks and single small segments. The fast
//! path of v2alpha for application-limited flows is missing. It would only save CPU time.
//! `fast_ack_mode` is not implemented: the receiver alone decides when it sends ACKs. In v2alpha,
//! BBR may lower the window when a spurious recovery ends; in tailback it never does.
//! `usage_based_cwnd`, `refill_add_inc` and `ecn_reprobe_gain`, which are off in v2alpha, are not
//! implemented.

use super::bbr_model::{TSO_SEGS, number, whole};
use super::bbr3::{self, options};
use super::contract::Build;
use crate::registry::kernel::{Kernel, Module};
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};

/// The registry entry of `bbr2`.
pub const ENTRY: Entry<Build> = Entry {
    name: "bbr2",
    doc: "BBR version 2, the predecessor of bbr3. A probe for bandwidth ends at 1.25 bandwidth-delay products in flight.",
    follows: "github.com/google/bbr, branch v2alpha (tcp_bbr2.c)",
    options: &[
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
        number(
            "down_gain",
            "Gain of the pacing rate in PROBE_DOWN.",
            (0.1, 1.0),
            "0.75",
        ),
        number(
            "loss_threshold",
            "Share of the data in flight whose loss ends a probe for bandwidth. The value is rounded down to a multiple of 1/256.",
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
        options::ECN_RESPONSE,
        options::ECN_MAX_RTT,
        options::ECN_THRESHOLD,
        options::ECN_FACTOR,
        options::ECN_ALPHA_GAIN,
    ],
    // No kernel has BBR version 2 built in, so the option `module` must name a module that
    // registers itself as `bbr2`.
    kernel: Kernel::Module(&Module::named("bbr2", None)),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| {
        super::hook::made("bbr2");
        bbr3::version_2(options)
    },
};
