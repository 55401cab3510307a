//! Restores the state from before a spurious loss recovery (draft-ietf-ccwg-bbr-06 section 5.5.11).

use super::phase::Phase;
use super::saved::{Interrupted, Undo};
use super::state::Bbr3;
use crate::cc::view::{CaState, View};
use crate::cc::window::Window;

impl Bbr3 {
    /// Implements `SaveStateUponLoss()`. Saves the state only at the first loss of a recovery. At
    /// later losses, BBR has already reduced the state.
    pub(super) fn save_before_episode(&mut self, window: &Window) {
        if self.undo.saved {
            return;
        }
        self.save_cwnd(window);
        self.undo = Undo {
            bounds: self.bounds,
            interrupted: Interrupted::Nothing,
            saved: true,
        };
    }

    /// Called before the congestion state changes to `new`. At the end of recovery, restores the
    /// saved window.
    pub(super) fn episode_changes(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        if new < CaState::Recovery {
            self.undo.saved = false;
            if view.ca_state >= CaState::Recovery {
                window.cwnd = window.cwnd.max(self.prior_cwnd);
            }
        }
        self.prev_ca_state = new;
    }

    /// Returns to the phase that losses have interrupted. During PROBE_RTT, BBR waits until
    /// PROBE_RTT ends before it returns to that phase.
    pub(super) fn return_to_interrupted(&mut self, view: View<'_>) {
        let in_probe_rtt = matches!(self.phase, Phase::ProbeRtt(..));
        match std::mem::take(&mut self.undo.interrupted) {
            Interrupted::Startup if !matches!(self.phase, Phase::Startup) => {
                self.full.reached = false;
                if !in_probe_rtt {
                    self.phase = Phase::Startup;
                }
            }
            Interrupted::Up if !self.phase.is_up() && !in_probe_rtt => self.start_refill(view, 0),
            _ => {}
        }
    }
}
