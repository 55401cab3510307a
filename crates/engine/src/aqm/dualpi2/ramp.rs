//! The native AQM of L in RFC 9332 appendix A.1. This AQM marks packets on a ramp of the sojourn
//! time and not on a step.
//!
//! A packet is marked with the ramp's probability or with the coupled probability k p, whichever is
//! larger. To space marks evenly, the ramp adds up the probabilities of successive packets. Each
//! time the sum reaches 1, a packet is marked (`recur`). The ramp does not mark the last packet in
//! L. The coupling does not mark while both queues together hold less than two frames. Linux does
//! the same. In overload, the ramp has no effect.

use tailback_record::Cause;

use crate::registry::{Kind, Opt, Options};
use crate::units::Time;

pub(super) const L_AQM: Opt = Opt {
    name: "l_aqm",
    doc: "How packets of L are marked according to their sojourn time: with a step threshold, as in Linux, or with the ramp of RFC 9332. The ramp spaces marks evenly.",
    kind: Kind::Word(&["step", "ramp"]),
    default: Some("step"),
    tc: None,
};

pub(super) const MIN: Opt = Opt {
    name: "ramp_min",
    doc: "Sojourn time up to which the ramp marks no packets. Default: 800us.",
    kind: Kind::Time { min: Time::ZERO },
    default: None,
    tc: None,
};

pub(super) const RANGE: Opt = Opt {
    name: "ramp_range",
    doc: "Difference between the sojourn times at which the ramp begins and ends. The ramp marks every packet whose sojourn time is at \
        least ramp_min + ramp_range. Default: 400us.",
    kind: Kind::Time {
        min: Time::from_us(1),
    },
    default: None,
    tc: None,
};

/// The ramp, with the sum of probabilities since the last mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ramp {
    min: Time,
    range: Time,
    sum: f64,
}

impl Ramp {
    /// Reads the options of the ramp. Returns `None` if L has a step threshold instead.
    pub fn of(options: &Options) -> Option<Ramp> {
        (options.word("l_aqm") == "ramp").then(|| Ramp {
            min: options.time("ramp_min"),
            range: options.time("ramp_range"),
            sum: 0.0,
        })
    }

    /// Returns the probability with which a packet with this sojourn time is marked.
    fn probability(&self, sojourn: Time) -> f64 {
        let above = sojourn.ns().saturating_sub(self.min.ns());
        (above as f64 / self.range.ns() as f64).min(1.0)
    }

    /// Decides whether to mark the packet. Returns the cause of the mark, or `None`. With `alone`,
    /// the packet is the last packet in L, so only the coupling may mark the packet.
    pub fn marks(&mut self, sojourn: Time, alone: bool, coupled: f64) -> Option<Cause> {
        let native = match alone {
            true => 0.0,
            false => self.probability(sojourn),
        };
        self.sum += native.max(coupled);
        // Rounding may leave the sum just below 1. Such a sum counts as 1. Without this rule, the
        // mark would come a packet too late.
        if self.sum < 1.0 - 1e-9 {
            return None;
        }
        self.sum -= 1.0;
        Some(match native > coupled {
            true => Cause::StepMark,
            false => Cause::Mark,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability rises from 0 at 800 us to 1 at 1200 us, and marks are evenly spaced.
    #[test]
    fn marks_are_the_probability_and_evenly_spaced() {
        for (us, every) in [(800, 0), (900, 4), (1_000, 2), (1_200, 1), (9_000, 1)] {
            let mut ramp = Ramp {
                min: Time::from_us(800),
                range: Time::from_us(400),
                sum: 0.0,
            };
            let mut mark = || ramp.marks(Time::from_us(us), false, 0.0).is_some();
            let marked: Vec<usize> = (1..=40).filter(|_| mark()).collect();
            let expected: Vec<usize> = match every {
                0 => vec![],
                n => (1..=40).filter(|i| i % n == 0).collect(),
            };
            assert_eq!(marked, expected, "{us} us");
        }
    }

    /// A packet is marked with the larger of the two probabilities, not with their sum. The
    /// recorded cause is the cause with the larger probability.
    #[test]
    fn the_larger_probability_counts() {
        let mut ramp = Ramp {
            min: Time::from_us(800),
            range: Time::from_us(400),
            sum: 0.0,
        };
        let mut share = |us, alone, coupled| {
            let mut causes = [0, 0];
            for _ in 0..1_000 {
                match ramp.marks(Time::from_us(us), alone, coupled) {
                    Some(Cause::StepMark) => causes[0] += 1,
                    Some(_) => causes[1] += 1,
                    None => {}
                }
            }
            causes
        };
        assert_eq!(share(1_000, false, 0.25), [500, 0]);
        assert_eq!(share(900, false, 0.5), [0, 500]);
        assert_eq!(share(5_000, true, 0.0), [0, 0], "alone in L");
        assert_eq!(share(5_000, true, 0.25), [0, 250]);
    }
}
