//! When Linux's timers fire (`kernel/time/timer.c`, HZ 1000): the clock of the
//! timer wheel is the jiffy, a timer never fires early, and one that lies far
//! ahead fires at the next multiple of 8, 64, ... jiffies.
//!
//! The wheel is that of Linux since 4.8; a stack that grows its window as Linux
//! 3.2 did (`tcp.growth = "acks"`) has timers that fire when they are due.
//!
//! Deviation: the run begins with jiffy 0; the machine's count at that time
//! decides in Linux which jiffies are multiples.

use crate::plan::{Growth, TcpPlan};
use crate::units::Time;

/// A jiffy, ns.
const JIFFY: u64 = 1_000_000;
/// Slots of a level of the wheel, less one.
const LEVEL: u64 = 63;
/// Binary digits that a level is coarser than the one below.
const COARSER: u32 = 3;

/// Whether the stack has this wheel.
#[inline]
pub fn coarse(plan: &TcpPlan) -> bool {
    plan.growth == Growth::Segments
}

/// When a timer fires that was set at `set` for `due`.
#[cold]
pub fn fires(set: Time, due: Time) -> Time {
    // Clocks count whole jiffies; intervals are rounded up (`usecs_to_jiffies`).
    let after = due.since(set).ns().div_ceil(JIFFY);
    let expires = set.ns() / JIFFY + after;
    let mut shift = 0;
    while after >= LEVEL << shift && shift < 8 * COARSER {
        shift += COARSER;
    }
    // One on, so that the part of a jiffy that had passed at `set` is not missing.
    Time((((expires >> shift) + 1) << shift) * JIFFY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `calc_wheel_index` by hand.
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

    /// Whenever it is set, for up to 70 s: never early, and late by no more than
    /// two jiffies and a slot.
    #[test]
    fn never_early_and_not_late() {
        for set_us in (0..66_000).step_by(333) {
            let set = Time::from_us(set_us);
            for after_ms in (0..5_000).chain((5_000..70_000).step_by(97)) {
                let due = set + Time::from_ms(after_ms);
                let fires = fires(set, due);
                assert!(fires > due, "{set} {due}");
                // A slot is eight of the level below, which 63 of those had filled.
                let slot = after_ms * JIFFY * 8 / LEVEL;
                assert!(fires.since(due).ns() <= slot + 2 * JIFFY, "{set} {due}");
            }
        }
    }
}
