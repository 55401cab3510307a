//! The controller of DualPI2 and PI2. The controller implements the arithmetic of each version, and
//! decides whether to drop or mark a packet.

use crate::rng::Stream;
use crate::units::Time;

/// The integer that represents a probability of 1.
pub const ONE: u64 = u32::MAX as u64;

/// How the gains of the controller are stored as integers, and how an update of p uses the gains.
/// An option in Hz is stored as an integer multiple of 1/256 Hz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Linux 6.17: gains are in 64ths of a probability unit per ns. An update divides the sum of
    /// both terms by 64.
    Div64,
    /// `dualpi2-2019-refactored`: like `Div64`, but an update divides the sum by 127. This divisor
    /// multiplies the gains by 0.504.
    Div127,
    /// `dualpi2-2019-02-21`: gains are whole units per tick of 64 ns, as in PIE.
    Ticks,
    /// `dualpi2-2019-wrr-counter` and `dualpi2-2019-wrr-percent`: gains are whole units per ns.
    /// (The gains are 0.233 and 2.794 Hz instead of 0.3125 and 3.125 Hz.)
    Nanoseconds,
}

impl Arithmetic {
    pub const WORDS: &'static [&'static str] = &["div64", "div127", "ticks", "ns"];

    pub fn of(word: &str) -> Arithmetic {
        match word {
            "div127" => Arithmetic::Div127,
            "ticks" => Arithmetic::Ticks,
            "ns" => Arithmetic::Nanoseconds,
            _ => Arithmetic::Div64,
        }
    }

    /// Converts an option in Hz to a gain in internal units.
    pub fn gain(self, hz: f64) -> i64 {
        // tc reads a float and rounds it down to 256ths.
        let param = u64::from((hz as f32 * 256.0) as u32);
        let gain = match self {
            Arithmetic::Div64 | Arithmetic::Div127 => ((param * ONE) >> 2) / 1_000_000_000,
            Arithmetic::Ticks => (param * (ONE / 15_625_000)) >> 8,
            Arithmetic::Nanoseconds => (param * (ONE / 1_000_000_000)) >> 8,
        };
        gain as i64
    }

    /// Converts a time to the unit in which this arithmetic expresses delays.
    #[inline]
    fn time(self, time: Time) -> i64 {
        match self {
            Arithmetic::Ticks => (time.ns() >> 6) as i64,
            _ => time.ns() as i64,
        }
    }

    #[inline]
    fn divisor(self) -> u64 {
        match self {
            Arithmetic::Div64 => 64,
            Arithmetic::Div127 => 127,
            Arithmetic::Ticks | Arithmetic::Nanoseconds => 1,
        }
    }
}

/// What happens when the coupled probability k p exceeds its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overload {
    /// If k p exceeds 1, scalable packets are dropped with probability p^2. All other scalable
    /// packets are marked. While k p exceeds 1, classic packets are dropped even if they are
    /// ECN-capable.
    Drop,
    /// p never exceeds 1/k. If the load is too high for this p, the queue grows until its limit
    /// drops packets.
    Overflow,
    /// If k p exceeds this limit (in units in which [`ONE`] is 1), all packets are treated as not
    /// ECN-capable.
    NoEcn(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    pub target: Time,
    pub tupdate: Time,
    /// Gain for the difference between the delay and the target, in internal units.
    pub alpha: i64,
    /// Gain for the change of the delay since the last update, in internal units.
    pub beta: i64,
    pub arithmetic: Arithmetic,
    pub k: u64,
    pub overload: Overload,
    /// This number is added to the probability before the probability is compared with a random
    /// number. The number is 1 in versions that test `<=` (Linux 6.17), and 0 in versions that test
    /// `<`.
    pub edge: u64,
    /// While fewer bytes than this number (two frames) are queued, packets are neither dropped nor
    /// marked.
    pub min_backlog: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    Mark,
    /// The packet is dropped because it is not ECN-capable.
    Drop,
    /// The packet is dropped although it is ECN-capable or scalable, because of overload.
    Overload,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vars {
    /// The base probability p, in units in which [`ONE`] is 1.
    pub prob: u32,
    /// The delay at the last update, in the unit of the arithmetic.
    pub last: i64,
}

impl Vars {
    /// Updates p from the current delay. Sums are truncated to 32 bits where the kernel truncates
    /// them. So p wraps around if an update changes p by more than 1.
    pub fn update(&mut self, p: &Params, delay: Time) {
        let unit = p.arithmetic;
        let delay = unit.time(delay);
        let delta = (delay - unit.time(p.target))
            .wrapping_mul(p.alpha)
            .wrapping_add((delay - self.last).wrapping_mul(p.beta));
        self.last = delay;
        let step = (delta.unsigned_abs() / unit.divisor()) as u32;
        let before = self.prob;
        self.prob = if delta > 0 {
            let sum = before.wrapping_add(step);
            if sum < before { u32::MAX } else { sum }
        } else {
            let rest = before.wrapping_sub(step);
            if rest > before { 0 } else { rest }
        };
        if matches!(p.overload, Overload::Overflow) {
            self.prob = u64::from(self.prob).min(ONE / p.k) as u32;
        }
    }

    pub fn coupled(self, p: &Params) -> f64 {
        (u64::from(self.prob) * p.k) as f64 / ONE as f64
    }

    #[inline]
    fn roll(self, p: &Params, prob: u64, rng: &mut Stream) -> bool {
        rng.bits() >> 32 < prob + p.edge
    }

    /// Returns true if two random numbers are both below p. So the result is true with probability
    /// p squared. The second number is drawn only if the first number is below p.
    #[inline]
    fn square(self, p: &Params, rng: &mut Stream) -> bool {
        let prob = u64::from(self.prob);
        self.roll(p, prob, rng) && self.roll(p, prob, rng)
    }

    /// Decides whether to drop or mark a packet while `backlog` bytes are queued.
    #[inline(always)] // each of the two queues calls it once
    pub fn verdict(
        self,
        p: &Params,
        scalable: bool,
        capable: bool,
        backlog: u64,
        rng: &mut Stream,
    ) -> Verdict {
        if backlog < p.min_backlog {
            return Verdict::Pass;
        }
        let coupled = u64::from(self.prob) * p.k;
        let overload = match p.overload {
            Overload::Drop => coupled > ONE,
            // The update has limited p to 1/k. So k p never exceeds 1.
            Overload::Overflow => false,
            Overload::NoEcn(most) => coupled > most,
        };
        match (scalable, overload) {
            (true, false) if self.roll(p, coupled, rng) => Verdict::Mark,
            (true, false) => Verdict::Pass,
            (true, true) => {
                if self.square(p, rng) {
                    Verdict::Overload
                } else if p.overload == Overload::Drop {
                    Verdict::Mark
                } else {
                    Verdict::Pass
                }
            }
            (false, _) => match self.square(p, rng) {
                false => Verdict::Pass,
                true if !capable => Verdict::Drop,
                true if overload => Verdict::Overload,
                true => Verdict::Mark,
            },
        }
    }
}
