//! A filter for the largest value in a window of rounds (Linux `lib/win_minmax.c`).

use super::units::Bandwidth;

/// Kathleen Nichols' filter finds the maximum over a window. The filter stores the largest values
/// of the whole window, of the last three quarters of the window, and of its last half.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct MaxFilter<T = Bandwidth>([(u32, T); 3]);

impl<T: Copy + PartialOrd> MaxFilter<T> {
    pub(in crate::cc) fn get(&self) -> T {
        self.0[0].1
    }

    /// Adds a value at time `t`, in rounds. `window` is the length of the window in rounds.
    pub(in crate::cc) fn update(&mut self, window: u32, t: u32, value: T) {
        let new = (t, value);
        let age = |s: (u32, T)| t.wrapping_sub(s.0);
        let s = &mut self.0;
        if value >= s[0].1 || age(s[2]) > window {
            *s = [new; 3];
            return;
        }
        if value >= s[1].1 {
            s[1] = new;
            s[2] = new;
        } else if value >= s[2].1 {
            s[2] = new;
        }
        if age(s[0]) > window {
            // The largest value is too old. So the second stored value becomes the largest.
            *s = [s[1], s[2], new];
            if age(s[0]) > window {
                *s = [s[1], s[2], new];
            }
        } else if s[1].0 == s[0].0 && age(s[0]) > window / 4 {
            s[1] = new;
            s[2] = new;
        } else if s[2].0 == s[1].0 && age(s[0]) > window / 2 {
            s[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_of_the_last_ten_rounds() {
        let mut filter = MaxFilter::<Bandwidth>::default();
        filter.update(10, 0, Bandwidth(100));
        let mut seen = Vec::new();
        for t in 1..=13 {
            filter.update(10, t, Bandwidth(100 - u64::from(t)));
            seen.push(filter.get().0);
        }
        // For ten rounds, the filter returns the largest value. After ten rounds, the filter
        // returns the largest of the later values that it has stored.
        assert_eq!(seen[..10], [100; 10]);
        assert_eq!(seen[10..], [97, 97, 97]);
        filter.update(10, 14, Bandwidth(98));
        assert_eq!(filter.get().0, 98);
        // If no value was added for longer than the window, the maximum is the new value, even if
        // the new value is small.
        filter.update(10, 40, Bandwidth(3));
        assert_eq!(filter.get().0, 3);
    }
}
