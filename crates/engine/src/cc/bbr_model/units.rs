//! Bandwidths and gains in the fixed-point arithmetic of Linux.

use std::ops::{Add, Sub};

use crate::units::Time;

pub(in crate::cc) const NO_RTT: u64 = u64::MAX;
/// Largest window, in segments.
const WINDOW_MAX: u64 = 1 << 30;

/// Converts a time to us, the unit of Linux's TCP clock.
pub(in crate::cc) fn us(time: Time) -> u64 {
    time.ns() / 1000
}

/// A factor or a share, in units of 1/256 (Linux `BBR_UNIT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cc) struct Gain(pub u32);

impl Gain {
    pub const ONE: Gain = Gain(256);
    pub const TWO: Gain = Gain(512);

    /// Rounds a factor to the nearest unit.
    pub fn rounded(value: f64) -> Gain {
        Gain(libm::round(value * 256.0) as u32)
    }

    /// Rounds a factor down, because Linux's constants are rounded down.
    pub fn floored(value: f64) -> Gain {
        Gain(libm::floor(value * 256.0 + 1e-6) as u32)
    }

    pub fn share(part: u64, whole: u64) -> Gain {
        Gain((part * 256 / whole) as u32)
    }

    pub fn inverse(self) -> Gain {
        Gain(256 * 256 / self.0)
    }

    pub fn of(self, number: u32) -> u32 {
        (u64::from(number) * u64::from(self.0) / 256) as u32
    }

    pub fn of_rate(self, rate: Bandwidth) -> Bandwidth {
        Bandwidth(rate.0 * u64::from(self.0) / u64::from(Gain::ONE.0))
    }

    pub fn times(self, other: Gain) -> Gain {
        Gain(self.of(other.0))
    }

    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 256.0
    }
}

impl Add for Gain {
    type Output = Gain;

    fn add(self, other: Gain) -> Gain {
        Gain(self.0 + other.0)
    }
}

impl Sub for Gain {
    type Output = Gain;

    fn sub(self, other: Gain) -> Gain {
        Gain(self.0 - other.0)
    }
}

/// A delivery rate: segments per us, scaled by 2^24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cc) struct Bandwidth(pub u64);

impl Bandwidth {
    pub const ZERO: Bandwidth = Bandwidth(0);
    /// The smallest rate above 0.
    pub const LEAST: Bandwidth = Bandwidth(1);
    /// Value that means "no bound on the rate".
    pub const UNBOUNDED: Bandwidth = Bandwidth(u64::MAX);
    const UNIT: u64 = 1 << 24;
    /// The largest rate that fits into Linux's 32 bits: 3 Tbit/s.
    const MAX: Bandwidth = Bandwidth(u32::MAX as u64);

    /// Returns the rate of this many segments in this many us, rounded down.
    pub fn of(segments: u64, us: u64) -> Bandwidth {
        Bandwidth(segments * Bandwidth::UNIT / us)
    }

    /// Converts a rate sample, rounded down.
    pub fn sampled(segments: u32, us: u64) -> Bandwidth {
        Bandwidth::of(u64::from(segments), us).min(Bandwidth::MAX)
    }

    /// Converts a rate sample. Rounds up, so that low rates can grow.
    pub fn sampled_up(segments: u32, us: u64) -> Bandwidth {
        let up = (u64::from(segments) * Bandwidth::UNIT).div_ceil(us);
        Bandwidth(up).min(Bandwidth::MAX)
    }

    /// Returns `gain` times this rate, minus `margin` percent, in bytes/s. The result is at least
    /// 1.
    pub fn bytes_per_second(self, mss: u16, gain: Gain, margin: u32) -> u64 {
        let rate = u128::from(self.0) * u128::from(mss) * u128::from(gain.0) / 256;
        let rate = rate * u128::from(10_000 * (100 - margin.min(99))) / u128::from(Self::UNIT);
        (rate as u64).max(1)
    }

    /// Returns `gain` times the bandwidth-delay product, in segments, rounded up. Returns `unknown`
    /// if no RTT was measured.
    pub fn bdp(self, min_rtt_us: u64, gain: Gain, unknown: u32) -> u32 {
        if min_rtt_us == NO_RTT {
            return unknown;
        }
        let product = u128::from(self.0) * u128::from(min_rtt_us) * u128::from(gain.0) / 256;
        product
            .div_ceil(u128::from(Self::UNIT))
            .min(u128::from(WINDOW_MAX)) as u32
    }

    /// Returns how many segments this rate delivers in this many us.
    pub fn segments_in(self, us: u64) -> u32 {
        (u128::from(self.0) * u128::from(us) / u128::from(Self::UNIT)).min(1 << 31) as u32
    }

    /// Returns whether this rate is at least a quarter more than `before`.
    pub fn is_growth_from(self, before: Bandwidth) -> bool {
        self.0 >= before.0 * 5 / 4
    }

    pub fn mean(self, other: Bandwidth) -> Bandwidth {
        Bandwidth((self.0 + other.0) / 2)
    }

    pub fn abs_diff(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0.abs_diff(other.0))
    }

    /// Returns this rate in Mbit/s of payload.
    pub fn as_mbit(self, mss: u16) -> f64 {
        self.bytes_per_second(mss, Gain::ONE, 0) as f64 * 8e-6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_products() {
        // The rate is 1000 segments in 100 ms.
        let bw = Bandwidth::sampled(1000, 100_000);
        assert_eq!(bw.bytes_per_second(1448, Gain::ONE, 0), 14_479_986);
        assert_eq!(bw.bytes_per_second(1448, Gain::ONE, 1), 14_335_186);
        assert_eq!(bw.bdp(40_000, Gain::ONE, 10), 400);
        assert_eq!(bw.bdp(40_000, Gain::TWO, 10), 800);
        assert_eq!(bw.bdp(40_010, Gain::ONE, 10), 401);
        assert_eq!(bw.bdp(NO_RTT, Gain::ONE, 10), 10);
        assert_eq!(
            [2.885, 1.25, 0.3].map(Gain::rounded),
            [739, 320, 77].map(Gain)
        );
    }

    /// As with Linux's `BBR_UNIT`, gains are in 256ths, and every product is rounded down.
    #[test]
    fn gains_are_in_256ths() {
        assert_eq!(Gain::floored(0.91), Gain(232), "232.96");
        assert_eq!(Gain::rounded(0.91), Gain(233));
        assert_eq!(Gain::floored(0.5), Gain(128), "exact ones stay");
        assert_eq!(Gain::share(1, 3), Gain(85));
        assert_eq!(Gain(88).inverse(), Gain(744), "65536 / 88 = 744.7");
        assert_eq!((Gain(85).of(10), Gain(85).times(Gain(128))), (3, Gain(42)));
        assert_eq!(Gain::ONE + Gain(4) - Gain(60), Gain(200));
        assert_eq!(Gain(384).as_f64(), 1.5);
        assert_eq!(Gain::TWO.of(u32::MAX / 2), u32::MAX - 1);
    }

    #[test]
    fn bandwidths_are_in_segments_a_microsecond() {
        // 2^24 units are one segment in a microsecond.
        let bw = Bandwidth::of(3, 2);
        assert_eq!(bw, Bandwidth(3 << 23));
        assert_eq!(bw.segments_in(3), 4, "of 4.5");
        assert_eq!(Bandwidth::sampled(1, 3), Bandwidth((1 << 24) / 3));
        assert_eq!(Bandwidth::sampled_up(1, 3), Bandwidth((1 << 24) / 3 + 1));
        assert_eq!(Bandwidth::sampled_up(1, 2), Bandwidth(1 << 23));
        for most in [Bandwidth::sampled(300, 1), Bandwidth::sampled_up(300, 1)] {
            assert_eq!(most, Bandwidth(u64::from(u32::MAX)));
        }
        assert_eq!(Bandwidth(1 << 50).bdp(1 << 30, Gain::ONE, 1), 1 << 30);
        assert_eq!(Bandwidth(1 << 50).segments_in(1 << 30), 1 << 31);
        assert_eq!(Bandwidth::ZERO.bytes_per_second(1448, Gain::ONE, 0), 1);
        // One segment per us is 1448 bytes per us, minus 1 %. A margin of 100 % would stop the
        // flow, so the margin is limited to 99 %.
        let one = Bandwidth::of(1, 1);
        assert_eq!(one.bytes_per_second(1448, Gain::ONE, 1), 1_433_520_000);
        assert_eq!(one.bytes_per_second(1448, Gain::TWO, 100), 28_960_000);
        assert!((one.as_mbit(1448) - 11_584.0).abs() < 1e-6);
        assert_eq!(one.mean(Bandwidth::ZERO), Bandwidth(1 << 23));
        assert_eq!(Bandwidth(3).abs_diff(Bandwidth(8)), Bandwidth(5));
        assert!(Bandwidth(125).is_growth_from(Bandwidth(100)));
        assert!(!Bandwidth(124).is_growth_from(Bandwidth(100)));
        assert!(Bandwidth(0).is_growth_from(Bandwidth(0)));
        assert_eq!(us(Time(1_999)), 1);
    }
}
