//! BBR version 1 (Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00),
//! as Linux 7.3 `tcp_bbr.c` has it: a model of the path, the highest delivery
//! rate of ten round trips and the smallest RTT of 10 s, decides at which rate
//! packets are paced and how many may be in flight. Losses and marks are not
//! congestion to it; what it does about losses is to keep packets conserved for
//! a round, and to look for a policer.
//!
//! Deviations: segments are paced one by one, where Linux sends bursts of up to
//! 1 ms (what it allows in flight for them, `tso_segs`, is the same); clocks are
//! in ns, where Linux has ms for the RTT filter; an ACK that was probably
//! delayed, of a lone runt, may refresh an expired RTT.

use super::bbr_model::{
    Aggregation, BW_UNIT, INIT_CWND, MaxFilter, Mode, NO_RTT, TSO_SEGS, UNIT, bdp, burst,
    bytes_per_second, gain, in_network_at_departure, min_rtt_us, number, sampled, switch, time, us,
    whole,
};
use super::contract::{Build, CongestionControl, Control, CwndEvent, EcnNeed, Needs, Signal};
use super::view::{Ack, CaState, View};
use super::window::{INFINITE_SSTHRESH, MAX_CWND, Window};
use crate::registry::kernel::{Kernel, Module};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Options, Value, no_finish};
use crate::rng::Stream;
use crate::units::Time;

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "bbr",
    doc: "BBR version 1: paces at the highest delivery rate seen, with two bandwidth-delay products in flight at most.",
    follows: "Cardwell et al. 2016; Linux 7.3 tcp_bbr.c",
    options: &[
        number(
            "startup_gain",
            "Gain of rate and window in STARTUP, 2/ln 2.",
            (1.1, 3.9),
            "2.885",
        ),
        number(
            "cwnd_gain",
            "Bandwidth-delay products in flight at most in PROBE_BW.",
            (1.0, 3.9),
            "2",
        ),
        number(
            "probe_gain",
            "Gain of the rate in the phase of PROBE_BW that probes.",
            (1.0, 3.9),
            "1.25",
        ),
        number(
            "yield_gain",
            "Gain of the rate in the phase that drains what the probe has queued.",
            (0.1, 1.0),
            "0.75",
        ),
        whole(
            "bw_rounds",
            "Round trips for which a delivery rate is remembered.",
            (2, 1000),
            "10",
        ),
        time(
            "min_rtt_window",
            "Time for which an RTT is remembered, and between two PROBE_RTT.",
            Time::from_ms(100),
            "10s",
        ),
        time(
            "probe_rtt",
            "Time spent in PROBE_RTT at the smallest window; 0: no PROBE_RTT.",
            Time::ZERO,
            "200ms",
        ),
        whole(
            "min_window",
            "Segments in flight in PROBE_RTT, and at least.",
            (1, 1000),
            "4",
        ),
        whole(
            "pacing_margin",
            "Percent by which the rate stays below what is estimated.",
            (0, 50),
            "1",
        ),
        switch(
            "ack_aggregation",
            "Whether the window has room for ACKs that come in bursts.",
            "true",
        ),
        switch(
            "policer",
            "Whether losses at a steady rate are taken for a policer's, and that rate for the bandwidth.",
            "true",
        ),
        TSO_SEGS,
    ],
    kernel: Kernel::Module(&Module::named("bbr", Some("4.9"))),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| Box::new(Bbr::new(options)),
};

/// Phases of PROBE_BW.
const CYCLE: u32 = 8;
/// The first phase is any but the one that drains.
const CYCLE_RAND: u64 = 7;
/// Rounds without growth of the rate by a quarter that end STARTUP.
const FULL_BW_ROUNDS: u32 = 3;
/// Rounds of each half of the window of ACK aggregation.
const AGGREGATION_ROUNDS: u32 = 5;
/// Below 1.2 Mbit/s a burst is one segment (bytes/s).
const MIN_TSO_RATE: u64 = 1_200_000 / 8;

/// Long-term sampling: the least number of rounds of an interval, the share of
/// lost segments in 1/256, the difference of two intervals' bandwidths in 1/8
/// or in bytes/s, and the rounds for which a policer is believed in.
mod lt {
    pub(super) const ROUNDS: u32 = 4;
    pub(super) const LOSS: u64 = 50;
    pub(super) const DIFFERENCE: u64 = 4000 / 8;
    pub(super) const USE_ROUNDS: u32 = 48;
}

/// The policed rate (Linux `bbr_lt_bw_sampling`).
#[derive(Clone, Debug, Default)]
struct LongTerm {
    sampling: bool,
    /// Whether `bw` is used as the bandwidth.
    in_use: bool,
    bw: u64,
    rounds: u32,
    since: Time,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    fn restart_interval(&mut self, view: View<'_>) {
        self.since = view.rate.delivered_at;
        self.delivered = view.delivered;
        self.lost = view.rate.lost_total;
        self.rounds = 0;
    }

    fn reset(&mut self, view: View<'_>) {
        *self = LongTerm::default();
        self.restart_interval(view);
    }

    /// An interval has passed with losses; returns whether a policer was found.
    fn interval_done(&mut self, bw: u64, view: View<'_>) -> bool {
        if self.bw > 0 {
            let difference = bw.abs_diff(self.bw);
            if difference * 8 <= self.bw
                || bytes_per_second(difference, view.mss, UNIT, 1) <= lt::DIFFERENCE
            {
                self.bw = (bw + self.bw) / 2;
                self.in_use = true;
                self.rounds = 0;
                return true;
            }
        }
        self.bw = bw;
        self.restart_interval(view);
        false
    }
}

/// The congestion control.
#[derive(Debug)]
pub struct Bbr {
    high_gain: u32,
    drain_gain: u32,
    steady_gain: u32,
    probe_gain: u32,
    yield_gain: u32,
    bw_rounds: u32,
    min_rtt_window: Time,
    probe_rtt_time: Time,
    min_window: u32,
    margin: u32,
    aggregates: bool,
    seeks_policer: bool,
    tso_segs: Option<u32>,
    random: Stream,

    mode: Mode,
    /// us.
    min_rtt: u64,
    min_rtt_at: Time,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    bw: MaxFilter,
    rounds: u32,
    round_start: bool,
    /// The round ends when a segment is acknowledged that was sent after this
    /// many were delivered.
    next_round: u64,
    cycle: u32,
    cycle_at: Time,
    pacing_gain: u32,
    cwnd_gain: u32,
    prev_ca_state: CaState,
    packet_conservation: bool,
    prior_cwnd: u32,
    idle_restart: bool,
    full_bw: u64,
    full_bw_rounds: u32,
    full_bw_reached: bool,
    seen_rtt: bool,
    long_term: LongTerm,
    aggregation: Aggregation,
}

impl Bbr {
    fn new(options: &Options) -> Bbr {
        let whole = |name| options.int(name) as u32;
        let high_gain = gain(options.float("startup_gain"));
        Bbr {
            high_gain,
            drain_gain: UNIT * UNIT / high_gain,
            steady_gain: gain(options.float("cwnd_gain")),
            probe_gain: gain(options.float("probe_gain")),
            yield_gain: gain(options.float("yield_gain")),
            bw_rounds: whole("bw_rounds"),
            min_rtt_window: options.time("min_rtt_window"),
            probe_rtt_time: options.time("probe_rtt"),
            min_window: whole("min_window"),
            margin: whole("pacing_margin"),
            aggregates: options.bool("ack_aggregation"),
            seeks_policer: options.bool("policer"),
            tso_segs: match options.get("tso_segs") {
                Some(Value::Int(n)) => Some(*n as u32),
                _ => None,
            },
            random: Stream::new(0, "bbr", "cc"),
            mode: Mode::Startup,
            min_rtt: NO_RTT,
            min_rtt_at: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            bw: MaxFilter::default(),
            rounds: 0,
            round_start: false,
            next_round: 0,
            cycle: 0,
            cycle_at: Time::ZERO,
            pacing_gain: high_gain,
            cwnd_gain: high_gain,
            prev_ca_state: CaState::Open,
            packet_conservation: false,
            prior_cwnd: 0,
            idle_restart: false,
            full_bw: 0,
            full_bw_rounds: 0,
            full_bw_reached: false,
            seen_rtt: false,
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
        }
    }

    fn bandwidth(&self) -> u64 {
        if self.long_term.in_use {
            self.long_term.bw
        } else {
            self.bw.get()
        }
    }

    /// Before there is a bandwidth: the initial window per RTT.
    fn init_pacing_rate(&mut self, view: View<'_>, window: &mut Window) {
        self.seen_rtt = view.srtt > Time::ZERO;
        let rtt = if self.seen_rtt {
            us(view.srtt).max(1)
        } else {
            1000
        };
        let bw = u64::from(window.cwnd) * BW_UNIT / rtt;
        window.pacing_rate = bytes_per_second(bw, view.mss, self.high_gain, self.margin);
    }

    fn set_pacing_rate(&mut self, view: View<'_>, window: &mut Window, gain: u32) {
        if !self.seen_rtt && view.srtt > Time::ZERO {
            self.init_pacing_rate(view, window);
        }
        let rate = bytes_per_second(self.bandwidth(), view.mss, gain, self.margin);
        // Samples are low until the pipe is full.
        if self.full_bw_reached || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }

    fn burst(&self, view: View<'_>, window: &Window) -> u32 {
        let least = if window.pacing_rate < MIN_TSO_RATE {
            1
        } else {
            2
        };
        self.tso_segs
            .unwrap_or_else(|| burst(view, window, 0, least))
    }

    /// Room for what hosts hold back, for ACKs of every other segment, and for
    /// a probe of a small path (Linux `bbr_quantization_budget`).
    fn with_quanta(&self, view: View<'_>, window: &Window, target: u32) -> u32 {
        let mut room = target + 3 * self.burst(view, window);
        room = (room + 1) & !1;
        if self.mode == Mode::ProbeBw && self.cycle == 0 {
            room += 2;
        }
        room
    }

    fn inflight(&self, view: View<'_>, window: &Window, gain: u32) -> u32 {
        self.with_quanta(
            view,
            window,
            bdp(self.bw.get(), self.min_rtt, gain, INIT_CWND),
        )
    }

    fn in_network(&self, view: View<'_>, window: &Window, in_flight: u32) -> u32 {
        let burst = if self.pacing_gain > UNIT {
            self.burst(view, window)
        } else {
            0
        };
        in_network_at_departure(view, in_flight, self.bandwidth(), burst)
    }

    fn save_cwnd(&mut self, window: &Window) {
        let good = self.prev_ca_state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good {
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
        if self.seeks_policer {
            self.sample_long_term(view, ack.losses);
        }
        let bw = sampled(rate.delivered, rate.interval_us);
        if !rate.app_limited || bw >= self.bw.get() {
            self.bw.update(self.bw_rounds, self.rounds, bw);
        }
    }

    /// Linux `bbr_lt_bw_sampling`.
    fn sample_long_term(&mut self, view: View<'_>, losses: u32) {
        let lt = &mut self.long_term;
        if lt.in_use {
            if self.mode == Mode::ProbeBw && self.round_start {
                lt.rounds += 1;
                if lt.rounds >= lt::USE_ROUNDS {
                    lt.reset(view);
                    self.enter_probe_bw(view);
                }
            }
            return;
        }
        // From the first loss on: then the policer has no tokens left.
        if !lt.sampling {
            if losses == 0 {
                return;
            }
            lt.restart_interval(view);
            lt.sampling = true;
        }
        if view.rate.app_limited {
            return lt.reset(view);
        }
        lt.rounds += u32::from(self.round_start);
        if lt.rounds < lt::ROUNDS {
            return;
        }
        if lt.rounds > 4 * lt::ROUNDS {
            return lt.reset(view);
        }
        // It ends with a loss, too.
        if losses == 0 {
            return;
        }
        let lost = view.rate.lost_total.saturating_sub(lt.lost);
        let delivered = view.delivered - lt.delivered;
        if delivered == 0 || lost * 256 < lt::LOSS * delivered {
            return;
        }
        let ms =
            (view.rate.delivered_at.ns() / 1_000_000).saturating_sub(lt.since.ns() / 1_000_000);
        if ms == 0 {
            return;
        }
        if lt.interval_done(delivered * BW_UNIT / (ms * 1000), view) {
            self.pacing_gain = UNIT;
        }
    }

    /// Linux `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, view: View<'_>, window: &Window, ack: &Ack) -> bool {
        let phase = us(view.rate.delivered_at).saturating_sub(us(self.cycle_at));
        let full_length = phase > self.min_rtt;
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let in_flight = self.in_network(view, window, ack.prior_in_flight);
        if self.pacing_gain > UNIT {
            // Until the gain has its effect, unless that does not fit.
            full_length
                && (ack.losses > 0 || in_flight >= self.inflight(view, window, self.pacing_gain))
        } else {
            full_length || in_flight <= self.inflight(view, window, UNIT)
        }
    }

    fn next_phase(&mut self, view: View<'_>) {
        self.cycle = (self.cycle + 1) % CYCLE;
        self.cycle_at = view.rate.delivered_at;
    }

    fn enter_probe_bw(&mut self, view: View<'_>) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE - 1 - self.random.below(CYCLE_RAND) as u32;
        self.next_phase(view);
    }

    fn check_full_bw(&mut self, view: View<'_>) {
        if self.full_bw_reached || !self.round_start || view.rate.app_limited {
            return;
        }
        if self.bw.get() >= self.full_bw * 5 / 4 {
            self.full_bw = self.bw.get();
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_reached = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, view: View<'_>, window: &mut Window) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(view, window, UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network(view, window, view.flight.in_flight())
                <= self.inflight(view, window, UNIT)
        {
            self.enter_probe_bw(view);
        }
    }

    fn check_probe_rtt_done(&mut self, view: View<'_>, window: &mut Window) {
        if self.probe_rtt_done.is_none_or(|done| view.now <= done) {
            return;
        }
        self.min_rtt_at = view.now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(view);
        } else {
            self.mode = Mode::Startup;
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
            && self.mode != Mode::ProbeRtt
        {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            // What is measured now is not what the path has.
            window.app_limited = (view.delivered + u64::from(view.flight.in_flight())).max(1);
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(view, window);
                }
            } else if view.flight.in_flight() <= self.min_window {
                self.probe_rtt_done = Some(view.now + self.probe_rtt_time);
                self.probe_rtt_round_done = false;
                self.next_round = view.delivered;
            }
        }
        if view.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (self.high_gain, self.high_gain),
            Mode::Drain => (self.drain_gain, self.high_gain),
            Mode::ProbeBw => {
                let gain = match self.cycle {
                    _ if self.long_term.in_use => UNIT,
                    0 => self.probe_gain,
                    1 => self.yield_gain,
                    _ => UNIT,
                };
                (gain, self.steady_gain)
            }
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// Linux `bbr_set_cwnd_to_recover_or_restore`; whether packets are conserved.
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

    fn set_cwnd(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let mut cwnd = window.cwnd;
        if ack.delivered > 0 {
            let (recovering, conserved) = self.recover_or_restore(view, window, ack);
            cwnd = recovering;
            if !conserved {
                cwnd = self.towards_target(view, window, ack.delivered, cwnd);
            }
        }
        window.cwnd = cwnd.min(MAX_CWND);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.min_window);
        }
    }

    fn towards_target(&self, view: View<'_>, window: &Window, acked: u32, cwnd: u32) -> u32 {
        let bw = self.bandwidth();
        let mut target = bdp(bw, self.min_rtt, self.cwnd_gain, INIT_CWND);
        if self.aggregates && self.full_bw_reached {
            target += self.aggregation.window(bw);
        }
        target = self.with_quanta(view, window, target);
        let cwnd = if self.full_bw_reached {
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
        self.init_pacing_rate(view, window);
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
        if self.mode == Mode::ProbeBw && self.phase_is_over(view, window, ack) {
            self.next_phase(view);
        }
        self.check_full_bw(view);
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
        match self.mode {
            // No faster than the path is known to be: there is not much to send.
            Mode::ProbeBw => self.set_pacing_rate(view, window, UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(view, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn set_state(&mut self, view: View<'_>, _window: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.prev_ca_state = CaState::Loss;
            self.full_bw = 0;
            // A timeout is like the end of a round, and a loss.
            self.round_start = true;
            if self.seeks_policer {
                self.sample_long_term(view, 1);
            }
        }
    }

    fn undo_cwnd(&mut self, view: View<'_>, window: &Window, _prior_cwnd: u32) -> u32 {
        self.full_bw = 0;
        self.full_bw_rounds = 0;
        self.long_term.reset(view);
        window.cwnd
    }

    fn randomise(&mut self, stream: Stream) {
        self.random = stream;
    }

    fn gauges(&self, view: View<'_>, _window: &Window, out: &mut Vec<f64>) {
        let bw = bytes_per_second(self.bandwidth(), view.mss, UNIT, 0);
        out.extend([
            bw as f64 * 8e-6,
            if self.min_rtt == NO_RTT {
                0.0
            } else {
                self.min_rtt as f64 / 1e3
            },
            f64::from(self.mode as u8),
            f64::from(self.pacing_gain) / f64::from(UNIT),
        ]);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["bw_mbit", "min_rtt_ms", "mode", "pacing_gain"]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Host, Stack, options};
    use super::*;

    fn bbr() -> Bbr {
        Bbr::new(&options(&ENTRY, &[]))
    }

    /// A path of 100 Mbit/s and 40 ms: 345 segments.
    fn known_path() -> (Bbr, Stack) {
        let (mut cc, mut stack) = (bbr(), Stack::new(10));
        stack.conn.now = Time::from_secs(1);
        stack.conn.srtt = Time::from_ms(40);
        stack.conn.min_rtt = Time::from_ms(40);
        stack.with(|view, window| cc.init(view, window));
        cc.bw.update(10, 0, sampled(8633, 1_000_000));
        cc.full_bw_reached = true;
        cc.mode = Mode::ProbeBw;
        (cc, stack)
    }

    #[test]
    fn gains_of_each_mode() {
        let mut cc = bbr();
        let mut gains = |mode, cycle| {
            (cc.mode, cc.cycle) = (mode, cycle);
            cc.update_gains();
            (cc.pacing_gain, cc.cwnd_gain)
        };
        assert_eq!(gains(Mode::Startup, 0), (739, 739));
        assert_eq!(gains(Mode::Drain, 0), (88, 739));
        let cycle: Vec<u32> = (0..8).map(|n| gains(Mode::ProbeBw, n).0).collect();
        assert_eq!(cycle, [320, 192, 256, 256, 256, 256, 256, 256]);
        assert_eq!(gains(Mode::ProbeBw, 3).1, 512);
        assert_eq!(gains(Mode::ProbeRtt, 0), (256, 256));
    }

    #[test]
    fn a_cycle_begins_anywhere_but_in_the_phase_that_drains() {
        let (mut cc, mut stack) = known_path();
        let mut seen = [0; 8];
        for _ in 0..700 {
            stack.with(|view, _| cc.enter_probe_bw(view));
            seen[cc.cycle as usize] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!(seen.iter().filter(|&&n| n > 60).count() == 7, "{seen:?}");
    }

    #[test]
    fn room_for_bursts_and_delayed_acks() {
        let (mut cc, mut stack) = known_path();
        stack.window.pacing_rate = 12_500_000;
        // 12.2 kB leave in 1 ms: 8 segments, three times; then to the next even number.
        cc.cycle = 3;
        assert_eq!(stack.with(|view, window| cc.burst(view, window)), 8);
        assert_eq!(
            stack.with(|view, window| cc.inflight(view, window, UNIT)),
            346 + 24
        );
        // A probe of a small path still adds something.
        cc.cycle = 0;
        assert_eq!(
            stack.with(|view, window| cc.inflight(view, window, UNIT)),
            346 + 24 + 2
        );
        stack.window.pacing_rate = 100_000;
        assert_eq!(stack.with(|view, window| cc.burst(view, window)), 1);
        cc.tso_segs = Some(44);
        assert_eq!(stack.with(|view, window| cc.burst(view, window)), 44);
    }

    #[test]
    fn packets_are_conserved_in_the_first_round_of_recovery() {
        let (mut cc, mut stack) = known_path();
        stack.window.cwnd = 700;
        stack.conn.delivered = 5000;
        let ack = Ack {
            delivered: 2,
            losses: 30,
            ..Ack::default()
        };
        stack.with(|view, window| {
            cc.set_cwnd(
                view,
                window,
                &Ack {
                    delivered: 1,
                    ..ack
                },
            )
        });
        let _ = stack.with(|view, window| cc.ssthresh(view, window, Signal::Loss));
        let saved = cc.prior_cwnd;
        stack.conn.ca_state = CaState::Recovery;
        stack.flight.nxt = 500;
        stack.with(|view, window| cc.set_cwnd(view, window, &ack));
        // What was delivered may be sent, however much was lost.
        assert_eq!((stack.window.cwnd, cc.packet_conservation), (502, true));
        // The next round: slow start towards the target, less what is lost.
        cc.packet_conservation = false;
        stack.with(|view, window| cc.set_cwnd(view, window, &Ack { losses: 0, ..ack }));
        assert_eq!(stack.window.cwnd, 504);
        stack.conn.ca_state = CaState::Open;
        stack.with(|view, window| cc.set_cwnd(view, window, &Ack { losses: 0, ..ack }));
        assert_eq!(stack.window.cwnd, saved + 2);
    }

    #[test]
    fn three_rounds_without_growth_end_startup() {
        let mut cc = bbr();
        let mut stack = Stack::new(10);
        stack.conn.rate.interval_us = 40_000;
        let mut reached = Vec::new();
        // Rates per round: growing, then no longer by a quarter.
        for (round, rate) in [100, 200, 400, 480, 499, 400, 400].into_iter().enumerate() {
            cc.bw.update(10, round as u32, rate);
            cc.round_start = true;
            stack.with(|view, _| cc.check_full_bw(view));
            reached.push(cc.full_bw_reached);
        }
        assert_eq!(reached, [false, false, false, false, false, true, true]);
        // Rounds in which there was nothing to send do not count.
        let mut cc = bbr();
        stack.conn.rate.app_limited = true;
        for _ in 0..10 {
            cc.round_start = true;
            stack.with(|view, _| cc.check_full_bw(view));
        }
        assert!(!cc.full_bw_reached);
    }

    #[test]
    fn startup_doubles_each_round() {
        let mut host = Host::new((ENTRY.build)(&options(&ENTRY, &[])), 10, Time::from_ms(40));
        let mut windows = Vec::new();
        for _ in 0..5 {
            host.round();
            windows.push(host.window.cwnd);
        }
        assert_eq!(windows, [20, 40, 80, 160, 320]);
        // 319 were in flight when the last ACK came, less than a round trip after
        // it was sent: 2.885 times that, less 1 %.
        let rate = 319.0 * 1448.0 / 0.04 * (739.0 / 256.0) * 0.99;
        let off = host.window.pacing_rate as f64 / rate;
        assert!((0.999..1.001).contains(&off), "{off}");
    }
}
