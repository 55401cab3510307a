//! Scalable TCP (Kelly 2003), as Linux 7.3 `tcp_scalable.c` has it.
//!
//! Additive increase of one segment for every `ai_count` acknowledged, however large
//! the window, and a decrease by one eighth: a loss is made good in the same number of
//! round trips at every rate. Linux has both fixed.

use super::contract::{Build, CongestionControl, Signal};
use super::view::View;
use super::window::Window;
use crate::registry::kernel::{Kernel, Module};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, no_finish};

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "scalable",
    doc: "A segment more for every so many acknowledged, whatever the window; an eighth less after a loss.",
    follows: "Linux 7.3 tcp_scalable.c",
    options: &[
        Opt {
            name: "beta",
            doc: "Factor of the window after a loss or ECN-Echo.",
            kind: Kind::Float {
                min: 0.5,
                max: 0.99,
            },
            default: Some("0.875"),
            tc: None,
        },
        Opt {
            name: "ai_count",
            doc: "Acknowledged segments for each that the window grows by, at most.",
            kind: Kind::Int {
                min: 1,
                max: 10_000,
            },
            default: Some("100"),
            tc: None,
        },
    ],
    kernel: Kernel::Module(&Module::named("scalable", Some("2.6.13"))),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| {
        Box::new(Scalable {
            cut: libm::round((1.0 - options.float("beta")) * 1e6) as u64,
            ai_count: options.int("ai_count") as u32,
        })
    },
};

/// The congestion control.
#[derive(Debug)]
pub struct Scalable {
    /// Part of the window that a reduction takes, in millionths.
    cut: u64,
    ai_count: u32,
}

impl CongestionControl for Scalable {
    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        let cut = u64::from(window.cwnd) * self.cut / 1_000_000;
        (window.cwnd - cut as u32).max(2)
    }

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
        window.cong_avoid_ai(window.cwnd.min(self.ai_count), acked);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, Host, options};
    use super::*;
    use crate::units::Time;

    #[test]
    fn an_eighth_less_and_one_percent_more() {
        let cc = || (ENTRY.build)(&options(&ENTRY, &[]));
        assert_eq!(testing::ssthresh(&mut *cc(), 80, 80, Signal::Loss), 70);
        let mut host = Host::new(cc(), 500, Time::from_ms(50));
        host.window.ssthresh = 500;
        host.round();
        assert_eq!(host.window.cwnd, 505);
    }
}
