//! Shares of the packets in flight, such as the threshold for losses. Google's branch rounds shares
//! to multiples of 1/256, whereas the draft uses exact values.

use crate::cc::bbr_model::{Bandwidth, Gain};

/// A share between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    part: u32,
    whole: u32,
}

impl Share {
    /// Creates a share that is rounded down to a multiple of 1/256 (Linux `BBR_UNIT`).
    pub(super) fn coarse(value: f64) -> Share {
        Share {
            part: Gain::floored(value).0,
            whole: Gain::ONE.0,
        }
    }

    /// Creates a share that is rounded to the nearest millionth.
    pub(super) fn fine(value: f64) -> Share {
        Share {
            part: libm::round(value * 1e6) as u32,
            whole: 1_000_000,
        }
    }

    pub(super) fn rest(self) -> Share {
        Share {
            part: self.whole - self.part,
            ..self
        }
    }

    /// Returns this share of a number, rounded down.
    pub(super) fn of(self, number: u32) -> u32 {
        (u64::from(number) * u64::from(self.part) / u64::from(self.whole)) as u32
    }

    /// Returns this share of a number, rounded up.
    pub(super) fn of_up(self, number: u32) -> u32 {
        (u64::from(number) * u64::from(self.part)).div_ceil(u64::from(self.whole)) as u32
    }

    /// Returns the number whose share is `part`, rounded down.
    pub(super) fn whole_of(self, part: u32) -> u32 {
        (u64::from(part) * u64::from(self.whole) / u64::from(self.part)) as u32
    }

    /// Returns this share of a rate, rounded down.
    pub(super) fn of_rate(self, rate: Bandwidth) -> Bandwidth {
        Bandwidth(rate.0 * u64::from(self.part) / u64::from(self.whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_percent_are_exact_only_where_they_are_fine() {
        let (coarse, fine) = (Share::coarse(0.02), Share::fine(0.02));
        assert_eq!((coarse.of(10_000), fine.of(10_000)), (195, 200));
        assert_eq!((coarse.of_up(50), fine.of_up(50)), (1, 1));
        assert_eq!(fine.rest().whole_of(98), 100);
        assert_eq!(
            fine.rest().of_rate(Bandwidth(1_000_000)),
            Bandwidth(980_000)
        );
    }
}
