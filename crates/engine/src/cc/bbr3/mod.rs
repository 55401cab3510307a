//! BBR version 3 (draft-ietf-ccwg-bbr), as in `tcp_bbr.c` of the v3 branch of
//! github.com/google/bbr. BBR version 3 adds short-term and long-term bounds to the model of BBR
//! version 1. The short-term bounds are `bw_lo` and `inflight_lo`. Each round trip with losses
//! multiplies both bounds by `beta`. The long-term bound is `inflight_hi`. If more than the share
//! `loss_threshold` of a probe's data in flight is lost, BBR sets `inflight_hi` to the amount of
//! this data. `inflight_hi` grows again while later probes succeed. A probe starts two to three
//! seconds after the previous probe. A probe starts sooner if a Reno flow with the same window
//! would lose its next packet sooner.
//!
//! Marks reduce `inflight_lo`. Marks can also end a probe. The response to marks is intended for
//! networks like those of DCTCP: queues mark at a shallow threshold, and receivers echo every mark.
//! The option `ecn_response` switches the response to marks on. `ecn_response` is off by default,
//! as in Google's v3 branch.
//!
//! Deviations from the v3 branch: `bbr3` deviates like `bbr` in bursts, in clocks, and in the RTT
//! of a single small segment. Google's v3 branch has a fast path for application-limited flows,
//! which only saves CPU time. tailback does not have this fast path. Protective Load Balancing
//! (PLB) and `fast_ack_mode` are not implemented.
//!
//! Where Google's v3 branch and the draft differ, tailback follows the v3 branch by default:
//!
//! - The pacing gain is 0.34 in DRAIN and 0.91 in PROBE_DOWN. DRAIN may last for any number of
//!   round trips.
//! - STARTUP ends after six ACKs with losses.
//! - The extra window that BBR adds for ACK aggregation has an upper limit.
//! - After a spurious loss recovery, BBR does not return to the earlier phase.
//! - BBR responds to marks if `ecn_response` is on.
//!
//! With `draft = "06"`, tailback follows draft-ietf-ccwg-bbr-06 in all points of the list above.
//! With `draft = "06"`, BBR also uses the exact values 2 % (`loss_threshold`), 0.7 (`beta`) and
//! 0.15 (`headroom`). Google's v3 branch rounds these three values to multiples of 1/256. Even with
//! `draft = "06"`, gains are multiples of 1/256, so a gain of 0.90 becomes 230/256. Other
//! deviations from the draft are:
//!
//! - BBR saves its state once per recovery, and restores this state if the recovery was spurious
//!   (section 5.5.11.1 of the draft). The draft's pseudo-code saves the state at the first loss of
//!   each round trip. With the draft's pseudo-code, the second lost segment after PROBE_UP would
//!   overwrite the saved state, because PROBE_DOWN resets the signs of congestion.
//! - After an idle time, both the measuring interval and the count of `extra_acked` restart. The
//!   draft's pseudo-code restarts only the measuring interval of `extra_acked`.
//! - BBR counts ranges of lost segments at the time when loss detection finds them. Adjacent lost
//!   segments form one range.
//! - As in Google's v3 branch, the smallest RTT expires after `min_rtt_window`, and
//!   `TargetInflight()` includes the quantization budget. PROBE_CRUISE lowers `inflight_lo` to
//!   `inflight_hi`. Lowering `inflight_lo` does not change the window, because `inflight_hi` also
//!   bounds the window.
//! - Where the text and the pseudo-code of the draft disagree, tailback follows the pseudo-code. So
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
pub(super) use self::params::{L4S, finish_version_2};
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

/// Returns an option for a gain whose default depends on whether BBR follows the draft or Google's
/// branch.
pub(super) const fn derived(name: &'static str, doc: &'static str, (min, max): (f64, f64)) -> Opt {
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
            "A probe for bandwidth ends if more than this share of its data in flight is lost. \
                Unless draft is set, the value is rounded down to a multiple of 1/256.",
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
            "Number of ACKs with losses, within one round trip of recovery, that end STARTUP. If draft is set, BBR counts separate ranges of lost segments instead of ACKs with losses. 0: losses never end STARTUP.",
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
    // BBR version 3 is not built into any kernel. So the option `module` must name a module that
    // registers a congestion control `bbr3`.
    kernel: Kernel::Module(&Module::named("bbr3", None)),
    rules: Rules::NONE,
    finish: params::finish,
    build: |options| {
        super::hook::made("bbr3");
        Box::new(Bbr3::new(Params::of(options)))
    },
};
