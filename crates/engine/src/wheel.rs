//! When Linux's timers fire (`kernel/time/timer.c`, HZ 1000). The timer wheel counts time in
//! jiffies, and a timer never fires early. A timer that is set far ahead fires at a multiple of 8,
//! 64, ... jiffies.
//!
//! The wheel works as in Linux 4.8 and later. If the window grows as in Linux 3.2 (`tcp.growth =
//! "acks"`), timers fire exactly when they are due.
//!
//! Each host has its own [`WheelPhase`]. The phase is the time for which the host had been running
//! when the run began. The phase determines when jiffies begin, and which jiffies are multiples of
//! 8. If all hosts had the same phase, the timers of many flows would fire at the same instant, in
//! the order of the scenario file. As a result, the first flows would always find space in a short
//! queue.

use crate::plan::{Growth, TcpPlan};
use crate::rng::Stream;
use crate::units::Time;

/// A jiffy, in ns.
const JIFFY: u64 = 1_000_000;
/// Largest index of a slot in a level of the wheel, which has 64 slots.
const LEVEL: u64 = 63;
/// A slot of a level is `1 << COARSER` times as long as a slot of the level below.
const COARSER: u32 = 3;
/// A slot of the highest level is `1 << COARSEST` jiffies long.
const COARSEST: u32 = 8 * COARSER;

/// How long a host had been running when the run began, in ns, modulo the length of the wheel's
/// longest slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WheelPhase(u64);

impl WheelPhase {
    /// Returns the random phase of a host, which depends on the seed of the run.
    pub fn of_host(seed: u64, host: &str, end: &str) -> WheelPhase {
        let mut stream = Stream::new(seed, host, end);
        WheelPhase(stream.below(JIFFY << COARSEST))
    }

    /// Returns the phase of a host that had been running for this long.
    pub fn running_for(time: Time) -> WheelPhase {
        WheelPhase(time.ns() % (JIFFY << COARSEST))
    }
}

/// Determines when the timers of a host fire.
#[derive(Clone, Copy, Debug)]
pub struct TimerClock {
    /// Whether timers fire at the ticks of the wheel. Otherwise they fire exactly when they are
    /// due.
    coarse: bool,
    phase: WheelPhase,
}

impl TimerClock {
    /// Creates the clock of a host with phase 0: a jiffy begins when the run begins.
    pub fn new(plan: &TcpPlan) -> TimerClock {
        TimerClock {
            coarse: plan.growth == Growth::Segments,
            phase: WheelPhase::default(),
        }
    }

    /// Returns a copy of this clock with the phase `phase`.
    pub fn at_phase(self, phase: WheelPhase) -> TimerClock {
        TimerClock { phase, ..self }
    }

    /// Returns whether timers fire only at the ticks of the wheel, and not exactly when they are
    /// due.
    #[inline]
    pub fn is_coarse(self) -> bool {
        self.coarse
    }

    /// Returns when a timer of this host fires if it is set at `set` and due at `due`.
    #[cold]
    pub fn fires(self, set: Time, due: Time) -> Time {
        let phase = Time(self.phase.0);
        fires(set + phase, due + phase) - phase
    }
}

/// Returns when a timer fires if it is set at `set` and due at `due`. Jiffy 0 begins at time 0.
#[cold]
pub fn fires(set: Time, due: Time) -> Time {
    // Linux rounds the interval up to whole jiffies (`usecs_to_jiffies`).
    let after = due.since(set).ns().div_ceil(JIFFY);
    let expires = set.ns() / JIFFY + after;
    let mut shift = 0;
    while after >= LEVEL << shift && shift < COARSEST {
        shift += COARSER;
    }
    // Add one jiffy, because the timer was set in the middle of a jiffy.
    Time((((expires >> shift) + 1) << shift) * JIFFY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values were computed by hand from `calc_wheel_index`.
    #[test]
    fn the_further_ahead_the_coarser() {
        let at = |set_us: u64, after_us: u64| {
            let set = Time::from_us(set_us);
            fires(set, set + Time::from_us(after_us)).ns() / 1_000
        };
        assert_eq!(at(0, 0), 1_000, "never at once");
        assert_eq!(at(500, 2_000), 3_000);
        assert_eq!(at(999, 2_001), 4_000, "the interval is rounded up");
        assert_eq!(at(0, 62_000), 63_000);
        assert_eq!(at(0, 63_000), 64_000);
        assert_eq!(at(0, 64_000), 72_000);
        assert_eq!(at(3_000, 220_000), 224_000);
        assert_eq!(at(3_000, 1_000_000), 1_024_000);
        assert_eq!(at(0, 5_000_000), 5_120_000);
        assert_eq!(at(0, 120_000_000), 122_880_000);
    }

    /// A timer that is due within 70 s never fires early. Such a timer is late by at most two
    /// jiffies and one slot.
    #[test]
    fn never_early_and_not_late() {
        for set_us in (0..66_000).step_by(333) {
            let set = Time::from_us(set_us);
            for after_ms in (0..5_000).chain((5_000..70_000).step_by(97)) {
                let due = set + Time::from_ms(after_ms);
                let fires = fires(set, due);
                assert!(fires > due, "{set} {due}");
                // A timer is in a level only if its interval is longer than 63 slots of the level
                // below. A slot of the level below is an eighth as long as a slot of this level.
                let slot = after_ms * JIFFY * 8 / LEVEL;
                assert!(fires.since(due).ns() <= slot + 2 * JIFFY, "{set} {due}");
            }
        }
    }

    /// With any phase, a timer never fires early, and is late by at most two jiffies and one slot.
    #[test]
    fn a_phase_moves_the_ticks_and_nothing_else() {
        let plan = TcpPlan::default();
        let mut parts = std::collections::BTreeSet::new();
        for host in 0..200 {
            let phase = WheelPhase::of_host(1, &host.to_string(), "sender timers");
            let clock = TimerClock::new(&plan).at_phase(phase);
            for after_ms in [0, 1, 40, 62, 63, 200, 511, 1_000, 60_000] {
                let set = Time::from_us(12_345_678);
                let due = set + Time::from_ms(after_ms);
                let fires = clock.fires(set, due);
                assert!(fires > due);
                assert!(fires.since(due).ns() <= after_ms * JIFFY * 8 / LEVEL + 2 * JIFFY);
                assert_eq!((fires.ns() + phase.0) % JIFFY, 0, "a tick of this host");
                parts.insert(fires.ns() % JIFFY);
            }
        }
        assert!(parts.len() > 190, "each host has ticks of its own");
    }
}
