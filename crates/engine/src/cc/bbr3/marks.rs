//! The response to marks. BBR estimates the share of marked segments, as DCTCP does, and reduces
//! the data in flight by a factor that depends on this share.

use super::params::Params;
use crate::cc::bbr_model::{Gain, us};
use crate::cc::view::View;

/// STARTUP ends after this many rounds with too many marks.
const FULL_ROUNDS: u32 = 2;

#[derive(Clone, Debug)]
pub(super) struct Marks {
    /// Whether BBR responds to marks. BBR responds only if the RTT is short enough.
    pub eligible: bool,
    pub alpha: Gain,
    /// Number of successive rounds with too many marks.
    rounds: u32,
    /// How many segments had been delivered and how many had been marked at the beginning of the
    /// round.
    counted: (u64, u64),
}

impl Marks {
    pub(super) fn new() -> Marks {
        Marks {
            eligible: false,
            // Start at 1, so that the first response is strong if the path is congested from the
            // start.
            alpha: Gain::ONE,
            rounds: 0,
            counted: (0, 0),
        }
    }

    /// Ends a round, and counts whether it had too many marks. Returns whether STARTUP must end
    /// because successive rounds had too many marks.
    pub(super) fn end_round(
        &mut self,
        params: &Params,
        view: View<'_>,
        min_rtt_us: u64,
        starting: bool,
    ) -> bool {
        let max = us(params.ecn_max_rtt);
        self.eligible |= params.ecn_factor > Gain(0) && (max == 0 || min_rtt_us <= max);
        if !self.eligible {
            return false;
        }
        let delivered = view.delivered - self.counted.0;
        if delivered == 0 {
            return false;
        }
        let share = Gain::share(view.delivered_ce - self.counted.1, delivered);
        self.counted = (view.delivered, view.delivered_ce);
        let g = params.ecn_alpha_gain;
        let kept = (Gain::ONE - g).times(self.alpha);
        self.alpha = (kept + g.times(share.min(Gain::ONE))).min(Gain::ONE);
        if !starting {
            return false;
        }
        self.rounds = if share >= params.ecn_threshold {
            self.rounds + 1
        } else {
            0
        };
        self.rounds >= FULL_ROUNDS
    }

    /// Returns the factor by which a round with marks multiplies the bound on the data in flight.
    pub(super) fn cut(&self, params: &Params) -> Gain {
        Gain::ONE - self.alpha.times(params.ecn_factor)
    }

    /// Returns whether the share of marked segments is so large that a probe must end.
    pub(super) fn too_many(&self, params: &Params, marked: u32, delivered: u32) -> bool {
        let most = params.ecn_threshold.of(delivered);
        let exceeds = marked > most || (params.v2 && marked == most);
        self.eligible && marked > 0 && delivered > 0 && exceeds
    }
}
