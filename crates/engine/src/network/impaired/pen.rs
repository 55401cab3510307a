//! The pen behind a link with impairments: packets in the order of time, not of arrival.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use crate::packet::Packet;
use crate::units::Time;

/// Packets by the time at which they leave. Those of the same time leave in the order in which they
/// came.
#[derive(Default)]
pub(super) struct Pen {
    /// Packets that leave after all that came before them. Nearly all packets do, and a queue is
    /// cheaper than a heap.
    ordered: VecDeque<Penned>,
    /// Packets that overtake some of `ordered`.
    overtaking: BinaryHeap<Reverse<Penned>>,
    /// Number of packets that have come.
    arrivals: u64,
}

/// A packet in the pen.
struct Penned {
    due: Time,
    arrival: u64,
    packet: Packet,
}

impl Penned {
    fn rank(&self) -> (Time, u64) {
        (self.due, self.arrival)
    }
}

impl Ord for Penned {
    fn cmp(&self, other: &Penned) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Penned {
    fn partial_cmp(&self, other: &Penned) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Penned {
    fn eq(&self, other: &Penned) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Penned {}

impl Pen {
    /// Takes a packet that leaves at `due`.
    pub fn push(&mut self, due: Time, packet: Packet) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        let penned = Penned {
            due,
            arrival,
            packet,
        };
        if self.ordered.back().is_none_or(|last| last.due <= due) {
            self.ordered.push_back(penned);
        } else {
            self.overtaking.push(Reverse(penned));
        }
    }

    /// The time at which the next packet leaves; [`Time::NEVER`] if the pen is empty.
    pub fn due(&self) -> Time {
        let ordered = self.ordered.front().map_or(Time::NEVER, |next| next.due);
        let overtaking = self.overtaking.peek();
        overtaking.map_or(ordered, |Reverse(next)| next.due.min(ordered))
    }

    /// Removes the next packet, if it leaves by now.
    pub fn pop(&mut self, now: Time) -> Option<Packet> {
        if self.due() > now {
            return None;
        }
        let ordered = self.ordered.front().map(Penned::rank);
        let overtaking = self.overtaking.peek().map(|Reverse(next)| next.rank());
        let overtakes = match (ordered, overtaking) {
            (Some(ordered), Some(overtaking)) => overtaking < ordered,
            (ordered, _) => ordered.is_none(),
        };
        let next = if overtakes {
            self.overtaking.pop().map(|Reverse(next)| next)
        } else {
            self.ordered.pop_front()
        };
        next.map(|next| next.packet)
    }

    /// Packets in the pen.
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
            pen.push(Time(due), packet);
        }
        let mut left = Vec::new();
        let mut now = 0;
        while pen.len() > 0 {
            now += 1;
            while let Some(packet) = pen.pop(Time(now)) {
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
