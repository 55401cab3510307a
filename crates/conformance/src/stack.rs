//! Tests requirements that a transport stack must meet.

use std::sync::Arc;

use tailback_engine::endpoint::Endpoint;
use tailback_engine::network::Network;
use tailback_engine::plan::*;
use tailback_engine::programs::stacks::{Build, Setting};
use tailback_engine::registry::{Entry, Value, complete_defaults};
use tailback_engine::units::Time;

use tailback_record::{Measures, Outcome};

use crate::plans::*;

/// Checks that a transport stack meets every requirement of this module.
pub fn conforms(entry: &'static Entry<Build>) {
    delivers_over_a_link(entry);
    does_the_same_again(entry);
    is_ready_to_start(entry);
}

/// Runs this stack without other traffic for 5 s over a path with 10 Mbit/s and an RTT of 20 ms.
fn run(entry: &'static Entry<Build>, seed: u64) -> Outcome {
    let bottleneck = link(10_000_000, "fifo", &[("limit", Value::Packets(50))]);
    let mut plan = plan(Time::from_secs(5), vec![bottleneck], Vec::new());
    plan.programs = vec![ProgramPlan {
        kind: entry.name,
        name: "stack".to_owned(),
        rtt: Time::from_ms(20),
        route: vec![0],
        stack: Some(complete_defaults(entry)),
        ..ProgramPlan::default()
    }];
    let mut network = Network::new(&Arc::new(plan), seed);
    while network.advance(10_000) {
        if let Some(fault) = network.endpoint_fault() {
            panic!(
                "{}: the {} {}",
                entry.name,
                fault.side.name(),
                fault.kind.describe()
            );
        }
    }
    network.finish()
}

fn measures(outcome: &Outcome) -> &Measures {
    &outcome.programs[0].measures
}

/// With default options, the stack must use more than a tenth of the link's rate.
pub fn delivers_over_a_link(entry: &'static Entry<Build>) {
    let outcome = run(entry, 1);
    let bytes = measures(&outcome).delivered_bytes;
    assert!(
        bytes > 625_000,
        "{}: {bytes} bytes arrive in 5 s over 10 Mbit/s",
        entry.name
    );
}

/// Two runs with the same seed must send the same packets. The packets must not depend on a clock,
/// memory addresses or random numbers of the system.
pub fn does_the_same_again(entry: &'static Entry<Build>) {
    let [one, other] = [1, 1].map(|seed| run(entry, seed));
    let key = |outcome: &Outcome| {
        let of = measures(outcome);
        let packets = (of.sent_packets, of.received_packets, of.ecn_sent);
        let bytes = (of.delivered_bytes, of.back_bytes, of.completion_ns);
        (packets, bytes, of.rtt.sum(), outcome.events)
    };
    assert_eq!(key(&one), key(&other), "{}: two runs differ", entry.name);
}

/// A new endpoint must not report that it is done, even after its first wake-up, which may come at
/// any time. The endpoint's headers must have 14 to 82 bytes.
pub fn is_ready_to_start(entry: &'static Entry<Build>) {
    let options = complete_defaults(entry);
    let ends: [Box<dyn Endpoint>; 2] = (entry.build.ends)(&options, &Setting::of(1));
    for (side, mut end) in ["sender", "receiver"].into_iter().zip(ends) {
        assert!(!end.is_done(), "{}: the {side} is done", entry.name);
        let header = end.header_bytes();
        assert!((14..=82).contains(&header), "{}: {header}", entry.name);
        end.wake(Time::from_ms(7));
        assert!(!end.is_done(), "{}: the {side} ends at once", entry.name);
    }
}
