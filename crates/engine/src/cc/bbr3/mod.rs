//! BBR version 3 (draft-ietf-ccwg-bbr), as in `tcp_bbr.c` of the v3 branch of
//! github.com/google/bbr. Version 3 adds short-term and long-term bounds to the model of version 1.
//! Each round trip with losses multiplies the short-term bounds `bw_lo` and `inflight_lo` by
//! `beta`. If a probe loses more than the share `loss_threshold` of its data in flight, the amount
//! of data in flight becomes the long-term bound `inflight_hi`. The bound grows again while probes
//! succeed. A probe starts every two to three seconds, or earlier, after as many round trips as a
//! Reno flow would need from one loss to the next.
//!
//! Marks reduce `inflight_lo`, and can also end a probe. This response is meant for networks in
//! which queues mark at a shallow threshold and receivers echo every mark, as for DCTCP. The option
//! `ecn_response` switches the response on. It is off by default, as in the v3 branch.
//!
//! Deviations from the v3 branch: the same as those of `bbr` for bursts, clocks and single small
//! segments. The branch's fast path for application-limited flows is missing. It would only save
//! CPU time. Protective Load Balancing (PLB) and `fast_ack_mode` are not implemented.
//!
//! Where the branch and the draft differ, BBR follows the branch by default:
//!
//! - DRAIN has a gain of 0.34, and may last for any number of round trips. PROBE_DOWN has a gain of
//!   0.91.
//! - Six ACKs with losses end STARTUP.
//! - The extra window for ACK aggregation has an upper limit.
//! - After a spurious loss recovery, BBR does not return to the earlier phase.
//! - BBR can respond to marks.
//!
//! With `draft = "06"`, BBR follows draft-ietf-ccwg-bbr-06 in all of these points. It uses the
//! exact values 2 % (`loss_threshold`), 0.7 (`beta`) and 0.15 (`headroom`), whereas the branch
//! rounds them to multiples of 1/256. Gains remain multiples of 1/256, so 0.90 becomes 230/256.
//! Other deviations from the draft are:
//!
//! - BBR saves its state once per recovery, to restore it if the recovery was spurious (section
//!   5.5.11.1). The pseudo-code saves it at the first loss of each round trip. With the
//!   pseudo-code, the second lost segment after the end of PROBE_UP would overwrite the saved
//!   state, because PROBE_DOWN resets the signs of congestion.
//! - After an idle time, both the interval and the count of `extra_acked` restart. The pseudo-code
//!   restarts only the interval.
//! - BBR counts ranges of lost segments when loss detection finds them. Adjacent lost segments form
//!   one range.
//! - The smallest RTT expires as in the branch, and `TargetInflight()` includes the quantization
//!   budget. PROBE_CRUISE lowers `inflight_lo` to `inflight_hi`, which does not change the window,
//!   because both values bound it.
//! - Where the draft's text and pseudo-code disagree, tailback follows the pseudo-code. So
//!   `inflight_hi` does not bound the window in DRAIN (table of section 5.6.1). An
//!   application-limited probe does not change `inflight_hi` (appendix A.6). Losses that end
//!   STARTUP set only `full_bw_reached` (appendix A.2).

mod aggregation;
mod bounds;
mod congestion;
mod control;
mod counts;
mod extra_acked;
mod marks;
pub(super) mod options;
mod params;
mod phase;
mod probe_bw;
mod probe_rtt;
mod saved;
mod share;
mod startup;
mod state;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_version_2;
mod trace;
mod undo;

use self::params::{DRAFT_06, Params};
use self::state::Bbr3;
use super::bbr_model::{TSO_SEGS, number, whole};
use super::contract::{Build, CongestionControl};
use crate::registry::kernel::{Kernel, Module};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options};

/// Creates a congestion control of version 2 ([`super::bbr2`]).
pub(super) fn version_2(options: &Options) -> Box<dyn CongestionControl> {
    Box::new(Bbr3::new(Params::version_2(options)))
}

/// Returns an option for a gain that has different defaults in the draft and in the branch.
const fn derived(name: &'static str, doc: &'static str, (min, max): (f64, f64)) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Float { min, max },
        default: None,
        tc: None,
    }
}

/// The registry entry of `bbr3`.
pub const ENTRY: Entry<Build> = Entry {
    name: "bbr3",
    doc: "BBR version 3: like bbr, but losses (and optionally marks) limit the rate and the data in flight.",
    follows: "draft-ietf-ccwg-bbr; github.com/google/bbr, branch v3",
    options: &[
        Opt {
            name: "draft",
            doc: "Version of draft-ietf-ccwg-bbr to follow; none: follow Google's v3 branch.",
            kind: Kind::Word(&["none", DRAFT_06]),
            default: Some("none"),
            tc: None,
        },
        derived(
            "startup_gain",
            "Gain of the pacing rate in STARTUP; default: 2.773 (4 ln 2), or 2.77 if draft is set.",
            (1.1, 3.9),
        ),
        derived(
            "drain_gain",
            "Gain of the pacing rate in DRAIN; default: 0.3466, or 0.5 if draft is set.",
            (0.1, 1.0),
        ),
        options::CWND_GAIN,
        options::UP_GAIN,
        number(
            "up_cwnd_gain",
            "Value that PROBE_UP adds to cwnd_gain.",
            (0.0, 0.9),
            "0.25",
        ),
        derived(
            "down_gain",
            "Gain of the pacing rate in PROBE_DOWN; default: 0.91, or 0.9 if draft is set.",
            (0.1, 1.0),
        ),
        number(
            "loss_threshold",
            "Share of the data in flight whose loss ends a probe for bandwidth. Unless draft is set, the value is rounded down to a multiple of 1/256.",
            (0.004, 0.9),
            "0.02",
        ),
        number(
            "beta",
            "Factor by which a round trip with losses multiplies bw_lo and inflight_lo. Unless draft is set, 1 - beta is rounded down to a multiple of 1/256.",
            (0.1, 0.99),
            "0.7",
        ),
        options::HEADROOM,
        whole(
            "startup_losses",
            "Number of ACKs with losses, within one round trip of recovery, that end STARTUP. If draft is set, this option is the number of separate ranges of lost segments instead. 0: losses never end STARTUP.",
            (0, 15),
            "6",
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
    // No kernel has BBR version 3 built in, so the option `module` must name a module that
    // registers itself as `bbr3`.
    kernel: Kernel::Module(&Module::named("bbr3", None)),
    rules: Rules::NONE,
    finish: params::finish,
    build: |options| {
        super::hook::made("bbr3");
        Box::new(Bbr3::new(Params::of(options)))
    },
};
