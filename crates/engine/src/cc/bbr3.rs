//! BBR version 3 (draft-ietf-ccwg-bbr), as the v3 branch of
//! github.com/google/bbr has it in `tcp_bbr.c`: version 1's model, bounded in
//! two ways. `bw_lo` and `inflight_lo` follow losses (and marks) from round to
//! round by a factor of `beta`; `inflight_hi` is what was in flight when a probe
//! lost more than `loss_threshold`, and grows again while probes go well. Probes
//! come every two to three seconds, or sooner where a Reno flow would have had
//! its loss by then.
//!
//! The response to marks is that of low-latency networks (DCTCP's echo and a
//! shallow threshold), and off by default, as there: `ecn_response`.
//!
//! Deviations: those of `bbr` (bursts, clocks, lone runts); no fast path for
//! application-limited flows (it saves time, nothing else); no protective load
//! balancing; the receiver's `fast_ack_mode` is the receiver's here. Of the
//! draft it differs where the branch does: STARTUP's exit wants six losses, not
//! a second threshold, DOWN has a gain of 0.91 (draft: 0.90), and marks count.

use super::bbr_model::{
    Aggregation, BW_UNIT, MAX_BW, Mode, NO_RTT, TSO_SEGS, UNIT, bdp, burst, bytes_per_second, gain,
    in_network_at_departure, min_rtt_us, number, switch, time, us, whole,
};
use super::contract::{
    Build, CeEcho, CongestionControl, Control, CwndEvent, EcnNeed, Needs, Signal,
};
use super::view::{Ack, CaState, LostSegment, View};
use super::window::{INFINITE_SSTHRESH, MAX_CWND, Window};
use crate::registry::kernel::{Kernel, Module};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Options, Value, no_finish};
use crate::rng::Stream;
use crate::units::Time;

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "bbr3",
    doc: "BBR version 3: as bbr, but bounded by what losses (and, if asked for, marks) say of the path.",
    follows: "draft-ietf-ccwg-bbr; github.com/google/bbr, branch v3",
    options: &[
        number(
            "startup_gain",
            "Gain of the rate in STARTUP, 4 ln 2.",
            (1.1, 3.9),
            "2.773",
        ),
        number(
            "cwnd_gain",
            "Bandwidth-delay products in flight at most.",
            (1.0, 3.9),
            "2",
        ),
        number(
            "up_gain",
            "Gain of the rate in PROBE_UP.",
            (1.0, 3.9),
            "1.25",
        ),
        number(
            "up_cwnd_gain",
            "Bandwidth-delay products in flight that PROBE_UP adds.",
            (0.0, 0.9),
            "0.25",
        ),
        number(
            "down_gain",
            "Gain of the rate in PROBE_DOWN.",
            (0.1, 1.0),
            "0.91",
        ),
        number(
            "loss_threshold",
            "Share of a flight lost that is too much for a probe; in 1/256, rounded down.",
            (0.004, 0.9),
            "0.02",
        ),
        number(
            "beta",
            "Factor of the bounds in a round with losses; what is cut in 1/256, rounded down.",
            (0.1, 0.99),
            "0.7",
        ),
        number(
            "headroom",
            "Share of inflight_hi left to others outside probes.",
            (0.0, 0.9),
            "0.15",
        ),
        whole(
            "startup_losses",
            "Losses in a round of recovery that may end STARTUP; 0: none do.",
            (0, 15),
            "6",
        ),
        time(
            "probe_wait",
            "Time between two probes at least.",
            Time::from_ms(1),
            "2s",
        ),
        time(
            "probe_wait_random",
            "Upper bound of the random time added to it.",
            Time::ZERO,
            "1s",
        ),
        whole(
            "probe_rounds",
            "Round trips between two probes at most (or as many as segments are in flight).",
            (1, 250),
            "63",
        ),
        time(
            "min_rtt_window",
            "Time for which an RTT is remembered.",
            Time::from_ms(100),
            "10s",
        ),
        time(
            "probe_rtt_interval",
            "Time between two PROBE_RTT, unless the RTT has fallen.",
            Time::from_ms(100),
            "5s",
        ),
        time(
            "probe_rtt",
            "Time spent in PROBE_RTT at the smaller window; 0: no PROBE_RTT.",
            Time::ZERO,
            "200ms",
        ),
        number(
            "probe_rtt_gain",
            "Bandwidth-delay products in flight in PROBE_RTT.",
            (0.0, 1.0),
            "0.5",
        ),
        whole("min_window", "Segments in flight at least.", (1, 1000), "4"),
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
        TSO_SEGS,
        switch(
            "ecn_response",
            "Whether marks count: ECN-capable packets, DCTCP's echo.",
            "false",
        ),
        time(
            "ecn_max_rtt",
            "Smallest RTT up to which marks count; 0: any.",
            Time::ZERO,
            "5ms",
        ),
        number(
            "ecn_threshold",
            "Share of a flight marked that is too much for a probe.",
            (0.01, 1.0),
            "0.5",
        ),
        number(
            "ecn_factor",
            "Share of inflight_lo cut in a round with marks, times alpha.",
            (0.0, 1.0),
            "0.3333",
        ),
        number(
            "ecn_alpha_gain",
            "Weight of a round's marked share in alpha.",
            (0.005, 1.0),
            "0.0625",
        ),
    ],
    // No kernel's own: `module` has to name one that registers itself so.
    kernel: Kernel::Module(&Module::named("bbr3", None)),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| Box::new(Bbr3::new(options)),
};

/// Rounds without growth of the rate by a quarter that mean a full pipe.
const FULL_BW_ROUNDS: u32 = 3;
/// Rounds with too many marks that end STARTUP.
const FULL_ECN_ROUNDS: u32 = 2;
/// Rounds of each half of the window of ACK aggregation; one in STARTUP.
const AGGREGATION_ROUNDS: u32 = 5;
/// Bound of the random number of rounds that a wait begins with.
const RANDOM_ROUNDS: u64 = 2;
/// A bound that is not known.
const NO_BOUND: u32 = u32::MAX;
const NO_BW: u64 = u64::MAX;

/// Phases of PROBE_BW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Up,
    Down,
    Cruise,
    Refill,
}

/// What ACKs tell of the probe (Linux `bbr_ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The congestion control.
#[derive(Debug)]
pub struct Bbr3 {
    startup_gain: u32,
    drain_gain: u32,
    steady_gain: u32,
    up_gain: u32,
    up_cwnd_gain: u32,
    down_gain: u32,
    /// 1/256.
    loss_threshold: u32,
    /// What is left after a round with losses, 1/256.
    loss_cut: u32,
    headroom: u32,
    startup_losses: u32,
    probe_wait: Time,
    probe_wait_random: Time,
    probe_rounds: u32,
    min_rtt_window: Time,
    probe_rtt_interval: Time,
    probe_rtt_time: Time,
    probe_rtt_gain: u32,
    min_window: u32,
    margin: u32,
    aggregates: bool,
    tso_segs: Option<u32>,
    ecn: bool,
    ecn_max_rtt: Time,
    ecn_threshold: u32,
    ecn_factor: u32,
    ecn_alpha_gain: u32,
    random: Stream,

    mode: Mode,
    phase: Phase,
    ack_phase: AckPhase,
    phase_at: Time,
    initial_cwnd: u32,
    /// us.
    min_rtt: u64,
    min_rtt_at: Time,
    probe_rtt_min: u64,
    probe_rtt_min_at: Time,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    round_start: bool,
    next_round: u64,
    loss_round_start: bool,
    next_loss_round: u64,
    pacing_gain: u32,
    cwnd_gain: u32,
    prev_ca_state: CaState,
    prior_cwnd: u32,
    idle_restart: bool,
    seen_rtt: bool,
    full_bw: u64,
    full_bw_rounds: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    /// The bandwidth of this ACK's sample; 0: none.
    sample: u64,
    bw_latest: u64,
    inflight_latest: u32,
    bw_hi: [u64; 2],
    bw_lo: u64,
    inflight_hi: u32,
    inflight_lo: u32,
    undo: (u64, u32, u32),
    loss_in_round: bool,
    loss_in_cycle: bool,
    loss_events: u32,
    ecn_in_round: bool,
    ecn_in_cycle: bool,
    ecn_eligible: bool,
    ecn_alpha: u32,
    ecn_rounds: u32,
    alpha_delivered: (u64, u64),
    up_rounds: u32,
    up_count: u32,
    up_acks: u32,
    /// Samples are of a probe, of which no excess was found yet.
    probe_samples: bool,
    probe_was_too_high: bool,
    stopped_risky_probe: bool,
    wait: Time,
    rounds_since_probe: u32,
    aggregation: Aggregation,
}

/// A share in 1/256, rounded down as Linux's constants are.
fn share(value: f64) -> u32 {
    libm::floor(value * f64::from(UNIT) + 1e-6) as u32
}

impl Bbr3 {
    fn new(options: &Options) -> Bbr3 {
        let whole = |name| options.int(name) as u32;
        let gain_of = |name| gain(options.float(name));
        let share_of = |name| share(options.float(name));
        let startup_gain = gain_of("startup_gain");
        Bbr3 {
            startup_gain,
            // 1/2.885, whatever STARTUP has.
            drain_gain: UNIT * 1000 / 2885,
            steady_gain: gain_of("cwnd_gain"),
            up_gain: gain_of("up_gain"),
            up_cwnd_gain: gain_of("up_cwnd_gain"),
            down_gain: share_of("down_gain"),
            loss_threshold: share_of("loss_threshold"),
            loss_cut: UNIT - share(1.0 - options.float("beta")),
            headroom: share_of("headroom"),
            startup_losses: whole("startup_losses"),
            probe_wait: options.time("probe_wait"),
            probe_wait_random: options.time("probe_wait_random"),
            probe_rounds: whole("probe_rounds"),
            min_rtt_window: options.time("min_rtt_window"),
            probe_rtt_interval: options.time("probe_rtt_interval"),
            probe_rtt_time: options.time("probe_rtt"),
            probe_rtt_gain: gain_of("probe_rtt_gain"),
            min_window: whole("min_window"),
            margin: whole("pacing_margin"),
            aggregates: options.bool("ack_aggregation"),
            tso_segs: match options.get("tso_segs") {
                Some(Value::Int(n)) => Some(*n as u32),
                _ => None,
            },
            ecn: options.bool("ecn_response"),
            ecn_max_rtt: options.time("ecn_max_rtt"),
            ecn_threshold: share_of("ecn_threshold"),
            ecn_factor: share_of("ecn_factor"),
            ecn_alpha_gain: share_of("ecn_alpha_gain"),
            random: Stream::new(0, "bbr3", "cc"),
            mode: Mode::Startup,
            phase: Phase::Up,
            ack_phase: AckPhase::Init,
            phase_at: Time::ZERO,
            initial_cwnd: 10,
            min_rtt: NO_RTT,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: NO_RTT,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            round_start: false,
            next_round: 0,
            loss_round_start: false,
            next_loss_round: 1,
            pacing_gain: startup_gain,
            cwnd_gain: 2 * UNIT,
            prev_ca_state: CaState::Open,
            prior_cwnd: 0,
            idle_restart: false,
            seen_rtt: false,
            full_bw: 0,
            full_bw_rounds: 0,
            full_bw_now: false,
            full_bw_reached: false,
            sample: 0,
            bw_latest: 0,
            inflight_latest: 0,
            bw_hi: [0; 2],
            bw_lo: NO_BW,
            inflight_hi: NO_BOUND,
            inflight_lo: NO_BOUND,
            undo: (0, 0, 0),
            loss_in_round: false,
            loss_in_cycle: false,
            loss_events: 0,
            ecn_in_round: false,
            ecn_in_cycle: false,
            ecn_eligible: false,
            // One: a quick response if the path is congested from the start.
            ecn_alpha: UNIT,
            ecn_rounds: 0,
            alpha_delivered: (0, 0),
            up_rounds: 0,
            up_count: NO_BOUND,
            up_acks: 0,
            probe_samples: false,
            probe_was_too_high: false,
            stopped_risky_probe: false,
            wait: Time::ZERO,
            rounds_since_probe: 0,
            aggregation: Aggregation::default(),
        }
    }

    fn max_bw(&self) -> u64 {
        self.bw_hi[0].max(self.bw_hi[1])
    }

    fn bandwidth(&self) -> u64 {
        self.max_bw().min(self.bw_lo)
    }

    fn init_pacing_rate(&mut self, view: View<'_>, window: &mut Window) {
        self.seen_rtt = view.srtt > Time::ZERO;
        let rtt = if self.seen_rtt {
            us(view.srtt).max(1)
        } else {
            1000
        };
        let bw = u64::from(window.cwnd) * BW_UNIT / rtt;
        window.pacing_rate = bytes_per_second(bw, view.mss, self.startup_gain, self.margin);
    }

    fn set_pacing_rate(&mut self, view: View<'_>, window: &mut Window, gain: u32) {
        if !self.seen_rtt && view.srtt > Time::ZERO {
            self.init_pacing_rate(view, window);
        }
        let rate = bytes_per_second(self.bandwidth(), view.mss, gain, self.margin);
        if self.full_bw_reached || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }

    /// Bursts are longer where the RTT is below 3 ms.
    fn burst(&self, view: View<'_>, window: &Window) -> u32 {
        self.tso_segs.unwrap_or_else(|| {
            let extra = 65_536_u64.checked_shr((self.min_rtt >> 9).min(63) as u32);
            burst(view, window, extra.unwrap_or(0), 2)
        })
    }

    fn bdp(&self, bw: u64, gain: u32) -> u32 {
        bdp(bw, self.min_rtt, gain, self.initial_cwnd)
    }

    fn with_quanta(&self, view: View<'_>, window: &Window, target: u32) -> u32 {
        let room = target
            .max(3 * self.burst(view, window))
            .max(self.min_window);
        if self.mode == Mode::ProbeBw && self.phase == Phase::Up {
            room + 2
        } else {
            room
        }
    }

    fn inflight(&self, view: View<'_>, window: &Window, bw: u64) -> u32 {
        self.with_quanta(view, window, self.bdp(bw, UNIT))
    }

    fn in_network(&self, view: View<'_>, window: &Window, in_flight: u32) -> u32 {
        let burst = if self.pacing_gain > UNIT {
            self.burst(view, window)
        } else {
            0
        };
        in_network_at_departure(view, in_flight, self.bandwidth(), burst)
    }

    /// What should be in flight, unless congestion says less.
    fn target_inflight(&self, view: View<'_>, window: &Window) -> u32 {
        self.inflight(view, window, self.bandwidth())
            .min(window.cwnd)
    }

    fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bandwidth(), self.probe_rtt_gain)
            .max(self.min_window)
    }

    fn with_headroom(&self) -> u32 {
        if self.inflight_hi == NO_BOUND {
            return NO_BOUND;
        }
        let headroom = scaled(self.inflight_hi, self.headroom).max(1);
        self.inflight_hi
            .saturating_sub(headroom)
            .max(self.min_window)
    }

    fn is_probing(&self) -> bool {
        self.mode == Mode::Startup
            || (self.mode == Mode::ProbeBw && matches!(self.phase, Phase::Refill | Phase::Up))
    }

    fn save_cwnd(&mut self, window: &Window) {
        let good = self.prev_ca_state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good {
            window.cwnd
        } else {
            self.prior_cwnd.max(window.cwnd)
        };
    }

    fn reset_lower_bounds(&mut self) {
        self.bw_lo = NO_BW;
        self.inflight_lo = NO_BOUND;
    }

    fn reset_full_bw(&mut self) {
        self.full_bw = 0;
        self.full_bw_rounds = 0;
        self.full_bw_now = false;
    }

    fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.ecn_in_round = false;
        self.loss_in_cycle = false;
        self.ecn_in_cycle = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    // --- signals ---------------------------------------------------------

    fn update_round(&mut self, view: View<'_>, window: &Window) {
        let rate = &view.rate;
        self.round_start = rate.interval_us > 0 && rate.prior_delivered >= self.next_round;
        if self.round_start {
            self.next_round = view.delivered;
            self.rounds_since_probe = (self.rounds_since_probe + 1).min(255);
            if self.ecn {
                self.update_ecn_alpha(view, window);
            }
        }
        // Rounded up, so that low rates can grow.
        self.sample = if rate.interval_us > 0 {
            (u64::from(rate.delivered) * BW_UNIT)
                .div_ceil(rate.interval_us)
                .min(MAX_BW)
        } else {
            0
        };
    }

    fn update_ecn_alpha(&mut self, view: View<'_>, window: &Window) {
        let max = us(self.ecn_max_rtt);
        self.ecn_eligible |= self.ecn_factor > 0 && (max == 0 || self.min_rtt <= max);
        if !self.ecn_eligible {
            return;
        }
        let delivered = view.delivered - self.alpha_delivered.0;
        if delivered == 0 {
            return;
        }
        let marked = view.delivered_ce - self.alpha_delivered.1;
        self.alpha_delivered = (view.delivered, view.delivered_ce);
        let ratio = (marked * u64::from(UNIT) / delivered) as u32;
        let g = self.ecn_alpha_gain;
        self.ecn_alpha =
            (((UNIT - g) * self.ecn_alpha) / UNIT + g * ratio.min(UNIT) / UNIT).min(UNIT);
        if self.full_bw_reached {
            return;
        }
        // STARTUP ends when two rounds in a row are marked too much.
        self.ecn_rounds = if ratio >= self.ecn_threshold {
            self.ecn_rounds + 1
        } else {
            0
        };
        if self.ecn_rounds >= FULL_ECN_ROUNDS {
            self.queue_too_high_in_startup(view, window);
        }
    }

    fn queue_too_high_in_startup(&mut self, view: View<'_>, window: &Window) {
        self.full_bw_reached = true;
        self.inflight_hi = self
            .inflight(view, window, self.max_bw())
            .max(self.inflight_latest);
    }

    /// Rate and volume of the latest round.
    fn update_latest(&mut self, view: View<'_>, ack: &Ack) {
        self.loss_round_start = false;
        let rate = &view.rate;
        if rate.interval_us == 0 || ack.delivered == 0 {
            return;
        }
        self.bw_latest = self.bw_latest.max(self.sample);
        self.inflight_latest = self.inflight_latest.max(rate.delivered);
        if rate.prior_delivered >= self.next_loss_round {
            self.next_loss_round = view.delivered;
            self.loss_round_start = true;
        }
    }

    fn update_congestion(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        if view.rate.interval_us == 0 || ack.delivered == 0 {
            return;
        }
        if !view.rate.app_limited || self.sample >= self.max_bw() {
            self.bw_hi[1] = self.bw_hi[1].max(self.sample);
        }
        self.loss_in_round |= ack.losses > 0;
        if !self.loss_round_start {
            return;
        }
        self.adapt_lower_bounds(window);
        self.loss_in_round = false;
        self.ecn_in_round = false;
    }

    /// Linux `bbr_adapt_lower_bounds`: not below what the round has delivered.
    fn adapt_lower_bounds(&mut self, window: &Window) {
        if self.is_probing() {
            return;
        }
        let mut marked = NO_BOUND;
        if self.ecn_in_round && self.ecn_factor > 0 {
            if self.inflight_lo == NO_BOUND {
                self.inflight_lo = window.cwnd;
            }
            let cut = UNIT - self.ecn_alpha * self.ecn_factor / UNIT;
            marked = scaled(self.inflight_lo, cut);
        }
        if self.loss_in_round {
            if self.bw_lo == NO_BW {
                self.bw_lo = self.max_bw();
            }
            if self.inflight_lo == NO_BOUND {
                self.inflight_lo = window.cwnd;
            }
            let cut = self.bw_lo * u64::from(self.loss_cut) / u64::from(UNIT);
            self.bw_lo = self.bw_latest.max(cut);
            self.inflight_lo = self
                .inflight_latest
                .max(scaled(self.inflight_lo, self.loss_cut));
        }
        self.inflight_lo = self.inflight_lo.min(marked);
        self.bw_lo = self.bw_lo.max(1);
    }

    /// More lost or marked than a probe may cost.
    fn too_high(&self, lost: u32, in_flight: u32, marked: u32, delivered: u32) -> bool {
        (lost > 0 && in_flight > 0 && lost > scaled(in_flight, self.loss_threshold))
            || (self.ecn_eligible
                && marked > 0
                && delivered > 0
                && marked > scaled(delivered, self.ecn_threshold))
    }

    fn sample_too_high(&self, view: View<'_>) -> bool {
        let rate = &view.rate;
        self.too_high(
            rate.lost,
            rate.tx_in_flight,
            rate.delivered_ce,
            rate.delivered,
        )
    }

    fn check_startup_loss(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        if self.full_bw_reached {
            return;
        }
        if ack.losses > 0 {
            self.loss_events = (self.loss_events + 1).min(15);
        }
        if self.startup_losses > 0
            && self.loss_round_start
            && view.ca_state == CaState::Recovery
            && self.loss_events >= self.startup_losses
            && self.sample_too_high(view)
        {
            return self.queue_too_high_in_startup(view, window);
        }
        if self.loss_round_start {
            self.loss_events = 0;
        }
    }

    fn check_full_bw(&mut self, view: View<'_>) {
        if self.full_bw_now || view.rate.app_limited {
            return;
        }
        if self.sample >= self.full_bw * 5 / 4 {
            self.reset_full_bw();
            self.full_bw = self.sample;
            return;
        }
        if !self.round_start {
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_now = self.full_bw_rounds >= FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn check_drain(&mut self, view: View<'_>, window: &mut Window) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(view, window, self.max_bw());
            self.reset_congestion_signals();
        }
        if self.mode == Mode::Drain
            && self.in_network(view, window, view.flight.in_flight())
                <= self.inflight(view, window, self.max_bw())
        {
            self.mode = Mode::ProbeBw;
            self.start_down(view);
        }
    }

    // --- PROBE_BW --------------------------------------------------------

    fn start_refill(&mut self, view: View<'_>, up_rounds: u32) {
        self.reset_lower_bounds();
        self.up_rounds = up_rounds;
        self.up_acks = 0;
        self.stopped_risky_probe = false;
        self.ack_phase = AckPhase::Refilling;
        self.next_round = view.delivered;
        self.phase = Phase::Refill;
    }

    fn start_up(&mut self, view: View<'_>, window: &Window) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.next_round = view.delivered;
        self.phase_at = view.now;
        self.reset_full_bw();
        self.full_bw = self.sample;
        self.phase = Phase::Up;
        self.raise_slope(window);
    }

    fn start_down(&mut self, view: View<'_>) {
        self.reset_congestion_signals();
        self.up_count = NO_BOUND;
        self.rounds_since_probe = self.random.below(RANDOM_ROUNDS) as u32;
        self.wait = self.probe_wait + Time(self.random.below(self.probe_wait_random.ns()));
        self.phase_at = view.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.next_round = view.delivered;
        self.phase = Phase::Down;
    }

    fn start_cruise(&mut self) {
        if self.inflight_lo != NO_BOUND {
            self.inflight_lo = self.inflight_lo.min(self.inflight_hi);
        }
        self.phase = Phase::Cruise;
    }

    /// The volume of a probe doubles each round.
    fn raise_slope(&mut self, window: &Window) {
        let growth = 1_u32 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_count = (window.cwnd / growth).max(1);
    }

    fn raise_inflight_hi(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        if !view.cwnd_limited || window.cwnd < self.inflight_hi {
            return;
        }
        self.up_acks = self.up_acks.saturating_add(ack.delivered);
        if self.up_acks >= self.up_count {
            let delta = self.up_acks / self.up_count;
            self.up_acks -= delta * self.up_count;
            self.inflight_hi = self.inflight_hi.saturating_add(delta).min(NO_BOUND - 1);
        }
        if self.round_start {
            self.raise_slope(window);
        }
    }

    /// A probe was too much: `in_flight` is where.
    fn inflight_too_high(
        &mut self,
        view: View<'_>,
        window: &Window,
        in_flight: u32,
        app_limited: bool,
    ) {
        self.probe_was_too_high = true;
        self.probe_samples = false;
        if !app_limited {
            self.inflight_hi = in_flight
                .max(scaled(self.target_inflight(view, window), self.loss_cut))
                .min(NO_BOUND - 1);
        }
        if self.mode == Mode::ProbeBw && self.phase == Phase::Up {
            self.start_down(view);
        }
    }

    /// Linux `bbr_adapt_upper_bounds`; whether the phase has changed.
    fn adapt_upper_bounds(&mut self, view: View<'_>, window: &Window, ack: &Ack) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.probe_samples = false;
            self.ack_phase = AckPhase::Init;
            // All samples of the probe are in: the cycle before is forgotten.
            if self.mode == Mode::ProbeBw && !view.rate.app_limited && self.bw_hi[1] > 0 {
                self.bw_hi = [self.bw_hi[1], 0];
            }
            // It went up to inflight_hi, and nothing bad came of it: again, and further.
            if self.mode == Mode::ProbeBw && self.stopped_risky_probe && !self.probe_was_too_high {
                self.start_refill(view, 0);
                return true;
            }
        }
        if self.sample_too_high(view) {
            if self.probe_samples {
                self.inflight_too_high(view, window, view.rate.tx_in_flight, view.rate.app_limited);
            }
        } else if self.inflight_hi != NO_BOUND {
            // A level that proves safe in any phase counts: losses may be random.
            self.inflight_hi = self.inflight_hi.max(view.rate.tx_in_flight);
            if self.mode == Mode::ProbeBw && self.phase == Phase::Up {
                self.raise_inflight_hi(view, window, ack);
            }
        }
        false
    }

    fn time_to_probe(&mut self, view: View<'_>, window: &Window) -> bool {
        if self.ecn_eligible
            && self.ecn_in_cycle
            && !self.loss_in_cycle
            && view.ca_state == CaState::Open
        {
            // Marks have ceased: whoever caused them may be gone. The first
            // increase is half of inflight_hi.
            let half = (self.inflight_hi / 2).max(1);
            self.start_refill(view, half.ilog2().min(30));
            return true;
        }
        let waited = view.now > self.phase_at + self.wait;
        if waited
            || self.rounds_since_probe >= self.probe_rounds.min(self.target_inflight(view, window))
        {
            self.start_refill(view, 0);
            return true;
        }
        false
    }

    fn update_phase(&mut self, view: View<'_>, window: &Window, ack: &Ack) {
        if !self.full_bw_reached
            || self.adapt_upper_bounds(view, window, ack)
            || self.mode != Mode::ProbeBw
        {
            return;
        }
        let in_flight = self.in_network(view, window, ack.prior_in_flight);
        match self.phase {
            Phase::Cruise => {
                self.time_to_probe(view, window);
            }
            Phase::Refill => {
                if self.round_start {
                    self.probe_samples = true;
                    self.start_up(view, window);
                }
            }
            Phase::Up => {
                let mut done = false;
                if self.probe_was_too_high && in_flight >= self.inflight_hi {
                    // As far as last time: what was sent by now may well be too much.
                    self.stopped_risky_probe = true;
                    done = true;
                } else if view.cwnd_limited && window.cwnd >= self.inflight_hi {
                    self.reset_full_bw();
                    self.full_bw = self.sample;
                } else {
                    done = self.full_bw_now;
                }
                if done {
                    self.probe_was_too_high = false;
                    self.start_down(view);
                }
            }
            Phase::Down => {
                if !self.time_to_probe(view, window)
                    && in_flight <= self.with_headroom()
                    && in_flight <= self.inflight(view, window, self.max_bw())
                {
                    self.start_cruise();
                }
            }
        }
    }

    // --- PROBE_RTT -------------------------------------------------------

    fn check_probe_rtt_done(&mut self, view: View<'_>, window: &mut Window) {
        if self.probe_rtt_done.is_none_or(|done| view.now <= done) {
            return;
        }
        self.probe_rtt_min_at = view.now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.reset_lower_bounds();
        if self.full_bw_reached {
            self.mode = Mode::ProbeBw;
            self.start_down(view);
            self.start_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_min_rtt(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let due = view.now > self.probe_rtt_min_at + self.probe_rtt_interval;
        if let Some(rtt) = ack.rtt.map(us)
            && (rtt < self.probe_rtt_min || due)
        {
            self.probe_rtt_min = rtt;
            self.probe_rtt_min_at = view.now;
        }
        let expired = view.now > self.min_rtt_at + self.min_rtt_window;
        if self.probe_rtt_min <= self.min_rtt || expired {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_at = self.probe_rtt_min_at;
        }
        if self.probe_rtt_time > Time::ZERO
            && due
            && !self.idle_restart
            && self.mode != Mode::ProbeRtt
        {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.next_round = view.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            window.app_limited = (view.delivered + u64::from(view.flight.in_flight())).max(1);
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(view, window);
                }
            } else if view.flight.in_flight() <= self.probe_rtt_cwnd() {
                self.probe_rtt_done = Some(view.now + self.probe_rtt_time);
                self.probe_rtt_round_done = false;
                self.next_round = view.delivered;
            }
        }
        if view.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    // --- control ---------------------------------------------------------

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (self.startup_gain, 2 * UNIT),
            Mode::Drain => (self.drain_gain, 2 * UNIT),
            Mode::ProbeBw => match self.phase {
                Phase::Up => (self.up_gain, self.steady_gain + self.up_cwnd_gain),
                Phase::Down => (self.down_gain, self.steady_gain),
                Phase::Cruise | Phase::Refill => (UNIT, self.steady_gain),
            },
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    fn set_cwnd(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        let mut cwnd = window.cwnd;
        if acked > 0 {
            let bw = self.bandwidth();
            let mut target = self.bdp(bw, self.cwnd_gain);
            if self.aggregates {
                target += self.aggregation.window(bw);
            }
            target = self.with_quanta(view, window, target);
            if self.full_bw_reached {
                cwnd = (cwnd + acked).min(target);
            } else if cwnd < target || cwnd < 2 * self.initial_cwnd {
                cwnd += acked;
            }
            cwnd = cwnd.max(self.min_window);
        }
        window.cwnd = cwnd.min(MAX_CWND);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd(window);
    }

    /// Linux `bbr_bound_cwnd_for_inflight_model`.
    fn bound_cwnd(&self, window: &mut Window) {
        let bound = match (self.mode, self.phase) {
            (Mode::ProbeRtt, _) | (Mode::ProbeBw, Phase::Cruise) => self.with_headroom(),
            (Mode::ProbeBw, _) => self.inflight_hi,
            _ => NO_BOUND,
        };
        let bound = bound.min(self.inflight_lo).max(self.min_window);
        window.cwnd = window.cwnd.min(bound);
    }

    /// The round has losses; it lasts from here, to see what the path delivers.
    fn note_loss(&mut self, view: View<'_>) {
        if !self.loss_in_round {
            self.next_loss_round = view.delivered;
        }
        self.loss_in_round = true;
        self.loss_in_cycle = true;
    }

    /// How many were in flight when the share of lost segments became too high
    /// (Linux `bbr_inflight_hi_from_lost_skb`).
    fn excess_began(&self, segment: &LostSegment) -> u32 {
        let Some(before) = segment.tx_in_flight.checked_sub(1) else {
            return NO_BOUND - 1;
        };
        let lost_before = segment.lost.saturating_sub(1);
        let threshold = self.loss_threshold;
        let budget = ((u64::from(before) * u64::from(threshold) + 255) / u64::from(UNIT)) as u32;
        let prefix = budget.saturating_sub(lost_before);
        before + (u64::from(prefix) * u64::from(UNIT) / u64::from(UNIT - threshold)) as u32
    }
}

/// `share`/256 of a number.
fn scaled(number: u32, share: u32) -> u32 {
    (u64::from(number) * u64::from(share) / u64::from(UNIT)) as u32
}

impl CongestionControl for Bbr3 {
    fn needs(&self) -> Needs {
        Needs {
            ecn: if self.ecn {
                EcnNeed::Dctcp(CeEcho::Precise)
            } else {
                EcnNeed::Optional
            },
            control: Control::Window,
            pacing: true,
            rate_samples: true,
        }
    }

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        window.ssthresh = INFINITE_SSTHRESH;
        self.initial_cwnd = window.cwnd.min(127);
        self.next_round = view.delivered;
        self.next_loss_round = view.delivered + 1;
        self.min_rtt = min_rtt_us(view);
        self.probe_rtt_min = self.min_rtt;
        self.min_rtt_at = view.now;
        self.probe_rtt_min_at = view.now;
        self.init_pacing_rate(view, window);
        self.aggregation.restart(view.now);
    }

    fn ssthresh(&mut self, _view: View<'_>, window: &Window, _signal: Signal) -> u32 {
        self.save_cwnd(window);
        self.undo = (self.bw_lo, self.inflight_lo, self.inflight_hi);
        window.ssthresh
    }

    fn cong_avoid(&mut self, _view: View<'_>, _window: &mut Window, _acked: u32) {}

    fn cong_control(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.update_round(view, window);
        self.ecn_in_round |= self.ecn_eligible && ack.ece;
        self.update_latest(view, ack);
        self.update_congestion(view, window, ack);
        if self.aggregates {
            let rounds = if self.full_bw_reached {
                AGGREGATION_ROUNDS
            } else {
                1
            };
            let (bw, round) = (self.bandwidth(), self.round_start);
            self.aggregation
                .update(view, window, ack, bw, round, rounds);
        }
        self.check_startup_loss(view, window, ack);
        self.check_full_bw(view);
        self.check_drain(view, window);
        self.update_phase(view, window, ack);
        self.update_min_rtt(view, window, ack);
        self.update_gains();
        self.set_pacing_rate(view, window, self.pacing_gain);
        self.set_cwnd(view, window, ack.delivered);
        // What a probe of the tail repaired: the flight before it is remembered.
        if self.loss_round_start && !view.rate.probe_acked {
            self.bw_latest = self.sample;
            self.inflight_latest = view.rate.delivered;
        }
        self.prev_ca_state = view.ca_state;
        self.loss_in_cycle |= view.rate.lost > 0;
        self.ecn_in_cycle |= view.rate.delivered_ce > 0;
    }

    fn on_lost(&mut self, view: View<'_>, window: &Window, segment: &LostSegment) {
        self.note_loss(view);
        if self.probe_samples && self.too_high(segment.lost, segment.tx_in_flight, 0, 0) {
            let in_flight = self.excess_began(segment);
            self.inflight_too_high(view, window, in_flight, segment.app_limited);
        }
    }

    fn cwnd_event(&mut self, view: View<'_>, window: &mut Window, event: CwndEvent) {
        match event {
            CwndEvent::TxStart if window.app_limited != 0 => {
                self.idle_restart = true;
                self.aggregation.restart(view.now);
                match self.mode {
                    Mode::ProbeBw => self.set_pacing_rate(view, window, UNIT),
                    Mode::ProbeRtt => self.check_probe_rtt_done(view, window),
                    Mode::Startup | Mode::Drain => {}
                }
            }
            CwndEvent::ProbeRepaired => {
                self.note_loss(view);
                let in_flight = self.inflight_latest + 1;
                if self.probe_samples && self.too_high(1, in_flight, 0, 0) {
                    self.inflight_too_high(view, window, in_flight, view.rate.app_limited);
                }
            }
            _ => {}
        }
    }

    fn set_state(&mut self, _view: View<'_>, window: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.prev_ca_state = CaState::Loss;
            self.reset_full_bw();
            // The window before the timeout is what is to be cut.
            if !self.is_probing() && self.inflight_lo == NO_BOUND {
                self.inflight_lo = window.cwnd.max(self.prior_cwnd);
            }
        } else if self.prev_ca_state == CaState::Loss {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
    }

    fn undo_cwnd(&mut self, _view: View<'_>, window: &Window, _prior_cwnd: u32) -> u32 {
        self.reset_full_bw();
        self.loss_in_round = false;
        self.bw_lo = self.bw_lo.max(self.undo.0);
        self.inflight_lo = self.inflight_lo.max(self.undo.1);
        self.inflight_hi = self.inflight_hi.max(self.undo.2);
        window.cwnd.max(self.prior_cwnd)
    }

    fn randomise(&mut self, stream: Stream) {
        self.random = stream;
    }

    fn gauges(&self, view: View<'_>, _window: &Window, out: &mut Vec<f64>) {
        let bw = bytes_per_second(self.bandwidth(), view.mss, UNIT, 0);
        let bound = |bound: u32| {
            if bound == NO_BOUND {
                0.0
            } else {
                f64::from(bound)
            }
        };
        out.extend([
            bw as f64 * 8e-6,
            bound(self.inflight_hi),
            bound(self.inflight_lo),
            if self.min_rtt == NO_RTT {
                0.0
            } else {
                self.min_rtt as f64 / 1e3
            },
            f64::from(self.mode as u8),
            f64::from(self.pacing_gain) / f64::from(UNIT),
            f64::from(self.phase as u8),
        ]);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &[
            "bw_mbit",
            "inflight_hi",
            "inflight_lo",
            "min_rtt_ms",
            "mode",
            "pacing_gain",
            "phase",
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::bbr_model::sampled;
    use super::super::testing::{Stack, options};
    use super::*;

    /// In PROBE_BW on a path of 100 Mbit/s and 40 ms: 346 segments, rounded up.
    fn known_path() -> (Bbr3, Stack) {
        let mut cc = Bbr3::new(&options(&ENTRY, &[]));
        let mut stack = Stack::new(10);
        stack.conn.now = Time::from_secs(1);
        stack.conn.srtt = Time::from_ms(40);
        stack.conn.min_rtt = Time::from_ms(40);
        stack.with(|view, window| cc.init(view, window));
        cc.bw_hi = [sampled(8633, 1_000_000), 0];
        cc.full_bw_reached = true;
        cc.mode = Mode::ProbeBw;
        cc.phase = Phase::Cruise;
        stack.window.cwnd = 692;
        (cc, stack)
    }

    #[test]
    fn constants_are_linux() {
        let cc = Bbr3::new(&options(&ENTRY, &[]));
        assert_eq!(
            (cc.startup_gain, cc.drain_gain, cc.down_gain),
            (710, 88, 232)
        );
        assert_eq!((cc.loss_threshold, cc.loss_cut, cc.headroom), (5, 180, 38));
        assert_eq!(
            (cc.ecn_threshold, cc.ecn_factor, cc.ecn_alpha_gain),
            (128, 85, 16)
        );
    }

    #[test]
    fn a_round_with_losses_cuts_the_lower_bounds_by_three_tenths() {
        let (mut cc, mut stack) = known_path();
        let bw = cc.max_bw();
        stack.conn.rate.interval_us = 40_000;
        let ack = Ack {
            delivered: 1,
            losses: 1,
            ..Ack::default()
        };
        cc.loss_round_start = true;
        cc.sample = 1;
        stack.with(|view, window| cc.update_congestion(view, window, &ack));
        assert_eq!((cc.bw_lo, cc.inflight_lo), (bw * 180 / 256, 486));
        assert_eq!(cc.bandwidth(), bw * 180 / 256);
        // Not below what the round has delivered.
        cc.inflight_latest = 400;
        cc.bw_latest = bw / 2;
        stack.with(|view, window| cc.update_congestion(view, window, &ack));
        assert_eq!((cc.bw_lo, cc.inflight_lo), (bw / 2, 400));
        // A round without losses leaves them; a probe forgets them.
        stack.with(|view, window| cc.update_congestion(view, window, &Ack { losses: 0, ..ack }));
        assert_eq!(cc.inflight_lo, 400);
        stack.with(|view, _| cc.start_refill(view, 0));
        assert_eq!((cc.bandwidth(), cc.inflight_lo), (bw, NO_BOUND));
        // Losses of a probe are the upper bound's.
        stack.with(|view, window| cc.update_congestion(view, window, &ack));
        assert_eq!(cc.inflight_lo, NO_BOUND);
    }

    #[test]
    fn a_probe_that_loses_two_percent_sets_the_upper_bound() {
        let (mut cc, mut stack) = known_path();
        cc.phase = Phase::Up;
        cc.probe_samples = true;
        let lost = |n| LostSegment {
            tx_in_flight: 500 + n,
            lost: n,
            app_limited: false,
        };
        for n in 1..=9 {
            stack.with(|view, window| cc.on_lost(view, window, &lost(n)));
        }
        // 9 of 509 are less than 5/256.
        assert_eq!((cc.inflight_hi, cc.phase), (NO_BOUND, Phase::Up));
        stack.with(|view, window| cc.on_lost(view, window, &lost(10)));
        // 509 were in flight before; the threshold is crossed within the next.
        assert_eq!((cc.inflight_hi, cc.phase), (510, Phase::Down));
        // Once per probe.
        stack.with(|view, window| cc.on_lost(view, window, &lost(200)));
        assert_eq!(cc.inflight_hi, 510);
        // 15 % are left to others, but while probing.
        assert_eq!(cc.with_headroom(), 510 - 75);
        cc.phase = Phase::Cruise;
        stack.with(|_, window| cc.bound_cwnd(window));
        assert_eq!(stack.window.cwnd, 435);
        cc.phase = Phase::Refill;
        stack.window.cwnd = 692;
        stack.with(|_, window| cc.bound_cwnd(window));
        assert_eq!(stack.window.cwnd, 510);
    }

    #[test]
    fn the_upper_bound_grows_twice_as_fast_each_round() {
        let (mut cc, mut stack) = known_path();
        cc.inflight_hi = 400;
        stack.window.cwnd = 400;
        stack.conn.cwnd_limited = true;
        stack.with(|view, _| cc.start_refill(view, 0));
        stack.with(|view, window| cc.start_up(view, window));
        let mut bounds = Vec::new();
        for _ in 0..5 {
            for n in 0..400 {
                cc.round_start = n == 399;
                let ack = Ack {
                    delivered: 1,
                    ..Ack::default()
                };
                stack.with(|view, window| cc.raise_inflight_hi(view, window, &ack));
                stack.window.cwnd = cc.inflight_hi;
            }
            bounds.push(cc.inflight_hi);
        }
        // 1, 2, 4, ... in a round: 400 ACKs by window/2^n each.
        assert_eq!(bounds, [401, 403, 407, 415, 431]);
    }

    #[test]
    fn marks_count_on_short_paths_that_ask_for_it() {
        let (mut cc, mut stack) = known_path();
        cc.ecn = true;
        stack.conn.delivered = 100;
        stack.with(|view, window| cc.update_ecn_alpha(view, window));
        assert!(!cc.ecn_eligible, "40 ms are not low latency");
        cc.min_rtt = 1000;
        stack.with(|view, window| cc.update_ecn_alpha(view, window));
        // No marks: 15/16 of the initial 1.
        assert_eq!((cc.ecn_eligible, cc.ecn_alpha), (true, 240));
        stack.conn.delivered = 200;
        stack.conn.delivered_ce = 50;
        stack.with(|view, window| cc.update_ecn_alpha(view, window));
        assert_eq!(cc.ecn_alpha, 240 * 240 / 256 + 16 * 128 / 256);
        // A marked round: inflight_lo x (1 - alpha/3).
        cc.ecn_alpha = 256;
        cc.ecn_in_round = true;
        stack.with(|_, window| cc.adapt_lower_bounds(window));
        assert_eq!(cc.inflight_lo, 692 * (256 - 85) / 256);
        assert!(cc.bandwidth() == cc.max_bw(), "marks leave the rate alone");
    }
}
