//! Tests BBR against values that were computed by hand.

use super::ENTRY;
use super::control::Bbr;
use super::long_term::{LongTerm, Verdict};
use super::phase::{Cycle, Phase};
use crate::cc::bbr_model::{Bandwidth, Gain, Pace, ProbeRtt};
use crate::cc::contract::{CongestionControl, Signal};
use crate::cc::testing::{Host, Stack, options};
use crate::cc::view::{Ack, CaState};
use crate::units::Time;

fn bbr() -> Bbr {
    Bbr::new(&options(&ENTRY, &[]))
}

/// Returns BBR on a path with a rate of 100 Mbit/s and an RTT of 40 ms. The BDP of this path is 345
/// segments.
fn known_path() -> (Bbr, Stack) {
    let (mut cc, mut stack) = (bbr(), Stack::new(10));
    stack.conn.now = Time::from_secs(1);
    stack.conn.srtt = Time::from_ms(40);
    stack.conn.min_rtt = Time::from_ms(40);
    stack.with(|view, window| cc.init(view, window));
    cc.bw.update(10, 0, Bandwidth::sampled(8633, 1_000_000));
    cc.full.reached = true;
    cc.phase = probe_bw(0);
    (cc, stack)
}

fn probe_bw(index: u32) -> Phase {
    let since = Time::ZERO;
    Phase::ProbeBw(Cycle { index, since })
}

#[test]
fn gains_of_each_mode() {
    let mut cc = bbr();
    let mut gains = |phase| {
        cc.phase = phase;
        cc.update_gains();
        (cc.pacing_gain.0, cc.cwnd_gain.0)
    };
    assert_eq!(gains(Phase::Startup), (739, 739));
    assert_eq!(gains(Phase::Drain), (88, 739));
    let cycle: Vec<u32> = (0..8).map(|n| gains(probe_bw(n)).0).collect();
    assert_eq!(cycle, [320, 192, 256, 256, 256, 256, 256, 256]);
    assert_eq!(gains(probe_bw(3)).1, 512);
    assert_eq!(gains(Phase::ProbeRtt(ProbeRtt::default())), (256, 256));
}

#[test]
fn a_cycle_begins_anywhere_but_in_the_phase_that_drains() {
    let (mut cc, mut stack) = known_path();
    let mut seen = [0; 8];
    for _ in 0..700 {
        stack.with(|view, _| cc.enter_probe_bw(view));
        let Phase::ProbeBw(cycle) = cc.phase else {
            panic!("{:?}", cc.phase);
        };
        seen[cycle.index as usize] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().filter(|&&n| n > 60).count() == 7, "{seen:?}");
}

#[test]
fn room_for_bursts_and_delayed_acks() {
    let (mut cc, mut stack) = known_path();
    stack.window.pacing_rate = 12_500_000;
    // 12.2 kB leave in 1 ms, so a burst has 8 segments. Three bursts are added to the BDP, which is
    // 346 segments. The sum is an even number, so BBR does not round the sum up to an even number.
    cc.phase = probe_bw(3);
    assert_eq!(stack.with(|view, window| cc.burst(view, window)), 8);
    assert_eq!(
        stack.with(|view, window| cc.inflight(view, window, Gain::ONE)),
        346 + 24
    );
    // A probe adds two segments. So a probe has an effect even if the BDP is small.
    cc.phase = probe_bw(0);
    assert_eq!(
        stack.with(|view, window| cc.inflight(view, window, Gain::ONE)),
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
    // In the first round of recovery, the sender may send as many segments as are delivered, even
    // if many are lost.
    assert_eq!((stack.window.cwnd, cc.packet_conservation), (502, true));
    // In the next round, the window grows towards the target as in slow start. The number of lost
    // segments is subtracted.
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
    // At first the rate doubles in each round. In the later rounds, the rate grows by less than a
    // quarter.
    for (round, rate) in [100, 200, 400, 480, 499, 400, 400].into_iter().enumerate() {
        cc.bw.update(10, round as u32, Bandwidth(rate));
        cc.round_start = true;
        stack.with(|view, _| cc.check_full_pipe(view));
        reached.push(cc.full.reached);
    }
    assert_eq!(reached, [false, false, false, false, false, true, true]);
    // Rounds in which the application limits the rate do not count.
    let mut cc = bbr();
    stack.conn.rate.app_limited = true;
    for _ in 0..10 {
        cc.round_start = true;
        stack.with(|view, _| cc.check_full_pipe(view));
    }
    assert!(!cc.full.reached);
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
    // 319 segments were in flight when the last ACK arrived. The expected rate is 2.885 times 319
    // segments per RTT, minus 1 %.
    let rate = 319.0 * 1448.0 / 0.04 * (739.0 / 256.0) * 0.99;
    let off = host.window.pacing_rate as f64 / rate;
    assert!((0.999..1.001).contains(&off), "{off}");
}

/// Linux `bbr_save_cwnd`: in Open and CWR, BBR saves the window. In Recovery, the window may
/// already be reduced. So in Recovery, BBR saves the window only if it is larger than the saved
/// window.
#[test]
fn the_window_that_recovery_restores_is_the_last_good_one() {
    let (mut cc, mut stack) = known_path();
    let mut saved = |state, cwnd| {
        // The congestion state is already set when BBR handles the ACK.
        stack.conn.ca_state = state;
        let ack = Ack {
            delivered: 1,
            ..Ack::default()
        };
        stack.with(|view, window| cc.set_cwnd(view, window, &ack));
        stack.window.cwnd = cwnd;
        let _ = stack.with(|view, window| cc.ssthresh(view, window, Signal::Loss));
        cc.prior_cwnd
    };
    assert_eq!(saved(CaState::Open, 700), 700);
    assert_eq!(
        saved(CaState::Open, 300),
        300,
        "not that of an earlier loss"
    );
    assert_eq!(saved(CaState::Cwr, 200), 200);
    assert_eq!(saved(CaState::Recovery, 100), 200);
    assert_eq!(saved(CaState::Recovery, 400), 400);
    assert_eq!(saved(CaState::Loss, 1), 400);
}

/// Linux `bbr_set_pacing_rate`: until the pipe is full, the rate never falls, whether or not there
/// is an RTT sample.
#[test]
fn the_pacing_rate_falls_only_once_the_pipe_is_full() {
    let mut stack = Stack::new(10);
    let mut pace = Pace::new(Gain::ONE, 1);
    // One segment per millisecond is 1000 x 1448 bytes/s, minus 1 %.
    let bandwidth = Bandwidth::of(1, 1_000);
    let rate = 1_448_000 * 99 / 100;
    for (srtt, before, full, after) in [
        (Time::ZERO, 100_000_000, false, 100_000_000),
        (Time::ZERO, 100, false, rate),
        // The first RTT sample sets the rate to ten segments per 100 ms, which is lower than the
        // previous rate.
        (Time::from_ms(100), 100_000_000, false, rate),
        (Time::from_ms(100), 100_000_000, false, 100_000_000),
        (Time::from_ms(100), 100_000_000, true, rate),
    ] {
        stack.conn.srtt = srtt;
        stack.window.pacing_rate = before;
        stack.with(|view, window| pace.set(view, window, bandwidth, Gain::ONE, full));
        let off = stack.window.pacing_rate.abs_diff(after);
        assert!(
            off <= after / 1000,
            "{srtt:?}: {}",
            stack.window.pacing_rate
        );
    }
}

/// Linux `bbr_lt_bw_sampling`: BBR assumes a policer after two successive intervals of four rounds
/// each. In both intervals, about a fifth (50/256) of the segments must be lost. The delivery rates
/// of the two intervals must be nearly equal.
#[test]
fn two_intervals_with_a_fifth_lost_are_a_policer() {
    let rates = |lost: u64, second: u64| {
        let (mut policer, mut stack) = (LongTerm::default(), Stack::new(10));
        let mut last = Verdict::None;
        let mut sample = |stack: &mut Stack, losses| {
            last = stack.with(|view, _| policer.sample(view, losses, true, false));
        };
        stack.conn.rate.delivered_at = Time::from_secs(1);
        sample(&mut stack, 1);
        for delivered in [256, second] {
            for _ in 0..3 {
                sample(&mut stack, 0);
            }
            stack.conn.delivered += delivered;
            stack.conn.rate.lost_total += lost;
            stack.conn.rate.delivered_at += Time::from_ms(100);
            sample(&mut stack, 1);
        }
        (matches!(last, Verdict::Found), policer.bandwidth())
    };
    let rate = Bandwidth::of(256, 100_000);
    assert_eq!(rates(50, 256), (true, Some(rate)));
    assert_eq!(rates(49, 256), (false, None), "less than a fifth");
    // If the second rate is higher by 1/8, BBR treats the rates as equal and uses their mean. If
    // the second rate is higher by more than 1/8, BBR does not assume a policer.
    let more = Bandwidth::of(287, 100_000);
    assert_eq!(rates(57, 287), (true, Some(more.mean(rate))));
    assert_eq!(rates(80, 400), (false, None));
}
