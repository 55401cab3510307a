//! Tests BBR version 3 against values that were computed by hand.

use super::ENTRY;
use super::bounds::NO_BOUND;
use super::params::Params;
use super::phase::{Phase, ProbeBw, Up, Wait};
use super::saved::Interrupted;
use super::state::Bbr3;
use crate::cc::bbr_model::{Bandwidth, Gain};
use crate::cc::contract::{CongestionControl, CwndEvent};
use crate::cc::testing::{Stack, flight, options};
use crate::cc::view::{Ack, CaState, LostSegment};
use crate::registry::Value;
use crate::units::Time;

fn params() -> Params {
    Params::of(&options(&ENTRY, &[]))
}

const WAIT: Wait = Wait::new(Time::ZERO, Time::ZERO, 0);

/// Returns the default parameters of version 06 of the draft.
fn draft() -> Params {
    Params::of(&options(&ENTRY, &[("draft", Value::Word("06"))]))
}

/// Returns BBR in PROBE_BW on a path with a rate of 100 Mbit/s and an RTT of 40 ms. The BDP of this
/// path is 346 segments, rounded up.
fn known_path() -> (Bbr3, Stack) {
    on_known_path(params())
}

pub(super) fn on_known_path(params: Params) -> (Bbr3, Stack) {
    let mut cc = Bbr3::new(params);
    let mut stack = Stack::new(10);
    stack.conn.now = Time::from_secs(1);
    stack.conn.srtt = Time::from_ms(40);
    stack.conn.min_rtt = Time::from_ms(40);
    stack.with(|view, window| cc.init(view, window));
    cc.bw_hi = [Bandwidth::sampled(8633, 1_000_000), Bandwidth::ZERO];
    cc.full.reached = true;
    cc.phase = Phase::ProbeBw(ProbeBw::Cruise(WAIT));
    stack.window.cwnd = 692;
    (cc, stack)
}

#[test]
fn constants_are_linux() {
    let p = params();
    assert_eq!(
        [p.startup_gain, p.drain_gain, p.down_gain],
        [710, 88, 232].map(Gain)
    );
    assert_eq!(
        [
            p.loss_threshold.of(256),
            p.loss_cut.of(256),
            p.headroom.of(256)
        ],
        [5, 180, 38]
    );
    assert_eq!(
        [p.ecn_threshold, p.ecn_factor, p.ecn_alpha_gain],
        [128, 85, 16].map(Gain)
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
    cc.loss_round.start = true;
    cc.sample = Bandwidth(1);
    stack.with(|view, window| cc.update_congestion(view, window, &ack));
    assert_eq!(
        (cc.bounds.bw_lo, cc.bounds.inflight_lo),
        (Bandwidth(bw.0 * 180 / 256), 486)
    );
    assert_eq!(cc.bandwidth().0, bw.0 * 180 / 256);
    // The bounds do not fall below the number of segments that the round has delivered.
    cc.signals.inflight_latest = 400;
    cc.signals.bw_latest = Bandwidth(bw.0 / 2);
    stack.with(|view, window| cc.update_congestion(view, window, &ack));
    assert_eq!(
        (cc.bounds.bw_lo, cc.bounds.inflight_lo),
        (Bandwidth(bw.0 / 2), 400)
    );
    // A round without losses leaves the bounds unchanged. A probe removes the bounds.
    stack.with(|view, window| cc.update_congestion(view, window, &Ack { losses: 0, ..ack }));
    assert_eq!(cc.bounds.inflight_lo, 400);
    stack.with(|view, _| cc.start_refill(view, 0));
    assert_eq!((cc.bandwidth(), cc.bounds.inflight_lo), (bw, NO_BOUND));
    // Losses during a probe change only the upper bound, not the lower bounds.
    stack.with(|view, window| cc.update_congestion(view, window, &ack));
    assert_eq!(cc.bounds.inflight_lo, NO_BOUND);
}

#[test]
fn a_probe_that_loses_two_percent_sets_the_upper_bound() {
    let (mut cc, mut stack) = known_path();
    cc.phase = Phase::ProbeBw(ProbeBw::Up(Up::new(Time::ZERO, 0, 692)));
    cc.probe.samples = true;
    let lost = |n| LostSegment {
        tx_in_flight: 500 + n,
        lost: n,
        app_limited: false,
        seq: u64::from(n),
    };
    for n in 1..=9 {
        stack.with(|view, window| cc.on_lost(view, window, &lost(n)));
    }
    // 9 lost segments of 509 segments are a share of less than 5/256, so the upper bound is not
    // set.
    assert!(cc.bounds.inflight_hi == NO_BOUND && cc.phase.is_up());
    stack.with(|view, window| cc.on_lost(view, window, &lost(10)));
    // Before the tenth lost segment was sent, 509 segments were in flight. With this segment, the
    // share of lost segments exceeds the threshold.
    assert_eq!(cc.bounds.inflight_hi, 510);
    assert!(matches!(cc.phase, Phase::ProbeBw(ProbeBw::Down(_))));
    // A probe sets the bound only once.
    stack.with(|view, window| cc.on_lost(view, window, &lost(200)));
    assert_eq!(cc.bounds.inflight_hi, 510);
    // Outside probes, BBR keeps at most 85 % of the bound in flight, so that other flows can grow.
    assert_eq!(cc.with_headroom(), 510 - 75);
    cc.phase = Phase::ProbeBw(ProbeBw::Cruise(WAIT));
    stack.with(|_, window| cc.bound_cwnd(window));
    assert_eq!(stack.window.cwnd, 435);
    cc.phase = Phase::ProbeBw(ProbeBw::Refill(0));
    stack.window.cwnd = 692;
    stack.with(|_, window| cc.bound_cwnd(window));
    assert_eq!(stack.window.cwnd, 510);
}

#[test]
fn the_upper_bound_grows_twice_as_fast_each_round() {
    let (mut cc, mut stack) = known_path();
    cc.bounds.inflight_hi = 400;
    stack.window.cwnd = 400;
    stack.conn.cwnd_limited = true;
    stack.with(|view, _| cc.start_refill(view, 0));
    stack.with(|view, window| cc.start_up(view, window, 0));
    let mut bounds = Vec::new();
    for _ in 0..5 {
        for n in 0..400 {
            cc.round.start = n == 399;
            let ack = Ack {
                delivered: 1,
                ..Ack::default()
            };
            stack.with(|view, window| cc.raise_inflight_hi(view, window, &ack));
            stack.window.cwnd = cc.bounds.inflight_hi;
        }
        bounds.push(cc.bounds.inflight_hi);
    }
    // Each round has 400 ACKs. In round n, the bound grows by one after every window/2^n ACKs. So
    // the bound grows by 1, 2, 4, ... in successive rounds.
    assert_eq!(bounds, [401, 403, 407, 415, 431]);
}

#[test]
fn marks_count_on_short_paths_that_ask_for_it() {
    let (mut cc, mut stack) = known_path();
    cc.params.ecn = true;
    stack.conn.delivered = 100;
    stack.with(|view, window| cc.update_marks(view, window));
    assert!(!cc.marks.eligible, "40 ms are not low latency");
    cc.min_rtt.us = 1000;
    stack.with(|view, window| cc.update_marks(view, window));
    // Without marks, alpha falls to 15/16 of its initial value of 1.
    assert_eq!((cc.marks.eligible, cc.marks.alpha), (true, Gain(240)));
    stack.conn.delivered = 200;
    stack.conn.delivered_ce = 50;
    stack.with(|view, window| cc.update_marks(view, window));
    assert_eq!(cc.marks.alpha.0, 240 * 240 / 256 + 16 * 128 / 256);
    // A round with marks multiplies inflight_lo by (1 - alpha/3).
    cc.marks.alpha = Gain::ONE;
    cc.signals.ecn_in_round = true;
    stack.with(|_, window| cc.adapt_lower_bounds(window));
    assert_eq!(cc.bounds.inflight_lo, 692 * (256 - 85) / 256);
    assert!(cc.bandwidth() == cc.max_bw(), "marks leave the rate alone");
}

/// Linux `bbr_handle_queue_too_high_in_probe`: a tail loss probe has repaired the loss. The upper
/// bound becomes the number of segments in flight, including the lost segment.
#[test]
fn a_repaired_loss_of_a_probe_sets_the_upper_bound() {
    let (mut cc, mut stack) = known_path();
    // The upper bound has a minimum that depends on the bandwidth. At this low bandwidth, the
    // minimum is below the data in flight.
    cc.bw_hi = [Bandwidth::sampled(432, 1_000_000), Bandwidth::ZERO];
    stack.window.cwnd = 30;
    cc.phase = Phase::ProbeBw(ProbeBw::Up(Up::new(Time::ZERO, 0, 30)));
    cc.signals.inflight_latest = 40;
    let repaired = |cc: &mut Bbr3, stack: &mut Stack| {
        stack.with(|view, window| cc.cwnd_event(view, window, CwndEvent::ProbeRepaired));
    };
    repaired(&mut cc, &mut stack);
    assert_eq!(cc.bounds.inflight_hi, NO_BOUND, "not while it probes");
    cc.probe.samples = true;
    repaired(&mut cc, &mut stack);
    assert_eq!(cc.bounds.inflight_hi, 41);
    // One lost segment of 61 segments is a share of less than 2 %.
    cc.bounds.inflight_hi = NO_BOUND;
    cc.probe.samples = true;
    cc.signals.inflight_latest = 60;
    repaired(&mut cc, &mut stack);
    assert_eq!(cc.bounds.inflight_hi, NO_BOUND);
}

/// Linux `bbr_update_cycle_phase`: a probe stops when as much data is in flight as when the last
/// probe had too many losses.
#[test]
fn a_probe_goes_as_far_as_the_last_one_did() {
    for (in_flight, goes_on) in [(300, true), (700, false)] {
        let (mut cc, mut stack) = known_path();
        cc.phase = Phase::ProbeBw(ProbeBw::Up(Up::new(Time::ZERO, 0, 692)));
        cc.bounds.inflight_hi = 510;
        cc.probe.was_too_high = true;
        stack.flight = flight(in_flight);
        let ack = Ack {
            delivered: 1,
            prior_in_flight: in_flight,
            ..Ack::default()
        };
        stack.with(|view, window| cc.update_phase(view, window, &ack));
        assert_eq!(cc.phase.is_up(), goes_on, "{in_flight}");
        assert_eq!(cc.probe.stopped_risky, !goes_on);
        assert_eq!(cc.probe.was_too_high, goes_on);
    }
}

#[test]
fn constants_of_the_draft() {
    let p = draft();
    assert_eq!(
        [p.startup_gain, p.drain_gain, p.down_gain],
        [709, 128, 230].map(Gain)
    );
    let shares = [p.loss_threshold, p.loss_cut, p.headroom];
    assert_eq!(shares.map(|share| share.of(10_000)), [200, 7000, 1500]);
    // A value that the scenario sets replaces the default of the draft, too.
    let own = [
        ("draft", Value::Word("06")),
        ("drain_gain", Value::Float(0.75)),
    ];
    assert_eq!(Params::of(&options(&ENTRY, &own)).drain_gain, Gain(192));
}

/// Section 5.3.2: DRAIN lasts at most three rounds after the round in which it began. DRAIN ends
/// with the fourth round.
#[test]
fn the_draft_drains_for_three_rounds_at_most() {
    for (params, ends) in [(draft(), true), (params(), false)] {
        let (mut cc, mut stack) = on_known_path(params);
        cc.phase = Phase::Drain;
        cc.round_count = 7;
        cc.drain_began = 7;
        stack.flight = flight(600);
        for round in 8..=10 {
            cc.round_count = round;
            stack.with(|view, window| cc.check_drain(view, window));
            assert!(matches!(cc.phase, Phase::Drain), "{round}");
        }
        cc.round_count = 11;
        stack.with(|view, window| cc.check_drain(view, window));
        assert_eq!(!matches!(cc.phase, Phase::Drain), ends);
    }
}

/// Section 5.3.1.2: in the draft, only a sample at the start of a round can show growth of the
/// bandwidth. In Google's branch, a sample in the middle of a round can show growth, too.
#[test]
fn the_draft_looks_for_a_plateau_at_round_starts() {
    for (params, counted) in [(draft(), 2), (params(), 0)] {
        let (mut cc, mut stack) = on_known_path(params);
        cc.full.reached = false;
        cc.full.restart(Bandwidth(1000));
        cc.sample = Bandwidth(1100);
        for _ in 0..2 {
            cc.round.start = true;
            stack.with(|view, _| cc.check_full_pipe(view));
        }
        assert_eq!(cc.full.rounds, 2);
        cc.round.start = false;
        cc.sample = Bandwidth(2000);
        stack.with(|view, _| cc.check_full_pipe(view));
        assert_eq!(cc.full.rounds, counted);
    }
}

/// Section 5.3.1.3: adjacent lost segments are one range.
#[test]
fn the_draft_counts_separate_ranges() {
    let (mut cc, mut stack) = on_known_path(draft());
    cc.full.reached = false;
    let mut ranges = Vec::new();
    for seq in [10, 11, 12, 20, 22, 23, 5] {
        let segment = LostSegment {
            tx_in_flight: 500,
            lost: 1,
            app_limited: false,
            seq,
        };
        stack.with(|view, window| cc.on_lost(view, window, &segment));
        ranges.push(cc.loss_events);
    }
    assert_eq!(ranges, [1, 1, 1, 2, 3, 3, 4]);
}

/// Section 5.5.11: at the first loss of a recovery, BBR saves its state. Later losses do not
/// overwrite the saved state.
#[test]
fn the_draft_returns_to_the_probe_that_a_spurious_loss_ended() {
    let (mut cc, mut stack) = on_known_path(draft());
    cc.phase = Phase::ProbeBw(ProbeBw::Up(Up::new(Time::ZERO, 0, 692)));
    cc.probe.samples = true;
    cc.bounds.inflight_hi = 900;
    for n in 1..=20 {
        let segment = LostSegment {
            tx_in_flight: 500,
            lost: n,
            app_limited: false,
            seq: u64::from(n),
        };
        stack.with(|view, window| cc.on_lost(view, window, &segment));
    }
    assert!(matches!(cc.phase, Phase::ProbeBw(ProbeBw::Down(_))));
    assert!(cc.bounds.inflight_hi < 900);
    assert_eq!(cc.undo.interrupted, Interrupted::Up);
    stack.with(|view, window| cc.set_state(view, window, CaState::Recovery));
    stack.with(|view, window| cc.undo_cwnd(view, window, 692));
    assert!(matches!(cc.phase, Phase::ProbeBw(ProbeBw::Refill(0))));
    assert_eq!(cc.bounds.inflight_hi, 900);
    assert_eq!(cc.undo.interrupted, Interrupted::Nothing);
}

#[test]
fn the_draft_returns_to_startup() {
    let (mut cc, mut stack) = on_known_path(draft());
    stack.with(|_, window| cc.save_before_episode(window));
    cc.undo.interrupted = Interrupted::Startup;
    cc.phase = Phase::Drain;
    stack.with(|view, window| cc.undo_cwnd(view, window, 692));
    assert!(matches!(cc.phase, Phase::Startup));
    assert!(!cc.full.reached);
}

/// Google's `bbr_set_state`: a timeout limits the data in flight to the window before the timeout.
/// During a probe, or if a bound is already set, a timeout does not set this limit.
#[test]
fn a_timeout_sets_the_lower_bound_once() {
    let cruise = Phase::ProbeBw(ProbeBw::Cruise(WAIT));
    let up = Phase::ProbeBw(ProbeBw::Up(Up::new(Time::ZERO, 0, 692)));
    for (phase, bound, prior, after) in [
        (cruise, NO_BOUND, 500, 692),
        (cruise, NO_BOUND, 800, 800),
        (cruise, 300, 500, 300),
        (up, NO_BOUND, 500, NO_BOUND),
        (up, 300, 500, 300),
    ] {
        let (mut cc, mut stack) = known_path();
        (cc.phase, cc.bounds.inflight_lo, cc.prior_cwnd) = (phase, bound, prior);
        stack.with(|view, window| cc.set_state(view, window, CaState::Loss));
        assert_eq!(cc.bounds.inflight_lo, after, "{phase:?} {bound} {prior}");
    }
}

/// Linux `bbr_save_cwnd`: BBR saves the window. During recovery and PROBE_RTT, BBR saves the window
/// only if it is larger than the saved window.
#[test]
fn the_window_of_before_is_kept() {
    use crate::cc::bbr_model::ProbeRtt;
    let (mut cc, mut stack) = known_path();
    let probe = Phase::ProbeRtt(ProbeRtt::default(), 0);
    let cruise = Phase::ProbeBw(ProbeBw::Cruise(WAIT));
    for (phase, state, cwnd, kept) in [
        (cruise, CaState::Open, 500, 500),
        (cruise, CaState::Cwr, 400, 400),
        (cruise, CaState::Recovery, 300, 400),
        (cruise, CaState::Loss, 450, 450),
        (probe, CaState::Open, 4, 450),
        (probe, CaState::Open, 460, 460),
    ] {
        (cc.phase, cc.prev_ca_state, stack.window.cwnd) = (phase, state, cwnd);
        cc.save_cwnd(&stack.window);
        assert_eq!(cc.prior_cwnd, kept, "{phase:?} {state:?} {cwnd}");
    }
}

/// Linux `bbr_update_congestion_signals`: an application-limited sample updates the bandwidth only
/// if it is at least as large as the largest sample.
#[test]
fn a_limited_sample_counts_if_it_is_no_smaller() {
    let (known, _) = known_path();
    let most = known.max_bw();
    for (app_limited, sample, counts) in [
        (false, most.0 / 2, true),
        (true, most.0 / 2, false),
        (true, most.0, true),
        (true, most.0 + 1, true),
    ] {
        let (mut cc, mut stack) = known_path();
        stack.conn.rate.interval_us = 40_000;
        stack.conn.rate.app_limited = app_limited;
        cc.sample = Bandwidth(sample);
        let ack = Ack {
            delivered: 1,
            ..Ack::default()
        };
        stack.with(|view, window| cc.update_congestion(view, window, &ack));
        let expected = if counts { sample } else { 0 };
        assert_eq!(cc.bw_hi[1], Bandwidth(expected), "{app_limited} {sample}");
        // Without a rate sample, or if no segment was delivered, the bandwidth stays unknown.
        cc.bw_hi[1] = Bandwidth::ZERO;
        stack.with(|view, window| {
            cc.update_congestion(view, window, &Ack::default());
        });
        assert_eq!(cc.bw_hi[1], Bandwidth::ZERO);
    }
}

/// Linux `bbr_check_full_bw_reached`: the pipe is full after three rounds in which the bandwidth
/// grew by less than a quarter. A sample in the middle of a round may show growth, but does not
/// increase the number of rounds.
#[test]
fn three_rounds_without_growth_fill_the_pipe() {
    let (mut cc, mut stack) = known_path();
    (cc.full, cc.phase) = (super::phase::FullPipe::default(), Phase::Startup);
    let mut step = |sample: u64, start: bool, limited: bool| {
        cc.sample = Bandwidth(sample);
        cc.round.start = start;
        stack.conn.rate.app_limited = limited;
        stack.with(|view, _| cc.check_full_pipe(view));
        (cc.full.bw.0, cc.full.rounds, cc.full.now, cc.full.reached)
    };
    for (sample, start, limited, bw, rounds, full) in [
        (1000, true, false, 1000, 0, false),
        (1249, true, false, 1000, 1, false),
        (1249, false, false, 1000, 1, false),
        (1249, true, true, 1000, 1, false),
        (1249, true, false, 1000, 2, false),
        (1250, false, false, 1250, 0, false),
        (1000, true, false, 1250, 1, false),
        (1000, true, false, 1250, 2, false),
        (1000, true, false, 1250, 3, true),
        (9000, true, false, 1250, 3, true),
    ] {
        let found = step(sample, start, limited);
        assert_eq!(
            found,
            (bw, rounds, full, full),
            "{sample} {start} {limited}"
        );
    }
}

/// Linux `bbr_undo_cwnd`: when a spurious reduction has been undone, every bound is at least as
/// high as before the reduction.
#[test]
fn restored_bounds_are_the_larger_ones() {
    use super::bounds::Bounds;
    let of = |bw, lo, hi| Bounds {
        bw_lo: Bandwidth(bw),
        inflight_lo: lo,
        inflight_hi: hi,
        bw_hi: Bandwidth::UNBOUNDED,
    };
    let mut bounds = of(5, 60, 70);
    bounds.restore(of(6, 50, 80));
    let found = (bounds.bw_lo.0, bounds.inflight_lo, bounds.inflight_hi);
    assert_eq!(found, (6, 60, 80));
    bounds.reset_lower();
    assert_eq!(
        (bounds.bw_lo, bounds.inflight_lo),
        (Bandwidth::UNBOUNDED, NO_BOUND)
    );
    assert_eq!(bounds.inflight_hi, 80, "probes find this one");
}

/// Linux `bbr_update_ecn_alpha`: two successive rounds in which half of the segments are marked end
/// STARTUP.
#[test]
fn marks_end_startup_after_two_rounds() {
    let (cc, mut stack) = known_path();
    let mut params = cc.params.clone();
    params.ecn_max_rtt = Time::from_ms(5);
    let mut marks = super::marks::Marks::new();
    for (delivered, marked, starting, ends, why) in [
        (100, 49, true, false, "less than half"),
        (200, 99, true, false, "half, the first round"),
        (300, 100, true, false, "too few in between"),
        (400, 150, true, false, "half"),
        (400, 150, true, false, "nothing was delivered"),
        (500, 200, false, false, "STARTUP is over"),
        (600, 250, true, true, "half again"),
    ] {
        (stack.conn.delivered, stack.conn.delivered_ce) = (delivered, marked);
        let found = stack.with(|view, _| marks.end_round(&params, view, 5_000, starting));
        assert_eq!(found, ends, "{why}");
        assert!(marks.eligible);
    }
    // There are too many marks only if more than half of the segments are marked.
    for (marked, delivered, too_many) in
        [(5, 10, false), (6, 10, true), (0, 0, false), (1, 0, false)]
    {
        assert_eq!(marks.too_many(&params, marked, delivered), too_many);
    }
    marks.alpha = Gain(128);
    assert_eq!(marks.cut(&params), Gain(256 - 42), "1 - alpha / 3");
    let mut far = super::marks::Marks::new();
    stack.with(|view, _| far.end_round(&params, view, 5_001, true));
    assert!(!far.eligible && !far.too_many(&params, 10, 10));
    params.ecn_max_rtt = Time::ZERO;
    stack.with(|view, _| far.end_round(&params, view, 5_001, true));
    assert!(far.eligible, "0: at any RTT");
    params.ecn_factor = Gain(0);
    let mut none = super::marks::Marks::new();
    stack.with(|view, _| none.end_round(&params, view, 1, true));
    assert!(!none.eligible, "without a factor marks do not count");
}
