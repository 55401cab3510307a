//! Receivers that are not honest: what they gain, and who pays.

mod common;

use common::*;
use tailback_engine::plan::*;
use tailback_engine::units::Time;
use tailback_record::{Cause, Outcome};

const MS: fn(u64) -> Time = Time::from_ms;

/// Two flows over 20 Mbit/s and 40 ms for 20 s, of which the first has this receiver.
fn pair(cc: &str, queue: &str, receiver: Conduct, growth: Growth) -> Outcome {
    let set = match queue {
        "codel" => vec![("ecn", tailback_engine::registry::Value::Bool(true))],
        _ => vec![("limit", tailback_engine::registry::Value::Packets(60))],
    };
    let flow = |name: &str, receiver| FlowPlan {
        ecn: queue == "codel",
        tcp: TcpPlan {
            receiver,
            growth,
            ..TcpPlan::default()
        },
        ..flow(name, cc, MS(40), &[])
    };
    let flows = vec![flow("cheat", receiver), flow("honest", Conduct::Honest)];
    let bottleneck = link(20_000_000, queue, &set);
    run(network(&plan(Time::from_secs(20), vec![bottleneck], flows)))
}

fn packets(outcome: &Outcome) -> [f64; 2] {
    [0, 1].map(|flow| outcome.flows[flow].packets as f64)
}

#[test]
fn divided_acks_gain_nothing_where_segments_count() {
    let honest = pair("reno", "fifo", Conduct::Honest, Growth::Segments);
    let divided = pair("reno", "fifo", Conduct::DividesAcks, Growth::Segments);
    assert_eq!(packets(&honest), packets(&divided));
    // Where ACKs count, slow start and avoidance grow by every part.
    let [cheat, honest] = packets(&pair("reno", "fifo", Conduct::DividesAcks, Growth::Acks));
    assert!(cheat > 1.5 * honest, "{cheat} against {honest}");
}

#[test]
fn a_receiver_that_hides_marks_starves_the_other() {
    let [a, b] = packets(&pair("reno", "codel", Conduct::Honest, Growth::Segments));
    assert!((0.67..1.5).contains(&(a / b)), "{a} against {b}");
    let outcome = pair("reno", "codel", Conduct::HidesCe, Growth::Segments);
    let [cheat, honest] = packets(&outcome);
    assert!(cheat > 5.0 * honest, "{cheat} against {honest}");
    assert!(outcome.links[0].counts.get(Cause::Mark) > 0);
}

#[test]
fn an_optimistic_receiver_conceals_loss() {
    let outcome = pair("reno", "fifo", Conduct::Optimistic, Growth::Segments);
    let [cheat, honest] = packets(&outcome);
    assert!(cheat > 5.0 * honest, "{cheat} against {honest}");
    let [cheat, honest] = [0, 1].map(|flow| outcome.flows[flow].retransmits);
    assert!(cheat * 20 < honest.max(20), "{cheat}, {honest}");
    // What was lost is not counted as delivered.
    let lost = outcome.links[0].counts.drops();
    assert!(lost > 100, "{lost}");
}
