//! Tests how LEDBAT, a congestion control for background transfers, shares a link and responds to
//! losses.

mod common;

use common::*;
use tailback_engine::registry::Value;
use tailback_engine::units::Time;
use tailback_record::Outcome;

const RTT: Time = Time::from_ms(40);
const RATE: u64 = 20_000_000;

fn within(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let error = measured / expected - 1.0;
    assert!(
        error.abs() <= tolerance,
        "{what}: {measured:.4}, the law says {expected:.4}"
    );
}

/// Runs one flow for each of these congestion controls over a FIFO of this many packets. The
/// bandwidth-delay product is 66 packets.
fn beside(packets: u64, flows: &[(&str, &[(&'static str, Value)])]) -> Outcome {
    let l = link(RATE, "fifo", &[("limit", Value::Packets(packets))]);
    let flows = flows.iter().map(|(cc, set)| flow(cc, cc, RTT, set));
    let mut p = plan(Time::from_secs(120), vec![l], flows.collect());
    p.warmup = Time::from_secs(40);
    run(network(&p))
}

/// A single LEDBAT flow fills the link. The delay of the queue equals LEDBAT's target.
#[test]
fn the_queue_is_as_long_as_the_target() {
    for target in [Time::from_ms(25), Time::from_ms(100)] {
        let outcome = beside(1_000, &[("ledbat", &[("target", Value::Time(target))])]);
        let link = &outcome.links[0];
        within(
            "queue delay, ms",
            link.delay.mean().expect("packets") / 1e6,
            target.as_secs_f64() * 1e3,
            0.03,
        );
        assert_eq!(link.counts.drops(), 0);
        within(
            "utilisation",
            link.bytes as f64 / link.capacity_bytes,
            1.0,
            0.001,
        );
    }
}

/// If the buffer can delay packets by more than LEDBAT's target delay, a Reno flow gets nearly the
/// whole link. With a smaller buffer, the delay never reaches the target, and LEDBAT is as fast as
/// Reno.
#[test]
fn it_yields_only_to_a_queue_longer_than_the_target() {
    let share = |packets: u64| {
        let outcome = beside(packets, &[("ledbat", &[]), ("reno", &[])]);
        let [background, reno] = [0, 1].map(|flow| outcome.flows[flow].delivered_bytes as f64);
        background / (background + reno)
    };
    let (deep, shallow) = (share(500), share(33));
    assert!(deep < 0.05, "{deep}");
    assert!((0.4..=0.6).contains(&shallow), "{shallow}");
}

/// Without a queue, LEDBAT responds to losses like Reno: W = sqrt(3/2) / sqrt p, times the square
/// root of LEDBAT's gain.
#[test]
fn losses_halve_the_window() {
    for (gain, n) in [(1.0, 1_000), (0.25, 1_000), (4.0, 4_000)] {
        let f = flow("f", "ledbat", RTT, &[("gain", Value::Float(gain))]);
        let mut p = plan(
            Time::from_secs(600),
            vec![link(100_000_000_000, "fifo", &[])],
            vec![f],
        );
        p.warmup = Time::from_secs(120);
        let mut network = network(&p);
        network.replace_queue(0, EveryNth::new(n, false));
        within(
            &format!("window with gain {gain}"),
            mean_window(&run(network), 0),
            (1.5 * gain * n as f64).sqrt(),
            0.06,
        );
    }
}
