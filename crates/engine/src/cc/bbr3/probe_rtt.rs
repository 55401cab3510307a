//! The smallest RTT, and the phase PROBE_RTT, in which BBR measures it.

use super::phase::{AckPhase, Phase};
use super::state::{Bbr3, MinRtt};
use crate::cc::bbr_model::{ProbeRtt, Progress, us};
use crate::cc::view::{Ack, View};
use crate::cc::window::Window;
use crate::units::Time;

impl Bbr3 {
    pub(super) fn leave_probe_rtt(&mut self, view: View<'_>, window: &mut Window) {
        self.probe_rtt_min.at = view.now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.bounds.reset_lower();
        if self.full.reached {
            let wait = self.start_down(view);
            self.start_cruise(wait);
        } else {
            self.phase = Phase::Startup;
        }
    }

    pub(super) fn update_min_rtt(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let now = view.now;
        let due = now > self.probe_rtt_min.at + self.params.probe_rtt_interval;
        if let Some(us) = ack.rtt.map(us)
            && (us < self.probe_rtt_min.us
                || due
                || (self.params.v2 && us == self.probe_rtt_min.us))
        {
            self.probe_rtt_min = MinRtt { us, at: now };
        }
        let expired = now > self.min_rtt.at + self.params.min_rtt_window;
        if self.probe_rtt_min.us <= self.min_rtt.us || expired {
            self.min_rtt = self.probe_rtt_min;
        }
        if self.params.probe_rtt_time > Time::ZERO
            && due
            && !self.idle_restart
            && !matches!(self.phase, Phase::ProbeRtt(..))
        {
            let (_, interrupted) = self.phase.numbers();
            self.phase = Phase::ProbeRtt(ProbeRtt::default(), interrupted);
            self.save_cwnd(window);
            self.ack_phase = AckPhase::ProbeStopping;
            self.round.next = view.delivered;
        }
        if let Phase::ProbeRtt(mut probe, interrupted) = self.phase {
            let (most, time) = (self.probe_rtt_cwnd(), self.params.probe_rtt_time);
            let progress = probe.on_ack(view, window, self.round.start, most, time);
            self.phase = Phase::ProbeRtt(probe, interrupted);
            match progress {
                Progress::Going => {}
                Progress::Begun => self.round.next = view.delivered,
                Progress::Over => self.leave_probe_rtt(view, window),
            }
        }
        if view.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }
}
