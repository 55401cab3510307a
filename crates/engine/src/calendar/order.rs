//! The order in which one core handles what is simultaneous, told by parts that each see their
//! own half of it.
//!
//! Of all components that are due at a time one core takes that of the lowest number, and an event
//! of one part makes nothing of another due at the same time. So the order over all parts is the
//! merge of the parts' own orders by the lower head, which is that of the largest number so far at
//! this time in each part.
//!
//! Pipes alone are in several parts under one number. Two packets that leave one at the same time
//! do so in the order in which they went in, so that what they set off is ordered by what ordered
//! them: a [`Key`] keeps the last few pipes on a packet's way since something else held it up, a
//! digest of all of them, and what that was.

use std::cmp::Ordering;

use super::Component;
use crate::units::Time;

/// Of nothing.
const NONE: (Component, u32) = (Component::MAX, 0);

/// What orders a packet among those that go into one pipe at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The largest number so far at the time, and those of the events before on its way: each with
    /// how many times it stands there.
    recent: [(Component, u32); 3],
    /// The last that was no pipe, and how many packets it had sent before this one: what one event
    /// sends is all of one part.
    start: (Component, u32),
    /// Digest of all pipes since.
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

    /// That of what a packet with this key sets off when it leaves a pipe.
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

    /// Which of two that were pushed at the same time in different parts was first on one core;
    /// `None` where their past was too long to tell.
    pub fn order(&self, other: &Key) -> Option<Ordering> {
        for (place, (own, others)) in self.recent.iter().zip(&other.recent).enumerate() {
            if own.0 != others.0 {
                return Some(own.0.cmp(&others.0));
            }
            // The one with fewer of the same has another event where the other has one more.
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

/// Where a part is among simultaneous events.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    time: Time,
    most: Component,
    /// Packets pushed so far while that was the largest.
    pushed: u32,
    /// That of the packet that is leaving a pipe, while that is the event.
    leaving: Option<Key>,
}

impl Order {
    /// Before the first event.
    pub fn new() -> Order {
        Order {
            time: Time::NEVER,
            most: 0,
            pushed: 0,
            leaving: None,
        }
    }

    /// The next event.
    pub fn event(&mut self, time: Time, component: Component) {
        if time != self.time || component > self.most {
            self.most = component;
            self.pushed = 0;
        }
        self.time = time;
        self.leaving = None;
    }

    /// Within the event of a pipe that other parts have as well: the next packet that leaves it.
    pub fn leaves(&mut self, pipe: Component, key: Key) {
        // After an event of a larger number at this time it is that which orders.
        self.leaving = (self.most == pipe).then_some(key);
    }

    /// The key of what is pushed now.
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
        // What came out of a pipe comes before what a link sends: pipes have lower numbers.
        assert_eq!(order(way(9, &[0]), way(8, &[])), Some(Ordering::Less));
        assert_eq!(order(way(9, &[0]), way(8, &[0])), Some(Ordering::Greater));
        assert_eq!(
            order(way(9, &[1, 0]), way(8, &[2, 0])),
            Some(Ordering::Less)
        );
        assert_eq!(order(way(9, &[0, 0]), way(8, &[0])), Some(Ordering::Less));
        // One pipe again and again: the longer way is that of a pipe where the other begins.
        assert_eq!(
            order(way(8, &[0; 9]), way(9, &[0; 7])),
            Some(Ordering::Less)
        );
        assert_eq!(
            order(way(9, &[1, 0, 0]), way(8, &[1, 0, 0, 0])),
            Some(Ordering::Greater)
        );
        // Long ways: the same pipes are told by their digest, others are not.
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
