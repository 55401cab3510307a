//! The ramp of SCE marks: some congestion experienced (draft-morton-tsvwg-sce).
//!
//! Follows the Cake of the authors of SCE (June 2019). Marks begin at half the
//! target. `sce = "on"` reaches every packet at the target; with a divisor N
//! the ramp is 1/N there and reaches every packet at twice the target;
//! `"single"` begins at the target.

/// The ramp of a queue discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ramp {
    /// No marks.
    Off,
    /// Probability at the target: 1 for `"on"`, 1/N for a divisor.
    Knee(f64),
    /// From the target on; targets until every packet is marked.
    Single(f64),
}

impl Ramp {
    /// Probability of a mark after a sojourn time, both in ns; `over` is
    /// CoDel's opinion, which at low rates waits for several packets.
    #[inline]
    pub fn probability(self, target: i64, sojourn: i64, over: bool) -> f64 {
        let (t, s) = (target as f64, sojourn as f64);
        match self {
            _ if s <= t / 2.0 => 0.0,
            Ramp::Off => 0.0,
            Ramp::Knee(knee) if over => (s - t) * (1.0 - knee) / t + knee,
            Ramp::Knee(knee) => (s - t / 2.0) * knee / (t / 2.0),
            Ramp::Single(width) if over => (s - t) / (t * width),
            Ramp::Single(_) => 0.0,
        }
    }
}
