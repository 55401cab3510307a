//! Tests CUBIC against the curve of RFC 9438, and against values that were computed by hand.

use super::curve::cubic_root;
use super::*;
use crate::cc::testing::{self, Host, Stack, options};
use crate::cc::window::INFINITE_SSTHRESH;
use crate::registry::Value;
use crate::units::Time;

const OFF: Value = Value::Bool(false);
const ON: Value = Value::Bool(true);

fn build(set: &[(&'static str, Value)]) -> Box<dyn CongestionControl> {
    (ENTRY.build)(&options(&ENTRY, set))
}

fn host(set: &[(&'static str, Value)], cwnd: u32, rtt: Time) -> Host {
    let mut host = Host::new(build(set), cwnd, rtt);
    host.window.ssthresh = cwnd;
    host
}

/// Returns CUBIC as its own type, for tests that read its state.
fn cubic() -> Cubic {
    Cubic::new(Backoff::same(717, BETA_SCALE))
}

#[test]
fn cube_roots() {
    for (a, root) in [
        (0, 0),
        (1, 1),
        (3, 1),
        (4, 2),
        (7, 2),
        (27, 3),
        (63, 4),
        (64, 4),
        (120, 5),
        (127, 5),
        (1000, 10),
        (1_000_000_000, 1000),
        // The expected values are Linux's results. The exact roots are 2524.6, 20035.5 and
        // 2642245.9.
        (16_090_414_062, 2523),
        (8_042_525_295_323, 20_031),
        (u64::MAX, 2_641_850),
    ] {
        assert_eq!(cubic_root(a), root, "{a}");
    }
}

#[test]
fn time_to_the_inflection_point() {
    // K = cbrt((W_max - cwnd) / C) in 1/1024 s, with C = 410/1024.
    for (w_max, cwnd) in [(20, 14), (100, 70), (500, 350), (10_000, 7_001)] {
        let mut epoch = Epoch {
            last_max_cwnd: w_max,
            ..Epoch::default()
        };
        epoch.cubic(0, cwnd, 1);
        let k = libm::cbrt(f64::from(w_max - cwnd) * 1024.0 / 410.0) * 1024.0;
        let error = epoch.k as f64 / k - 1.0;
        assert!(error.abs() <= 0.0016, "{} and {k}", epoch.k);
    }
}

/// Returns two values for each round after a mark: the time since growth began (in s), and the
/// window at the end of the round.
fn epoch(set: &[(&'static str, Value)], cwnd: u32, rtt: Time, rounds: u32) -> Vec<(f64, u32)> {
    let mut host = host(set, cwnd, rtt);
    host.marked_round(1);
    // The first ACK after the round ends the reduction, and growth begins.
    host.ack(1);
    let start = host.conn.now;
    (0..rounds)
        .map(|_| {
            host.round();
            (host.conn.now.since(start).as_secs_f64(), host.window.cwnd)
        })
        .collect()
}

#[test]
fn follows_the_curve() {
    // RFC 9438 section 4.2 in floating point: W(t) = 0.4 (t - K)^3 + W_max.
    let off = [("tcp_friendliness", OFF)];
    for (w_max, ms, rounds) in [(500, 50, 240), (100, 100, 80), (2_000, 20, 800)] {
        let w = f64::from(w_max);
        let k = libm::cbrt(w * 0.3 / 0.4);
        let curve = epoch(&off, w_max, Time::from_ms(ms), rounds);
        for (t, cwnd) in &curve {
            let expected = 0.4 * (t - k) * (t - k) * (t - k) + w;
            assert!(
                (f64::from(*cwnd) - expected).abs() <= 2.0,
                "W_max {w_max}, RTT {ms} ms, {t} s: {cwnd}, not {expected}"
            );
        }
        // The run is long enough to include the concave and the convex part of the curve.
        assert!(curve.last().unwrap().0 > 1.3 * k);
    }
}

#[test]
fn fast_convergence() {
    // The first reduction occurs at a window of 500 segments. The second reduction occurs at 400
    // segments, before the window has reached 500 segments again.
    let after = |set: &[_], seconds: u64| {
        let mut cc = build(set);
        let mut stack = Stack::new(500);
        stack.with(|view, window| cc.init(view, window));
        let mut reduced =
            |stack: &mut Stack| stack.with(|view, window| cc.ssthresh(view, window, Signal::Loss));
        assert_eq!(reduced(&mut stack), 350);
        stack.window.cwnd = 400;
        assert_eq!(reduced(&mut stack), 280);
        stack.window.ssthresh = 280;
        stack.window.cwnd = 280;
        while stack.conn.now < Time::from_secs(seconds) {
            stack.conn.now += Time::from_us(200);
            stack.with(|view, window| cc.cong_avoid(view, window, 1));
        }
        stack.window.cwnd
    };
    // With fast convergence, the window reaches W_max = 400 (1024 + 717) / 2048 = 340 after
    // cbrt(60/C) = 5.3 s. Without fast convergence, the window would reach W_max = 400 after 6.7 s.
    // At 5 s, the window without fast convergence is 400 - 0.4 1.69^3 = 400 - 1.9, rounded up to
    // whole segments.
    assert_eq!(after(&[], 5), 340);
    assert_eq!(after(&[("fast_convergence", OFF)], 5), 399);
}

#[test]
fn reno_friendly() {
    // With an RTT of 40 ms, Reno's window with a beta of 0.7 grows by 8/15 segments per RTT. So
    // Reno's window grows from 14 to 20 segments within 0.45 s. CUBIC's curve needs K = 2.5 s for
    // this growth.
    let rtt = Time::from_ms(40);
    for (t, cwnd) in epoch(&[], 20, rtt, 60) {
        let reno = 14.0 + 8.0 / 15.0 * t / 0.04;
        let behind = reno - f64::from(cwnd);
        // W_est and the window are both rounded down to whole segments.
        assert!((-0.5..2.0).contains(&behind), "{t} s: {cwnd}, not {reno}");
    }
    let (_, cwnd) = epoch(&[("tcp_friendliness", OFF)], 20, rtt, 12)[11];
    assert_eq!(cwnd, 17, "0.4 (0.48 - 2.47)^3 + 20 = 16.9");
}

#[test]
fn friendly_growth_of_one_beyond_the_last_maximum() {
    let rtt = Time::from_ms(40);
    let linux = epoch(&[], 20, rtt, 50);
    let rfc = epoch(&[("friendly_alpha_one", ON)], 20, rtt, 50);
    // RFC 9438 section 4.3: Linux and the RFC agree until the window reaches cwnd_prior = 20, which
    // takes 11 rounds.
    assert_eq!(linux[..11], rfc[..11]);
    let gained = |curve: &[(f64, u32)]| curve[49].1 - curve[19].1;
    // In thirty rounds, Linux's window grows by 30 * 8/15 segments. With RFC 9438, the window grows
    // by 29 segments. The window would grow by 30 segments, but a round acknowledges fewer segments
    // than the window has at the end of the round.
    assert_eq!((gained(&linux), gained(&rfc)), (16, 29));
}

#[test]
fn growth_is_bounded() {
    // The bandwidth is not known yet, so the window grows by 5 % per RTT.
    let mut first = host(&[("tcp_friendliness", OFF)], 100, Time::from_ms(20));
    first.round();
    assert_eq!(first.window.cwnd, 105);
    // If the epoch is long, the window grows by half of its size per RTT.
    let mut late = host(&[], 100, Time::from_ms(20));
    late.marked_round(1);
    late.round();
    late.wait(Time::from_secs(1_000));
    late.ack(1);
    let (from, counted) = (
        late.window.cwnd,
        late.window.cwnd_cnt + late.flight.in_flight(),
    );
    late.round();
    assert_eq!(late.window.cwnd, from + counted / 2);
}

#[test]
fn factors() {
    let after = |set: &[_], cwnd| {
        [Signal::Loss, Signal::Ecn]
            .map(|signal| testing::ssthresh(&mut *build(set), cwnd, cwnd, signal))
    };
    let abe = [("beta_ecn", Value::Float(0.85))];
    assert_eq!(after(&[], 100), [70, 70]);
    // The factor of 0.85 is 870/1024.
    assert_eq!(after(&abe, 100), [70, 84]);
    assert_eq!(after(&[], 2), [2, 2]);
}

#[test]
fn spurious_reductions_are_undone() {
    let mut host = host(&[], 100, Time::from_ms(20));
    host.lose();
    for _ in 0..30 {
        host.ack(1);
    }
    assert!(host.window.cwnd < 100);
    host.undo();
    assert_eq!(host.window.cwnd, 100);
}

/// Returns a sender in slow start with a window of 20 segments and a known RTT.
fn slow_start(set: &[(&'static str, Value)], rtt: Time) -> Host {
    let mut host = Host::new(build(set), 10, rtt);
    host.round();
    assert_eq!(host.window.cwnd, 20);
    host
}

#[test]
fn hystart_leaves_on_delay() {
    // 20 ACKs in 100 ms are too far apart for a train. If the RTT has risen by more than an eighth,
    // slow start ends at the ninth ACK of the round. The window does not grow for that ACK.
    let end = |rtt: Time| {
        let mut host = slow_start(&[], Time::from_ms(100));
        host.rtt = rtt;
        host.round();
        host.window.ssthresh
    };
    assert_eq!(end(Time::from_us(112_500)), INFINITE_SSTHRESH);
    assert_eq!(end(Time::from_us(112_501)), 28);
    // The rise of the RTT that ends slow start is at least 4 ms (as here, at an RTT of 20 ms) and
    // at most 16 ms.
    let least = |us| {
        let mut host = slow_start(&[("hystart_ack_delay", OFF)], Time::from_ms(20));
        host.rtt = Time::from_us(us);
        for _ in 0..9 {
            host.wait(Time::from_ms(3));
            host.ack(1);
        }
        host.window.ssthresh
    };
    assert_eq!(least(24_000), INFINITE_SSTHRESH);
    assert_eq!(least(24_001), 28);
}

#[test]
fn hystart_leaves_on_a_train() {
    // 20 ACKs arrive 0.4 ms apart. At the twelfth ACK, the train is longer than half of the RTT of
    // 8 ms. With an allowance of 1 ms for bursts, the train is too long only at the thirteenth ACK.
    // The ACK that ends slow start does not increase the window.
    let end = |set: &[_]| {
        let mut host = slow_start(set, Time::from_ms(8));
        host.round();
        host.window.ssthresh
    };
    assert_eq!(end(&[("hystart_ack_delay", OFF)]), 20 + 11);
    assert_eq!(end(&[]), 20 + 12);
    assert_eq!(end(&[("hystart", OFF)]), INFINITE_SSTHRESH);
}

#[test]
fn hystart_waits_for_a_whole_rtt_where_packets_are_paced() {
    let mut host = slow_start(&[], Time::from_ms(40));
    host.window.pacing_rate = 1_000_000;
    host.round();
    assert_eq!(host.window.ssthresh, INFINITE_SSTHRESH);
}

#[test]
fn smallest_delay() {
    let mut cc = cubic();
    let mut stack = Stack::new(100);
    stack.window.ssthresh = 50;
    let sample = |cc: &mut Cubic, stack: &mut Stack, ms: u64| {
        let ack = Ack {
            rtt: Some(Time::from_ms(ms)),
            ..Ack::default()
        };
        stack.with(|view, window| cc.pkts_acked(view, window, &ack));
        cc.epoch.delay_min
    };
    stack.with(|view, window| cc.init(view, window));
    assert_eq!(sample(&mut cc, &mut stack, 30), 30_000);
    assert_eq!(sample(&mut cc, &mut stack, 40), 30_000);
    // After growth has begun again, CUBIC ignores RTT samples for one second.
    stack.conn.now = Time::from_ms(5_000);
    stack.with(|view, window| cc.cong_avoid(view, window, 1));
    stack.conn.now = Time::from_ms(5_999);
    assert_eq!(sample(&mut cc, &mut stack, 20), 30_000);
    stack.conn.now = Time::from_ms(6_000);
    assert_eq!(sample(&mut cc, &mut stack, 20), 20_000);
    stack.with(|view, window| cc.set_state(view, window, CaState::Loss));
    assert_eq!(sample(&mut cc, &mut stack, 50), 50_000);
}

#[test]
fn the_curve_waits_while_the_application_is_silent() {
    let mut cc = cubic();
    let mut stack = Stack::new(100);
    stack.window.ssthresh = 50;
    stack.conn.now = Time::from_secs(1);
    stack.with(|view, window| {
        cc.init(view, window);
        cc.cong_avoid(view, window, 1);
    });
    stack.conn.last_sent = Time::from_secs(3);
    stack.conn.now = Time::from_secs(10);
    stack.with(|view, window| cc.cwnd_event(view, window, CwndEvent::TxStart));
    assert_eq!(cc.epoch.start, Some(8_000));
    // The start of the epoch never moves beyond the present.
    stack.conn.last_sent = Time::ZERO;
    stack.with(|view, window| cc.cwnd_event(view, window, CwndEvent::TxStart));
    assert_eq!(cc.epoch.start, Some(10_000));
}

#[test]
fn recomputes_at_most_once_a_jiffy_and_32_ms_for_the_same_window() {
    let mut epoch = Epoch {
        last_max_cwnd: 100,
        ..Epoch::default()
    };
    let friendly = Friendly {
        on: false,
        alpha_one: false,
        scale: 15,
        cwnd_prior: 0,
        unit: 1,
    };
    let mut at = |now, cwnd| {
        epoch.update(&friendly, now, cwnd, 1);
        epoch.last_time
    };
    assert_eq!(at(1_000, 70), 1_000);
    assert_eq!(at(1_031, 70), 1_000);
    assert_eq!(at(1_032, 70), 1_032);
    assert_eq!(at(1_033, 71), 1_033);
}
