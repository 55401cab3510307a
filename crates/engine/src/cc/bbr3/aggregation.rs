//! Estimates ACK aggregation with the method of Google's v3 branch or of the draft.

use super::state::Bbr3;
use crate::cc::bbr_model::Bandwidth;
use crate::cc::view::{Ack, View};
use crate::cc::window::Window;
use crate::units::Time;

/// Google's branch looks for the largest number of extra segments in a window with two halves. This
/// constant is the number of rounds in each half. In STARTUP, each half is one round.
const HALF: u32 = 5;

impl Bbr3 {
    pub(super) fn restart_aggregation(&mut self, now: Time) {
        self.aggregation.restart(now);
        self.extra.restart(now);
    }

    pub(super) fn update_aggregation(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        let (bw, filled) = (self.bandwidth(), self.full.reached);
        if self.params.draft {
            self.extra
                .update(view, window, ack, bw, self.round_count, filled);
        } else {
            let rounds = if filled { HALF } else { 1 };
            self.aggregation
                .update(view, window, ack, bw, self.round.start, rounds);
        }
    }

    /// Returns how many segments are added to the window because of ACK aggregation.
    pub(super) fn extra_acked(&self, bw: Bandwidth) -> u32 {
        if self.params.draft {
            self.extra.segments()
        } else {
            self.aggregation.window(bw)
        }
    }
}
