//! The state of BBR, and BBR's response to each event.

use super::long_term::{LongTerm, Verdict};
use super::phase::{Cycle, FullPipe, Phase};
use crate::cc::bbr_model::{
    Aggregation, Bandwidth, Gain, MaxFilter, NO_RTT, Pace, ProbeRtt, Progress, burst,
    in_network_at_departure, min_rtt_us, tso_segs, us,
};
use crate::cc::contract::{CongestionControl, Control, CwndEvent, EcnNeed, Needs, Signal};
use crate::cc::view::{Ack, CaState, View};
use crate::cc::window::{INFINITE_SSTHRESH, MAX_CWND, Window};
use crate::registry::Options;
use crate::rng::Stream;
use crate::units::Time;

const INIT_CWND: u32 = 10;
/// STARTUP ends after this many rounds in which the rate has grown by less than a quarter.
const FULL_BW_ROUNDS: u32 = 3;
/// Number of rounds in each half of the window in which BBR looks for the largest ACK aggregation.
const AGGREGATION_ROUNDS: u32 = 5;
/// Pacing rate below which a burst has only one segment, in bytes/s (1.2 Mbit/s).
const MIN_TSO_RATE: u64 = 1_200_000 / 8;

#[derive(Debug)]
pub(super) struct Bbr {
    high_gain: Gain,
    drain_gain: Gain,
    steady_gain: Gain,
    probe_gain: Gain,
    yield_gain: Gain,
    bw_rounds: u32,
    min_rtt_window: Time,
    probe_rtt_time: Time,
    min_window: u32,
    aggregates: bool,
    seeks_policer: bool,
    pub(super) tso_segs: Option<u32>,
    random: Stream,

    pub(super) phase: Phase,
    /// The smallest RTT, in us.
    min_rtt: u64,
    min_rtt_at: Time,
    pub(super) bw: MaxFilter,
    rounds: u32,
    pub(super) round_start: bool,
    /// The current round ends with the ACK of a segment that was sent after this many segments had
    /// been delivered.
    next_round: u64,
    pub(super) pacing_gain: Gain,
    pub(super) cwnd_gain: Gain,
    prev_ca_state: CaState,
    pub(super) packet_conservation: bool,
    pub(super) prior_cwnd: u32,
    idle_restart: bool,
    pub(super) full: FullPipe,
    pace: Pace,
    long_term: LongTerm,
    aggregation: Aggregation,
}

/// Returns the smallest length of a burst at the current pacing rate, in segments (Linux
/// `bbr_min_tso_segs`).
fn least_burst(window: &Window) -> u32 {
    if window.pacing_rate < MIN_TSO_RATE {
        1
    } else {
        2
    }
}

impl Bbr {
    pub(super) fn new(options: &Options) -> Bbr {
        let whole = |name| options.int(name) as u32;
        let gain = |name| Gain::rounded(options.float(name));
        let high_gain = gain("startup_gain");
        Bbr {
            high_gain,
            drain_gain: high_gain.inverse(),
            steady_gain: gain("cwnd_gain"),
            probe_gain: gain("probe_gain"),
            yield_gain: gain("yield_gain"),
            bw_rounds: whole("bw_rounds"),
            min_rtt_window: options.time("min_rtt_window"),
            probe_rtt_time: options.time("probe_rtt"),
            min_window: whole("min_window"),
            aggregates: options.bool("ack_aggregation"),
            seeks_policer: options.bool("policer"),
            tso_segs: tso_segs(options),
            random: Stream::new(0, "bbr", "cc"),
            phase: Phase::Startup,
            min_rtt: NO_RTT,
            min_rtt_at: Time::ZERO,
            bw: MaxFilter::default(),
            rounds: 0,
            round_start: false,
            next_round: 0,
            pacing_gain: high_gain,
            cwnd_gain: high_gain,
            prev_ca_state: CaState::Open,
            packet_conservation: false,
            prior_cwnd: 0,
            idle_restart: false,
            full: FullPipe::default(),
            pace: Pace::new(high_gain, whole("pacing_margin")),
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
        }
    }

    fn bandwidth(&self) -> Bandwidth {
        self.long_term.bandwidth().unwrap_or(self.bw.get())
    }

    fn set_pacing_rate(&mut self, view: View<'_>, window: &mut Window, gain: Gain) {
        let bw = self.bandwidth();
        self.pace.set(view, window, bw, gain, self.full.reached);
        window.least_burst = least_burst(window);
    }

    pub(super) fn burst(&self, view: View<'_>, window: &Window) -> u32 {
        self.tso_segs
            .unwrap_or_else(|| burst(view, window, 0, least_burst(window)))
    }

    /// Increases a target window for bursts and delayed ACKs. If the BDP is small, also increases
    /// it for a probe (Linux `bbr_quantization_budget`).
    fn with_quanta(&self, view: View<'_>, window: &Window, target: u32) -> u32 {
        let mut room = target + 3 * self.burst(view, window);
        room = (room + 1) & !1;
        if matches!(self.phase, Phase::ProbeBw(Cycle { index: 0, .. })) {
            room += 2;
        }
        room
    }

    pub(super) fn inflight(&self, view: View<'_>, window: &Window, gain: Gain) -> u32 {
        let bdp = self.bw.get().bdp(self.min_rtt, gain, INIT_CWND);
        self.with_quanta(view, window, bdp)
    }

    fn in_network(&self, view: View<'_>, window: &Window, in_flight: u32) -> u32 {
        let burst = if self.pacing_gain > Gain::ONE {
            self.burst(view, window)
        } else {
            0
        };
        in_network_at_departure(view, in_flight, self.bandwidth(), burst)
    }

    fn save_cwnd(&mut self, window: &Window) {
        let probing = matches!(self.phase, Phase::ProbeRtt(_));
        self.prior_cwnd = if self.prev_ca_state < CaState::Recovery && !probing {
            window.cwnd
        } else {
            self.prior_cwnd.max(window.cwnd)
        };
    }

    fn update_bw(&mut self, view: View<'_>, ack: &Ack) {
        self.round_start = false;
        let rate = &view.rate;
        if rate.interval_us == 0 {
            return;
        }
        if rate.prior_delivered >= self.next_round {
            self.next_round = view.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term(view, ack.losses);
        let bw = Bandwidth::sampled(rate.delivered, rate.interval_us);
        if !rate.app_limited || bw >= self.bw.get() {
            self.bw.update(self.bw_rounds, self.rounds, bw);
        }
    }

    fn sample_long_term(&mut self, view: View<'_>, losses: u32) {
        if !self.seeks_policer {
            return;
        }
        let probing = matches!(self.phase, Phase::ProbeBw(_));
        let lt = &mut self.long_term;
        match lt.sample(view, losses, self.round_start, probing) {
            Verdict::None => {}
            Verdict::Found => self.pacing_gain = Gain::ONE,
            Verdict::Forgotten => self.enter_probe_bw(view),
        }
    }

    pub(super) fn enter_probe_bw(&mut self, view: View<'_>) {
        let at = view.rate.delivered_at;
        self.phase = Phase::ProbeBw(Cycle::begin(&mut self.random, at));
    }

    /// If the current phase of PROBE_BW is over, starts the next phase (Linux
    /// `bbr_update_cycle_phase` and `bbr_is_next_cycle_phase`).
    fn update_cycle(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        let Phase::ProbeBw(cycle) = self.phase else {
            return;
        };
        let now = view.rate.delivered_at;
        let full_length = us(now).saturating_sub(us(cycle.since)) > self.min_rtt;
        let in_flight = || self.in_network(view, window, ack.prior_in_flight);
        let over = if self.pacing_gain == Gain::ONE {
            full_length
        } else if self.pacing_gain > Gain::ONE {
            // Probe until the data in flight reaches the BDP multiplied by the gain, or until
            // segments are lost.
            full_length
                && (ack.losses > 0 || in_flight() >= self.inflight(view, window, self.pacing_gain))
        } else {
            full_length || in_flight() <= self.inflight(view, window, Gain::ONE)
        };
        if over {
            self.phase = Phase::ProbeBw(cycle.next(now));
        }
    }

    pub(super) fn check_full_pipe(&mut self, view: View<'_>) {
        let full = &mut self.full;
        if full.reached || !self.round_start || view.rate.app_limited {
            return;
        }
        if self.bw.get().is_growth_from(full.bw) {
            full.bw = self.bw.get();
            full.rounds = 0;
            return;
        }
        full.rounds += 1;
        full.reached = full.rounds >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, view: View<'_>, window: &mut Window) {
        if matches!(self.phase, Phase::Startup) && self.full.reached {
            self.phase = Phase::Drain;
            window.ssthresh = self.inflight(view, window, Gain::ONE);
            window.left_slow_start = Some("full_pipe");
        }
        if matches!(self.phase, Phase::Drain) {
            let in_network = self.in_network(view, window, view.flight.in_flight());
            if in_network <= self.inflight(view, window, Gain::ONE) {
                self.enter_probe_bw(view);
            }
        }
    }

    fn update_min_rtt(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let expired = view.now > self.min_rtt_at + self.min_rtt_window;
        if let Some(rtt) = ack.rtt.map(us)
            && (rtt < self.min_rtt || expired)
        {
            self.min_rtt = rtt;
            self.min_rtt_at = view.now;
        }
        if self.probe_rtt_time > Time::ZERO
            && expired
            && !self.idle_restart
            && !matches!(self.phase, Phase::ProbeRtt(_))
        {
            self.phase = Phase::ProbeRtt(ProbeRtt::default());
            self.save_cwnd(window);
        }
        if let Phase::ProbeRtt(probe) = &mut self.phase {
            let (most, time) = (self.min_window, self.probe_rtt_time);
            match probe.on_ack(view, window, self.round_start, most, time) {
                Progress::Going => {}
                Progress::Begun => self.next_round = view.delivered,
                Progress::Over => self.leave_probe_rtt(view, window),
            }
        }
        if view.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn leave_probe_rtt(&mut self, view: View<'_>, window: &mut Window) {
        self.min_rtt_at = view.now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full.reached {
            self.enter_probe_bw(view);
        } else {
            self.phase = Phase::Startup;
        }
    }

    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.phase {
            Phase::Startup => (self.high_gain, self.high_gain),
            Phase::Drain => (self.drain_gain, self.high_gain),
            Phase::ProbeBw(cycle) => {
                let gain = match cycle.index {
                    _ if self.long_term.bandwidth().is_some() => Gain::ONE,
                    0 => self.probe_gain,
                    1 => self.yield_gain,
                    _ => Gain::ONE,
                };
                (gain, self.steady_gain)
            }
            Phase::ProbeRtt(_) => (Gain::ONE, Gain::ONE),
        };
    }

    /// Linux `bbr_set_cwnd_to_recover_or_restore`. Returns the window, and whether BBR may send
    /// only one packet for each delivered packet.
    fn recover_or_restore(&mut self, view: View<'_>, window: &Window, ack: &Ack) -> (u32, bool) {
        let (before, state) = (self.prev_ca_state, view.ca_state);
        let mut cwnd = window.cwnd.saturating_sub(ack.losses).max(1);
        if state == CaState::Recovery && before != CaState::Recovery {
            self.packet_conservation = true;
            self.next_round = view.delivered;
            cwnd = view.flight.in_flight() + ack.delivered;
        } else if before >= CaState::Recovery && state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prev_ca_state = state;
        if self.packet_conservation {
            cwnd = cwnd.max(view.flight.in_flight() + ack.delivered);
        }
        (cwnd, self.packet_conservation)
    }

    pub(super) fn set_cwnd(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let mut cwnd = window.cwnd;
        if ack.delivered > 0 {
            let (recovering, conserved) = self.recover_or_restore(view, window, ack);
            cwnd = recovering;
            if !conserved {
                cwnd = self.towards_target(view, window, ack.delivered, cwnd);
            }
        }
        window.cwnd = cwnd.min(MAX_CWND);
        if matches!(self.phase, Phase::ProbeRtt(_)) {
            window.cwnd = window.cwnd.min(self.min_window);
        }
    }

    fn towards_target(&self, view: View<'_>, window: &Window, acked: u32, cwnd: u32) -> u32 {
        let bw = self.bandwidth();
        let mut target = bw.bdp(self.min_rtt, self.cwnd_gain, INIT_CWND);
        if self.aggregates && self.full.reached {
            target += self.aggregation.window(bw);
        }
        target = self.with_quanta(view, window, target);
        let cwnd = if self.full.reached {
            (cwnd + acked).min(target)
        } else if cwnd < target || view.delivered < u64::from(INIT_CWND) {
            cwnd + acked
        } else {
            cwnd
        };
        cwnd.max(self.min_window)
    }
}

impl CongestionControl for Bbr {
    fn needs(&self) -> Needs {
        Needs {
            ecn: EcnNeed::Optional,
            control: Control::Window,
            pacing: true,
            rate_samples: true,
        }
    }

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        window.ssthresh = INFINITE_SSTHRESH;
        self.next_round = view.delivered;
        self.min_rtt = min_rtt_us(view);
        self.min_rtt_at = view.now;
        self.pace.init(view, window);
        self.long_term.reset(view);
        self.aggregation.restart(view.now);
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        self.save_cwnd(window);
        window.ssthresh
    }

    fn cong_avoid(&mut self, _view: View<'_>, _window: &mut Window, _acked: u32) {}

    fn cong_control(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.update_bw(view, ack);
        if self.aggregates {
            let (bw, round) = (self.bandwidth(), self.round_start);
            self.aggregation
                .update(view, window, ack, bw, round, AGGREGATION_ROUNDS);
        }
        self.update_cycle(view, window, ack);
        self.check_full_pipe(view);
        self.check_drain(view, window);
        self.update_min_rtt(view, window, ack);
        self.update_gains();
        self.set_pacing_rate(view, window, self.pacing_gain);
        self.set_cwnd(view, window, ack);
    }

    fn cwnd_event(&mut self, view: View<'_>, window: &mut Window, event: CwndEvent) {
        if event != CwndEvent::TxStart || window.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(view.now);
        match self.phase {
            // The application limits the flow, so pace at the estimated bandwidth and without a
            // gain.
            Phase::ProbeBw(_) => self.set_pacing_rate(view, window, Gain::ONE),
            Phase::ProbeRtt(probe) if probe.is_over(view.now) => {
                self.leave_probe_rtt(view, window);
            }
            Phase::Startup | Phase::Drain | Phase::ProbeRtt(_) => {}
        }
    }

    fn set_state(&mut self, view: View<'_>, _window: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.prev_ca_state = CaState::Loss;
            self.full.bw = Bandwidth::ZERO;
            // A timeout ends the round, and BBR treats the timeout as a loss.
            self.round_start = true;
            self.sample_long_term(view, 1);
        }
    }

    fn undo_cwnd(&mut self, view: View<'_>, window: &Window, _prior_cwnd: u32) -> u32 {
        self.full.bw = Bandwidth::ZERO;
        self.full.rounds = 0;
        self.long_term.reset(view);
        window.cwnd
    }

    fn randomise(&mut self, stream: Stream) {
        self.random = stream;
    }

    fn gauges(&self, view: View<'_>, _window: &Window, out: &mut Vec<f64>) {
        out.extend([
            self.bandwidth().as_mbit(view.mss),
            if self.min_rtt == NO_RTT {
                0.0
            } else {
                self.min_rtt as f64 / 1e3
            },
            self.phase.number(),
            self.pacing_gain.as_f64(),
        ]);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["bw_mbit", "min_rtt_ms", "mode", "pacing_gain"]
    }
}
