//! The pen is the buffer after a link with impairments. Packets leave the pen in the order of their
//! departure times. This order may differ from the order in which they arrived.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::packet::Packet;
use crate::ring::Ring;
use crate::units::Time;

/// Packets, ordered by the time at which they leave ([`Packet::stamp`]). Packets that leave at the
/// same time keep the order in which they arrived.
pub(super) struct Pen {
    /// Packets that leave in the order in which they arrived. Nearly all packets are in this queue,
    /// which is faster than a heap.
    ordered: Ring<Packet>,
    /// Packets that overtake a packet in `ordered`: they arrived later, but leave earlier. If
    /// packets in both lists leave at the same time, the packet in `ordered` arrived first and
    /// leaves first.
    overtaking: BinaryHeap<Reverse<Overtaking>>,
    /// Number of packets put into `overtaking` so far. This number orders packets that leave at the
    /// same time.
    arrivals: u64,
    /// When the next packet leaves. [`Time::NEVER`] if the pen is empty.
    due: Time,
}

struct Overtaking {
    arrival: u64,
    packet: Packet,
}

impl Overtaking {
    fn rank(&self) -> (Time, u64) {
        (self.packet.stamp, self.arrival)
    }
}

impl Ord for Overtaking {
    fn cmp(&self, other: &Overtaking) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Overtaking {
    fn partial_cmp(&self, other: &Overtaking) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Overtaking {
    fn eq(&self, other: &Overtaking) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Overtaking {}

impl Default for Pen {
    fn default() -> Pen {
        Pen {
            ordered: Ring::default(),
            overtaking: BinaryHeap::new(),
            arrivals: 0,
            due: Time::NEVER,
        }
    }
}

impl Pen {
    pub fn push(&mut self, due: Time, packet: &Packet) {
        self.due = self.due.min(due);
        let mut packet = *packet;
        packet.stamp = due;
        if self.ordered.back().is_none_or(|last| last.stamp <= due) {
            return self.ordered.push_back(packet);
        }
        let arrival = self.arrivals;
        self.arrivals += 1;
        let overtaking = Overtaking { arrival, packet };
        self.overtaking.push(Reverse(overtaking));
    }

    pub fn due(&self) -> Time {
        self.due
    }

    /// Moves the next packet to `packet` if the packet is due.
    pub fn pop(&mut self, now: Time, packet: &mut Packet) -> bool {
        if self.due > now {
            return false;
        }
        let ordered = |pen: &Pen| pen.ordered.front().map_or(Time::NEVER, |next| next.stamp);
        let overtaking = |pen: &Pen| {
            let next = pen.overtaking.peek();
            next.map_or(Time::NEVER, |Reverse(next)| next.packet.stamp)
        };
        if overtaking(self) < ordered(self) {
            if let Some(Reverse(next)) = self.overtaking.pop() {
                *packet = next.packet;
            }
        } else {
            self.ordered.pop_to(packet);
        }
        self.due = ordered(self).min(overtaking(self));
        true
    }

    pub fn len(&self) -> u64 {
        (self.ordered.len() + self.overtaking.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;

    #[test]
    fn a_pen_orders_by_time_and_then_by_arrival() {
        let mut pen = Pen::default();
        let times = [5, 9, 7, 5, 9, 6, 30, 9];
        for (seq, due) in (0..).zip(times) {
            let mut packet = Packet::new(0, 100, Ecn::NotEct);
            packet.seq = seq;
            pen.push(Time(due), &packet);
        }
        let mut left = Vec::new();
        let (mut now, mut packet) = (0, Packet::new(0, 0, Ecn::NotEct));
        while pen.len() > 0 {
            now += 1;
            while pen.pop(Time(now), &mut packet) {
                left.push((now, packet.seq));
            }
        }
        let expected = [
            (5, 0),
            (5, 3),
            (6, 5),
            (7, 2),
            (9, 1),
            (9, 4),
            (9, 7),
            (30, 6),
        ];
        assert_eq!(left, expected);
    }
}
