//! BBR version 1 (Cardwell and others, 2016; draft-cardwell-iccrg-bbr-congestion-control-00), as in
//! Linux 7.3 `tcp_bbr.c`. BBR maintains a model of the path. The model consists of the highest
//! delivery rate of the last ten round trips and the smallest RTT of the last 10 s. From this
//! model, BBR computes the pacing rate and how many packets may be in flight. BBR does not reduce
//! its rate after losses or marks. But for one round trip after a loss, BBR sends at most one
//! packet for each packet that is delivered. BBR also checks whether a policer causes the losses.
//!
//! Deviations: BBR paces single segments, unless the scenario sets `pacing = "gso"` or "fq-gso". In
//! contrast, Linux sends bursts of up to 1 ms if TCP combines segments into larger packets (TSO).
//! The simulator's BBR always allows as many extra segments in flight as Linux allows for bursts of
//! 1 ms (option `tso_segs`). The age of the smallest RTT is measured in ns, whereas Linux measures
//! this age in ms. When the smallest RTT has expired, tailback may replace this RTT with the RTT of
//! a single small segment. Linux ignores the RTT of a single small segment, because the receiver
//! probably delayed the ACK.

mod control;
mod long_term;
mod phase;
#[cfg(test)]
mod tests;

use self::control::Bbr;
use super::bbr_model::{TSO_SEGS, number, switch, time, whole};
use super::contract::Build;
use crate::registry::kernel::{Kernel, Module};
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};
use crate::units::Time;

/// The registry entry of `bbr`.
pub const ENTRY: Entry<Build> = Entry {
    name: "bbr",
    doc: "BBR version 1: paces at the highest measured delivery rate, with at most two bandwidth-delay products in flight.",
    follows: "Cardwell et al. 2016; Linux 7.3 tcp_bbr.c",
    options: &[
        number(
            "startup_gain",
            "Gain of the pacing rate and of the window in STARTUP; 2.885 is 2/ln 2.",
            (1.1, 3.9),
            "2.885",
        ),
        number(
            "cwnd_gain",
            "Largest number of bandwidth-delay products in flight in PROBE_BW.",
            (1.0, 3.9),
            "2",
        ),
        number(
            "probe_gain",
            "Gain of the pacing rate in the phase of PROBE_BW that probes for more bandwidth.",
            (1.0, 3.9),
            "1.25",
        ),
        number(
            "yield_gain",
            "Gain of the pacing rate in the phase of PROBE_BW after the probe, which drains the queue that the probe has built.",
            (0.1, 1.0),
            "0.75",
        ),
        whole(
            "bw_rounds",
            "Number of round trips for which the highest delivery rate stays valid.",
            (2, 1000),
            "10",
        ),
        time(
            "min_rtt_window",
            "Time for which the measured smallest RTT stays valid. PROBE_RTT also repeats after \
                this time.",
            Time::from_ms(100),
            "10s",
        ),
        time(
            "probe_rtt",
            "Duration of PROBE_RTT, in which the window is at its minimum; 0: no PROBE_RTT.",
            Time::ZERO,
            "200ms",
        ),
        whole(
            "min_window",
            "Smallest window, in segments. PROBE_RTT uses this window.",
            (1, 1000),
            "4",
        ),
        whole(
            "pacing_margin",
            "Percent by which the pacing rate stays below the estimated bandwidth.",
            (0, 50),
            "1",
        ),
        switch(
            "ack_aggregation",
            "Whether bursts of ACKs enlarge the window, so that the sender does not stall between two bursts.",
            "true",
        ),
        switch(
            "policer",
            "Whether BBR detects a policer (a steady delivery rate with losses) and then paces at this rate.",
            "true",
        ),
        TSO_SEGS,
    ],
    kernel: Kernel::Module(&Module::named("bbr", Some("4.9"))),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| {
        super::hook::made("bbr");
        Box::new(Bbr::new(options))
    },
};
