//! Tests sources that open and close connections. Checks how long connections take, and that every
//! packet is accounted for.

mod common;

use common::*;
use tailback_engine::plan::*;
use tailback_engine::registry::{Value, complete_defaults};
use tailback_engine::rng::Stream;
use tailback_engine::traffic::{self, Step};
use tailback_engine::units::{Bytes, Time};
use tailback_record::summary::CompletionSummary;
use tailback_record::{Cause, Completions, TrafficOutcome};

/// Returns a source of requests over link 0. The values in `set` override the default options.
/// Servers run `cc`.
fn web(name: &str, cc: &str, rtt: Time, set: &[(&'static str, Value)]) -> TrafficPlan {
    let entry = traffic::web::ENTRY;
    let mut options = complete_defaults(&entry);
    set.iter().for_each(|(n, v)| options.set(n, v.clone()));
    let server = flow("server", cc, rtt, &[]);
    TrafficPlan {
        name: name.into(),
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

fn size(bytes: u64) -> [(&'static str, Value); 2] {
    ["min", "max"].map(|name| (name, Value::Bytes(Bytes(bytes))))
}

fn every(time: Time) -> (&'static str, Value) {
    ("arrival", Value::Time(time))
}

fn with(until: Time, link: LinkPlan, flows: Vec<FlowPlan>, traffic: Vec<TrafficPlan>) -> Plan {
    let mut p = plan(until, vec![link], flows);
    p.traffic = traffic;
    p
}

fn completions(outcome: &TrafficOutcome) -> &Completions {
    outcome.completions.as_ref().expect("it has connections")
}

const RTT: Time = Time::from_ms(10);

/// Tests a single Reno connection on an empty link of 40 Mbit/s and 10 ms. On this link, a segment
/// of 1448 bytes takes 302.8 us. The window begins with 10 segments and doubles.
///
/// The first data reaches the client after two round-trip times. 10 kB are 7 segments, and the last
/// segment leaves 6 slots later. 30 kB are 21 segments: the second window begins a round-trip time
/// after the first, and its 11th segment leaves 10 slots later. 100 kB are 70 segments: the third
/// window begins another round-trip time later, and its 40th segment leaves 39 slots later. (The
/// second window of 20 segments has left by then, because it takes 6.1 ms.)
#[test]
fn a_connection_alone_takes_what_slow_start_takes() {
    let slot = 302_800;
    let table = [
        (1_000, 20_000_000),
        (10_000, 20_000_000 + 6 * slot),
        (30_000, 30_000_000 + 10 * slot),
        (100_000, 40_000_000 + 39 * slot),
    ];
    for (bytes, expected_ns) in table {
        // One request begins every 10 s, so requests do not overlap.
        let mut set = size(bytes).to_vec();
        set.push(every(Time::from_secs(10)));
        let source = web("web", "reno", RTT, &set);
        let p = with(
            Time::from_secs(300),
            link(40_000_000, "fifo", &[]),
            vec![],
            vec![source],
        );
        let outcome = run(network(&p));
        let web = &outcome.traffic[0];
        let all = completions(web);
        assert!(all.done.len() > 20, "{}", all.done.len());
        assert_eq!(all.started, all.done.len() as u64);
        for one in &all.done {
            assert_eq!((one.bytes, one.took_ns), (bytes, expected_ns));
        }
        assert_eq!(web.sent_packets, all.started * bytes.div_ceil(1448));
        let frames = bytes + bytes.div_ceil(1448) * 66;
        assert_eq!(web.received_bytes, all.started * frames);
    }
}

/// On a wire, a request takes at least its size divided by the rate, plus two round-trip times.
#[test]
fn nothing_is_faster_than_the_link() {
    let mut bottleneck = link(40_000_000, "codel", &[]);
    bottleneck.mode = LinkMode::Wire;
    let p = with(
        Time::from_secs(60),
        bottleneck,
        vec![flow("long", "cubic", RTT, &[])],
        vec![web("web", "cubic", RTT, &[every(Time::from_ms(20))])],
    );
    let outcome = run(network(&p));
    let all = completions(&outcome.traffic[0]);
    assert!(all.done.len() > 2_000);
    for one in &all.done {
        let least = one.bytes * 200 + 2 * RTT.ns();
        assert!(one.took_ns > least, "{one:?}");
    }
    let summary = CompletionSummary::new(all);
    let normalised = summary.bins.iter().filter_map(|bin| bin.normalised.max);
    assert!(normalised.fold(0.0, f64::max) < 1.0);
}

/// Every packet arrived or was dropped, although the queue drops packets and the wire after it
/// loses some. After the last request has begun, every request completes, and the network becomes
/// empty.
#[test]
fn every_packet_is_somewhere_and_every_request_is_answered() {
    for (queue, cc, loss) in [
        ("fifo", "reno", 0.0),
        ("codel", "cubic", 0.05),
        ("fq_codel", "dctcp", 0.01),
        ("dualpi2", "dctcp", 0.0),
        ("cake", "cubic", 0.2),
    ] {
        let mut bottleneck = link(10_000_000, queue, &[]);
        bottleneck.loss = loss;
        bottleneck.delay = Time::from_ms(3);
        let mut source = web("web", cc, RTT, &[every(Time::from_ms(10))]);
        source.stop = Some(Time::from_secs(10));
        let p = with(Time::from_secs(1000), bottleneck, vec![], vec![source]);
        let mut network = network(&p);
        while network.advance(100) {
            let c = network.census();
            assert_eq!(c.entered, c.ended + c.inside + c.dropped, "{queue}");
        }
        let c = network.census();
        assert_eq!(c.inside, 0, "{queue}");
        let outcome = network.finish();
        let web = &outcome.traffic[0];
        let all = completions(web);
        assert!((850..1150).contains(&all.started), "{}", all.started);
        assert_eq!(all.done.len() as u64, all.started, "{queue}");
        assert_eq!(all.refused, 0);
        assert_eq!(web.counts, outcome.links[0].counts);
        assert_eq!(web.counts.drops(), c.dropped, "{queue}");
        let lost = web.counts.get(Cause::Loss) as f64;
        let share = lost / outcome.links[0].packets as f64;
        assert!((share - loss).abs() < 0.01, "{queue}: {share}");
        assert_eq!(outcome.data_packets, web.sent_packets);
    }
}

/// The times and sizes of requests do not depend on the network. A second run has the same times
/// and sizes.
#[test]
fn requests_are_those_of_the_source() {
    let source = web("web", "cubic", RTT, &[every(Time::from_ms(10))]);
    let end = Time::from_secs(20);
    let mut machine =
        (traffic::web::ENTRY.build.source)(&source.options, Stream::new(1, "web", "traffic"));
    let (mut now, mut drawn) = (Time::ZERO, Vec::new());
    while now < end {
        match machine.next(now) {
            Step::Open { bytes } => drawn.push(bytes),
            Step::Wait(until) => now = until,
            step => panic!("{step:?}"),
        }
    }
    drawn.sort_unstable();
    let outcomes: Vec<_> = [vec![], vec![], vec![flow("long", "reno", RTT, &[])]]
        .into_iter()
        .map(|flows| {
            let mut source = source.clone();
            source.stop = Some(end);
            let mut p = with(
                Time::from_secs(60),
                link(40_000_000, "codel", &[]),
                flows,
                vec![source],
            );
            p.start_jitter = Time::ZERO;
            run(network(&p))
        })
        .collect();
    for outcome in &outcomes {
        let done = &completions(&outcome.traffic[0]).done;
        let mut sizes: Vec<u64> = done.iter().map(|one| one.bytes).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, drawn);
    }
    let [first, again, loaded] = [0, 1, 2].map(|i| &completions(&outcomes[i].traffic[0]).done);
    assert_eq!(first, again);
    assert_ne!(first, loaded);
}

/// With a limit of two connections, a third connection is not opened, and its request is never
/// sent.
#[test]
fn no_more_connections_than_the_limit() {
    let mut set = size(1_000).to_vec();
    set.push(every(Time::from_ms(10)));
    let mut sources = vec![web("all", "reno", RTT, &set)];
    set.push(("limit", Value::Int(2)));
    sources.push(web("some", "reno", RTT, &set));
    let p = with(
        Time::from_secs(100),
        link(1_000_000_000, "fifo", &[]),
        vec![],
        sources,
    );
    let outcome = run(network(&p));
    let [all, some] = [0, 1].map(|i| completions(&outcome.traffic[i]));
    assert_eq!(all.refused, 0);
    // A connection lasts 25 ms, until the last ACK reaches the server, so 2.5 connections are open
    // on average. By Erlang's B formula, a limit of two rejects the share E = (a^2/2)/(1 + a +
    // a^2/2).
    let a: f64 = 2.5;
    let refused = a * a / 2.0 / (1.0 + a + a * a / 2.0);
    let share = some.refused as f64 / (some.refused + some.started) as f64;
    assert!((share - refused).abs() < 0.02, "{share} {refused}");
    assert!(some.done.len() as u64 <= some.started && some.done.len() as u64 + 2 >= some.started);
}

/// Requests that begin before the end of the warm-up are not counted.
#[test]
fn counted_from_the_warm_up_on() {
    let counted = |warmup| {
        let mut p = with(
            Time::from_secs(20),
            link(10_000_000, "fifo", &[]),
            vec![],
            vec![web("web", "cubic", RTT, &[])],
        );
        p.warmup = Time::from_secs(warmup);
        let outcome = run(network(&p));
        (
            completions(&outcome.traffic[0]).clone(),
            outcome.data_packets,
        )
    };
    let ((whole, packets), (rest, same_packets)) = (counted(0), counted(8));
    assert_eq!(packets, same_packets, "of the whole run");
    let began = |all: &Completions| {
        let began = all.done.iter().map(|one| one.at_ns - one.took_ns);
        began.filter(|ns| *ns >= 8_000_000_000).count()
    };
    assert_eq!(began(&whole), rest.done.len());
    assert_eq!(began(&rest), rest.done.len());
    assert!(rest.started > 1_000 && rest.started < whole.started);
}

/// Drops of a source's packets are recorded as rows with the source's name.
#[test]
fn events_and_rows_bear_the_name_of_the_source() {
    let mut p = with(
        Time::from_secs(10),
        link(5_000_000, "fifo", &[("limit", Value::Packets(20))]),
        vec![flow("long", "reno", RTT, &[])],
        vec![web("web", "reno", RTT, &[])],
    );
    p.record.events = true;
    p.record.series = SeriesMode::Interval;
    let outcome = run(network(&p));
    let web = &outcome.traffic[0];
    let rows = |quantity: &str| {
        let keys = outcome.series.keys.iter();
        let of = |key: &tailback_record::series::SeriesKey| {
            key.flow.as_deref() == Some("web") && &*key.quantity == quantity
        };
        let ids: Vec<_> = keys.zip(0..).filter(|(key, _)| of(key)).collect();
        assert_eq!(ids.len(), 1, "{quantity}");
        let rows = outcome.series.rows().filter(|row| row.key == ids[0].1);
        rows.map(|row| row.value).collect::<Vec<_>>()
    };
    assert!(web.counts.get(Cause::Overflow) > 0);
    assert_eq!(
        rows("drop.overflow").len() as u64,
        web.counts.get(Cause::Overflow)
    );
    let done = &completions(web).done;
    let sizes: Vec<f64> = done.iter().map(|one| one.bytes as f64).collect();
    assert_eq!(rows("completion_bytes"), sizes);
    let times: Vec<f64> = done.iter().map(|one| one.took_ns as f64).collect();
    assert_eq!(rows("completion_ns"), times);
}

/// A source's connections negotiate ECN as flows do. With ECN, packets are marked instead of
/// dropped.
#[test]
fn connections_negotiate_ecn() {
    let marks = |ecn| {
        let mut source = web("web", "reno", RTT, &[]);
        if let Some(connections) = &mut source.connections {
            connections.ecn = ecn;
        }
        let set = [("ecn", Value::Bool(true))];
        let p = with(
            Time::from_secs(20),
            link(9_000_000, "codel", &set),
            vec![],
            vec![source],
        );
        let outcome = run(network(&p));
        let counts = outcome.traffic[0].counts;
        (counts.marks(), counts.get(Cause::Aqm))
    };
    let ((with_marks, with_drops), (without_marks, without_drops)) = (marks(true), marks(false));
    assert!(with_marks > 20 && without_marks == 0);
    // Only SYNs are dropped, because they are not ECN-capable.
    assert!(with_drops < with_marks / 5 && without_drops > 20);
}
