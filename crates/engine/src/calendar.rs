//! The event calendar: at most one pending entry per component, in a total
//! order by (time, component).
//!
//! Packets wait in the FIFOs of links and pipes, so the calendar holds a few
//! entries per link and one per end point, not one per packet: an indexed
//! 4-ary heap of that size stays in the first-level cache.

use crate::units::Time;

/// Index of a component; ties in time are handled in this order.
pub type Component = u32;

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

/// The calendar.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// (time, component) packed so that one comparison is the total order.
    heap: Vec<u128>,
    /// Place of each component in `heap`, or `ABSENT`.
    place: Vec<u32>,
}

#[inline]
fn pack(time: Time, component: Component) -> u128 {
    u128::from(time.0) << 32 | u128::from(component)
}

#[inline]
fn component_of(entry: u128) -> Component {
    entry as u32
}

impl Calendar {
    /// A calendar for components 0..n.
    pub fn new(components: usize) -> Calendar {
        Calendar {
            heap: Vec::with_capacity(components),
            place: vec![ABSENT; components],
        }
    }

    /// The earliest entry, left in place.
    #[inline]
    pub fn peek(&self) -> Option<(Time, Component)> {
        let entry = *self.heap.first()?;
        Some((Time((entry >> 32) as u64), component_of(entry)))
    }

    /// When a component is due, if it has an entry.
    pub fn due(&self, component: Component) -> Option<Time> {
        let place = self.place[component as usize];
        (place != ABSENT).then(|| Time((self.heap[place as usize] >> 32) as u64))
    }

    /// Enters a component at a time, or moves its entry there.
    #[inline]
    pub fn schedule(&mut self, component: Component, time: Time) {
        let entry = pack(time, component);
        let place = self.place[component as usize];
        if place == ABSENT {
            self.heap.push(entry);
            self.up(self.heap.len() - 1, entry);
        } else if entry < self.heap[place as usize] {
            self.up(place as usize, entry);
        } else {
            self.down(place as usize, entry);
        }
    }

    /// Removes a component's entry, if it has one.
    #[inline]
    pub fn cancel(&mut self, component: Component) {
        let place = std::mem::replace(&mut self.place[component as usize], ABSENT);
        if place == ABSENT {
            return;
        }
        let last = self.heap.pop().expect("a placed component is in the heap");
        let place = place as usize;
        if place < self.heap.len() {
            if last < self.heap[place] {
                self.up(place, last);
            } else {
                self.down(place, last);
            }
        }
    }

    #[inline]
    fn put(&mut self, place: usize, entry: u128) {
        self.heap[place] = entry;
        self.place[component_of(entry) as usize] = place as u32;
    }

    #[inline]
    fn up(&mut self, mut place: usize, entry: u128) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    #[inline]
    fn down(&mut self, mut place: usize, entry: u128) {
        loop {
            let first = place * ARITY + 1;
            let end = (first + ARITY).min(self.heap.len());
            if first >= end {
                break;
            }
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if entry <= self.heap[least] {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: the same order, ties by component.
        #[test]
        fn pops_in_total_order(ops in prop::collection::vec((0u32..20, 0u64..50, any::<bool>()), 1..300)) {
            let mut calendar = Calendar::new(20);
            let mut model: std::collections::BTreeMap<u32, u64> = Default::default();
            for (component, time, cancel) in ops {
                if cancel {
                    calendar.cancel(component);
                    model.remove(&component);
                } else {
                    calendar.schedule(component, Time(time));
                    model.insert(component, time);
                }
                prop_assert_eq!(calendar.due(component), model.get(&component).map(|t| Time(*t)));
                let first = model.iter().map(|(c, t)| (Time(*t), *c)).min();
                prop_assert_eq!(calendar.peek(), first);
            }
            while let Some((time, component)) = calendar.peek() {
                let first = model.iter().map(|(c, t)| (Time(*t), *c)).min();
                prop_assert_eq!(Some((time, component)), first);
                calendar.cancel(component);
                model.remove(&component);
            }
            prop_assert!(model.is_empty());
        }
    }
}
