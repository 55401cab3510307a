//! Bounds of the model, and the signs of congestion in the latest round.

use crate::cc::bbr_model::Bandwidth;

/// A volume that is not bounded.
pub(super) const NO_BOUND: u32 = u32::MAX;

/// Upper bounds that congestion puts on bandwidth and volume, segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// From round to round.
    pub bw_lo: Bandwidth,
    pub inflight_lo: u32,
    /// From probe to probe.
    pub inflight_hi: u32,
}

impl Bounds {
    pub(super) const NONE: Bounds = Bounds {
        bw_lo: Bandwidth::UNBOUNDED,
        inflight_lo: NO_BOUND,
        inflight_hi: NO_BOUND,
    };

    /// A probe forgets the bounds of earlier rounds.
    pub(super) fn reset_lower(&mut self) {
        self.bw_lo = Bandwidth::UNBOUNDED;
        self.inflight_lo = NO_BOUND;
    }

    /// A reduction was spurious: restores each bound that it lowered.
    pub(super) fn restore(&mut self, before: Bounds) {
        self.bw_lo = self.bw_lo.max(before.bw_lo);
        self.inflight_lo = self.inflight_lo.max(before.inflight_lo);
        self.inflight_hi = self.inflight_hi.max(before.inflight_hi);
    }
}

/// Signs of congestion since the round began, and since the probe began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    pub loss_in_round: bool,
    pub ecn_in_round: bool,
    pub loss_in_cycle: bool,
    pub ecn_in_cycle: bool,
    /// Rate and volume delivered in the round.
    pub bw_latest: Bandwidth,
    pub inflight_latest: u32,
}
