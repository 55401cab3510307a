//! Tests connections that serve several requests, one after the other.

mod common;

use common::*;
use tailback_engine::plan::*;
use tailback_engine::registry::{Value, complete_defaults};
use tailback_engine::traffic;
use tailback_engine::units::{Bytes, Time};
use tailback_record::{Completion, TrafficOutcome};

/// Returns a source of requests for `bytes` bytes each over link 0. Connections stay open while
/// they are idle for up to `idle`.
fn web(arrival: Time, bytes: u64, rtt: Time, idle: Time, cc: &str) -> TrafficPlan {
    let entry = traffic::web::ENTRY;
    let mut options = complete_defaults(&entry);
    for (name, value) in [
        ("min", Value::Bytes(Bytes(bytes))),
        ("max", Value::Bytes(Bytes(bytes))),
        ("arrival", Value::Time(arrival)),
        ("reuse", Value::Bool(true)),
        ("idle", Value::Time(idle)),
    ] {
        options.set(name, value);
    }
    let server = flow("server", cc, rtt, &[]);
    TrafficPlan {
        name: "web".into(),
        count: 1,
        kind: entry.name,
        start: Time::ZERO,
        stop: None,
        rtt,
        route: vec![0],
        answers: None,
        connections: Some(Box::new(ConnectionsPlan {
            cc: server.cc,
            module: None,
            ecn: server.ecn,
            back: vec![],
            tcp: server.tcp,
            limit: options.int("limit") as u32,
        })),
        options,
        hosts: None,
        dscp: 0,
        class: None,
    }
}

fn done(outcome: &TrafficOutcome) -> &[Completion] {
    &outcome
        .completions
        .as_ref()
        .expect("it has connections")
        .done
}

/// The first request takes as long as on a new connection: a round-trip time to connect, another
/// until the first data arrives, and two more for the second and third window. The 40th segment of
/// the third window leaves 39 segment times after its first segment (tests/web.rs). The connection
/// stays open, so the next request saves a round-trip time. If the connection was idle for seconds,
/// it begins with the initial window again.
#[test]
fn an_unused_connection_saves_a_round_trip_time() {
    let (rtt, slot_ns) = (Time::from_ms(10), 302_800);
    let source = web(
        Time::from_secs(10),
        100_000,
        rtt,
        Time::from_secs(1000),
        "reno",
    );
    let mut p = plan(
        Time::from_secs(300),
        vec![link(40_000_000, "fifo", &[])],
        vec![],
    );
    p.traffic = vec![source];
    let outcome = run(network(&p));
    let done = done(&outcome.traffic[0]);
    assert!(done.len() > 20);
    let new_ns = 4 * rtt.ns() + 39 * slot_ns;
    assert_eq!(done[0].took_ns, new_ns);
    // After an idle time shorter than three timeouts, the window is still larger than the initial
    // window.
    let later = || done[1..].iter().map(|one| (one.bytes, one.took_ns));
    assert!(later().all(|one| one <= (100_000, new_ns - rtt.ns())));
    let from_initial = later().filter(|one| *one == (100_000, new_ns - rtt.ns()));
    assert!(from_initial.count() * 10 > done.len() * 8);
    assert_eq!(outcome.traffic[0].sent_packets, done.len() as u64 * 70);
}

/// A request for one segment takes two round-trip times on a new connection, and one on an idle
/// connection. With 5 requests per round-trip time on average, nearly every request finds an idle
/// connection before its own new connection is open. (If connections became idle at random, the
/// probability that none becomes idle within a round-trip time would be exp(-5) = 0.7 %. In fact
/// they become idle in groups.)
#[test]
fn a_request_takes_a_connection_that_falls_idle_before_its_own_is_open() {
    let rtt = Time::from_ms(100);
    let mut p = plan(
        Time::from_secs(60),
        vec![link(40_000_000, "fifo", &[])],
        vec![],
    );
    p.traffic = vec![web(Time::from_ms(20), 1000, rtt, Time::ZERO, "cubic")];
    let outcome = run(network(&p));
    let done = done(&outcome.traffic[0]);
    assert!(done.len() > 2800);
    let least = rtt.ns();
    // At the link, where a packet takes less than 0.3 ms, it may wait for other packets.
    let slack = 3_000_000;
    let took = || done.iter().map(|one| one.took_ns);
    assert!(took().all(|took| (least..2 * least + slack).contains(&took)));
    let as_new = took().filter(|took| *took >= 2 * least).count() as f64;
    assert!(as_new / (done.len() as f64) < 0.05, "{as_new}");
    let at_once = took().filter(|took| *took < least + slack).count();
    assert!(at_once > 0 && at_once < done.len());
}

/// Every packet is accounted for, and every request is answered, even if packets of handshakes and
/// requests are lost.
#[test]
fn every_packet_is_somewhere_and_every_request_is_answered() {
    for (queue, cc, loss, idle) in [
        ("fifo", "reno", 0.0, Time::ZERO),
        ("codel", "cubic", 0.05, Time::from_secs(90)),
        ("cake", "dctcp", 0.2, Time::from_ms(100)),
    ] {
        let mut bottleneck = link(10_000_000, queue, &[]);
        bottleneck.loss = loss;
        let mut back = link(10_000_000, queue, &[]);
        back.name = "back".into();
        back.loss = loss;
        let mut source = web(Time::from_ms(20), 20_000, Time::from_ms(10), idle, cc);
        source.stop = Some(Time::from_secs(10));
        source.connections.as_mut().expect("it has some").back = vec![1];
        let mut p = plan(Time::from_secs(1000), vec![bottleneck, back], vec![]);
        p.traffic = vec![source];
        let mut network = network(&p);
        while network.advance(100) {
            let c = network.census();
            assert_eq!(c.entered, c.ended + c.inside + c.dropped, "{queue}");
        }
        assert_eq!(network.census().inside, 0, "{queue}");
        let outcome = network.finish();
        let all = outcome.traffic[0].completions.as_ref().expect("as above");
        assert!((400..600).contains(&all.started), "{}", all.started);
        assert_eq!(all.done.len() as u64, all.started, "{queue}");
        assert_eq!(all.refused, 0, "{queue}");
    }
}
