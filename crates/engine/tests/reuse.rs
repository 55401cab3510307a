//! Tests connections that serve several requests, one after the other.

mod common;

use common::*;
use tailback_engine::plan::*;
use tailback_engine::registry::{Value, complete_defaults};
use tailback_engine::traffic;
use tailback_engine::units::{Bytes, Time};
use tailback_record::{Completion, TrafficOutcome};

/// Returns a source of requests for `bytes` bytes each over link 0. Idle connections stay open for
/// up to `idle`.
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

/// The first request takes as long as on a new connection: one round-trip time to connect, another
/// until the first data arrives, and two more for the second and the third window. The 40th segment
/// of the third window leaves 39 segment times after its first segment (tests/web.rs). The
/// connection stays open, so the next request saves a round-trip time. If the connection was idle
/// for seconds, it begins with the initial window again.
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

/// A request for one segment takes two round-trip times on a new connection, and one round-trip
/// time on an idle connection. There are 5 requests per round-trip time on average. So nearly every
/// request finds an idle connection before its own new connection is open. (If connections became
/// idle at random, the probability that none becomes idle within a round-trip time would be exp(-5)
/// = 0.7 %. In fact they become idle in groups.)
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
    // A packet may have to wait at the link for other packets, each of which takes less than 0.3
    // ms.
    let slack = 3_000_000;
    let took = || done.iter().map(|one| one.took_ns);
    assert!(took().all(|took| (least..2 * least + slack).contains(&took)));
    let as_new = took().filter(|took| *took >= 2 * least).count() as f64;
    assert!(as_new / (done.len() as f64) < 0.05, "{as_new}");
    let at_once = took().filter(|took| *took < least + slack).count();
    assert!(at_once > 0 && at_once < done.len());
}

/// Returns a source of requests at these times, for responses of these sizes. The source closes
/// idle connections after each response.
fn listed(requests: &[(u64, u64)], rtt: Time, cc: &str) -> TrafficPlan {
    let mut source = web(Time::from_ms(1), 1000, rtt, Time::ZERO, cc);
    let times = requests.iter().map(|request| request.0);
    let before = std::iter::once(0).chain(times.clone());
    let gaps = times.zip(before).map(|(at, before)| at - before);
    let gaps = gaps.map(|ms| Value::Time(Time::from_ms(ms))).collect();
    let sizes = requests
        .iter()
        .map(|request| Value::Bytes(Bytes(request.1)));
    source.options.set("gaps", Value::List(gaps));
    source.options.set("lengths", Value::List(sizes.collect()));
    source
}

/// After a response, the client closes connections that become ready before the next request (Go's
/// `CloseIdleConnections`). The first connection serves the second request at 200 ms, and the
/// second connection is ready at 250 ms, which is too late. So the third request, at 260 ms, needs
/// a third connection. The first connection is free at 300 ms, before the third connection is
/// ready.
#[test]
fn a_connection_that_is_ready_too_late_is_closed() {
    let rtt = Time::from_ms(100);
    let mut p = plan(
        Time::from_secs(2),
        vec![link(1_000_000_000, "fifo", &[])],
        vec![],
    );
    p.traffic = vec![listed(&[(0, 1000), (150, 1000), (260, 1000)], rtt, "cubic")];
    let outcome = run(network(&p));
    let took: Vec<u64> = done(&outcome.traffic[0])
        .iter()
        .map(|one| one.took_ns / 1_000_000)
        .collect();
    assert_eq!(took, [200, 150, 140]);
}

/// The server's host stores ssthresh only when the server closes. If slow start begins without a
/// stored ssthresh, it ends with losses. With a stored ssthresh, it ends without losses. Except for
/// the lost packets, the data of both runs is equal. If a server closes late, its window has fallen
/// below ssthresh when it sends the FIN, so its host stores no ssthresh.
#[test]
fn the_server_remembers_when_it_closes() {
    let requests = [(0, 4_000_000), (20_000, 4_000_000), (40_000, 4_000_000)];
    let sent = |collect: Option<Vec<Time>>| -> u64 {
        let mut source = listed(&requests, Time::from_ms(40), "reno");
        if let Some(times) = collect {
            let times = times.into_iter().map(Value::Time);
            source.options.set("collect", Value::List(times.collect()));
        }
        let connections = source.connections.as_mut().expect("it has some");
        connections.tcp.metrics_save = true;
        connections.tcp.ssthresh_metrics_save = true;
        let l = link(10_000_000, "fifo", &[("limit", Value::Packets(40))]);
        let mut p = plan(Time::from_secs(60), vec![l], vec![]);
        p.traffic = vec![source];
        let outcome = run(network(&p));
        assert_eq!(done(&outcome.traffic[0]).len(), 3);
        outcome.traffic[0].sent_packets
    };
    let all = 3 * 4_000_000_u64.div_ceil(1448);
    let lost = (sent(Some(vec![])) - all) as f64 / 3.0;
    assert!(lost > 20.0, "{lost}");
    let unknowing = |collect| ((sent(collect) - all) as f64 / lost).round() as u64;
    let often = |ms: std::ops::Range<u64>| Some(ms.step_by(100).map(Time::from_ms).collect());
    assert_eq!(unknowing(None), 1);
    assert_eq!(unknowing(often(0..10_000)), 1);
    assert_eq!(unknowing(often(20_000..30_000)), 2);
    assert_eq!(unknowing(Some(vec![Time::from_secs(10)])), 3);
}

/// A source ends at the end of its list of gaps or sizes.
#[test]
fn a_list_sets_the_requests() {
    let requests: Vec<(u64, u64)> = (0..900).map(|i| (i * 7, 1000 + i)).collect();
    let mut p = plan(
        Time::from_secs(20),
        vec![link(1_000_000_000, "fifo", &[])],
        vec![],
    );
    p.traffic = vec![listed(&requests, Time::from_ms(10), "cubic")];
    let outcome = run(network(&p));
    let mut all: Vec<(u64, u64)> = done(&outcome.traffic[0])
        .iter()
        .map(|one| ((one.at_ns - one.took_ns) / 1_000_000, one.bytes))
        .collect();
    all.sort_unstable();
    assert_eq!(all, requests);
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
