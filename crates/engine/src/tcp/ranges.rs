//! Sorted disjoint ranges of segment numbers. Such ranges describe which segments a receiver has
//! received out of order, or which of these segments it has reported to the sender.

/// Disjoint, non-adjacent half-open ranges in ascending order. There is one range for each hole, so
/// a sorted vector is enough.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Returns whether there are no ranges.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the ranges in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Returns the end of the last range.
    pub fn end(&self) -> Option<u64> {
        self.0.last().map(|r| r.1)
    }

    /// Returns the range that contains `at`, or `None`.
    #[inline]
    pub fn containing(&self, at: u64) -> Option<(u64, u64)> {
        // Most searches are for the last range.
        let range = match *self.0.last()? {
            last if last.0 <= at => last,
            _ => {
                let next = self.0.partition_point(|r| r.0 <= at);
                *self.0.get(next.checked_sub(1)?)?
            }
        };
        (at < range.1).then_some(range)
    }

    /// Returns the first range that starts at `at` or later, or `None`.
    pub fn first_from(&self, at: u64) -> Option<(u64, u64)> {
        let next = self.0.partition_point(|r| r.0 < at);
        self.0.get(next).copied()
    }

    /// Adds a range, and merges it with ranges that it touches. Returns the merged range. Calls
    /// `fresh` for each part of the added range that was in no range before.
    pub fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) -> (u64, u64) {
        debug_assert!(start < end);
        // Most insertions touch the last ranges.
        let first = match self.0.last() {
            Some(last) if last.0 <= start && start <= last.1 => self.0.len() - 1,
            Some(last) if last.1 < start => self.0.len(),
            _ => self.0.partition_point(|r| r.1 < start),
        };
        let mut merged = (start, end);
        let mut from = start;
        let mut past = first;
        while let Some(&(s, e)) = self.0.get(past) {
            if s > end {
                break;
            }
            if from < s {
                fresh(from, s.min(end));
            }
            from = from.max(e);
            merged = (merged.0.min(s), merged.1.max(e));
            past += 1;
        }
        if from < end {
            fresh(from, end);
        }
        if past == first {
            self.0.insert(first, merged);
        } else {
            self.0[first] = merged;
            if past > first + 1 {
                self.0.drain(first + 1..past);
            }
        }
        merged
    }

    /// Removes all numbers below `to`.
    pub fn trim_below(&mut self, to: u64) {
        let gone = self.0.partition_point(|r| r.1 <= to);
        if gone > 0 {
            self.0.drain(..gone);
        }
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(to);
        }
    }

    /// If the first range starts at or below `at`, removes it and returns its end.
    pub fn take_first_from(&mut self, at: u64) -> Option<u64> {
        match self.0.first() {
            Some(&(start, end)) if start <= at => {
                self.0.remove(0);
                Some(end)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_a_set(ops in prop::collection::vec((0u64..60, 1u64..8, 0u64..20), 1..60)) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            for (start, len, trim) in ops {
                let mut new = Vec::new();
                let merged = ranges.insert(start, start + len, |s, e| new.extend(s..e));
                let expected: Vec<u64> = (start..start + len).filter(|v| set.insert(*v)).collect();
                prop_assert_eq!(new, expected);
                prop_assert!(merged.0 <= start && start + len <= merged.1);
                prop_assert_eq!(ranges.containing(start), Some(merged));
                prop_assert_eq!(ranges.first_from(merged.0), Some(merged));
                prop_assert!(ranges.first_from(merged.0 + 1).is_none_or(|r| r.0 > merged.1));
                if trim < 5 {
                    ranges.trim_below(trim * 4);
                    set = set.split_off(&(trim * 4));
                }
                let held: Vec<u64> = ranges.iter().flat_map(|(s, e)| s..e).collect();
                prop_assert_eq!(held, set.iter().copied().collect::<Vec<_>>());
                let ends: Vec<_> = ranges.iter().collect();
                prop_assert!(ends.windows(2).all(|w| w[0].1 < w[1].0), "disjoint and not adjacent");
            }
        }
    }

    /// How many segment numbers the exhaustive test uses.
    const WINDOW: u64 = 10;

    /// Returns the ranges for a bit set. The lowest bit of the set stands for the number `base`.
    fn of_bits(bits: u32, base: u64) -> Ranges {
        let mut ranges = Ranges::default();
        for at in (0..WINDOW).filter(|at| bits >> at & 1 != 0) {
            match ranges.0.last_mut() {
                Some(last) if last.1 == base + at => last.1 += 1,
                _ => ranges.0.push((base + at, base + at + 1)),
            }
        }
        ranges
    }

    fn same(ranges: &Ranges, bits: u32, base: u64) {
        assert_eq!(ranges.0, of_bits(bits, base).0);
    }

    /// Checks that every operation gives the right result for every set of numbers below
    /// [`WINDOW`]. A set has only one representation as ranges, so a sequence of several operations
    /// also gives the right result. The operations only compare numbers, so the test holds for any
    /// base.
    #[test]
    fn every_operation_in_every_state() {
        let below = |n: u64| (1_u32 << n) - 1;
        for base in [0, (1 << 31) - 5, (1 << 32) - 5, u64::MAX - WINDOW] {
            for bits in 0..1_u32 << WINDOW {
                let state = of_bits(bits, base);
                let last = (0..WINDOW).rev().find(|at| bits >> at & 1 != 0);
                assert_eq!(state.end(), last.map(|at| base + at + 1));
                for start in 0..WINDOW {
                    let range = state
                        .0
                        .iter()
                        .find(|r| r.0 <= base + start && base + start < r.1);
                    assert_eq!(state.containing(base + start), range.copied());
                    for end in start + 1..=WINDOW {
                        let mut ranges = state.clone();
                        let mut fresh = 0;
                        let merged = ranges.insert(base + start, base + end, |s, e| {
                            let part = below(e - base) & !below(s - base);
                            assert_eq!(fresh & part, 0, "told twice");
                            fresh |= part;
                        });
                        let added = below(end) & !below(start);
                        same(&ranges, bits | added, base);
                        assert_eq!(fresh, added & !bits);
                        assert_eq!(ranges.containing(base + start), Some(merged));
                    }
                }
                for at in 0..=WINDOW {
                    let mut ranges = state.clone();
                    ranges.trim_below(base + at);
                    same(&ranges, bits & !below(at), base);
                    let mut ranges = state.clone();
                    let first = state.0.first().filter(|r| r.0 <= base + at);
                    assert_eq!(ranges.take_first_from(base + at), first.map(|r| r.1));
                    let left = first.map_or(bits, |r| bits & !below(r.1 - base));
                    same(&ranges, left, base);
                }
            }
        }
    }
}
