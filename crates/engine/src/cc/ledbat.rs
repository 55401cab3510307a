//! LEDBAT, Low Extra Delay Background Transport (RFC 6817). LEDBAT is a congestion control for
//! background transfers. LEDBAT yields to other traffic as soon as a queue forms.
//!
//! The sender estimates the queueing delay as the difference between the current delay and the
//! smallest delay of the last few minutes. If the queueing delay is below the target, the window
//! grows, by at most `gain` segments per round trip. If the queueing delay is above the target, the
//! window shrinks in proportion to the excess. A loss halves the window. LEDBAT has no slow start,
//! as in RFC 6817.
//!
//! Deviations from the RFC:
//! - The measured delay is the round-trip time, as in LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus).
//!   RFC 6817 uses the one-way delay. So in tailback, LEDBAT also responds to queueing delay in the
//!   reverse direction.
//! - LEDBAT uses the loss detection, the timeout and the PRR of the simulator's TCP. TCP's
//!   retransmission timeout replaces the congestion timeout (CTO) of RFC 6817. While PRR spreads a
//!   reduction over a round trip, LEDBAT does not adjust the window to the delay.
//! - The initial window is `tcp.initial_cwnd`. RFC 6817 recommends an initial window of 2 segments.

use super::contract::{Build, CongestionControl, Signal};
use super::view::{Ack, View};
use super::window::{MAX_CWND, Window};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, no_finish};
use crate::units::Time;

/// The smallest window after the first ACK, in segments (`MIN_CWND`).
const MIN_CWND: u32 = 2;
/// Maximum number of segments by which the window may exceed the data in flight
/// (`ALLOWED_INCREASE`).
const ALLOWED_INCREASE: u32 = 1;
const MAX_HISTORY: usize = 20;
const MAX_FILTER: usize = 16;
/// The history stores the smallest delay of each period of this length.
const MINUTE: Time = Time::from_secs(60);

/// The registry entry of `ledbat`.
pub const ENTRY: Entry<Build> = Entry {
    name: "ledbat",
    doc: "A congestion control for background transfers. LEDBAT keeps the queueing delay at a \
        target, and yields to other traffic.",
    follows: "RFC 6817, but with RTTs in place of one-way delays",
    options: &[
        Opt {
            name: "target",
            doc: "Queueing delay that the sender aims for. RFC 6817 allows at most 100ms.",
            kind: Kind::Time {
                min: Time::from_us(100),
            },
            default: Some("100ms"),
            tc: None,
        },
        Opt {
            name: "gain",
            doc: "Segments by which the window grows in a round trip without queueing delay. RFC 6817 allows at most 1 segment; RFC 7928 section 5.4 uses 10 segments.",
            kind: Kind::Float {
                min: 0.01,
                max: 10.0,
            },
            default: Some("1"),
            tc: None,
        },
        Opt {
            name: "filter",
            doc: "The current delay is the minimum of this many delay samples (CURRENT_FILTER). \
                Only samples of the last round trip count.",
            kind: Kind::Int {
                min: 1,
                max: MAX_FILTER as i64,
            },
            default: Some("4"),
            tc: None,
        },
        Opt {
            name: "base_history",
            doc: "The delay without a queue is estimated as the smallest delay in this many \
                minutes (BASE_HISTORY).",
            kind: Kind::Int {
                min: 2,
                max: MAX_HISTORY as i64,
            },
            default: Some("10"),
            tc: None,
        },
    ],
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| {
        super::hook::made("ledbat");
        Box::new(Ledbat {
            target: options.time("target").ns() as f64,
            gain: options.float("gain"),
            current: Current {
                samples: [(Time::ZERO, Time::NEVER); MAX_FILTER],
                length: options.int("filter") as usize,
                newest: 0,
            },
            base: Base {
                smallest: [Time::NEVER; MAX_HISTORY],
                length: options.int("base_history") as usize,
                newest: 0,
                minute: 0,
            },
            delay: None,
            flight: 0,
            credit: 0.0,
        })
    },
};

struct Current {
    /// When each sample was measured, and its value.
    samples: [(Time, Time); MAX_FILTER],
    length: usize,
    newest: usize,
}

impl Current {
    fn add(&mut self, now: Time, delay: Time) {
        self.newest = (self.newest + 1) % self.length;
        self.samples[self.newest] = (now, delay);
    }

    /// Returns the smallest delay among the samples that are not older than a round trip.
    fn smallest(&self) -> Time {
        let (now, rtt) = self.samples[self.newest];
        self.samples[..self.length]
            .iter()
            .filter(|(at, _)| now.since(*at) <= rtt)
            .fold(rtt, |least, (_, delay)| least.min(*delay))
    }
}

/// The smallest delay of each recent minute.
struct Base {
    /// Smallest delay of each minute, or `NEVER` for minutes in the future.
    smallest: [Time; MAX_HISTORY],
    length: usize,
    newest: usize,
    /// Number of the newest minute, counted from the start of the run.
    minute: u64,
}

impl Base {
    fn add(&mut self, now: Time, delay: Time) {
        let minute = now.ns() / MINUTE.ns();
        if minute != self.minute {
            self.minute = minute;
            self.newest = (self.newest + 1) % self.length;
            self.smallest[self.newest] = delay;
        } else {
            self.smallest[self.newest] = self.smallest[self.newest].min(delay);
        }
    }

    fn smallest(&self) -> Time {
        let used = &self.smallest[..self.length];
        used.iter().copied().fold(Time::NEVER, Time::min)
    }
}

struct Ledbat {
    /// The queueing delay at which the sender aims, in ns.
    target: f64,
    /// Growth of the window if there is no queueing delay, in segments per round trip.
    gain: f64,
    current: Current,
    base: Base,
    /// The queueing delay. `None` before the first sample.
    delay: Option<Time>,
    flight: u32,
    /// The change of the window that is still to be applied, multiplied by the window. Each
    /// acknowledged segment adds `gain` * `off_target`, where `off_target` is (target - delay) /
    /// target. This value is negative if the window must shrink.
    credit: f64,
}

impl CongestionControl for Ledbat {
    fn init(&mut self, _view: View<'_>, window: &mut Window) {
        // LEDBAT has no slow start.
        window.ssthresh = window.cwnd.max(MIN_CWND);
        self.flight = window.cwnd;
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        (window.cwnd / 2).max(MIN_CWND)
    }

    fn cong_avoid(&mut self, _view: View<'_>, window: &mut Window, acked: u32) {
        let Some(delay) = self.delay else { return };
        let off_target = (self.target - delay.ns() as f64) / self.target;
        let cwnd = f64::from(window.cwnd);
        self.credit += self.gain * off_target * f64::from(acked);
        let whole = (self.credit / cwnd).trunc();
        self.credit -= whole * cwnd;
        let allowed = self.flight.saturating_add(ALLOWED_INCREASE);
        window.cwnd = (i64::from(window.cwnd))
            .saturating_add(whole as i64)
            .min(i64::from(allowed.min(MAX_CWND)))
            .max(i64::from(MIN_CWND)) as u32;
    }

    fn pkts_acked(&mut self, view: View<'_>, _window: &mut Window, ack: &Ack) {
        self.flight = ack.prior_in_flight;
        if let Some(rtt) = ack.rtt {
            self.base.add(view.now, rtt);
            self.current.add(view.now, rtt);
            self.delay = Some(self.current.smallest().since(self.base.smallest()));
        }
    }

    fn gauges(&self, _view: View<'_>, _window: &Window, out: &mut Vec<f64>) {
        out.push(self.delay.unwrap_or_default().as_secs_f64() * 1e3);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["queueing_delay_ms"]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, Host, options};
    use super::*;
    use crate::registry::Value;

    const BASE: Time = Time::from_ms(50);

    /// Returns a sender with this window. The sender has measured the delay of the empty path.
    fn host(set: &[(&'static str, Value)], cwnd: u32) -> Host {
        let mut host = Host::new((ENTRY.build)(&options(&ENTRY, set)), cwnd, BASE);
        host.round();
        host
    }

    /// Returns the window after each of several rounds with a queueing delay of `queueing_ms`.
    fn windows(host: &mut Host, queueing_ms: u64, rounds: usize) -> Vec<u32> {
        host.rtt = BASE + Time::from_ms(queueing_ms);
        let mut windows = Vec::new();
        for _ in 0..rounds {
            host.round();
            windows.push(host.window.cwnd);
        }
        windows
    }

    #[test]
    fn without_a_queue_the_window_grows_by_the_gain_in_each_round() {
        assert_eq!(windows(&mut host(&[], 20), 0, 4), [22, 23, 24, 25]);
        let mut slow = host(&[("gain", Value::Float(0.5))], 20);
        assert_eq!(windows(&mut slow, 0, 4), [21, 21, 22, 22]);
        // Each ACK adds gain / w to the window w. So in a round, w² grows by 2 · gain · w.
        let mut fast = host(&[("gain", Value::Float(10.0))], 20);
        assert_eq!(windows(&mut fast, 0, 2), [37, 46]);
    }

    #[test]
    fn the_window_holds_at_the_target_and_shrinks_beyond_it() {
        let mut at = host(&[], 50);
        let held = windows(&mut at, 100, 10);
        assert!(held.iter().all(|cwnd| *cwnd == held[0]), "{held:?}");
        // If the delay is twice the target, off_target is -1. So the window shrinks by one segment
        // per round.
        let mut beyond = host(&[], 50);
        let shrunk = windows(&mut beyond, 200, 6);
        assert_eq!(shrunk[0] - shrunk[5], 5, "{shrunk:?}");
        // The window never falls below two segments, even if the queue is very long.
        assert_eq!(windows(&mut beyond, 100_000, 5)[4], 2);
    }

    #[test]
    fn a_loss_halves_the_window() {
        let mut cc = (ENTRY.build)(&options(&ENTRY, &[]));
        for (cwnd, half) in [(20, 10), (5, 2), (2, 2)] {
            let found = testing::ssthresh(&mut *cc, cwnd, cwnd, Signal::Loss);
            assert_eq!(found, half, "cwnd {cwnd}");
        }
    }

    #[test]
    fn the_window_exceeds_the_flight_by_one_segment() {
        let mut host = host(&[("gain", Value::Float(10.0))], 20);
        host.flight.una = host.flight.nxt - 5;
        host.ack(1);
        assert_eq!(host.window.cwnd, 6);
    }

    #[test]
    fn one_late_sample_among_four_does_not_count() {
        let mut host = host(&[("target", Value::Time(Time::from_ms(5)))], 20);
        let before = host.window.cwnd;
        for rtt in [50, 50, 50, 90, 50] {
            host.rtt = Time::from_ms(rtt);
            host.wait(Time::from_ms(2));
            host.ack(1);
            assert_eq!(host.gauges(), [0.0], "{rtt}");
        }
        assert!(host.window.cwnd >= before);
        // Samples that are older than a round trip do not count, even if fewer than four samples
        // are left.
        host.rtt = Time::from_ms(90);
        host.wait(Time::from_ms(91));
        host.ack(1);
        assert_eq!(host.gauges(), [40.0]);
    }

    #[test]
    fn a_longer_path_becomes_the_base_after_the_history() {
        let mut host = host(&[("base_history", Value::Int(2))], 20);
        host.rtt = Time::from_ms(80);
        host.wait(Time::from_ms(81));
        let mut seen = Vec::new();
        for _ in 0..3 {
            host.ack(1);
            seen.extend(host.gauges());
            host.wait(MINUTE);
        }
        assert_eq!(seen, [30.0, 30.0, 0.0]);
        // If the path becomes shorter, the new delay becomes the base delay at once.
        host.rtt = Time::from_ms(40);
        host.ack(1);
        assert_eq!(host.gauges(), [0.0]);
    }
}
