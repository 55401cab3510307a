//! Delay in slots, as on a link that sends in bursts (Wi-Fi, cellular). Packets wait, and some of
//! them leave together when a slot begins.
//!
//! This delay follows the slots of Linux 7.3 `sch_netem` (`netem_dequeue`, `get_slot_next`). When a
//! packet becomes the first in the queue, netem checks the current slot. If this slot begins before
//! the packet's own delay has passed, netem replaces the slot. The new slot begins a random gap
//! from now. The packet leaves once its own delay has passed and its slot has begun. When a slot is
//! full, netem schedules the next slot. A gap must not be shorter than the packets' own delay. If a
//! gap were shorter, each arrival would schedule a new slot. With this restriction, the simulator
//! can compute a packet's departure time when the packet arrives.

use crate::plan::SlotsPlan;
use crate::rng::Stream;
use crate::units::Time;

/// The times at which a link may send (slots), and how full the current slot is.
pub(super) struct Slots {
    plan: SlotsPlan,
    stream: Stream,
    next: Time,
    /// How many packets and bytes may still leave in the slot.
    packets_left: u64,
    bytes_left: u64,
    last: Time,
}

impl Slots {
    pub fn new(plan: &SlotsPlan, stream: Stream) -> Slots {
        let mut slots = Slots {
            plan: plan.clone(),
            stream,
            next: Time::ZERO,
            packets_left: 0,
            bytes_left: 0,
            last: Time::ZERO,
        };
        slots.begins_at(Time::ZERO);
        slots
    }

    /// Handles a packet that arrives at `at`. Returns when the packet leaves.
    pub fn leaves(&mut self, at: Time, bytes: u16) -> Time {
        let due = at + self.plan.delay;
        if self.next < due {
            self.draw(at.max(self.last));
        }
        self.last = due.max(self.next);
        self.packets_left = self.packets_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(bytes));
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.draw(self.last);
        }
        self.last
    }

    fn draw(&mut self, now: Time) {
        let span = self.plan.max.since(self.plan.min).ns();
        let gap = self.plan.min + Time(self.stream.below(span.max(1)));
        self.begins_at(now + gap);
    }

    fn begins_at(&mut self, next: Time) {
        let all = |most| if most == 0 { u64::MAX } else { most };
        self.next = next;
        self.packets_left = all(u64::from(self.plan.packets));
        self.bytes_left = all(self.plan.bytes.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    const US: fn(u64) -> Time = |us| Time(us * 1_000);

    fn slots(min: u64, max: u64, packets: u32, bytes: u64) -> Slots {
        let plan = SlotsPlan {
            min: US(min),
            max: US(max),
            packets,
            bytes: Bytes(bytes),
            delay: US(200),
        };
        Slots::new(&plan, Stream::new(1, "slots", "test"))
    }

    #[test]
    fn a_packet_waits_for_a_slot_that_begins_after_its_delay() {
        let mut slots = slots(800, 800, 2, 0);
        let start = Time::from_secs(1);
        // The previous slot is over, so the next slot begins one gap from now.
        assert_eq!(slots.leaves(start, 1_514), start + US(800));
        // The scheduled slot begins before the packet's delay ends. So netem schedules another slot
        // when the packet becomes the first in the queue.
        assert_eq!(slots.leaves(start + US(700), 1_514), start + US(1_600));
        // Three packets wait. At most two packets leave in a slot, so the third packet leaves in
        // the next slot.
        let mut slots = self::slots(800, 800, 2, 0);
        let left: Vec<Time> = (0..3).map(|_| slots.leaves(start, 1_514)).collect();
        assert_eq!(left, [800, 800, 1_600].map(|us| start + US(us)));
    }

    #[test]
    fn a_slot_ends_with_its_bytes() {
        let mut slots = slots(800, 800, 0, 3_000);
        let start = Time::from_secs(1);
        let left: Vec<Time> = (0..5).map(|_| slots.leaves(start, 1_514)).collect();
        let expected = [800, 800, 1_600, 1_600, 2_400].map(|us| start + US(us));
        assert_eq!(left, expected);
    }

    #[test]
    fn gaps_are_uniform() {
        let mut slots = slots(800, 5_000, 1, 0);
        let start = Time::from_secs(1);
        let left: Vec<u64> = (0..10_000)
            .map(|_| slots.leaves(start, 1_514).ns())
            .collect();
        let gaps: Vec<u64> = left.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (800_000..5_000_000).contains(gap)));
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        // The standard error of the mean is 4200/sqrt(12)/100 = 12.1 us.
        assert!((mean / 1e3 - 2_900.0).abs() < 4.0 * 12.1, "{mean}");
    }
}
