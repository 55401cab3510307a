//! A congestion control: slow start, then growth by `increase` segments per round trip. After a
//! loss or a mark, the window is `beta` times as large as before.
//!
//! It has the hooks of Linux's `tcp_congestion_ops`. As in Linux, the TCP stack finds losses,
//! retransmits and reduces the window. See `tailback_engine::cc::CongestionControl` for the hooks
//! that this file does not use.

use tailback_engine::cc::{Build, CongestionControl, Signal, View, Window};
use tailback_engine::crates::Registry;
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, Kind, Opt, Options, no_finish};

/// Registers everything in this crate with tailback.
pub fn register(registry: &mut Registry) {
    registry.cc(&ENTRY);
}

/// The name, description and options of the algorithm.
static ENTRY: Entry<Build> = Entry {
    name: "NAME",
    doc: "Additive increase, multiplicative decrease.",
    follows: "RFC 5681 with other constants",
    options: &[
        Opt {
            name: "increase",
            doc: "Segments more in each round.",
            kind: Kind::Int { min: 1, max: 100 },
            default: Some("1"),
            tc: None,
        },
        Opt {
            name: "beta",
            doc: "Factor of the window after a loss or a mark.",
            kind: Kind::Float { min: 0.1, max: 0.9 },
            default: Some("0.7"),
            tc: None,
        },
    ],
    // Linux does not have this congestion control, so only the simulator runs it.
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| Box::new(TYPE::of(options)),
};

struct TYPE {
    /// Number of segments by which the window grows in each round trip.
    increase: u32,
    /// Share of the window that remains after a loss or a mark.
    beta: f64,
}

impl TYPE {
    fn of(options: &Options) -> TYPE {
        TYPE {
            increase: options.int("increase") as u32,
            beta: options.float("beta"),
        }
    }
}

impl CongestionControl for TYPE {
    /// The window after a loss or a mark, in segments.
    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        ((f64::from(window.cwnd) * self.beta) as u32).max(2)
    }

    /// Grows the window after `acked` segments were acknowledged.
    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, mut acked: u32) {
        if !view.is_cwnd_limited(window) {
            return;
        }
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        // Add one segment for each group of this many acknowledged segments.
        window.cong_avoid_ai((window.cwnd / self.increase).max(1), acked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_conformance::testing::{Host, options};
    use tailback_engine::units::Time;

    /// Simulates a sender without a network. In each round trip, one window is acknowledged.
    #[test]
    fn grows_by_its_increase_and_keeps_beta() {
        let options = options(&ENTRY, &[]);
        let mut host = Host::new((ENTRY.build)(&options), 20, Time::from_ms(50));
        host.window.ssthresh = 20;
        let mut windows = Vec::new();
        for _ in 0..3 {
            host.round();
            windows.push(host.window.cwnd);
        }
        assert_eq!(windows, [21, 22, 23]);
        host.marked_round(1);
        host.ack(1);
        // The window of 23 segments is reduced to 0.7 of its size.
        assert_eq!(host.window.ssthresh, 16);
    }
}
