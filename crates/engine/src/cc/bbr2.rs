//! BBR version 2, as in `tcp_bbr2.c` of the branch v2alpha of github.com/google/bbr (commit
//! 0487ade5). It has the model and the phases of version 3 (`bbr3`), which came from it,
//! with these differences:
//!
//! - STARTUP has a gain of 2.885 for the rate and for the window. DRAIN keeps that window. DOWN has
//!   0.75. A probe (UP) does not have a larger window than the other phases.
//! - The pipe is full if the largest bandwidth has not grown by a quarter in each of three rounds.
//!   Eight ACKs with losses in a round end STARTUP, and leave the estimated volume as the bound.
//! - A probe ends when it has lasted for the smallest RTT and 1.25 bandwidth-delay products are in
//!   flight. In version 3 it ends when the rate stops growing.
//! - The rate and volume of the latest round begin again at the end of the round, before the phase
//!   changes.
//! - With `ecn_response`, marks also lower `bw_lo`. A probe whose samples all had too many marks
//!   puts a bound on the bandwidth until a sample exceeds it. BBR does not probe early when marks
//!   cease.
//! - A loss that a tail loss probe repaired does not count.
//!
//! Deviations: those of `bbr3` (bursts, clocks, lone runts; no fast path for application-limited
//! flows; `fast_ack_mode` is left to the receiver). The end of a spurious recovery never lowers the
//! window, as it may in the branch. `usage_based_cwnd`, `refill_add_inc` and
//! `ecn_reprobe_gain` are off in the branch and do not exist here.

use super::bbr_model::{TSO_SEGS, number, whole};
use super::bbr3::{self, options};
use super::contract::Build;
use crate::registry::kernel::{Kernel, Module};
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "bbr2",
    doc: "BBR version 2: the predecessor of bbr3, with fixed ends of its probes.",
    follows: "github.com/google/bbr, branch v2alpha (tcp_bbr2.c)",
    options: &[
        number(
            "startup_gain",
            "Gain of the rate in STARTUP, 2 / ln 2.",
            (1.1, 3.9),
            "2.885",
        ),
        number(
            "startup_cwnd_gain",
            "Bandwidth-delay products in flight in STARTUP and DRAIN.",
            (1.1, 3.9),
            "2.885",
        ),
        number(
            "drain_gain",
            "Gain of the rate in DRAIN.",
            (0.1, 1.0),
            "0.3466",
        ),
        options::CWND_GAIN,
        options::UP_GAIN,
        number(
            "down_gain",
            "Gain of the rate in PROBE_DOWN.",
            (0.1, 1.0),
            "0.75",
        ),
        number(
            "loss_threshold",
            "Share of a flight whose loss ends a probe, rounded down to 1/256.",
            (0.004, 0.9),
            "0.02",
        ),
        number(
            "beta",
            "Factor of the bounds in a round with losses. 1 - beta is rounded down to 1/256.",
            (0.1, 0.99),
            "0.7",
        ),
        options::HEADROOM,
        whole(
            "startup_losses",
            "ACKs with losses in a round of recovery that end STARTUP. 0: losses never end it.",
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
    // No kernel has BBR version 2 built in: the option `module` must name a module that registers
    // itself as `bbr2`.
    kernel: Kernel::Module(&Module::named("bbr2", None)),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| {
        super::hook::made("bbr2");
        bbr3::version_2(options)
    },
};
