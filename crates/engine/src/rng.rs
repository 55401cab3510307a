//! Named random streams.
//!
//! Every component that needs random numbers has its own stream. The stream's seed is derived from
//! the run's seed, the component's name and the purpose. So adding a flow does not change the
//! random numbers of other flows. The generator is PCG (XSL 128/64, `rand_pcg::Pcg64`). The
//! generator's seed is computed by SplitMix64 from the bytes of the name. Distributions use integer
//! arithmetic or `libm`, so that every platform gets the same random numbers.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// A random stream.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

fn mix(state: u64) -> u64 {
    // Apply the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Stream {
    /// Creates the stream of a component for a purpose, e.g. `(1, "cubic/2", "start")`.
    pub fn new(seed: u64, component: &str, purpose: &str) -> Stream {
        let absorb = |start: u64| {
            let bytes = component.bytes().chain([0]).chain(purpose.bytes());
            bytes.fold(mix(start ^ seed), |h, byte| mix(h ^ u64::from(byte)))
        };
        let wide = |salt: u64| {
            let high = absorb(salt);
            u128::from(high) << 64 | u128::from(mix(high))
        };
        Stream(Pcg64::new(wide(1), wide(2)))
    }

    /// Creates a separate stream for a short-lived child of a component. A component may have many
    /// such children.
    pub fn fork(&mut self) -> Stream {
        let mut wide = || u128::from(self.bits()) << 64 | u128::from(self.bits());
        Stream(Pcg64::new(wide(), wide()))
    }

    /// Draws 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws uniformly from 0..1 with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns true with probability `p`. For every value of `p`, the function uses exactly one
    /// random number, so that later numbers do not depend on `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Draws a whole number uniformly from 0..n (0 for n = 0) by multiplying 64 random bits by n.
    /// The bias is below 2^-40 for n < 2^24.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Draws from the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// Draws from the normal distribution with mean 0 and variance 1 (method of Box and Muller,
    /// 1958). The method turns two uniform random numbers into two normal ones. Only the first
    /// normal number is used.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_each_part_of_their_name() {
        let first = |seed, component, purpose| Stream::new(seed, component, purpose).bits();
        let draws = [
            first(1, "a", "b"),
            first(2, "a", "b"),
            first(1, "ab", ""),
            first(1, "a", "c"),
        ];
        for (i, a) in draws.iter().enumerate() {
            assert_eq!(draws.iter().filter(|b| *b == a).count(), 1, "draw {i}");
        }
    }

    #[test]
    fn uniform_mean_and_range() {
        let mut s = Stream::new(1, "test", "uniform");
        let n = 100_000;
        let sum: f64 = (0..n).map(|_| s.uniform()).sum();
        // The standard error of the mean is 1/sqrt(12 n) = 0.0009.
        assert!((sum / f64::from(n) - 0.5).abs() < 0.004);
        let mean: f64 = (0..n).map(|_| s.exponential()).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.013);
        assert!((0..n).all(|_| s.below(7) < 7));
    }
}
