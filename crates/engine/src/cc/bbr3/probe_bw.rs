//! PROBE_BW: when a probe starts, how many segments it puts into flight, and how BBR uses the
//! probe's result.

use super::bounds::{NO_BOUND, Signals};
use super::phase::{AckPhase, MAX_SLOPE, Phase, ProbeBw, Up, Wait};
use super::saved::Interrupted;
use super::state::Bbr3;
use crate::cc::bbr_model::{Bandwidth, Gain, us};
use crate::cc::view::{Ack, CaState, View};
use crate::cc::window::Window;
use crate::units::Time;

/// While BBR waits for a probe, it counts rounds. The counter starts at a random number below this
/// constant.
const RANDOM_ROUNDS: u64 = 2;
/// A probe of BBR version 2 ends when this many bandwidth-delay products are in flight.
const UP_VOLUME: Gain = Gain(320);

impl Bbr3 {
    pub(super) fn start_refill(&mut self, view: View<'_>, slope: u32) {
        self.bounds.reset_lower();
        self.probe.stopped_risky = false;
        self.probe.ok_sample = false;
        self.ack_phase = AckPhase::Refilling;
        self.round.next = view.delivered;
        self.phase = Phase::ProbeBw(ProbeBw::Refill(slope));
    }

    pub(super) fn start_up(&mut self, view: View<'_>, window: &Window, slope: u32) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.round.next = view.delivered;
        // In the L4S team's variant, this restart changes only traced series.
        if !self.params.v2 || self.params.l4s {
            self.full.restart(self.sample);
        }
        self.phase = Phase::ProbeBw(ProbeBw::Up(Up::new(view.now, slope, window.cwnd)));
    }

    /// Enters PROBE_DOWN. Starts the wait for the next probe, and returns it.
    pub(super) fn start_down(&mut self, view: View<'_>) -> Wait {
        self.signals = Signals::default();
        let rounds = self.random.below(RANDOM_ROUNDS) as u32;
        let more = Time(self.random.below(self.params.probe_wait_random.ns()));
        let wait = Wait::new(view.now, self.params.probe_wait + more, rounds);
        self.ack_phase = AckPhase::ProbeStopping;
        self.round.next = view.delivered;
        self.phase = Phase::ProbeBw(ProbeBw::Down(wait));
        wait
    }

    pub(super) fn start_cruise(&mut self, wait: Wait) {
        let bounds = &mut self.bounds;
        if bounds.inflight_lo != NO_BOUND {
            bounds.inflight_lo = bounds.inflight_lo.min(bounds.inflight_hi);
        }
        self.phase = Phase::ProbeBw(ProbeBw::Cruise(wait));
    }

    /// Raises the bound `inflight_hi`, as long as a probe does not cause too many losses.
    pub(super) fn raise_inflight_hi(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        let Phase::ProbeBw(ProbeBw::Up(up)) = &mut self.phase else {
            return;
        };
        let hi = &mut self.bounds.inflight_hi;
        if !view.cwnd_limited || window.cwnd < *hi {
            if self.params.v2 {
                up.forget();
            }
            return;
        }
        let more = up.acked(ack.delivered);
        *hi = hi.saturating_add(more).min(NO_BOUND - 1);
        if self.round.start {
            up.raise_slope(window.cwnd);
        }
    }

    /// Records that a probe had too many segments in flight. Their number is `in_flight`.
    pub(super) fn inflight_too_high(
        &mut self,
        view: View<'_>,
        window: &Window,
        in_flight: u32,
        app_limited: bool,
    ) {
        self.probe.was_too_high = true;
        self.probe.samples = false;
        if !app_limited {
            self.bounds.inflight_hi = in_flight
                .max(self.params.loss_cut.of(self.target_inflight(view, window)))
                .min(NO_BOUND - 1);
            let bounds_bw = self.params.v2 && !self.params.l4s;
            if bounds_bw && self.marks.eligible && !self.probe.ok_sample {
                let bound = self.bounds.bw_hi.min(self.max_bw());
                self.bounds.bw_hi = self.marks.cut(&self.params).of_rate(bound);
            }
        }
        if self.phase.is_up() {
            self.undo.interrupted = Interrupted::Up;
            self.start_down(view);
        }
    }

    /// Linux `bbr_adapt_upper_bounds`. Returns whether the phase has changed.
    pub(super) fn adapt_upper_bounds(
        &mut self,
        view: View<'_>,
        window: &Window,
        ack: &Ack,
    ) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round.start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round.start {
            self.probe.samples = false;
            self.ack_phase = AckPhase::Init;
            let probing = matches!(self.phase, Phase::ProbeBw(_));
            // All ACKs of the probe have arrived, so forget the largest bandwidth of the previous
            // cycle.
            if probing && !view.rate.app_limited && self.bw_hi[1] > Bandwidth::ZERO {
                self.bw_hi = [self.bw_hi[1], Bandwidth::ZERO];
            }
            // The last probe stopped at `inflight_hi` and did not have too many losses. So probe
            // beyond this bound at once.
            if probing && self.probe.stopped_risky && !self.probe.was_too_high {
                self.start_refill(view, 0);
                return true;
            }
        }
        if self.sample_too_high(view) {
            // In the draft, only the loss of a segment can end a probe.
            if self.probe.samples && !self.params.draft {
                self.inflight_too_high(view, window, view.rate.tx_in_flight, view.rate.app_limited);
            }
        } else {
            self.probe.ok_sample |= self.probe.samples;
            if self.bounds.inflight_hi == NO_BOUND {
                return false;
            }
            // If more data than the bound was in flight without too many losses, raise the bound in
            // any phase. The losses that have set the bound may have been random.
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(view.rate.tx_in_flight);
            if self.sample > self.bounds.bw_hi {
                self.bounds.bw_hi = self.sample;
            }
            self.raise_inflight_hi(view, window, ack);
        }
        false
    }

    /// Begins the next probe if the wait is over. Returns whether the probe has begun.
    fn time_to_probe(&mut self, view: View<'_>, window: &Window, wait: Wait) -> bool {
        let marks_ceased = !self.params.v2
            && self.marks.eligible
            && self.signals.ecn_in_cycle
            && !self.signals.loss_in_cycle
            && view.ca_state == CaState::Open;
        let slope = if marks_ceased {
            // The flows that caused the marks may have ended. So the first step of the probe is
            // half of `inflight_hi`.
            let half = (self.bounds.inflight_hi / 2).max(1);
            half.ilog2().min(MAX_SLOPE)
        } else {
            let rounds = self.params.probe_rounds;
            let rounds = rounds.min(self.target_inflight(view, window));
            if !wait.is_over(view.now, rounds) {
                return false;
            }
            0
        };
        self.start_refill(view, slope);
        true
    }

    pub(super) fn update_phase(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        if !self.full.reached || self.adapt_upper_bounds(view, window, ack) {
            return;
        }
        let Phase::ProbeBw(phase) = self.phase else {
            return;
        };
        let in_flight = self.in_network(view, window, ack.prior_in_flight);
        match phase {
            ProbeBw::Cruise(wait) => {
                self.time_to_probe(view, window, wait);
            }
            ProbeBw::Refill(slope) => {
                if self.round.start {
                    self.probe.samples = true;
                    self.start_up(view, window, slope);
                }
            }
            ProbeBw::Up(up) => {
                let mut done = false;
                if self.probe.was_too_high && in_flight >= self.bounds.inflight_hi {
                    // Stop at the data in flight at which the last probe had too many losses. Too
                    // many segments may already be in flight.
                    self.probe.stopped_risky = true;
                    done = true;
                } else if self.params.v2 {
                    let (bw, gain) = (self.max_bw(), UP_VOLUME);
                    let most = self.with_quanta(view, window, self.bdp(bw, gain));
                    done = us(view.now.since(up.since)) > self.min_rtt.us && in_flight >= most;
                } else if view.cwnd_limited && window.cwnd >= self.bounds.inflight_hi {
                    self.full.restart(self.sample);
                } else {
                    done = self.full.now;
                }
                if done {
                    self.probe.was_too_high = false;
                    self.start_down(view);
                }
            }
            ProbeBw::Down(wait) => {
                if !self.time_to_probe(view, window, wait)
                    && in_flight <= self.with_headroom()
                    && in_flight <= self.inflight(view, window, self.max_bw())
                {
                    self.start_cruise(wait);
                }
            }
        }
    }
}
