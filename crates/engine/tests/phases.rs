//! Tests phase effects between two flows. With the host jitter that tailback's warning recommends,
//! the ratio of their rates varies smoothly with the round-trip time. Without jitter, it jumps.

mod common;

use common::{flow, link, network, plan, run};
use tailback_engine::plan::spreading_jitter;
use tailback_engine::registry::Value;
use tailback_engine::units::{Rate, Time};

const RATE: Rate = Rate(50_000_000);
/// Round-trip time of the first flow, in ms.
const FIRST: u64 = 10;
/// Round-trip times of the second flow, in ms.
const SECOND: std::ops::RangeInclusive<u64> = 30..=60;

/// Returns the rate of the second CUBIC flow divided by the rate of the first, for each round-trip
/// time of the second flow.
fn ratios(jitter: Time) -> Vec<f64> {
    let of = |rtt: u64| {
        let limit = [("limit", Value::Packets(100))];
        let flows = [("first", FIRST), ("second", rtt)];
        let flows = flows.map(|(name, ms)| flow(name, "cubic", Time::from_ms(ms), &[]));
        let links = vec![link(RATE.0, "fifo", &limit)];
        let mut plan = plan(Time::from_secs(60), links, flows.to_vec());
        plan.warmup = Time::from_secs(10);
        plan.host_jitter = jitter;
        let outcome = run(network(&plan));
        let [first, second] = [0, 1].map(|i| outcome.flows[i].delivered_bytes as f64);
        second / first
    };
    SECOND.step_by(2).map(of).collect()
}

/// Returns the largest factor by which the ratio of rates changes from one round-trip time to the
/// next.
fn largest_step(ratios: &[f64]) -> f64 {
    let steps = ratios.windows(2).map(|pair| pair[1] / pair[0]);
    steps.map(|step| step.max(1.0 / step)).fold(1.0, f64::max)
}

#[test]
fn the_recommended_jitter_spreads_phases() {
    let packet = RATE.time_for(1514);
    let (without, with) = (ratios(Time::ZERO), ratios(spreading_jitter(packet)));
    let steps = [largest_step(&without), largest_step(&with)];
    assert!(steps[0] > 3.0, "{} in phase: {without:?}", steps[0]);
    assert!(steps[1] < 2.0, "{} spread: {with:?}", steps[1]);
}

#[test]
fn the_recommended_jitter_is_just_below_a_packet_time() {
    for (rate, expected) in [
        (10_000_000, Time::from_us(1_000)),
        (50_000_000, Time::from_us(210)),
        (100_000_000, Time::from_us(100)),
        (1_000_000_000, Time::from_us(10)),
    ] {
        let packet = Rate(rate).time_for(1514);
        assert_eq!(spreading_jitter(packet), expected, "{rate} bit/s");
        assert!(expected < packet);
    }
}
