//! Tests the L queue of DualPI2 in access networks: the ramp of RFC 9332, and the queue protection
//! of RFC 9957.

mod common;

use common::*;
use tailback_engine::plan::Plan;
use tailback_engine::registry::Value;
use tailback_engine::units::Time;

const RATE: u64 = 40_000_000;

/// Returns a plan with one Prague flow at 40 Mbit/s and 20 ms, and a warm-up.
fn prague(set: &[(&'static str, Value)]) -> Plan {
    let mut p = plan(
        Time::from_secs(30),
        vec![link(RATE, "dualpi2", set)],
        vec![flow("f", "prague", Time::from_ms(20), &[])],
    );
    p.warmup = Time::from_secs(10);
    p
}

fn rtt(plan: &Plan) -> f64 {
    let outcome = run(network(plan));
    outcome.flows[0].rtt.mean().expect("samples") / 1e6
}

#[test]
fn protection_keeps_a_flood_out_of_the_queue_of_others() {
    let with = |protection| {
        let mut p = prague(&[("queue_protection", Value::Bool(protection))]);
        let ect1 = [("ecn", Value::Word("ect1"))];
        p.traffic = vec![cbr("flood", 50_000_000, &ect1)];
        rtt(&p)
    };
    let (protected, open) = (with(true), with(false));
    assert!(protected < 22.0, "protected: {protected} ms");
    // Without queue protection, the flood fills the L queue until its delay reaches 15 ms, the
    // target of the C queue.
    assert!((open / 35.0 - 1.0).abs() < 0.05, "without: {open} ms");
}

#[test]
fn protection_does_not_move_a_flow_that_responds() {
    let with = |protection| {
        let p = prague(&[("queue_protection", Value::Bool(protection))]);
        run(network(&p)).flows[0].delivered_bytes
    };
    assert_eq!(with(true), with(false));
}

/// Prague needs only two marks per RTT, so the delay of the L queue settles at a value at which the
/// ramp marks few packets.
#[test]
fn a_flow_stays_low_on_the_ramp() {
    let with = |min, range| {
        let set = [
            ("l_aqm", Value::Word("ramp")),
            ("ramp_min", Value::Time(Time::from_us(min))),
            ("ramp_range", Value::Time(Time::from_us(range))),
        ];
        rtt(&prague(&set)) - 20.0
    };
    let (short, long) = (with(800, 400), with(4_000, 2_000));
    assert!((0.5..1.2).contains(&short), "800 to 1200 us: {short} ms");
    assert!((3.5..5.0).contains(&long), "4 to 6 ms: {long} ms");
}
