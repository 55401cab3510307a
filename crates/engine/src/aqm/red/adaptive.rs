//! RED's adaptive mode (Floyd, Gummadi and Shenker 2001, as in Linux: `red_adaptative_algo`). The
//! probability at `max` changes every half second. If the average is above its target, the
//! probability rises by 25 % of its value, but by at most 0.01. If the average is below its target,
//! the probability falls by 10 % of its value. The target is a range: the middle fifth of the range
//! between `min` and `max`.

use super::RedCore;
use crate::registry::{Options, Value};
use crate::units::Time;

/// The time between two changes of the probability (HZ/2).
pub(super) const STEP: Time = Time::from_ms(500);

const ONE: f64 = 4_294_967_296.0;
const ONE_PERCENT: u32 = 42_949_673;
const LOWEST: u32 = ONE_PERCENT;
const HIGHEST: u32 = 50 * ONE_PERCENT;

/// The probability at `max`, and the target range of the average.
#[derive(Debug)]
pub(super) struct Adaptive {
    max_p: u32,
    target: [u64; 2],
}

impl Adaptive {
    /// Returns the state of the adaptive mode, or `None` if `adaptive` is off.
    pub fn of(options: &Options) -> Option<Adaptive> {
        let size = |name| match options.get(name) {
            Some(Value::Packets(n)) => *n,
            Some(Value::Bytes(b)) => b.0,
            _ => 0,
        };
        let (min, max) = (size("min"), size("max"));
        let fifth = (max - min) / 5;
        options.bool("adaptive").then(|| Adaptive {
            max_p: (options.float("probability") * ONE) as u32,
            target: [min + 2 * fifth, min + 3 * fifth],
        })
    }

    /// Changes the probability at `max` once, depending on this average.
    pub fn step(&mut self, average: f64, core: &mut RedCore) {
        let average = average as u64;
        let [low, high] = self.target;
        if average > high && self.max_p <= HIGHEST {
            self.max_p += ONE_PERCENT.min(self.max_p / 4);
        } else if average < low && self.max_p >= LOWEST {
            self.max_p = self.max_p / 10 * 9;
        }
        core.probability = self.probability();
    }

    pub fn probability(&self) -> f64 {
        f64::from(self.max_p) / ONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::red::ENTRY;
    use crate::registry::defaults;
    use crate::units::Bytes;

    fn options() -> Options {
        let mut options = defaults(ENTRY.options);
        options.set("limit", Value::Bytes(Bytes(150_000)));
        options.set("adaptive", Value::Bool(true));
        (ENTRY.finish)(&mut options).unwrap();
        options
    }

    #[test]
    fn the_probability_moves_towards_the_target_and_stays_in_its_range() {
        let options = options();
        let mut core = RedCore::of(&options);
        let mut adaptive = Adaptive::of(&options).unwrap();
        // min is 12500 and max is 37500. So each fifth of the range is 5000 bytes wide.
        assert_eq!(adaptive.target, [22_500, 27_500]);
        let mut steps = |average, n| -> Vec<f64> {
            let step = |_| {
                adaptive.step(average, &mut core);
                core.probability
            };
            (0..n).map(step).collect()
        };
        assert!(steps(22_500.0, 3).iter().all(|p| (p - 0.02).abs() < 1e-9));
        assert!(steps(27_500.9, 3).iter().all(|p| (p - 0.02).abs() < 1e-9));
        // The probability rises by 25 % of its value until it is 0.04, and then in steps of 0.01.
        // The rise ends at the first value above 0.5.
        let up = steps(27_501.0, 100);
        assert!((up[0] - 0.025).abs() < 1e-9 && (up[1] - 0.03125).abs() < 1e-9);
        assert!((up[5] - up[4] - 0.01).abs() < 1e-9);
        assert!(
            up[99] > 0.5 && up[99] <= 0.51 + 1e-9 && up[98] == up[99],
            "{up:?}"
        );
        // Each step reduces the probability by 10 % of its value. The fall ends at the first value
        // below 0.01.
        let down = steps(22_499.0, 100);
        assert!((down[0] / up[99] - 0.9).abs() < 1e-8);
        assert!(down[99] < 0.01 && down[99] >= 0.009 - 1e-9 && down[98] == down[99]);
    }
}
