//! The network can be simulated in several parts, on several cores. This module finds the order in
//! which a single core would handle simultaneous events.
//!
//! If several components are due at the same time, a single core handles the component with the
//! lowest number first. An event in one part never makes a component of another part due at the
//! same time. So the order over all parts is a merge of the orders within the parts. Each part has
//! a maximum: the largest component number that it has handled so far at this time. The merge
//! always continues with the part that has the lowest maximum.
//!
//! Only pipes can belong to several parts. A pipe has the same number in all of its parts. If two
//! packets leave a pipe at the same time, they leave in the order in which they entered it. This
//! order is also the order of the events that the packets cause. A [`Key`] describes the packet's
//! path, from which this order follows. The key holds the last component that has sent the packet
//! and is not a pipe. The key also holds the last few pipes that the packet has passed since then,
//! and a hash of all these pipes.

use std::cmp::Ordering;

use super::Component;
use crate::units::Time;

const NONE: (Component, u32) = (Component::MAX, 0);

/// Decides the order of packets that enter a pipe at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The first entry is the largest component number that was handled at this time before the
    /// packet entered the pipe. The next two entries are the corresponding numbers for the two
    /// previous events on the packet's path. A repeated number is stored once, with a count.
    recent: [(Component, u32); 3],
    /// The last component, except pipes, that sent the packet. The second value is the packet's
    /// position among the packets that this component sent (1 is the first). All packets that an
    /// event sends are sent in the same part.
    start: (Component, u32),
    /// Hash of all pipes after `start`.
    pipes: u64,
}

impl Key {
    fn of(event: Component, nth: u32) -> Key {
        Key {
            recent: [(event, 1), NONE, NONE],
            start: (event, nth),
            pipes: 0,
        }
    }

    /// Returns this packet's key after the packet has left `pipe`.
    fn behind(self, pipe: Component) -> Key {
        let [(last, times), before, _] = self.recent;
        let recent = match last == pipe {
            true => [(last, times + 1), before, self.recent[2]],
            false => [(pipe, 1), (last, times), before],
        };
        let mixed = (self.pipes ^ u64::from(pipe)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        Key {
            recent,
            start: self.start,
            pipes: (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9),
        }
    }

    /// Compares two packets that were pushed at the same time in different parts. Returns the order
    /// in which a single core would push these packets. Returns `None` if the keys do not contain
    /// enough of the packets' paths to decide the order.
    pub fn order(&self, other: &Key) -> Option<Ordering> {
        for (place, (own, others)) in self.recent.iter().zip(&other.recent).enumerate() {
            if own.0 != others.0 {
                return Some(own.0.cmp(&others.0));
            }
            // One key repeats this component more often than the other key. Compare the next
            // component of the other key with the repeated component.
            let next = |of: &Key| of.recent.get(place + 1).map(|next| next.0.cmp(&own.0));
            match own.1.cmp(&others.1) {
                Ordering::Less => return next(self),
                Ordering::Greater => return next(other).map(Ordering::reverse),
                Ordering::Equal => {}
            }
        }
        (self.pipes == other.pipes).then(|| self.start.cmp(&other.start))
    }
}

/// A part's progress through simultaneous events.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    time: Time,
    most: Component,
    /// Number of packets that have been pushed since `most` became the largest component number.
    pushed: u32,
    /// The key of the packet that is leaving a pipe. The key is set during the event of the pipe.
    leaving: Option<Key>,
}

impl Order {
    pub fn new() -> Order {
        Order {
            time: Time::NEVER,
            most: 0,
            pushed: 0,
            leaving: None,
        }
    }

    /// Starts the next event.
    pub fn event(&mut self, time: Time, component: Component) {
        if time != self.time || component > self.most {
            self.most = component;
            self.pushed = 0;
        }
        self.time = time;
        self.leaving = None;
    }

    /// Records the key of the next packet that leaves a pipe. Only the events of pipes that belong
    /// to several parts call this function.
    pub fn leaves(&mut self, pipe: Component, key: Key) {
        // If a component with a larger number has already been handled at this time, the order
        // depends on that number and not on this packet's key.
        self.leaving = (self.most == pipe).then_some(key);
    }

    /// Returns the key of a packet that is pushed now.
    pub fn key(&mut self) -> Key {
        if let Some(key) = self.leaving {
            return key.behind(self.most);
        }
        self.pushed += 1;
        Key::of(self.most, self.pushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_difference_decides() {
        let way = |start, pipes: &[Component]| {
            let begun = Key::of(start, 1);
            pipes.iter().fold(begun, |key, pipe| key.behind(*pipe))
        };
        let order = |a: Key, b: Key| a.order(&b);
        let [one, two] = [1, 2].map(|nth| Key::of(9, nth).behind(0));
        assert_eq!(order(one, two), Some(Ordering::Less));
        assert_eq!(order(way(7, &[]), way(8, &[])), Some(Ordering::Less));
        // A packet from a pipe comes before a packet that a link sends, because pipes have lower
        // numbers.
        assert_eq!(order(way(9, &[0]), way(8, &[])), Some(Ordering::Less));
        assert_eq!(order(way(9, &[0]), way(8, &[0])), Some(Ordering::Greater));
        assert_eq!(
            order(way(9, &[1, 0]), way(8, &[2, 0])),
            Some(Ordering::Less)
        );
        assert_eq!(order(way(9, &[0, 0]), way(8, &[0])), Some(Ordering::Less));
        // Both keys repeat one pipe. After seven repetitions, one key continues with its start. The
        // other key continues with the pipe, which comes first.
        assert_eq!(
            order(way(8, &[0; 9]), way(9, &[0; 7])),
            Some(Ordering::Less)
        );
        assert_eq!(
            order(way(9, &[1, 0, 0]), way(8, &[1, 0, 0, 0])),
            Some(Ordering::Greater)
        );
        // If paths are long, the hashes show whether the pipes were the same.
        let (same, other) = ([2, 1, 0, 1, 0], [1, 2, 0, 1, 0]);
        assert_eq!(order(way(9, &same), way(8, &same)), Some(Ordering::Greater));
        assert_eq!(order(way(9, &same), way(8, &other)), None);
    }

    #[test]
    fn the_largest_number_at_a_time_counts() {
        let mut order = Order::new();
        order.event(Time(5), 7);
        order.event(Time(5), 3);
        assert_eq!(order.key(), Key::of(7, 1));
        assert_eq!(order.key(), Key::of(7, 2));
        order.event(Time(6), 3);
        assert_eq!(order.key(), Key::of(3, 1));
        order.leaves(3, Key::of(9, 1));
        assert_eq!(order.key(), Key::of(9, 1).behind(3));
        order.event(Time(6), 2);
        order.leaves(2, Key::of(9, 1));
        assert_eq!(order.key(), Key::of(3, 2));
    }
}
