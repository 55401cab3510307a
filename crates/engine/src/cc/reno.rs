//! Reno (RFC 5681) as in Linux 7.3 `tcp_cong.c`. The option `beta_ecn` turns on ABE (RFC 8511).
//!
//! Deviations from the RFCs, as in Linux: the window is in segments, and a reduction multiplies
//! cwnd instead of FlightSize. Every acknowledged segment contributes to the growth of the window.
//! In slow start, RFC 3465 limits the growth per ACK to L segments, whereas Linux has no such
//! limit. In Linux, the factors `beta` and `beta_ecn` are both one half. In tailback, `beta` and
//! `beta_ecn` are options. Values of these options other than one half are rounded down to
//! millionths.

use super::abe::{self, Backoff};
use super::contract::{Build, CongestionControl, Needs, Signal};
use super::limited;
use super::slow_start::{self, SlowStart};
use super::view::{Ack, CaState, View};
use super::window::Window;
use crate::registry::Entry;
use crate::registry::kernel::{Kernel, Module, Parameter, StandIn, digits};

/// The registry entry of `reno`.
pub const ENTRY: Entry<Build> = Entry {
    name: "reno",
    doc: "The window grows by one segment per RTT. A loss or a mark halves the window.",
    follows: "RFC 5681; Linux 7.3 tcp_cong.c",
    options: &[
        abe::beta(
            "0.5",
            "Factor by which the window is multiplied after a loss.",
        ),
        abe::beta_ecn(
            "Factor by which the window is multiplied after ECN-Echo. ABE (RFC 8511) recommends \
                0.8. Default: the value of beta. The flow must have ecn = true.",
        ),
        abe::READING,
        abe::FRLOSSREDUCE,
        slow_start::option(
            Some("none"),
            "Algorithm of the first slow start: HyStart as in CUBIC, HyStart++ (RFC 9406), SEARCH (draft-chung-ccwg-search-09), Careful Resume (RFC 9959), Rapid Start (draft-kazuho-ccwg-rapid-start), or none. With none, only a loss or a mark ends slow start, as in Linux.",
        ),
        slow_start::SAVED_WINDOW,
        slow_start::SAVED_RTT,
        limited::GROWTH,
    ],
    kernel: Kernel::Module(&Module {
        built_in: true,
        parameters: &[Parameter {
            option: "beta_ecn",
            name: "beta_ecn",
            spell: |value| digits(value, 1e6),
        }],
        stand_in: Some(abe::stand_in("reno_abe", "tcp_reno_abe")),
        acks: Some(StandIn {
            option: "growth",
            needed: |_| false,
            parameters: None,
            growth_by_acks: Some(""),
            name: "reno_acks",
            module: "tcp_reno_acks",
            since: None,
        }),
        ..Module::named("reno", Some("2.6.13"))
    }),
    rules: abe::RULES,
    finish: |options| {
        abe::finish(options)?;
        slow_start::finish(options)
    },
    build: |options| {
        super::hook::made("reno");
        let reno = Reno {
            backoff: Backoff::of(options, 1_000_000),
            start: SlowStart::of(options),
        };
        limited::around(options, Box::new(reno))
    },
};

/// Increases the window as Reno does. DCTCP also calls this function.
#[inline]
pub(super) fn cong_avoid(view: View<'_>, window: &mut Window, acked: u32) {
    grow(view, window, acked, &mut SlowStart::Standard);
}

/// Increases the window as Reno does. `start` is the algorithm that may end slow start.
#[inline(always)] // so that each of the two callers is compiled for its own algorithm
fn grow(view: View<'_>, window: &mut Window, mut acked: u32, start: &mut SlowStart) {
    if !view.is_cwnd_limited(window) {
        return;
    }
    // RFC 5681 section 3.1: slow start below ssthresh. If an ACK raises the window to ssthresh, its
    // remaining segments count for congestion avoidance.
    if window.in_slow_start() {
        acked = window.slow_start(start.counted(view, window, acked));
        if acked == 0 {
            return;
        }
    } else if start.drains() {
        return;
    }
    window.cong_avoid_ai(window.cwnd, acked);
}

/// The state of Reno that is not part of the connection's state.
#[derive(Debug)]
pub struct Reno {
    backoff: Backoff,
    start: SlowStart,
}

impl CongestionControl for Reno {
    fn needs(&self) -> Needs {
        Needs {
            control: self.backoff.control(),
            pacing: self.start.paces(),
            ..Needs::default()
        }
    }

    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
        let reduced = self.backoff.ssthresh(view, window, signal);
        self.start.ssthresh(view, window, reduced)
    }

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        grow(view, window, acked, &mut self.start);
    }

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        self.start.init(view, window);
    }

    fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.start.pkts_acked(view, window, ack);
    }

    fn set_state(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.start.timeout(view, window);
        }
    }

    fn cwr_begin(&mut self, window: &mut Window) {
        self.backoff.cwr_begin(window);
    }

    fn loss_in_cwr(&mut self, window: &mut Window) {
        self.backoff.loss_in_cwr(window);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, Host, options};
    use super::*;
    use crate::registry::Value;
    use crate::units::Time;

    fn ssthresh(set: &[(&'static str, Value)], cwnd: u32, ecn: bool) -> u32 {
        let mut cc = (ENTRY.build)(&options(&ENTRY, set));
        let signal = if ecn { Signal::Ecn } else { Signal::Loss };
        testing::ssthresh(&mut *cc, cwnd, cwnd, signal)
    }

    #[test]
    fn half_of_the_window_but_two_segments() {
        for (cwnd, half) in [
            (1, 2),
            (3, 2),
            (4, 2),
            (5, 2),
            (21, 10),
            (u32::MAX / 2, 1_073_741_823),
        ] {
            assert_eq!(ssthresh(&[], cwnd, false), half, "cwnd {cwnd}");
            assert_eq!(ssthresh(&[], cwnd, true), half, "cwnd {cwnd}, ECN");
        }
    }

    #[test]
    fn abe_is_gentler_on_marks_only() {
        let abe = [("beta_ecn", Value::Float(0.8))];
        assert_eq!(ssthresh(&abe, 20, true), 16);
        assert_eq!(ssthresh(&abe, 20, false), 10);
        // 0.57 * 100 is 56.99... in floating point, but 57 in millionths.
        assert_eq!(ssthresh(&[("beta_ecn", Value::Float(0.57))], 100, true), 57);
    }

    #[test]
    fn doubles_each_round_then_adds_one() {
        let mut host = Host::new((ENTRY.build)(&options(&ENTRY, &[])), 10, Time::from_ms(50));
        host.window.ssthresh = 40;
        let mut windows = Vec::new();
        for _ in 0..5 {
            host.round();
            windows.push(host.window.cwnd);
        }
        // The second doubling of the window ends exactly at ssthresh.
        assert_eq!(windows, [20, 40, 41, 42, 43]);
    }
}
