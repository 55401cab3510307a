//! Tests how the window grows without marks.

use super::*;
use crate::cc::testing::{Host, options};
use crate::registry::Value;

/// Returns by how many segments the window grows in one RTT.
fn growth(scaling: &'static str, rtt: Time) -> f64 {
    let set = [
        ("rtt_scaling", Value::Word(scaling)),
        ("rtt_transition", Value::Int(0)),
    ];
    let cc = (ENTRY.build)(&options(&ENTRY, &set));
    let mut host = Host::new(cc, 1_000, rtt);
    host.window.ssthresh = 1_000;
    // The first round still uses the increase without scaling.
    host.round();
    let before = host.window.cwnd;
    for _ in 0..100 {
        host.round();
    }
    f64::from(host.window.cwnd - before) / 100.0
}

#[test]
fn growth_follows_the_scaling() {
    let ms = Time::from_ms;
    // RTTs are in units of 128 us, so 5 ms are 39 units, 25 ms are 195 units, and 40 ms are 312
    // units.
    let square = |rtt: f64, target: f64| (rtt / target) * (rtt / target);
    let scalable = |rtt: f64| (16.0 + (rtt - 12.0).clamp(0.0, 128.0)) * rtt / 128.0 / 128.0;
    for (scaling, rtt, expected) in [
        ("off", ms(5), 1.0),
        ("rate", ms(5), square(39.0, 195.0)),
        ("rate", ms(10), square(78.0, 195.0)),
        ("rate", ms(40), 1.0),
        ("additive", ms(5), square(39.0, 234.0)),
        ("scalable", ms(5), scalable(39.0)),
        ("scalable", ms(10), scalable(78.0)),
        ("scalable", Time::from_us(1_000), scalable(7.0)),
    ] {
        let found = growth(scaling, rtt);
        assert!(
            (found - expected).abs() < 0.03,
            "{scaling} at {rtt:?}: {found}, not {expected}"
        );
    }
}

/// `prague_update_pacing_rate`: the rate is the window or the segments in flight, whichever is
/// larger, divided by srtt. Each packet has 1500 bytes. If the window is below half of ssthresh,
/// the rate is doubled. A burst lasts a quarter of a millisecond (2^-12 s), but has at least two
/// segments.
#[test]
fn pacing_by_packets() {
    let cc = || (ENTRY.build)(&options(&ENTRY, &[]));
    for (cwnd, ssthresh, rtt, rate, burst) in [
        (100, 100, Time::from_ms(20), 7_500_000, 2),
        (100, 200, Time::from_ms(20), 7_500_000, 2),
        (100, 202, Time::from_ms(20), 15_000_000, 2),
        // At 100,000 packets a second, 24 packets leave in 2^-12 s.
        (100, 100, Time::from_ms(1), 150_000_000, 24),
    ] {
        let mut host = Host::new(cc(), cwnd, rtt);
        host.window.ssthresh = ssthresh;
        // The window does not grow, so the number of segments in flight stays the same.
        host.conn.cwnd_limited = false;
        host.ack(0);
        let found = (host.window.pacing_rate, host.window.pacing_burst);
        assert_eq!(found, (rate, burst), "{cwnd} {ssthresh} {rtt:?}");
    }
    let mut host = Host::new(cc(), 100, Time::from_ms(20));
    host.window.ssthresh = 60;
    host.window.cwnd = 60;
    host.ack(0);
    assert_eq!(host.window.pacing_rate, 7_500_000, "100 are in flight");
    let mut host = Host::new(cc(), 100, Time::from_ms(20));
    (host.conn.srtt, host.window.pacing_rate) = (Time::ZERO, 7);
    host.ack(0);
    assert_eq!(host.window.pacing_rate, 7, "no RTT is known");
}
