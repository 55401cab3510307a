//! Tests links with impairments. Checks the counters, and how TCP responds.

mod common;

use common::*;
use tailback_engine::impairments::ENTRIES;
use tailback_engine::plan::*;
use tailback_engine::registry::{Value, complete_defaults, defaults};
use tailback_engine::traffic;
use tailback_engine::units::{Rate, Time};
use tailback_record::{Cause, Outcome};

const MS: fn(u64) -> Time = Time::from_ms;

/// Returns a source with a constant bit rate over link 0, without a delay before the link.
fn cbr(rate: u64, size: i64) -> TrafficPlan {
    let entry = traffic::cbr::ENTRY;
    let mut options = defaults(entry.options);
    options.set("rate", Value::Rate(Rate(rate)));
    options.set("packet_size", Value::Int(size));
    TrafficPlan {
        name: "cbr".into(),
        kind: entry.name,
        options,
        count: 1,
        route: vec![0],
        ..TrafficPlan::default()
    }
}

/// Sends 1500 B every ms for ten seconds over a link with these impairments.
fn datagrams(impairments: Vec<ImpairmentPlan>) -> Outcome {
    let first = LinkPlan {
        impairments,
        ..link(1_000_000_000, "fifo", &[])
    };
    let mut p = plan(Time::from_secs(10), vec![first], vec![]);
    p.traffic = vec![cbr(12_000_000, 1_500)];
    p.record.events = true;
    run(network(&p))
}

#[test]
fn windows_and_directions_are_kept() {
    let all = [("probability", "1")];
    let windows = Windows(vec![(MS(1_000), MS(1_500)), (MS(8_000), MS(8_001))]);
    let lossy = |only, during| ImpairmentPlan {
        only,
        during,
        ..impairment("loss", &all)
    };
    let outcome = datagrams(vec![lossy(Concerns::Data, windows.clone())]);
    let counts = &outcome.links[0].counts;
    assert_eq!((counts.get(Cause::Loss), counts.drops()), (501, 501));
    let outcome = datagrams(vec![lossy(Concerns::Acks, windows)]);
    assert_eq!(outcome.links[0].counts.drops(), 0);
    let outcome = datagrams(vec![lossy(Concerns::All, Windows::default())]);
    assert_eq!(outcome.traffic[0].received_packets, 0);
}

#[test]
fn each_copy_arrives() {
    let outcome = datagrams(vec![impairment("duplicate", &[("probability", "1")])]);
    let source = &outcome.traffic[0];
    assert_eq!(source.received_packets, 2 * source.sent_packets);
    // Three impairments, each of which duplicates every packet, make eight packets from one.
    let thrice = vec![impairment("duplicate", &[("probability", "1")]); 3];
    let source = &datagrams(thrice).traffic[0];
    assert_eq!(source.received_packets, 8 * source.sent_packets);
}

/// Transfers 4 MB over a path with 20 Mbit/s and an RTT of 40 ms. One set of impairments affects
/// data, and another affects ACKs.
fn transfer(there: Vec<ImpairmentPlan>, back: Vec<ImpairmentPlan>) -> Outcome {
    let (there, back) = (
        LinkPlan {
            impairments: there,
            ..link(20_000_000, "fifo", &[])
        },
        LinkPlan {
            impairments: back,
            name: "back".into(),
            ..link(20_000_000, "fifo", &[])
        },
    );
    let flow = FlowPlan {
        bytes: Some(tailback_engine::units::Bytes(4_000_000)),
        back: vec![1],
        ..flow("cubic", "cubic", MS(40), &[])
    };
    let p = plan(Time::from_secs(120), vec![there, back], vec![flow]);
    let mut network = network(&p);
    while network.advance(1_000) {
        let census = network.census();
        assert_eq!(
            census.entered,
            census.ended + census.inside + census.dropped
        );
    }
    network.finish()
}

fn seconds(outcome: &Outcome) -> f64 {
    let completion = outcome.flows[0].completion_ns.expect("the transfer ends");
    completion as f64 / 1e9
}

#[test]
fn a_transfer_ends_whatever_the_path_does_to_it() {
    let plain = seconds(&transfer(vec![], vec![]));
    for entry in ENTRIES {
        let all = ImpairmentPlan {
            kind: entry.name,
            options: complete_defaults(entry),
            ..ImpairmentPlan::default()
        };
        let outcome = transfer(vec![all.clone()], vec![all]);
        let time = seconds(&outcome);
        assert!(
            time >= plain * 0.99,
            "{}: {time} s, {plain} s without",
            entry.name
        );
        assert_eq!(
            outcome.flows[0].delivered_bytes, 4_000_000,
            "{}",
            entry.name
        );
    }
    let all = ENTRIES.iter().filter(|entry| entry.name != "police");
    let all: Vec<ImpairmentPlan> = all.map(|entry| impairment(entry.name, &[])).collect();
    assert_eq!(
        transfer(all.clone(), all).flows[0].delivered_bytes,
        4_000_000
    );
}

#[test]
fn reordered_data_is_retransmitted_only_where_it_is_late_enough() {
    // RACK waits for a quarter of the round-trip time before it treats a late packet as lost (RFC
    // 8985 section 6.2).
    let late = |by| {
        vec![impairment(
            "reorder",
            &[("probability", "0.02"), ("by", by)],
        )]
    };
    let soon = transfer(late("2ms"), vec![]);
    let long = transfer(late("60ms"), vec![]);
    let retransmitted = |outcome: &Outcome| outcome.flows[0].retransmits;
    assert!(retransmitted(&long) > 10 * retransmitted(&soon).max(1));
    // Packets were late, but no packet was lost.
    assert_eq!(long.links[0].counts.get(Cause::Loss), 0);
}
