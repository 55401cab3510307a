//! Tests BBR version 2 against values that were computed by hand. As in the tests of version 3, the
//! path has a rate of 100 Mbit/s and an RTT of 40 ms. The BDP of this path is 346 segments, rounded
//! up.

use super::bounds::NO_BOUND;
use super::params::Params;
use super::phase::{Phase, ProbeBw, Up};
use super::state::Bbr3;
use super::tests::on_known_path;
use crate::cc::bbr_model::{Bandwidth, Gain};
use crate::cc::bbr2::ENTRY;
use crate::cc::contract::{CongestionControl, CwndEvent, EcnNeed};
use crate::cc::testing::{Stack, flight, options};
use crate::cc::view::Ack;
use crate::registry::Value;
use crate::units::Time;

fn params() -> Params {
    Params::version_2(&options(&ENTRY, &[]))
}

fn known_path() -> (Bbr3, Stack) {
    on_known_path(params())
}

/// Returns the parameters of the L4S team's variant.
fn l4s() -> Params {
    Params::version_2(&options(&ENTRY, &[("version", Value::Word("l4s"))]))
}

/// Returns an ACK of one segment. When the ACK arrives, `in_flight` segments are in flight.
fn acked(in_flight: u32) -> Ack {
    Ack {
        delivered: 1,
        prior_in_flight: in_flight,
        ..Ack::default()
    }
}

/// The expected values are the constants of `tcp_bbr2.c` in units of 1/256: 256 * 2885 / 1000 + 1,
/// 256 * 1000 / 2885, ...
#[test]
fn constants_are_those_of_the_branch() {
    let p = params();
    assert_eq!(
        [
            p.startup_gain,
            p.startup_cwnd_gain,
            p.drain_gain,
            p.up_gain,
            p.down_gain
        ],
        [739, 739, 88, 320, 192].map(Gain)
    );
    assert_eq!((p.up_cwnd_gain, p.startup_losses), (Gain(0), 8));
    let mut cc = Bbr3::new(p);
    for (phase, gains) in [
        (Phase::Startup, (739, 739)),
        (Phase::Drain, (88, 739)),
        (
            Phase::ProbeBw(ProbeBw::Up(Up::new(Time::ZERO, 0, 10))),
            (320, 512),
        ),
    ] {
        cc.phase = phase;
        cc.update_gains();
        assert_eq!((cc.pacing_gain.0, cc.cwnd_gain.0), gains);
    }
}

/// `bbr_check_full_bw_reached` checks once per round whether the largest bandwidth has grown.
#[test]
fn three_rounds_without_growth_fill_the_pipe() {
    let (mut cc, mut stack) = known_path();
    cc.full = super::phase::FullPipe::default();
    cc.phase = Phase::Startup;
    let mut rounds = |cc: &mut Bbr3, start| {
        cc.round.start = start;
        // A smaller sample does not change the largest bandwidth.
        cc.sample = Bandwidth::LEAST;
        stack.with(|view, _| cc.check_full_pipe(view));
        (cc.full.rounds, cc.full.reached)
    };
    assert_eq!(rounds(&mut cc, true), (0, false), "grew from nothing");
    assert_eq!(rounds(&mut cc, false), (0, false), "within the round");
    assert_eq!(rounds(&mut cc, true), (1, false));
    assert_eq!(rounds(&mut cc, true), (2, false));
    assert_eq!(rounds(&mut cc, true), (3, true));
}

/// `bbr2_update_cycle_phase`: once a probe has lasted for the smallest RTT, it ends when 1.25
/// bandwidth-delay products are in flight. The BDP of the path is 346 segments. 1.25 times 346
/// segments is 432, and the probe may put 2 more segments into flight.
#[test]
fn a_probe_ends_at_one_and_a_quarter_volumes() {
    for (elapsed_ms, in_flight, ends) in [(41, 434, true), (41, 433, false), (40, 500, false)] {
        let (mut cc, mut stack) = known_path();
        stack.with(|view, _| cc.start_refill(view, 0));
        stack.with(|view, window| cc.start_up(view, window, 0));
        cc.pacing_gain = Gain::ONE;
        stack.conn.now += Time::from_ms(elapsed_ms);
        let volume = cc.bdp(cc.max_bw(), Gain(320)) + 2;
        assert_eq!(volume, 434);
        stack.flight = flight(in_flight);
        stack.with(|view, window| cc.update_phase(view, window, &acked(in_flight)));
        assert_eq!(!cc.phase.is_up(), ends, "{elapsed_ms} ms, {in_flight}");
    }
}

/// `bbr2_handle_queue_too_high_in_startup`: the bound is the bandwidth-delay product, even if more
/// segments were delivered. In version 3, these additional segments would raise the bound.
#[test]
fn losses_in_startup_leave_the_volume_as_the_bound() {
    let (mut cc, mut stack) = known_path();
    cc.full.reached = false;
    cc.signals.inflight_latest = 1000;
    stack.with(|view, window| cc.queue_too_high_in_startup(view, window));
    assert_eq!((cc.bounds.inflight_hi, cc.full.reached), (346, true));
}

/// `bbr2_adapt_lower_bounds` and `bbr2_handle_inflight_too_high_via_ecn`: marks also lower the
/// bandwidth.
#[test]
fn marks_lower_the_bandwidth() {
    let (mut cc, mut stack) = known_path();
    let bw = cc.max_bw();
    cc.params.ecn = true;
    cc.marks.eligible = true;
    cc.signals.ecn_in_round = true;
    stack.with(|_, window| cc.adapt_lower_bounds(window));
    // Alpha is 1. So a round with marks multiplies both bounds by 1 - 85/256.
    let kept = Bandwidth(bw.0 * 171 / 256);
    assert_eq!(
        (cc.bandwidth(), cc.bounds.inflight_lo),
        (kept, 692 * 171 / 256)
    );
    cc.bounds.reset_lower();
    assert_eq!(cc.bandwidth(), bw);
    // If the share of marks reaches the threshold in every sample of a probe, the probe sets a
    // bound on the bandwidth. A faster sample raises this bound.
    stack.with(|view, window| cc.inflight_too_high(view, window, 500, false));
    assert_eq!(cc.bandwidth(), kept);
    cc.sample = bw;
    stack.with(|view, window| cc.adapt_upper_bounds(view, window, &acked(10)));
    assert_eq!(cc.bandwidth(), bw);
}

/// BBR version 2 does not respond to a loss that a tail loss probe has repaired.
#[test]
fn repaired_losses_do_not_count() {
    let (mut cc, mut stack) = known_path();
    cc.probe.samples = true;
    cc.signals.inflight_latest = 40;
    stack.with(|view, window| cc.cwnd_event(view, window, CwndEvent::ProbeRepaired));
    assert_eq!(cc.bounds.inflight_hi, NO_BOUND);
}

/// `bbr2_update_congestion_signals`: the measurement of a round starts with the first ACK of the
/// round.
#[test]
fn the_latest_round_begins_again_at_its_end() {
    let (mut cc, mut stack) = known_path();
    stack.conn.rate.interval_us = 40_000;
    stack.conn.rate.delivered = 7;
    cc.signals.inflight_latest = 400;
    cc.loss_round.start = true;
    cc.sample = Bandwidth::LEAST;
    stack.with(|view, window| cc.update_congestion(view, window, &acked(10)));
    let found = (cc.signals.bw_latest, cc.signals.inflight_latest);
    assert_eq!(found, (Bandwidth::LEAST, 7));
}

/// The expected values are the constants of the L4S team's `tcp_bbr2.c`: 256 * 91 / 100, and a
/// quarter of 256 for the window of PROBE_UP.
#[test]
fn the_l4s_teams_constants_are_those_of_its_file() {
    let p = l4s();
    assert_eq!(
        [p.startup_gain, p.up_gain, p.down_gain, p.up_cwnd_gain],
        [739, 320, 232, 64].map(Gain)
    );
    assert_eq!((p.ecn, p.ecn_max_rtt), (true, Time::ZERO));
    let needs = |params| Bbr3::new(params).needs().ecn;
    assert_eq!(needs(l4s()), EcnNeed::Accurate);
    assert_eq!(needs(params()), EcnNeed::Optional);
}

/// The L4S team's `bbr2_adapt_lower_bounds` and `bbr2_handle_inflight_too_high`: a round with marks
/// multiplies only `inflight_lo` by 1 - alpha / 3. v2alpha also lowers the bandwidth.
#[test]
fn marks_lower_only_the_volume_in_the_l4s_teams_variant() {
    let (mut cc, mut stack) = on_known_path(l4s());
    let bw = cc.max_bw();
    // An RTT of 40 ms is short enough, because the variant has no limit for the RTT.
    stack.conn.delivered = 100;
    stack.conn.delivered_ce = 50;
    stack.with(|view, window| cc.update_marks(view, window));
    assert!(cc.marks.eligible);
    // Alpha was 1. The new value of alpha is 15/16 + 1/16 * 1/2.
    assert_eq!(cc.marks.alpha, Gain(248));
    cc.signals.ecn_in_round = true;
    stack.with(|_, window| cc.adapt_lower_bounds(window));
    // The reduction of the bound is 85/256 of alpha: 85 * 248 / 256 = 82.
    assert_eq!(
        (cc.bandwidth(), cc.bounds.inflight_lo),
        (bw, 692 * (256 - 82) / 256)
    );
    stack.with(|view, window| cc.inflight_too_high(view, window, 500, false));
    assert_eq!((cc.bandwidth(), cc.bounds.inflight_hi), (bw, 500));
}

/// A probe of the L4S team's variant ends if at least half of the segments of a sample were marked
/// (`bbr2_is_inflight_too_high`).
#[test]
fn half_of_the_marks_end_a_probe_of_the_l4s_teams_variant() {
    for (marked, ends) in [(4, false), (5, true)] {
        let (mut cc, mut stack) = on_known_path(l4s());
        cc.marks.eligible = true;
        stack.with(|view, _| cc.start_refill(view, 0));
        stack.with(|view, window| cc.start_up(view, window, 0));
        cc.probe.samples = true;
        stack.conn.rate.delivered = 10;
        stack.conn.rate.delivered_ce = marked;
        stack.conn.rate.tx_in_flight = 400;
        stack.with(|view, window| cc.adapt_upper_bounds(view, window, &acked(10)));
        assert_eq!(!cc.phase.is_up(), ends, "{marked} of 10");
        assert_eq!(cc.bounds.inflight_hi == 400, ends);
    }
}

/// The L4S team's `bbr2_check_full_bw_reached` compares every sample with the reference, even in
/// the middle of a round.
#[test]
fn a_sample_within_a_round_restarts_the_detection_of_a_full_pipe() {
    let (mut cc, mut stack) = on_known_path(l4s());
    cc.full = super::phase::FullPipe::default();
    cc.phase = Phase::Startup;
    let mut next = |cc: &mut Bbr3, start, sample| {
        cc.round.start = start;
        cc.sample = Bandwidth(sample);
        stack.with(|view, _| cc.check_full_pipe(view));
        (cc.full.rounds, cc.full.reached)
    };
    assert_eq!(next(&mut cc, true, 1000), (0, false));
    assert_eq!(next(&mut cc, true, 1249), (1, false));
    assert_eq!(next(&mut cc, true, 1249), (2, false));
    assert_eq!(next(&mut cc, false, 1250), (0, false), "grew in the round");
    for rounds in 1..=3 {
        assert_eq!(next(&mut cc, true, 1250), (rounds, rounds == 3));
    }
}
