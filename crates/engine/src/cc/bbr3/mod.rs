//! BBR version 3 (draft-ietf-ccwg-bbr), as in `tcp_bbr.c` of the v3 branch of
//! github.com/google/bbr. Version 3 adds two kinds of bounds to the model of version 1. Each round
//! with losses (or marks) multiplies `bw_lo` and `inflight_lo` by `beta`. `inflight_hi` is the
//! amount of data in flight at which a probe lost more than the share `loss_threshold`. This bound
//! grows again while probes succeed. A probe starts every two to three seconds, or earlier if a
//! Reno flow would already have had a loss.
//!
//! The response to marks is meant for low-latency networks, in which queues mark from a shallow
//! threshold on and receivers echo marks as for DCTCP. As in the branch, it is off by default
//! (option `ecn_response`).
//!
//! Deviations from the branch: those of `bbr` that concern bursts, clocks and single small
//! segments. There is no fast path for application-limited flows (in the branch it only saves
//! time), and no Protective Load Balancing (PLB). The branch's `fast_ack_mode` is not implemented:
//! the receiver alone decides when it sends ACKs. By default, BBR differs from the draft in the
//! same points as the branch. DRAIN has a gain of 0.34 and no limit on its rounds, and DOWN has a
//! gain of 0.91. Six ACKs with losses end STARTUP. The extra window for ACK aggregation has an
//! upper limit. After a spurious loss recovery, the earlier phase is not restored. BBR can respond
//! to marks.
//!
//! With `draft = "06"`, BBR follows draft-ietf-ccwg-bbr-06 in all of these points. It uses the
//! exact values 2 %, 0.7 and 0.15, whereas the branch rounds them to multiples of 1/256. Gains are
//! still in units of 1/256, so 0.90 is 230/256. The deviations from the draft are:
//!
//! - The state that a spurious recovery restores is saved once per episode of recovery (section
//!   5.5.11.1). The pseudo-code saves it at the first loss of each round. With the pseudo-code, the
//!   second lost segment after the end of UP would overwrite the saved state, because DOWN resets
//!   the signs of congestion.
//! - After an idle time, both the interval of `extra_acked` and its count restart. The pseudo-code
//!   keeps the count.
//! - Separate ranges of lost segments are counted at the time at which loss detection finds them. A
//!   lost segment next to the previous lost segment belongs to the same range.
//! - The smallest RTT expires as in the branch, `TargetInflight()` includes the quanta, and CRUISE
//!   lowers `inflight_lo` to `inflight_hi`. Both values bound the window in any case.
//! - If the text and the pseudo-code disagree, tailback follows the pseudo-code. `inflight_hi` does
//!   not bound the window in DRAIN (table of section 5.6.1). An application-limited probe does not
//!   change `inflight_hi` (appendix A.6). Losses that end STARTUP set only `full_bw_reached`
//!   (appendix A.2).

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

/// An option for a gain with different defaults in the draft and in the branch.
const fn derived(name: &'static str, doc: &'static str, (min, max): (f64, f64)) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Float { min, max },
        default: None,
        tc: None,
    }
}

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "bbr3",
    doc: "BBR version 3: like bbr, but losses (and, as an option, marks) set bounds on the rate and on the data in flight.",
    follows: "draft-ietf-ccwg-bbr; github.com/google/bbr, branch v3",
    options: &[
        Opt {
            name: "draft",
            doc: "Version of draft-ietf-ccwg-bbr to follow; none: follow Google's branch instead.",
            kind: Kind::Word(&["none", DRAFT_06]),
            default: Some("none"),
            tc: None,
        },
        derived(
            "startup_gain",
            "Gain of the pacing rate in STARTUP; default: 2.773 (4 ln 2), with a draft 2.77.",
            (1.1, 3.9),
        ),
        derived(
            "drain_gain",
            "Gain of the pacing rate in DRAIN; default: 0.3466, with a draft 0.5.",
            (0.1, 1.0),
        ),
        options::CWND_GAIN,
        options::UP_GAIN,
        number(
            "up_cwnd_gain",
            "Bandwidth-delay products that PROBE_UP adds to cwnd_gain.",
            (0.0, 0.9),
            "0.25",
        ),
        derived(
            "down_gain",
            "Gain of the pacing rate in PROBE_DOWN; default: 0.91, with a draft 0.9.",
            (0.1, 1.0),
        ),
        number(
            "loss_threshold",
            "If this share of the data in flight is lost, the probe ends. Without a draft, rounded down to a multiple of 1/256.",
            (0.004, 0.9),
            "0.02",
        ),
        number(
            "beta",
            "Factor by which a round with losses multiplies the bounds. Without a draft, 1 - beta is rounded down to a multiple of 1/256.",
            (0.1, 0.99),
            "0.7",
        ),
        options::HEADROOM,
        whole(
            "startup_losses",
            "Number of ACKs with losses after which STARTUP ends, counted within one round of recovery; with a draft, number of separate ranges of lost segments. 0: losses never end it.",
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
    // No kernel has BBR version 3 built in. So the option `module` must give a module that
    // registers itself as `bbr3`.
    kernel: Kernel::Module(&Module::named("bbr3", None)),
    rules: Rules::NONE,
    finish: params::finish,
    build: |options| {
        super::hook::made("bbr3");
        Box::new(Bbr3::new(Params::of(options)))
    },
};
