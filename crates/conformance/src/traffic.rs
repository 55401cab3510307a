//! Tests requirements that a kind of traffic must meet.

use tailback_engine::plan::*;
use tailback_engine::registry::{Entry, complete_defaults};
use tailback_engine::rng::Stream;
use tailback_engine::traffic::{Build, Role, Step, Transport, answers, connects};
use tailback_engine::units::Time;

use tailback_record::Completion;

use crate::plans::*;

/// Checks that a kind of traffic meets every requirement of this module.
pub fn conforms(entry: &'static Entry<Build>) {
    has_steps_of_its_transport_and_seed(entry);
    has_every_packet_somewhere(entry);
}

/// Returns the source's first steps and the time at which each step is due. Waits are not included.
fn steps(entry: &'static Entry<Build>, seed: u64) -> Vec<(Time, Step)> {
    let options = complete_defaults(entry);
    let stream = Stream::new(seed, "source", "traffic");
    let mut source = (entry.build.source)(&options, stream);
    let (mut now, mut all) = (Time::from_ms(7), Vec::new());
    let mut open: Vec<u64> = Vec::new();
    while all.len() < 1_000 {
        match source.next(now) {
            Step::Wait(Time::NEVER) => {
                assert!(!open.is_empty(), "{}: it waits for nothing", entry.name);
                now += Time::from_ms(10);
                for bytes in open.drain(..) {
                    let completion = Completion {
                        at_ns: now.ns(),
                        bytes,
                        took_ns: 10_000_000,
                    };
                    source.complete(now, &completion);
                }
            }
            Step::Wait(until) => {
                assert!(until > now, "{}: it waits for the past", entry.name);
                now = until;
            }
            Step::Done => break,
            Step::Count => source.count(0),
            step => {
                if let Step::Open { bytes } | Step::Request { bytes, .. } = step {
                    open.push(bytes);
                }
                all.push((now, step));
            }
        }
    }
    all
}

/// The source's transport (UDP or TCP) must allow each step. The steps must depend only on the
/// seed, and must not exceed the rate that the source declares.
pub fn has_steps_of_its_transport_and_seed(entry: &'static Entry<Build>) {
    let all = steps(entry, 1);
    assert!(!all.is_empty(), "{}: it sends nothing", entry.name);
    assert_eq!(all, steps(entry, 1), "{}", entry.name);
    let options = complete_defaults(entry);
    for (_, step) in &all {
        match (step, entry.build.transport) {
            (Step::Send { len, .. }, Transport::Datagrams(of)) => {
                assert_eq!(*len, of(&options).len, "{}", entry.name);
            }
            (Step::Frame { bytes, .. }, Transport::Datagrams(of)) => {
                let frames = matches!(of(&options).role, Role::Frames { .. });
                assert!(frames && *bytes > 0, "{}", entry.name);
            }
            (
                Step::Open { bytes } | Step::Request { bytes, .. },
                Transport::Connections { largest, .. },
            ) => {
                assert!((1..=largest(&options)).contains(bytes), "{}", entry.name);
            }
            (Step::Load | Step::Ask { .. }, Transport::Connections { .. }) => {}
            (step, _) => panic!("{}: {step:?}", entry.name),
        }
    }
    let last = all[all.len() - 1].0.since(all[0].0).as_secs_f64();
    match entry.build.transport {
        Transport::Datagrams(of) => {
            let datagrams = of(&options);
            let size = |(_, step): &(Time, Step)| match step {
                Step::Frame { bytes, .. } => u64::from(*bytes),
                _ => u64::from(datagrams.len),
            };
            let sent: u64 = all[..all.len() - 1].iter().map(size).sum();
            let least = datagrams.rate.time_for(sent).as_secs_f64();
            assert!(last >= least * 0.999, "{}", entry.name);
        }
        // A source that loads and probes a path does not declare a rate. It declares only the
        // shortest time between its probes, so check nothing.
        Transport::Connections { .. } if all.iter().any(|(_, step)| *step == Step::Load) => {}
        Transport::Connections { gap, .. } => {
            let mean = gap(&options).as_secs_f64() * 999.0;
            assert!((last / mean - 1.0).abs() < 0.2, "{}: {last}", entry.name);
        }
    }
}

/// Runs the traffic over a link with random losses. Every packet must have arrived or been dropped,
/// and every connection that the source opened before it stopped must complete.
pub fn has_every_packet_somewhere(entry: &'static Entry<Build>) {
    let rtt = Time::from_ms(10);
    let options = complete_defaults(entry);
    let server = flow("server", "reno", rtt, &[]);
    let connections = connects(entry.name).then(|| {
        Box::new(ConnectionsPlan {
            cc: server.cc,
            module: None,
            ecn: server.ecn,
            back: vec![],
            tcp: server.tcp,
            limit: options.int("limit") as u32,
        })
    });
    let mut bottleneck = link(10_000_000, "fifo", &[]);
    bottleneck.loss = 0.02;
    let mut p = plan(Time::from_secs(200), vec![bottleneck], vec![]);
    p.traffic = vec![TrafficPlan {
        name: "source".into(),
        count: 1,
        kind: entry.name,
        options,
        start: Time::ZERO,
        stop: Some(Time::from_secs(20)),
        rtt,
        route: vec![0],
        connections,
        answers: answers(entry.name).then(Vec::new),
        hosts: None,
        dscp: 0,
        class: None,
    }];
    let mut network = network(&p);
    while network.advance(100) {
        let c = network.census();
        assert_eq!(c.entered, c.ended + c.inside + c.dropped, "{}", entry.name);
    }
    assert_eq!(network.census().inside, 0, "{}", entry.name);
    let outcome = network.finish();
    let source = &outcome.traffic[0];
    assert!(source.received_packets > 0, "{}", entry.name);
    assert!(
        source.received_packets < source.sent_packets,
        "{}",
        entry.name
    );
    assert_eq!(source.completions.is_some(), connects(entry.name));
    if let Some(all) = &source.completions {
        assert_eq!(all.done.len() as u64, all.started, "{}", entry.name);
    }
}
