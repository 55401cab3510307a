//! Detects queues that mark packets as in classic ECN (RFC 3168). For such a queue, sets a lower
//! limit for alpha (A. S. Ahmed and B. Briscoe, "TCP Prague Fall-back on Detection of a Classic ECN
//! AQM", arXiv 1911.00710, version 2 of the algorithm; `prague_classic_ecn_detection` of the L4S
//! team's Linux 5.10 and 5.15).
//!
//! A score estimates how likely it is that the queue uses classic ECN. At each update of alpha, the
//! score changes. The change is half of the binary logarithm of (mean deviation of the RTT / 750
//! us). If the queueing delay exceeds 2 ms, the score also grows by half of the binary logarithm of
//! (queueing delay / 2 ms). While the score rises from its lower to its upper bound, the lower
//! limit of alpha rises from 0 to 0.625.
//!
//! The score has as many binary digits as alpha. Builds of 2023 to 2025 have an alpha with 24
//! digits. But these builds still use the logarithms of 750 us and 2 ms for 20 digits, so almost
//! every queue seems classic (option `ecn_fallback = "unscaled"`).
//!
//! The L4S team's module does not check whether the application limits the flow, because that part
//! of the algorithm is commented out. tailback does not check this either.

use crate::cc::view::View;
use crate::units::Time;

/// Upper limit of `shift`.
const MAX_SHIFT: u32 = 18;
/// Initial value of `rest_mdev` (2^19.5). `rest_depth` starts at half of this value.
const FIRST_REST: u64 = 741_455;
/// log2(750) and log2(2000), in units of 2^-24. A mean deviation of 750 us does not change the
/// score. A queueing delay above 2000 us increases the score.
const DEVIATION: u64 = 160_234_941;
const DEPTH: u64 = 183_975_331;

/// The score for classic ECN, with the statistics of the RTT from which the score is computed.
#[derive(Debug)]
pub(super) struct Fallback {
    /// Number of binary digits of alpha and of the score.
    bits: u32,
    /// Half of the logarithms of the two reference values, in the units of the score.
    deviation: u64,
    depth: u64,
    /// A sample has a weight of 2^-shift in the mean RTT, and half of this weight in the mean
    /// deviation.
    shift: u32,
    /// The mean RTT in us, multiplied by 2^shift, and the mean deviation in us, multiplied by
    /// 2^(shift + 1).
    mean: u64,
    mdev: u64,
    /// Logarithms are rounded down to integers. These fields store the remaining factors, by which
    /// the next update multiplies its arguments.
    rest_mdev: u64,
    rest_depth: u64,
    /// The score.
    score: u64,
}

impl Fallback {
    /// With `unscaled`, the reference values are the logarithms for 20 digits, even if alpha has
    /// more digits.
    pub fn new(bits: u32, unscaled: bool) -> Fallback {
        let digits = if unscaled { 20 } else { bits };
        Fallback {
            bits,
            deviation: (DEVIATION >> (24 - digits)) >> 1,
            depth: (DEPTH >> (24 - digits)) >> 1,
            shift: MAX_SHIFT,
            mean: 0,
            mdev: 1 << (MAX_SHIFT + 1),
            rest_mdev: FIRST_REST,
            rest_depth: FIRST_REST >> 1,
            score: 0,
        }
    }

    /// Sets the mean RTT to the RTT that the connection has measured so far.
    pub fn begin(&mut self, srtt: Time) {
        self.mean = (srtt.ns() / 1000) << self.shift;
    }

    /// Returns the score below which a queue counts as an L4S queue.
    fn floor(&self) -> u64 {
        16 << (self.bits - 1)
    }

    /// Updates the mean RTT and its mean deviation with an RTT sample (`prague_rtt_estimator`).
    pub fn sample(&mut self, rtt: Time) {
        let us = rtt.ns() / 1000;
        if self.mean == 0 {
            self.mean = (us << self.shift).max(1);
            self.mdev = 1 << (self.shift + 1);
            return;
        }
        let mean = self.mean >> self.shift;
        self.mean = (self.mean + us).saturating_sub(mean).max(1);
        let error = us.abs_diff(mean) + self.mdev;
        self.mdev = error - (self.mdev >> (self.shift + 1));
    }

    /// When a reduction begins, computes the weights of RTT samples from the new window
    /// (`prague_update_rtt_scaling`).
    pub fn rescale(&mut self, ssthresh: u32) {
        let log = ssthresh.max(1).ilog2();
        let shift = (log + (log >> 1) + 1).min(MAX_SHIFT);
        let (old, new) = (self.shift, shift);
        for value in [
            &mut self.mean,
            &mut self.mdev,
            &mut self.rest_depth,
            &mut self.rest_mdev,
        ] {
            *value = if new >= old {
                *value << (new - old)
            } else {
                *value >> (old - new)
            };
        }
        self.shift = shift;
    }

    /// Updates the score. Called whenever alpha is updated.
    pub fn update(&mut self, view: View<'_>) {
        let (shift, double) = (self.shift, self.shift + 1);
        let mean = self.mean >> shift;
        if mean == 0 || view.min_rtt == Time::NEVER {
            return;
        }
        let half = 1_u64 << (double - 1);
        let mdev = (self.mdev >> double) * self.rest_mdev + half;
        let log = mdev.ilog2().max(double) - double;
        self.rest_mdev = mdev >> log;
        let mut score =
            self.score as i64 + (i64::from(log) << (self.bits - 1)) - self.deviation as i64;
        if let Some(depth) = mean
            .checked_sub(view.min_rtt.ns() / 1000)
            .filter(|d| *d > 0)
        {
            let depth = depth * self.rest_depth + (half >> 1);
            let log = depth.ilog2().max(shift) - shift;
            self.rest_depth = depth >> log;
            let log = u64::from(log) << (self.bits - 1);
            score += log.saturating_sub(self.depth) as i64;
        }
        let most = 2 * self.floor() + (1 << self.bits);
        self.score = (score.max(0) as u64).min(most);
    }

    /// Returns alpha or its lower limit, whichever is larger. The limit is above 0 only if the
    /// queue seems classic.
    pub fn limited(&self, alpha: u64) -> u64 {
        let classic = self
            .score
            .min(self.floor() + (1 << self.bits))
            .saturating_sub(self.floor());
        alpha.max((classic >> 1) + (classic >> 3))
    }
}

#[cfg(test)]
mod tests;
