//! Draws the random numbers from which a scenario is generated. All these random numbers depend on
//! one seed.

/// A stream of random numbers (SplitMix64).
pub struct Draw(u64);

impl Draw {
    /// Returns the stream of random numbers of a seed.
    pub fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0xD134_2543_DE82_EF95) ^ 0x1234_5678)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Draws a whole number from 0 to `n` - 1. Returns 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Draws a whole number from `min` to `max`.
    pub fn between(&mut self, min: i64, max: i64) -> i64 {
        let span = max.abs_diff(min).saturating_add(1);
        min.saturating_add_unsigned(self.below(span))
    }

    /// Draws a number from the uniform distribution over [0, 1).
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// Draws one of several items.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// Draws a number from `low` to `high`, which must both be above 0. The logarithm of the number
    /// is uniformly distributed.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + (high / low).ln() * self.share()).exp()
    }

    /// Puts the items in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}
