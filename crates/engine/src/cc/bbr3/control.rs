//! Gains, the window, and BBR's response to each event.

use super::bounds::NO_BOUND;
use super::phase::{Phase, ProbeBw};
use super::state::{Bbr3, MinRtt};
use super::trace::{GAUGES, TRACED, bound};
use crate::cc::bbr_model::{Bandwidth, Gain, NO_RTT, min_rtt_us};
use crate::cc::contract::{CeEcho, CongestionControl, Control, CwndEvent, EcnNeed, Needs, Signal};
use crate::cc::view::{Ack, CaState, LostSegment, View};
use crate::cc::window::{INFINITE_SSTHRESH, MAX_CWND, Window};
use crate::rng::Stream;

impl Bbr3 {
    pub(super) fn set_pacing_rate(&mut self, view: View<'_>, window: &mut Window, gain: Gain) {
        let bw = self.bandwidth();
        self.pace.set(view, window, bw, gain, self.full.reached);
    }

    pub(super) fn update_gains(&mut self) {
        let params = &self.params;
        (self.pacing_gain, self.cwnd_gain) = match self.phase {
            Phase::Startup => (params.startup_gain, params.startup_cwnd_gain),
            Phase::Drain => (params.drain_gain, params.startup_cwnd_gain),
            Phase::ProbeBw(phase) => match phase {
                ProbeBw::Up(_) => (params.up_gain, params.steady_gain + params.up_cwnd_gain),
                ProbeBw::Down(_) => (params.down_gain, params.steady_gain),
                ProbeBw::Cruise(_) | ProbeBw::Refill(_) => (Gain::ONE, params.steady_gain),
            },
            // In PROBE_RTT, BBR changes the gains if it follows the draft. Google's branch leaves
            // the gains unchanged and only bounds the window.
            Phase::ProbeRtt(..) if params.draft => (Gain::ONE, params.probe_rtt_gain),
            Phase::ProbeRtt(..) => (Gain::ONE, Gain::ONE),
        };
    }

    pub(super) fn set_cwnd(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        let mut cwnd = window.cwnd;
        if acked > 0 {
            let bw = self.bandwidth();
            let mut target = self.bdp(bw, self.cwnd_gain);
            if self.params.aggregates {
                target += self.extra_acked(bw);
            }
            target = self.with_quanta(view, window, target);
            if self.full.reached {
                cwnd = (cwnd + acked).min(target);
            } else if cwnd < target || self.knows_too_little(view, window) {
                cwnd += acked;
            }
            cwnd = cwnd.max(self.params.min_window);
        }
        window.cwnd = cwnd.min(MAX_CWND);
        if matches!(self.phase, Phase::ProbeRtt(..)) {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd(window);
    }

    /// Bounds the window by the model (Linux `bbr_bound_cwnd_for_inflight_model`).
    pub(super) fn bound_cwnd(&self, window: &mut Window) {
        let bound = match self.phase {
            Phase::ProbeRtt(..) | Phase::ProbeBw(ProbeBw::Cruise(_)) => self.with_headroom(),
            Phase::ProbeBw(_) => self.bounds.inflight_hi,
            Phase::Startup | Phase::Drain => NO_BOUND,
        };
        let bound = bound
            .min(self.bounds.inflight_lo)
            .max(self.params.min_window);
        window.cwnd = window.cwnd.min(bound);
    }
}

impl CongestionControl for Bbr3 {
    fn needs(&self) -> Needs {
        Needs {
            ecn: match (self.params.ecn, self.params.l4s) {
                (true, true) => EcnNeed::Accurate,
                (true, false) => EcnNeed::Dctcp(CeEcho::Precise),
                (false, _) => EcnNeed::Optional,
            },
            control: Control::Window,
            pacing: true,
            rate_samples: true,
        }
    }

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        window.ssthresh = INFINITE_SSTHRESH;
        self.initial_cwnd = window.cwnd.min(127);
        self.round.next = view.delivered;
        self.loss_round.next = view.delivered + 1;
        self.min_rtt = MinRtt {
            us: min_rtt_us(view),
            at: view.now,
        };
        self.probe_rtt_min = self.min_rtt;
        self.pace.init(view, window);
        self.restart_aggregation(view.now);
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        if self.params.draft {
            self.save_before_episode(window);
        } else {
            self.save_cwnd(window);
            self.undo.bounds = self.bounds;
        }
        window.ssthresh
    }

    fn cong_avoid(&mut self, _view: View<'_>, _window: &mut Window, _acked: u32) {}

    fn cong_control(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.update_round(view, window);
        self.signals.ecn_in_round |= self.marks.eligible && ack.ece;
        self.update_latest(view, ack);
        self.update_congestion(view, window, ack);
        if self.params.aggregates {
            self.update_aggregation(view, window, ack);
        }
        self.check_startup_loss(view, window, ack);
        self.check_full_pipe(view);
        self.check_drain(view, window);
        self.update_phase(view, window, ack);
        self.update_min_rtt(view, window, ack);
        self.update_gains();
        self.set_pacing_rate(view, window, self.pacing_gain);
        self.set_cwnd(view, window, ack.delivered);
        // If a tail loss probe has repaired the loss, keep the delivery rate and the volume that
        // were measured before the loss.
        if self.loss_round.start && !view.rate.probe_acked && !self.params.v2 {
            self.restart_latest(view);
        }
        self.prev_ca_state = view.ca_state;
        self.signals.loss_in_cycle |= view.rate.lost > 0;
        self.signals.ecn_in_cycle |= view.rate.delivered_ce > 0;
    }

    fn on_lost(&mut self, view: View<'_>, window: &Window, segment: &LostSegment) {
        self.note_loss(view, window);
        self.count_lost_range(segment);
        if self.probe.samples && self.too_high(segment.lost, segment.tx_in_flight, 0, 0) {
            let in_flight = self.excess_began(segment);
            self.inflight_too_high(view, window, in_flight, segment.app_limited);
        }
    }

    fn cwnd_event(&mut self, view: View<'_>, window: &mut Window, event: CwndEvent) {
        match event {
            CwndEvent::TxStart if window.app_limited != 0 => {
                self.idle_restart = true;
                self.counts.idle_restarts += 1;
                self.restart_aggregation(view.now);
                match self.phase {
                    Phase::ProbeBw(_) => self.set_pacing_rate(view, window, Gain::ONE),
                    Phase::ProbeRtt(probe, _) if probe.is_over(view.now) => {
                        self.leave_probe_rtt(view, window);
                    }
                    Phase::Startup | Phase::Drain | Phase::ProbeRtt(..) => {}
                }
            }
            CwndEvent::ProbeRepaired if !self.params.v2 => {
                self.note_loss(view, window);
                let in_flight = self.signals.inflight_latest + 1;
                if self.probe.samples && self.too_high(1, in_flight, 0, 0) {
                    self.inflight_too_high(view, window, in_flight, view.rate.app_limited);
                }
            }
            _ => {}
        }
    }

    fn set_state(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        if self.params.draft {
            return self.episode_changes(view, window, new);
        }
        if new == CaState::Loss {
            self.prev_ca_state = CaState::Loss;
            self.full.restart(Bandwidth::ZERO);
            // Set `inflight_lo` to the window before the timeout.
            if !self.phase.is_probing() && self.bounds.inflight_lo == NO_BOUND {
                self.bounds.inflight_lo = window.cwnd.max(self.prior_cwnd);
            }
        } else if self.prev_ca_state == CaState::Loss {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
    }

    fn undo_cwnd(&mut self, view: View<'_>, window: &Window, _prior_cwnd: u32) -> u32 {
        self.full.restart(Bandwidth::ZERO);
        self.signals.loss_in_round = false;
        self.bounds.restore(self.undo.bounds);
        self.counts.undone += 1;
        if self.params.draft {
            self.return_to_interrupted(view);
        }
        window.cwnd.max(self.prior_cwnd)
    }

    fn randomise(&mut self, stream: Stream) {
        self.random = stream;
    }

    fn gauges(&self, view: View<'_>, window: &Window, out: &mut Vec<f64>) {
        let (mode, phase) = self.phase.numbers();
        out.extend([
            self.bandwidth().as_mbit(view.mss),
            bound(self.bounds.inflight_hi),
            bound(self.bounds.inflight_lo),
            if self.min_rtt.us == NO_RTT {
                0.0
            } else {
                self.min_rtt.us as f64 / 1e3
            },
            f64::from(mode),
            self.pacing_gain.as_f64(),
            f64::from(phase),
        ]);
        if self.params.trace {
            self.trace(view, window, out);
        }
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        if self.params.trace { TRACED } else { GAUGES }
    }
}
