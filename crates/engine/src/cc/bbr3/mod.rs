//! BBR version 3 (draft-ietf-ccwg-bbr), as in `tcp_bbr.c` of the v3 branch of
//! github.com/google/bbr. Version 3 bounds the model of version 1 in two ways. `bw_lo` and
//! `inflight_lo` follow losses (and marks) from round to round by a factor of `beta`. `inflight_hi`
//! is the volume in flight when a probe lost more than `loss_threshold`. This bound grows again
//! while probes succeed. A probe starts every two to three seconds, or sooner if a Reno flow would
//! have had a loss by then.
//!
//! The response to marks is meant for low-latency networks (DCTCP's echo and a shallow threshold).
//! As in the branch, it is off by default (option `ecn_response`).
//!
//! Deviations: those of `bbr` (bursts, clocks, lone runts). There is no fast path for
//! application-limited flows (it only saves time), and no protective load balancing. The branch's
//! `fast_ack_mode` is left to the receiver. This version differs from the draft in the same points
//! as the branch. DRAIN has a gain of 0.34 and no limit in rounds, and DOWN has 0.91. Six ACKs with
//! losses end STARTUP. The room for aggregation is capped. After a spurious loss the earlier phase
//! is not restored. BBR responds to marks.
//!
//! `draft = "06"` follows draft-ietf-ccwg-bbr-06 in all of these points. It uses 2 %, 0.7 and 0.15
//! exactly, where the branch rounds to 1/256. Gains are still in units of 1/256: 0.90 is 230/256.
//! The deviations from the draft:
//!
//! - State is saved once per episode of recovery (section 5.5.11.1). The pseudo-code saves at the
//!   first loss of each round. There, the second lost segment after UP has ended would overwrite
//!   the saved state, because DOWN resets the signs of congestion.
//! - After an idle time the interval of `extra_acked` and its count start again; the pseudo-code
//!   keeps the count.
//! - Separate ranges of lost segments are counted when loss detection finds them. A segment next to
//!   the last lost one belongs to the same range.
//! - The smallest RTT expires as in the branch, `TargetInflight()` includes the quanta, and CRUISE
//!   lowers `inflight_lo` to `inflight_hi`. Both bound the window in any case.
//! - Where the text and the pseudo-code disagree, the pseudo-code counts: DRAIN is not bounded by
//!   `inflight_hi` (table of section 5.6.1), an application-limited probe does not change
//!   `inflight_hi` (appendix A.6), and losses that end STARTUP set only `full_bw_reached` (appendix
//!   A.2).

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

/// Makes a congestion control of version 2 ([`super::bbr2`]).
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
    doc: "BBR version 3: as bbr, but with bounds that losses (and, as an option, marks) set.",
    follows: "draft-ietf-ccwg-bbr; github.com/google/bbr, branch v3",
    options: &[
        Opt {
            name: "draft",
            doc: "Version of the draft to follow; none: Google's branch.",
            kind: Kind::Word(&["none", DRAFT_06]),
            default: Some("none"),
            tc: None,
        },
        derived(
            "startup_gain",
            "Gain of the rate in STARTUP, 4 ln 2; default: 2.773, 2.77 with a draft.",
            (1.1, 3.9),
        ),
        derived(
            "drain_gain",
            "Gain of the rate in DRAIN; default: 0.3466, 0.5 with a draft.",
            (0.1, 1.0),
        ),
        options::CWND_GAIN,
        options::UP_GAIN,
        number(
            "up_cwnd_gain",
            "Bandwidth-delay products in flight that PROBE_UP adds.",
            (0.0, 0.9),
            "0.25",
        ),
        derived(
            "down_gain",
            "Gain of the rate in PROBE_DOWN; default: 0.91, 0.9 with a draft.",
            (0.1, 1.0),
        ),
        number(
            "loss_threshold",
            "Share of a flight whose loss ends a probe. Without a draft, rounded down to 1/256.",
            (0.004, 0.9),
            "0.02",
        ),
        number(
            "beta",
            "Factor of the bounds in a round with losses. Without a draft, 1 - beta is rounded down to 1/256.",
            (0.1, 0.99),
            "0.7",
        ),
        options::HEADROOM,
        whole(
            "startup_losses",
            "Losses in a round of recovery that end STARTUP; with a draft, separate ranges. 0: losses never end it.",
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
    // No kernel has BBR version 3 built in: the option `module` must name a module that registers
    // itself as `bbr3`.
    kernel: Kernel::Module(&Module::named("bbr3", None)),
    rules: Rules::NONE,
    finish: params::finish,
    build: |options| {
        super::hook::made("bbr3");
        Box::new(Bbr3::new(Params::of(options)))
    },
};
