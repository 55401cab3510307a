//! Upper bounds on the bandwidth and on the data in flight, and the losses and marks of the latest
//! round.

use crate::cc::bbr_model::Bandwidth;

/// Value of the bound on the volume that stands for "no bound". The volume is the number of segments
/// in flight.
pub(super) const NO_BOUND: u32 = u32::MAX;

/// Upper bounds on the bandwidth and on the volume, which is the number of segments in flight.
/// Losses and marks set these bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bound on the bandwidth. BBR updates this bound in each round.
    pub bw_lo: Bandwidth,
    pub inflight_lo: u32,
    /// Bound on the volume. Probes update this bound.
    pub inflight_hi: u32,
    /// Bound on the bandwidth that a probe with too many marks sets. Only BBR version 2 uses this
    /// bound.
    pub bw_hi: Bandwidth,
}

impl Bounds {
    pub(super) const NONE: Bounds = Bounds {
        bw_lo: Bandwidth::UNBOUNDED,
        inflight_lo: NO_BOUND,
        inflight_hi: NO_BOUND,
        bw_hi: Bandwidth::UNBOUNDED,
    };

    /// Removes the bounds that are updated in each round, because a probe begins.
    pub(super) fn reset_lower(&mut self) {
        self.bw_lo = Bandwidth::UNBOUNDED;
        self.inflight_lo = NO_BOUND;
    }

    /// Restores each bound that a spurious reduction has lowered. `before` contains the bounds from
    /// before the reduction.
    pub(super) fn restore(&mut self, before: Bounds) {
        self.bw_lo = self.bw_lo.max(before.bw_lo);
        self.inflight_lo = self.inflight_lo.max(before.inflight_lo);
        self.inflight_hi = self.inflight_hi.max(before.inflight_hi);
    }
}

/// Losses, marks and deliveries in the current round, and losses and marks in the current cycle of
/// probes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    pub loss_in_round: bool,
    pub ecn_in_round: bool,
    pub loss_in_cycle: bool,
    pub ecn_in_cycle: bool,
    /// The delivery rate in the current round. `inflight_latest` is the number of segments
    /// delivered in this round.
    pub bw_latest: Bandwidth,
    pub inflight_latest: u32,
}
