//! The event calendar. Each component has at most one entry in the calendar. Entries are ordered by
//! time and, at equal times, by component number.
//!
//! Packets wait in the FIFOs of links and pipes. So the calendar does not hold one entry per
//! packet, but a few entries per link and one per endpoint. Nearly all events belong to the first
//! few components, which are pipes and links. Their entries are in an array, which the calendar
//! scans. All other entries are in an indexed 4-ary heap.

pub(crate) mod order;

use crate::units::Time;
use order::Order;

/// Number of a component. If several components are due at the same time, the component with the
/// lowest number comes first.
pub type Component = u32;

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;
/// Largest number of components in the array. The cost of a scan is proportional to this number.
const SCANNED: usize = 8;
const FEW: usize = 4;
/// Number of bits for the number of a component in the array.
const DIGITS: u32 = SCANNED.ilog2();

/// Finds the component that is due next.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// Time and number of each component in the array. The entries are packed as in `heap`, but
    /// into 64 bits, so times must be below 73 years. `u64::MAX` if the component is not due.
    scanned: [u64; SCANNED],
    width: usize,
    /// Whether the array has at most [`FEW`] components, so that a scan reads only `FEW` entries.
    few: bool,
    /// Time and component number of each entry, packed into one integer. Comparing these integers
    /// orders the entries.
    heap: Vec<u128>,
    /// When the first entry of `heap` is due (in ns), or `u64::MAX` if the heap is empty. The
    /// calendar stores this time here because every event reads it.
    first: u64,
    /// Position of each component in `heap`, or `ABSENT`.
    place: Vec<u32>,
    /// The order of simultaneous events. This field is set if the network is simulated in several
    /// parts.
    pub(crate) order: Option<Box<Order>>,
}

/// The time that marks a component without an entry. This time is later than the end of every run.
pub(crate) const NOT_DUE: Time = Time(u64::MAX >> DIGITS);

#[inline]
fn pack(time: Time, component: Component) -> u128 {
    u128::from(time.0) << 32 | u128::from(component)
}

#[inline]
fn component_of(entry: u128) -> Component {
    entry as u32
}

impl Calendar {
    /// Creates a calendar for components 0..n. Components below `busy` usually have an entry. The
    /// time of an entry must be below `NOT_DUE` or equal to [`Time::NEVER`].
    pub fn new(components: usize, busy: usize) -> Calendar {
        Calendar {
            scanned: [u64::MAX; SCANNED],
            width: busy.min(SCANNED),
            few: busy <= FEW,
            heap: Vec::with_capacity(components),
            first: u64::MAX,
            place: vec![ABSENT; components],
            order: None,
        }
    }

    /// Returns the earliest entry without removing it.
    #[inline]
    pub fn peek(&self) -> Option<(Time, Component)> {
        let (time, component) = self.next();
        (time < NOT_DUE).then_some((time, component))
    }

    /// Like [`Calendar::peek`], but returns a time of `NOT_DUE` or later if the calendar is
    /// empty.
    #[inline]
    pub fn next(&self) -> (Time, Component) {
        let entry = if self.few {
            self.scan::<FEW>()
        } else {
            self.scan::<SCANNED>()
        };
        let time = entry >> DIGITS;
        // At equal times the component in the array comes first, because its number is lower.
        if self.first < time {
            return (Time(self.first), component_of(self.heap[0]));
        }
        (Time(time), entry as u32 % SCANNED as u32)
    }

    /// Returns the earliest of the first N entries of the array.
    #[inline]
    fn scan<const N: usize>(&self) -> u64 {
        let due: &[u64; N] = self.scanned.first_chunk().expect("it has so many");
        due[1..].iter().fold(due[0], |least, due| least.min(*due))
    }

    /// Returns a component's entry in the array, or `None` if the component is not in the array.
    #[inline]
    fn slot(&mut self, component: Component) -> Option<&mut u64> {
        if (component as usize) < self.width {
            return self.scanned.get_mut(component as usize);
        }
        None
    }

    /// Returns when a component is due, or `None`.
    pub fn due(&self, component: Component) -> Option<Time> {
        if (component as usize) < self.width {
            let due = Time(self.scanned[component as usize] >> DIGITS);
            return (due < NOT_DUE).then_some(due);
        }
        let place = self.place[component as usize];
        (place != ABSENT).then(|| Time((self.heap[place as usize] >> 32) as u64))
    }

    /// Adds an entry for a component at a time, or moves its entry to that time.
    #[inline(always)]
    pub fn schedule(&mut self, component: Component, time: Time) {
        match self.slot(component) {
            Some(due) => {
                debug_assert!(time <= NOT_DUE || time == Time::NEVER);
                *due = time.0 << DIGITS | u64::from(component);
            }
            None => self.schedule_in_heap(component, time),
        }
    }

    #[inline(never)]
    fn schedule_in_heap(&mut self, component: Component, time: Time) {
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
        self.note_first();
    }

    /// Moves a component's entry, or removes it if the time is [`Time::NEVER`].
    #[inline]
    pub fn move_to(&mut self, component: Component, time: Time) {
        match time {
            Time::NEVER => self.cancel(component),
            time => self.schedule(component, time),
        }
    }

    /// Returns the components in the heap that may be due next, the earliest first.
    pub fn coming(&self) -> impl Iterator<Item = Component> + '_ {
        self.heap
            .iter()
            .take(1 + ARITY)
            .map(|entry| component_of(*entry))
    }

    /// Removes a component's entry, if it has one.
    #[inline(always)]
    pub fn cancel(&mut self, component: Component) {
        match self.slot(component) {
            Some(due) => *due = u64::MAX,
            None => self.cancel_in_heap(component),
        }
    }

    #[inline(never)]
    fn cancel_in_heap(&mut self, component: Component) {
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
        self.note_first();
    }

    /// Updates `first` after the heap has changed.
    #[inline]
    fn note_first(&mut self) {
        let first = self.heap.first();
        self.first = first.map_or(u64::MAX, |entry| (entry >> 32) as u64);
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
            let Some(children) = self.heap.get(first..) else {
                break;
            };
            // Compare the children in pairs. So the processor need not predict which child is the
            // smallest.
            let (least, at) = match children.first_chunk::<ARITY>() {
                Some(&[a, b, c, d]) => {
                    let ab = if b < a { (b, 1) } else { (a, 0) };
                    let cd = if d < c { (d, 3) } else { (c, 2) };
                    if cd.0 < ab.0 { cd } else { ab }
                }
                None => {
                    let few = children.iter().zip(0..).map(|(child, at)| (*child, at));
                    few.min().unwrap_or((entry, 0))
                }
            };
            if entry <= least {
                break;
            }
            self.put(place, least);
            place = first + at;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Entries are returned in the order of time. At equal times they are returned in the order
        /// of component number.
        #[test]
        fn pops_in_total_order(
            busy in 0usize..10,
            ops in prop::collection::vec((0u32..20, 0u64..50, any::<bool>()), 1..300),
        ) {
            let mut calendar = Calendar::new(20, busy);
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

    /// Tries every sequence of five operations at three points in time. Two of the components are
    /// in the array and three are in the heap. Both lengths of a scan are tried.
    #[test]
    fn every_short_sequence() {
        fn go(components: [Component; 5], calendar: &Calendar, model: [u64; 5], left: u32) {
            let due = components.iter().zip(model);
            let first = due.map(|(c, t)| (Time(t), *c)).min();
            assert_eq!(calendar.peek(), first.filter(|(t, _)| t.0 < u64::MAX));
            if left == 0 {
                return;
            }
            for (i, component) in components.into_iter().enumerate() {
                for time in [1, 2, 3, u64::MAX] {
                    let (mut calendar, mut model) = (calendar.clone(), model);
                    match time {
                        u64::MAX => calendar.cancel(component),
                        time => calendar.schedule(component, Time(time)),
                    }
                    model[i] = time;
                    go(components, &calendar, model, left - 1);
                }
            }
        }
        go([0, 7, 8, 9, 10], &Calendar::new(11, 9), [u64::MAX; 5], 5);
        go([0, 3, 4, 5, 6], &Calendar::new(7, 4), [u64::MAX; 5], 5);
    }
}
