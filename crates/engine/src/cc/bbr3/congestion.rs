//! Updates the rounds, the bandwidth and the signs of congestion from each ACK.

use super::bounds::NO_BOUND;
use super::phase::Phase;
use super::state::Bbr3;
use crate::cc::bbr_model::{Bandwidth, Gain};
use crate::cc::view::{Ack, LostSegment, View};
use crate::cc::window::Window;

impl Bbr3 {
    pub(super) fn update_round(&mut self, view: View<'_>, window: &Window) {
        let rate = &view.rate;
        self.round.start = rate.interval_us > 0 && rate.prior_delivered >= self.round.next;
        if self.round.start {
            self.round.next = view.delivered;
            self.round_count = self.round_count.wrapping_add(1);
            if let Phase::ProbeBw(phase) = &mut self.phase
                && let Some(wait) = phase.wait()
            {
                wait.round();
            }
            if self.params.ecn {
                self.update_marks(view, window);
            }
        }
        self.sample = if rate.interval_us > 0 {
            Bandwidth::sampled_up(rate.delivered, rate.interval_us)
        } else {
            Bandwidth::ZERO
        };
    }

    pub(super) fn update_marks(&mut self, view: View<'_>, window: &Window) {
        let starting = !self.full.reached;
        let min_rtt = self.min_rtt.us;
        if self.marks.end_round(&self.params, view, min_rtt, starting) {
            self.queue_too_high_in_startup(view, window);
        }
    }

    pub(super) fn update_latest(&mut self, view: View<'_>, ack: &Ack) {
        self.loss_round.start = false;
        let rate = &view.rate;
        if rate.interval_us == 0 || ack.delivered == 0 {
            return;
        }
        self.signals.bw_latest = self.signals.bw_latest.max(self.sample);
        self.signals.inflight_latest = self.signals.inflight_latest.max(rate.delivered);
        if rate.prior_delivered >= self.loss_round.next {
            self.loss_round.next = view.delivered;
            self.loss_round.start = true;
        }
    }

    pub(super) fn update_congestion(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        if view.rate.interval_us == 0 || ack.delivered == 0 {
            return;
        }
        if !view.rate.app_limited || self.sample >= self.max_bw() {
            self.bw_hi[1] = self.bw_hi[1].max(self.sample);
        }
        self.signals.loss_in_round |= ack.losses > 0;
        if !self.loss_round.start {
            return;
        }
        self.adapt_lower_bounds(window);
        self.signals.loss_in_round = false;
        self.signals.ecn_in_round = false;
        if self.params.v2 {
            self.restart_latest(view);
        }
    }

    /// Restarts the measurement of the rate and the volume of the latest round.
    pub(super) fn restart_latest(&mut self, view: View<'_>) {
        self.signals.bw_latest = self.sample;
        self.signals.inflight_latest = view.rate.delivered;
    }

    /// Linux `bbr_adapt_lower_bounds`: lowers `bw_lo` and `inflight_lo`. These two bounds do not
    /// fall below `bw_latest` and `inflight_latest`.
    pub(super) fn adapt_lower_bounds(&mut self, window: &Window) {
        if self.phase.is_probing() {
            return;
        }
        let (mut marked, mut marked_bw) = (NO_BOUND, Bandwidth::UNBOUNDED);
        if self.signals.ecn_in_round && self.params.ecn_factor > Gain(0) {
            if self.bounds.inflight_lo == NO_BOUND {
                self.bounds.inflight_lo = window.cwnd;
            }
            let cut = self.marks.cut(&self.params);
            marked = cut.of(self.bounds.inflight_lo);
            if self.params.v2 && !self.params.l4s {
                if self.bounds.bw_lo == Bandwidth::UNBOUNDED {
                    self.bounds.bw_lo = self.max_bw();
                }
                marked_bw = cut.of_rate(self.bounds.bw_lo);
            }
        }
        if self.signals.loss_in_round {
            if self.bounds.bw_lo == Bandwidth::UNBOUNDED {
                self.bounds.bw_lo = self.max_bw();
            }
            if self.bounds.inflight_lo == NO_BOUND {
                self.bounds.inflight_lo = window.cwnd;
            }
            let cut = self.params.loss_cut.of_rate(self.bounds.bw_lo);
            self.bounds.bw_lo = self.signals.bw_latest.max(cut);
            self.bounds.inflight_lo = self
                .signals
                .inflight_latest
                .max(self.params.loss_cut.of(self.bounds.inflight_lo));
        }
        self.bounds.inflight_lo = self.bounds.inflight_lo.min(marked);
        self.bounds.bw_lo = self.bounds.bw_lo.min(marked_bw).max(Bandwidth::LEAST);
    }

    /// Returns whether the share of lost segments or of marked segments is so large that a probe
    /// must end.
    pub(super) fn too_high(&self, lost: u32, in_flight: u32, marked: u32, delivered: u32) -> bool {
        (lost > 0 && in_flight > 0 && lost > self.params.loss_threshold.of(in_flight))
            || self.marks.too_many(&self.params, marked, delivered)
    }

    pub(super) fn sample_too_high(&self, view: View<'_>) -> bool {
        let rate = &view.rate;
        self.too_high(
            rate.lost,
            rate.tx_in_flight,
            rate.delivered_ce,
            rate.delivered,
        )
    }

    /// Records a loss. The first loss of a round also starts a new round for counting losses.
    pub(super) fn note_loss(&mut self, view: View<'_>, window: &Window) {
        if self.params.draft {
            self.save_before_episode(window);
        }
        if !self.signals.loss_in_round {
            self.loss_round.next = view.delivered;
        }
        self.signals.loss_in_round = true;
        self.signals.loss_in_cycle = true;
    }

    /// Returns how many segments were in flight when the share of lost segments exceeded the
    /// threshold (Linux `bbr_inflight_hi_from_lost_skb`).
    pub(super) fn excess_began(&self, segment: &LostSegment) -> u32 {
        let Some(before) = segment.tx_in_flight.checked_sub(1) else {
            return NO_BOUND - 1;
        };
        let lost_before = segment.lost.saturating_sub(1);
        let threshold = self.params.loss_threshold;
        let prefix = threshold.of_up(before).saturating_sub(lost_before);
        before + threshold.rest().whole_of(prefix)
    }
}
