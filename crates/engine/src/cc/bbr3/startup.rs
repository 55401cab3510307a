//! STARTUP, its ends, and DRAIN.

use super::bounds::Signals;
use super::phase::Phase;
use super::state::Bbr3;
use crate::cc::view::{Ack, CaState, View};
use crate::cc::window::Window;

/// Rounds without growth of the rate by a quarter that mean a full pipe.
const FULL_BW_ROUNDS: u32 = 3;

impl Bbr3 {
    pub(super) fn queue_too_high_in_startup(&mut self, view: View<'_>, window: &Window) {
        self.full.reached = true;
        self.bounds.inflight_hi = self
            .inflight(view, window, self.max_bw())
            .max(self.signals.inflight_latest);
    }

    pub(super) fn check_startup_loss(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        if self.full.reached {
            return;
        }
        if ack.losses > 0 {
            self.loss_events = (self.loss_events + 1).min(15);
        }
        if self.params.startup_losses > 0
            && self.loss_round.start
            && view.ca_state == CaState::Recovery
            && self.loss_events >= self.params.startup_losses
            && self.sample_too_high(view)
        {
            return self.queue_too_high_in_startup(view, window);
        }
        if self.loss_round.start {
            self.loss_events = 0;
        }
    }

    pub(super) fn check_full_pipe(&mut self, view: View<'_>) {
        if self.full.now || view.rate.app_limited {
            return;
        }
        if self.sample.is_growth_from(self.full.bw) {
            return self.full.restart(self.sample);
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
            self.signals = Signals::default();
        }
        if matches!(self.phase, Phase::Drain)
            && self.in_network(view, window, view.flight.in_flight())
                <= self.inflight(view, window, self.max_bw())
        {
            self.start_down(view);
        }
    }
}
