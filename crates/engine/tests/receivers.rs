//! Tests dishonest receivers: how much faster their flows are, and how much throughput other flows
//! lose.

mod common;

use common::*;
use tailback_engine::plan::*;
use tailback_engine::registry::Value;
use tailback_engine::units::Time;
use tailback_record::{Cause, Outcome};

const MS: fn(u64) -> Time = Time::from_ms;

/// Runs two flows over a path of 20 Mbit/s and 40 ms for 20 s. The first flow's receiver behaves as
/// `receiver`.
fn pair(cc: &str, queue: &str, receiver: Conduct, growth: Growth) -> Outcome {
    let set = match queue {
        "codel" => vec![("ecn", Value::Bool(true))],
        _ => vec![("limit", Value::Packets(60))],
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
}

/// Returns how many segments a flow sends in the first two round trips of slow start, if its
/// receiver acknowledges every segment separately.
fn in_two_rounds(receiver: Conduct, growth: Growth) -> u64 {
    let flow = FlowPlan {
        tcp: TcpPlan {
            receiver,
            growth,
            initial_cwnd: 4,
            delack: Delack::OFF,
            ..TcpPlan::default()
        },
        ..flow("one", "reno", MS(40), &[])
    };
    let bottleneck = link(10_000_000_000, "fifo", &[]);
    // The handshake takes the first 40 ms. Data arrives 20 ms after it is sent.
    let outcome = run(network(&plan(MS(110), vec![bottleneck], vec![flow])));
    outcome.flows[0].packets
}

#[test]
fn a_window_that_counts_acks_grows_by_each_part() {
    // If the window grows with the number of ACKs, slow start adds one segment for each ACK. From 4
    // segments, the first round adds 4 with one ACK per segment, and 8 x 4 with eight ACKs per
    // segment.
    let [segments, acks] = [Growth::Segments, Growth::Acks];
    assert_eq!(in_two_rounds(Conduct::Honest, segments), 4 + 8);
    assert_eq!(in_two_rounds(Conduct::DividesAcks, segments), 4 + 8);
    assert_eq!(in_two_rounds(Conduct::Honest, acks), 4 + 8);
    assert_eq!(in_two_rounds(Conduct::DividesAcks, acks), 4 + 36);
}

#[test]
fn a_sender_does_not_see_marks_that_its_receiver_hides() {
    // If the receiver hides CE marks, a queue that marks packets instead of dropping them has no
    // effect on the sender.
    let alone = |queue, ecn, receiver| {
        let limit = ("limit", Value::Packets(100_000));
        let marks = ("ecn", Value::Bool(true));
        let set = if ecn { vec![limit, marks] } else { vec![limit] };
        let flow = FlowPlan {
            ecn: true,
            tcp: TcpPlan {
                receiver,
                ..TcpPlan::default()
            },
            ..flow("one", "reno", MS(40), &[])
        };
        let bottleneck = link(20_000_000, queue, &set);
        run(network(&plan(
            Time::from_secs(5),
            vec![bottleneck],
            vec![flow],
        )))
    };
    let plain = alone("fifo", false, Conduct::Honest);
    let hidden = alone("codel", true, Conduct::HidesCe);
    assert!(hidden.links[0].counts.get(Cause::Mark) > 0);
    assert_eq!(hidden.links[0].counts.drops(), 0);
    assert_eq!(plain.links[0].counts.drops(), 0);
    assert_eq!(hidden.flows[0].packets, plain.flows[0].packets);
    assert_eq!(
        hidden.flows[0].delivered_bytes,
        plain.flows[0].delivered_bytes
    );
}

#[test]
fn a_receiver_that_hides_marks_gains() {
    // The window of the flow that hides marks never shrinks. The window of the other flow, a Reno
    // flow with the same path and RTT, shrinks at every mark.
    let outcome = pair("reno", "codel", Conduct::HidesCe, Growth::Segments);
    let [cheat, honest] = packets(&outcome);
    assert!(cheat > honest, "{cheat} against {honest}");
    assert!(outcome.links[0].counts.get(Cause::Mark) > 0);
}

#[test]
fn an_optimistic_receiver_conceals_loss() {
    // The receiver acknowledges lost segments, so the sender neither retransmits nor reduces its
    // window.
    let outcome = pair("reno", "fifo", Conduct::Optimistic, Growth::Segments);
    let [cheat, honest] = packets(&outcome);
    assert!(cheat > honest, "{cheat} against {honest}");
    assert_eq!(outcome.flows[0].retransmits, 0);
    assert!(outcome.links[0].counts.drops() > 0);
}
