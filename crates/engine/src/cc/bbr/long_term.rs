//! Detection of policers (Linux `bbr_lt_bw_sampling`). If the rate is steady although many packets
//! are lost, BBR assumes that a policer limits the flow. BBR then uses the steady rate as the
//! bandwidth.

use crate::cc::bbr_model::{Bandwidth, Gain};
use crate::cc::view::View;
use crate::units::Time;

/// The shortest measuring interval, in round trips.
const ROUNDS: u32 = 4;
/// If at least this share of an interval's segments is lost, BBR assumes a policer. The share is in
/// units of 1/256.
const LOSS: u64 = 50;
/// Two intervals are similar if their bandwidths differ by at most 1/8, or by at most this many
/// bytes/s.
const DIFFERENCE: u64 = 4000 / 8;
/// After BBR has detected a policer, it assumes for this many rounds that the policer is active.
const USE_ROUNDS: u32 = 48;

/// What BBR concludes from an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    None,
    Found,
    /// The policer may no longer be active, so BBR discards its measurements and measures the path
    /// again.
    Forgotten,
}

#[derive(Clone, Debug, Default)]
pub(super) struct LongTerm {
    sampling: bool,
    in_use: bool,
    bw: Bandwidth,
    rounds: u32,
    since: Time,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        self.in_use.then_some(self.bw)
    }

    pub(super) fn reset(&mut self, view: View<'_>) {
        *self = LongTerm::default();
        self.restart_interval(view);
    }

    fn restart_interval(&mut self, view: View<'_>) {
        self.since = view.rate.delivered_at;
        self.delivered = view.delivered;
        self.lost = view.rate.lost_total;
        self.rounds = 0;
    }

    /// Processes an ACK that reports `losses` lost segments. `probing` is true if BBR is in
    /// PROBE_BW.
    pub(super) fn sample(
        &mut self,
        view: View<'_>,
        losses: u32,
        round_start: bool,
        probing: bool,
    ) -> Verdict {
        if self.in_use {
            if probing && round_start {
                self.rounds += 1;
                if self.rounds >= USE_ROUNDS {
                    self.reset(view);
                    return Verdict::Forgotten;
                }
            }
            return Verdict::None;
        }
        // Start measuring at the first loss, because by then the policer has no tokens left.
        if !self.sampling {
            if losses == 0 {
                return Verdict::None;
            }
            self.restart_interval(view);
            self.sampling = true;
        }
        if view.rate.app_limited {
            self.reset(view);
            return Verdict::None;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < ROUNDS {
            return Verdict::None;
        }
        if self.rounds > 4 * ROUNDS {
            self.reset(view);
            return Verdict::None;
        }
        // Only an ACK that reports a loss can end an interval.
        if losses == 0 {
            return Verdict::None;
        }
        let lost = view.rate.lost_total.saturating_sub(self.lost);
        let delivered = view.delivered - self.delivered;
        if delivered == 0 || lost * 256 < LOSS * delivered {
            return Verdict::None;
        }
        let ms =
            (view.rate.delivered_at.ns() / 1_000_000).saturating_sub(self.since.ns() / 1_000_000);
        if ms == 0 {
            return Verdict::None;
        }
        self.interval_done(Bandwidth::of(delivered, ms * 1000), view)
    }

    fn interval_done(&mut self, bw: Bandwidth, view: View<'_>) -> Verdict {
        if self.bw > Bandwidth::ZERO {
            let difference = bw.abs_diff(self.bw);
            if difference.0 * 8 <= self.bw.0
                || difference.bytes_per_second(view.mss, Gain::ONE, 1) <= DIFFERENCE
            {
                self.bw = bw.mean(self.bw);
                self.in_use = true;
                self.rounds = 0;
                return Verdict::Found;
            }
        }
        self.bw = bw;
        self.restart_interval(view);
        Verdict::None
    }
}
