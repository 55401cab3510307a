//! STARTUP, the conditions that end it, and DRAIN.

use super::bounds::Signals;
use super::phase::Phase;
use super::saved::Interrupted;
use super::state::Bbr3;
use crate::cc::view::{Ack, CaState, LostSegment, View};
use crate::cc::window::Window;

/// The pipe counts as full after this many rounds in which the rate has grown by less than a
/// quarter.
const FULL_BW_ROUNDS: u32 = 3;
/// The draft's DRAIN lasts at most this many rounds.
const DRAIN_ROUNDS: u32 = 3;

impl Bbr3 {
    pub(super) fn queue_too_high_in_startup(&mut self, view: View<'_>, window: &Window) {
        self.full.reached = true;
        let volume = self.inflight(view, window, self.max_bw());
        self.bounds.inflight_hi = if self.params.v2 {
            volume
        } else {
            volume.max(self.signals.inflight_latest)
        };
    }

    pub(super) fn check_startup_loss(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        if self.full.reached {
            return;
        }
        if ack.losses > 0 && !self.params.draft {
            self.loss_events = (self.loss_events + 1).min(15);
        }
        if self.params.startup_losses > 0
            && self.loss_round.start
            && view.ca_state == CaState::Recovery
            && self.loss_events >= self.params.startup_losses
            && self.sample_too_high(view)
        {
            self.undo.interrupted = Interrupted::Startup;
            return self.queue_too_high_in_startup(view, window);
        }
        if self.loss_round.start {
            self.loss_events = 0;
        }
    }

    pub(super) fn check_full_pipe(&mut self, view: View<'_>) {
        let by_largest = self.params.v2 && !self.params.l4s;
        let too_early = (self.params.draft || by_largest) && !self.round.start;
        if self.full.now || view.rate.app_limited || too_early {
            return;
        }
        let bw = if by_largest {
            self.max_bw()
        } else {
            self.sample
        };
        if bw.is_growth_from(self.full.bw) {
            return self.full.restart(bw);
        }
        if !self.round.start {
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= FULL_BW_ROUNDS;
        self.full.reached |= self.full.now;
    }

    pub(super) fn check_drain(&mut self, view: View<'_>, window: &mut Window) {
        if matches!(self.phase, Phase::Startup) && self.full.reached {
            self.phase = Phase::Drain;
            window.ssthresh = self.inflight(view, window, self.max_bw());
            window.left_slow_start = Some(if self.full.now {
                "full_pipe"
            } else {
                "too_much"
            });
            if !self.params.draft {
                self.signals = Signals::default();
            }
            self.drain_began = self.round_count;
        }
        if matches!(self.phase, Phase::Drain)
            && (self.is_drained(view, window) || self.drained_long())
        {
            self.start_down(view);
        }
    }

    fn is_drained(&self, view: View<'_>, window: &Window) -> bool {
        let bw = if self.params.draft {
            self.bandwidth()
        } else {
            self.max_bw()
        };
        let in_flight = self.in_network(view, window, view.flight.in_flight());
        in_flight <= self.inflight(view, window, bw)
    }

    /// Returns whether DRAIN must end because it has lasted for the draft's limit of rounds. When
    /// this limit ends DRAIN, the queue may still contain packets.
    fn drained_long(&self) -> bool {
        self.params.draft && self.round_count.wrapping_sub(self.drain_began) > DRAIN_ROUNDS
    }

    /// Returns whether too little data has been delivered to estimate the path. If so, the window
    /// may exceed its target in STARTUP.
    pub(super) fn knows_too_little(&self, view: View<'_>, window: &Window) -> bool {
        if self.params.draft {
            view.delivered < u64::from(self.initial_cwnd)
        } else {
            window.cwnd < 2 * self.initial_cwnd
        }
    }

    /// Counts a range of segments that were lost in STARTUP. A lost segment that adjoins the
    /// previous lost segment belongs to the same range.
    pub(super) fn count_lost_range(&mut self, segment: &LostSegment) {
        if self.params.draft && !self.full.reached {
            if self.loss_events == 0 || segment.seq.abs_diff(self.last_lost) > 1 {
                self.loss_events = (self.loss_events + 1).min(15);
            }
            self.last_lost = segment.seq;
        }
    }
}
