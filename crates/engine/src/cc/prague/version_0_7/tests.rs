//! Tests how window, rate and alpha change in version 0.7. The tests infer the sender's rate from
//! its pacing rate.

use crate::cc::prague::ENTRY;
use crate::cc::testing::{Host, options};
use crate::registry::Value;
use crate::units::Time;

/// Returns a sender of version 0.7 in congestion avoidance, with these options.
fn host(cwnd: u32, rtt: Time, set: &[(&'static str, Value)]) -> Host {
    let mut all = vec![("version", Value::Word("0.7"))];
    all.extend_from_slice(set);
    let cc = (ENTRY.build)(&options(&ENTRY, &all));
    let mut host = Host::new(cc, cwnd, rtt);
    host.window.ssthresh = cwnd;
    host
}

/// Options with which RTT scaling starts at once. These options also prevent the first mark from
/// halving the window.
const SCALED: [(&str, Value); 2] = [
    ("rtt_transition", Value::Int(0)),
    ("alpha_init", Value::Float(1e-7)),
];

fn scaled(cwnd: u32, rtt: Time, set: &[(&'static str, Value)]) -> Host {
    host(cwnd, rtt, &[&SCALED, set].concat())
}

/// Returns a sender that adapts the rate instead of the window, because it has seen a mark.
fn by_rate(cwnd: u32, rtt: Time, swing: i64) -> Host {
    let mut host = scaled(
        cwnd,
        rtt,
        &[
            ("mode", Value::Word("rate")),
            ("swing", Value::Int(swing)),
            ("g", Value::Float(1.0 / 1024.0)),
        ],
    );
    host.ack_ece(1);
    host
}

fn alpha(host: &Host) -> f64 {
    host.gauges()[0]
}

fn window(host: &Host) -> f64 {
    host.gauges()[1]
}

/// `prague_update_alpha`: alpha moves towards the marked fraction by g times the difference. Alpha
/// is stored divided by g, so its resolution is 2^-28. So even a single mark among 2000 segments
/// has an effect.
#[test]
fn alpha_is_a_moving_average_with_24_digits() {
    let mut host = host(2_000, Time::from_ms(40), &[]);
    let g = 1.0 / 16.0;
    let mut expected = 0.0;
    host.round();
    for marked in [1, 0, 0, 30, 0, 1, 1] {
        let sent = f64::from(host.flight.in_flight());
        host.marked_round(marked);
        expected += g * (f64::from(marked) / sent - expected);
        let found = alpha(&host);
        // A round of the L4S team's module ends a few segments before a round of the test.
        let error = (found - expected).abs();
        assert!(
            error < 0.01 * expected + 1e-7,
            "{marked}: {found}, not {expected}"
        );
    }
    // With 20 digits, an alpha below 1e-6 would be 0.
    let mut rounds = 0;
    while alpha(&host) > 4e-7 {
        host.round();
        rounds += 1;
    }
    assert!(
        alpha(&host) > 2e-7 && (130..150).contains(&rounds),
        "{rounds}"
    );
}

/// `prague_update_cwnd`: the first mark halves the window, because alpha starts at 0. Each ACK then
/// shrinks the window by one segment.
#[test]
fn the_first_mark_halves_the_window() {
    for (init, expected) in [(0.0, 50.0), (1.0, 50.0), (0.5, 75.0)] {
        let mut host = host(
            100,
            Time::from_ms(40),
            &[("alpha_init", Value::Float(init))],
        );
        host.ack_ece(1);
        assert_eq!(host.window.cwnd, 99, "alpha {init}");
        assert!((window(&host) - expected).abs() < 0.01, "alpha {init}");
        let left = host.flight.in_flight();
        (0..left).for_each(|_| host.ack(1));
        // During the reduction, the window also grows by 1 or 2 segments.
        let more = f64::from(host.window.cwnd) - expected;
        assert!((1.0..=2.0).contains(&more), "alpha {init}: {more}");
    }
}

/// `prague_enter_cwr`: once RTT scaling has begun, at least the target RTT passes between two
/// reductions.
#[test]
fn one_reduction_in_a_target_rtt() {
    for (rtt_ms, target, most) in [(5, "25ms", 41), (5, "10ms", 101), (50, "25ms", 21)] {
        let rtt = Time::from_ms(rtt_ms);
        let target = Time::from_ms(target.trim_end_matches("ms").parse().expect("a number"));
        let mut host = scaled(400, rtt, &[("rtt_target", Value::Time(target))]);
        let mut reductions = 0;
        let end = host.conn.now + Time::from_secs(1);
        while host.conn.now < end {
            let before = window(&host);
            host.ack_ece(1);
            reductions += u32::from(window(&host) < before - 1e-3);
            let n = host.flight.in_flight().saturating_sub(1);
            for _ in 0..n {
                host.wait(Time(rtt.ns() / u64::from(n + 1)));
                host.ack(1);
            }
            host.wait(Time(rtt.ns() / u64::from(n + 1)));
        }
        assert!(
            (most / 2..=most).contains(&reductions),
            "{rtt_ms} ms, {target:?}: {reductions}"
        );
    }
}

/// `prague_rate_scaled_ai_ack_increase`: the window grows by (RTT/target)^2 segments per RTT. So
/// the growth of the rate is the same at every RTT.
#[test]
fn growth_follows_the_square_of_the_rtt() {
    for rtt_ms in [2, 5, 10, 20, 25, 40] {
        let mut host = scaled(100, Time::from_ms(rtt_ms), &[]);
        host.round();
        let before = window(&host);
        (0..100).for_each(|_| host.round());
        let found = (window(&host) - before) / 100.0;
        let ratio = (rtt_ms as f64 / 25.0).min(1.0);
        let expected = ratio * ratio;
        assert!(
            (found - expected).abs() < 0.01 * expected,
            "{rtt_ms} ms: {found}, not {expected}"
        );
    }
}

/// Each virtual RTT adds 1500 bytes / virtual RTT to the rate, however short the actual RTT is. The
/// L4S team's module uses 2^23 instead of 8,000,000, so the rate grows faster by 4.9 %.
#[test]
fn the_rate_grows_alike_at_every_rtt() {
    for (rtt_ms, virtual_ms) in [(2, 25.0), (10, 25.0), (25, 25.0), (50, 50.0)] {
        let rtt = Time::from_ms(rtt_ms);
        let mut host = by_rate(200, rtt, 0);
        host.round();
        let (before, from) = (host.window.pacing_rate, host.conn.now);
        (0..50).for_each(|_| host.round());
        let seconds = host.conn.now.since(from).ns() as f64 / 1e9;
        let found = (host.window.pacing_rate - before) as f64 / seconds;
        let virtual_rtt = virtual_ms / 1e3;
        // The window is the rate multiplied by the slow RTT. So the window differs from the rate
        // multiplied by the RTT. The rate grows in proportion to the acknowledged share of (rate x
        // RTT).
        let acknowledged = f64::from(host.window.cwnd) * 1500.0 / (rtt_ms as f64 / 1e3);
        let expected = 1500.0 / virtual_rtt / virtual_rtt
            * 1.0486
            * (acknowledged / host.window.pacing_rate as f64);
        assert!(
            (found / expected - 1.0).abs() < 0.06,
            "{rtt_ms} ms: {found} B/s/s, not {expected}"
        );
    }
}

/// `prague_pacing_rate_to_frac_cwnd`: the window is the rate multiplied by the slow RTT. The slow
/// RTT follows the smoothed RTT with a weight of 1/128 per update.
#[test]
fn the_window_is_the_rate_times_a_slow_rtt() {
    let rtt = Time::from_ms(40);
    let mut host = by_rate(100, rtt, 0);
    let of_rate = |host: &Host, rtt_s: f64| {
        host.window.pacing_rate as f64 * rtt_s * 8e6 / (1 << 23) as f64 / 1500.0
    };
    host.conn.cwnd_limited = true;
    // The rate has a minimum growth per ACK, which would hide the relation between window and rate.
    // So measure the window after a reduction.
    (0..10).for_each(|_| host.round());
    host.marked_round(1);
    let found = window(&host);
    let expected = of_rate(&host, 0.040);
    assert!(
        (found / expected - 1.0).abs() < 0.01,
        "{found}, not {expected}"
    );
    // The RTT has doubled. After n rounds, the slow RTT has grown by the fraction 1 - (127/128)^n.
    (host.rtt, host.conn.srtt) = (Time::from_ms(80), Time::from_ms(80));
    (0..63).for_each(|_| host.round());
    host.marked_round(1);
    let slow = 0.040 * (2.0 - libm::pow(127.0 / 128.0, 64.0));
    let (found, expected) = (window(&host), of_rate(&host, slow));
    assert!(
        (found / expected - 1.0).abs() < 0.02,
        "{found}, not {expected}"
    );
}

/// `prague_update_pacing_rate`: the rate is cwnd/srtt, where cwnd is in whole packets. Segments
/// leave singly.
#[test]
fn pacing_by_packets() {
    for (cwnd, ssthresh, rtt, rate, burst) in [
        (100, 100, Time::from_ms(20), 7_500_000, 1),
        (100, 200, Time::from_ms(20), 7_500_000, 1),
        (100, 202, Time::from_ms(20), 15_000_000, 2),
        // At 100,000 packets a second, 24 packets leave in 2^-12 s.
        (100, 100, Time::from_ms(1), 150_000_000, 24),
        // The rate is at least 100 kbit/s.
        (2, 2, Time::from_ms(1_000), 12_500, 1),
    ] {
        let mut host = host(cwnd, rtt, &[]);
        host.window.ssthresh = ssthresh;
        host.conn.cwnd_limited = false;
        host.ack(0);
        let found = (host.window.pacing_rate, host.window.pacing_burst);
        assert_eq!(found, (rate, burst), "{cwnd} {ssthresh} {rtt:?}");
    }
}

/// After each update of alpha, the pacing rate is 4/128 higher for half a virtual RTT. In the
/// second half of the virtual RTT, the pacing rate is 4/128 lower. Averaged over time, the pacing
/// rate equals the rate.
#[test]
fn the_pacing_rate_swings_by_three_percent() {
    let mut host = by_rate(100, Time::from_ms(5), 4);
    (0..10).for_each(|_| host.round());
    let mut seen = Vec::new();
    for _ in 0..50 {
        host.wait(Time::from_us(500));
        host.ack(0);
        seen.push(host.window.pacing_rate as f64);
    }
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let (low, high) = (seen.iter().copied().fold(f64::MAX, f64::min), {
        seen.iter().copied().fold(0.0, f64::max)
    });
    let ratio = high / low;
    assert!((ratio - 132.0 / 124.0).abs() < 1e-3, "{ratio}");
    let up = seen.iter().filter(|rate| **rate > mean).count();
    assert!(up.abs_diff(25) <= 2, "{up} of 50");
}

/// The rate replaces the window if the window is at most four packets.
#[test]
fn a_small_window_follows_the_rate() {
    for (cwnd, by_rate) in [(5, false), (4, true)] {
        let mut host = scaled(cwnd, Time::from_ms(5), &[("g", Value::Float(1.0 / 1024.0))]);
        // A mark on one segment leaves the window unchanged.
        host.ack_ece(1);
        host.conn.cwnd_limited = true;
        host.ack(0);
        let rates: Vec<_> = (0..4)
            .map(|_| {
                host.wait(Time::from_ms(5));
                host.ack(0);
                host.window.pacing_rate
            })
            .collect();
        assert_eq!(
            rates.iter().any(|rate| *rate != rates[0]),
            by_rate,
            "{rates:?}"
        );
    }
}

/// `prague_enter_loss`: a loss halves the window or the rate. If the loss was spurious, the window
/// and the rate return to their earlier values.
#[test]
fn a_loss_halves_and_undoing_it_restores() {
    let mut host = host(100, Time::from_ms(40), &[]);
    host.round();
    let before = window(&host);
    host.lose();
    assert!((window(&host) - before / 2.0).abs() < 0.01);
    host.undo();
    assert!(
        (window(&host) / before - 1.0).abs() < 0.06,
        "{}",
        window(&host)
    );

    let mut host = by_rate(100, Time::from_ms(20), 0);
    host.round();
    let before = host.window.pacing_rate as f64;
    host.lose();
    host.ack(0);
    assert!((host.window.pacing_rate as f64 / before - 0.5).abs() < 0.01);
}
