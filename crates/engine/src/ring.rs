//! A first-in, first-out queue. The queue is stored in a ring whose length is a power of two. Pipes
//! and queues store their packets in such a ring. `VecDeque` is slower for two reasons. `VecDeque`
//! compares indices where this ring applies a mask, and returns a removed element in an `Option`.

/// Smallest number of slots for which memory is freed. For smaller rings, copying the elements
/// costs more than the freed memory is worth.
const LARGE: usize = if cfg!(test) { 8 } else { 1 << 14 };

#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    /// Index of the oldest element. The index increases with every removal, and may wrap, because
    /// the length of the ring is a power of two.
    head: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring {
            slots: Vec::new(),
            head: 0,
            len: 0,
        }
    }
}

impl<T: Copy> Ring<T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        self.slots.get(self.head & (self.slots.len() - 1))
    }

    /// Returns the elements at these positions, counted from the oldest, or `None` if the queue is
    /// too short. `places` must begin with the largest position.
    #[inline]
    pub fn ahead<const N: usize>(&self, places: [usize; N]) -> Option<[&T; N]> {
        if places[0] >= self.len {
            return None;
        }
        let mask = self.slots.len() - 1;
        Some(places.map(|place| &self.slots[self.head.wrapping_add(place) & mask]))
    }

    #[inline]
    pub fn back(&self) -> Option<&T> {
        let last = self.len.checked_sub(1)?;
        self.slots
            .get(self.head.wrapping_add(last) & (self.slots.len() - 1))
    }

    /// Returns the element that is `place` positions behind the oldest.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        if place >= self.len {
            return None;
        }
        self.slots
            .get(self.head.wrapping_add(place) & (self.slots.len() - 1))
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map_while(|place| self.get(place))
    }

    /// Removes the element at a position and returns it. All elements before it move by one
    /// position, so removal is fast only near the head.
    pub fn remove(&mut self, place: usize) -> Option<T> {
        let mut removed = *self.get(place)?;
        let mask = self.slots.len() - 1;
        for before in 0..=place {
            let at = self.head.wrapping_add(before) & mask;
            std::mem::swap(&mut self.slots[at], &mut removed);
        }
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        Some(removed)
    }

    #[inline]
    pub fn push_back(&mut self, element: T) {
        if self.len == self.slots.len() {
            return self.grow(element);
        }
        let at = self.head.wrapping_add(self.len) & (self.slots.len() - 1);
        self.slots[at] = element;
        self.len += 1;
    }

    /// Doubles a full ring and appends an element. In the new ring, the oldest element is at index
    /// 0.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, element: T) {
        let slots = self.slots.len();
        if slots > 0 {
            self.slots.rotate_left(self.head & (slots - 1));
        }
        self.head = 0;
        self.slots.resize((2 * slots).max(4), element);
        self.slots[slots] = element;
        self.len += 1;
    }

    /// Frees memory after a burst. Does nothing if the ring has few slots, or if at least a quarter
    /// of them is used.
    pub fn relax(&mut self) {
        let slots = self.slots.len();
        if slots < LARGE || self.len > slots / 4 {
            return;
        }
        self.slots.rotate_left(self.head & (slots - 1));
        self.head = 0;
        self.slots
            .truncate((self.len + self.len / 4).next_power_of_two().max(4));
        self.slots.shrink_to_fit();
    }

    /// Moves the oldest element to `to`. Returns whether the queue had an element.
    #[inline]
    pub fn pop_to(&mut self, to: &mut T) -> bool {
        self.pop_if(to, |_| true)
    }

    /// Moves the oldest element to `to` if this element meets a condition. Returns whether it
    /// moved.
    #[inline]
    pub fn pop_if(&mut self, to: &mut T, condition: impl FnOnce(&T) -> bool) -> bool {
        match self.front() {
            Some(oldest) if condition(oldest) => {
                *to = *oldest;
                self.head = self.head.wrapping_add(1);
                self.len -= 1;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_as_a_deque(
            head in prop::sample::select(&[0, 3, usize::MAX - 2][..]),
            // Each operation appends an element, removes an element from a position, or removes the
            // oldest element.
            ops in prop::collection::vec(any::<(u8, Option<usize>)>(), 0..200),
            relax in 1usize..20,
        ) {
            let mut ring = Ring { head, ..Ring::default() };
            let mut model = VecDeque::new();
            for (i, op) in ops.into_iter().enumerate() {
                if i % relax == 0 {
                    ring.relax();
                }
                match op {
                    (element @ 0..128, _) => {
                        ring.push_back(element);
                        model.push_back(element);
                    }
                    (_, Some(place)) => {
                        let place = place % (model.len() + 1);
                        prop_assert_eq!(ring.remove(place), model.remove(place));
                    }
                    (_, None) => {
                        let mut to = 0;
                        let was = ring.pop_to(&mut to);
                        prop_assert_eq!(was.then_some(to), model.pop_front());
                    }
                }
                prop_assert!(ring.iter().eq(&model));
                prop_assert_eq!(ring.front(), model.front());
                prop_assert_eq!(ring.back(), model.back());
                prop_assert_eq!(ring.len(), model.len());
                let ahead = model.get(2).map(|third| [third, &model[1]]);
                prop_assert_eq!(ring.ahead([2, 1]), ahead);
            }
            let mut to = 0;
            while let Some(element) = model.pop_front() {
                prop_assert!(ring.pop_to(&mut to));
                prop_assert_eq!(to, element);
            }
            prop_assert!(ring.is_empty() && !ring.pop_to(&mut to));
        }
    }
}
