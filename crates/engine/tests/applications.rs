//! Tests flows whose applications limit the sending rate. Checks how much data the applications
//! write, when the data arrives, and when the receiver requests more data.

mod common;

use common::*;
use tailback_engine::network::{Census, Network};
use tailback_engine::plan::*;
use tailback_engine::registry::Value;
use tailback_engine::units::{Bytes, Rate, Time};
use tailback_record::account::Limit;
use tailback_record::{Completions, Outcome};

const MS: u64 = 1_000_000;

/// At this rate, a frame of 1514 bytes takes a millisecond.
const SLOW: u64 = 12_112_000;

fn one(flow: FlowPlan, seconds: u64) -> Plan {
    plan(
        Time::from_secs(seconds),
        vec![link(SLOW, "fifo", &[])],
        vec![flow],
    )
}

fn chunked(bytes: u64, every: Option<u64>, think: Option<u64>) -> FlowPlan {
    let mut flow = flow("f", "cubic", Time::from_ms(40), &[]);
    flow.chunks = Some(Box::new(ChunksPlan {
        bytes: Bytes(bytes),
        every: every.map(Time::from_ms),
        think: think.map(Time::from_ms),
        ..ChunksPlan::default()
    }));
    flow
}

fn chunks(outcome: &Outcome) -> &Completions {
    outcome.flows[0].chunks.as_ref().expect("it has chunks")
}

fn conserved(network: &Network) {
    let Census {
        entered,
        ended,
        inside,
        dropped,
    } = network.census();
    assert_eq!(entered, ended + inside + dropped);
}

/// If the application writes at a rate far below the link's rate, all data arrives. The window
/// stays constant, because the network does not limit the flow.
#[test]
fn a_rate_below_the_links_is_what_arrives() {
    for cc in ["reno", "cubic", "bbr", "bbr3", "dctcp", "prague"] {
        let mut f = flow("f", cc, Time::from_ms(40), &[]);
        f.rate = Some(Rate(4_000_000));
        let mut p = one(f, 20);
        p.warmup = Time::from_secs(10);
        let outcome = run(network(&p));
        let f = &outcome.flows[0];
        let expected = 4_000_000 / 8 * 10;
        assert!(
            f.delivered_bytes.abs_diff(expected) <= 2 * 1448,
            "{cc}: {} for {expected}",
            f.delivered_bytes
        );
        // Skip BBR, which reduces its window for 200 ms while it measures the round-trip time.
        if !cc.starts_with("bbr") {
            assert_eq!(outcome.links[0].delay.max(), Some(0), "{cc}");
        }
        let waited = f.account.limited_ns;
        let application = waited[Limit::Application as usize];
        assert!(application > 9_500 * MS, "{cc}: {waited:?}");
    }
}

/// If the application writes faster than the link sends, the link is always busy. The excess data
/// waits at the sender, and no packet is lost.
#[test]
fn a_rate_above_the_links_fills_it() {
    let mut f = flow("f", "cubic", Time::from_ms(40), &[]);
    f.rate = Some(Rate(20_000_000));
    let mut p = one(f.clone(), 20);
    p.warmup = Time::from_secs(10);
    let share = run(network(&p)).flows[0].delivered_bytes as f64 / (SLOW / 8 * 10) as f64;
    assert!((0.9..0.957).contains(&share), "{share}");
    // A flow of 5 MB takes the same time whether its data is written within 2 s or at once, because
    // the link limits the flow.
    let mut ends = |rate| {
        f.rate = rate;
        f.bytes = Some(Bytes(5_000_000));
        run(network(&one(f.clone(), 20))).flows[0].completion_ns
    };
    let (written, greedy) = (ends(Some(Rate(20_000_000))), ends(None));
    let apart = written.expect("done").abs_diff(greedy.expect("done"));
    assert!(apart < 500 * MS, "{written:?} {greedy:?}");
}

/// A chunk of ten segments arrives half a round trip after it is written, plus the transmission
/// time of nine full frames and a short frame.
#[test]
fn chunks_at_equal_distances_take_what_they_take_alone() {
    let outcome = run(network(&one(chunked(14_000, Some(500), None), 10)));
    let all = chunks(&outcome);
    assert_eq!((all.started, all.done.len()), (20, 20));
    let times: Vec<u64> = all.done.iter().map(|one| one.took_ns).collect();
    // The first chunk also waits 40 ms for the handshake.
    assert_eq!(times[0], (40 + 20 + 9) * MS);
    assert!(times[1..].iter().all(|took| *took == 29 * MS), "{times:?}");
    assert_eq!(outcome.flows[0].delivered_bytes, 20 * 14_000);
    assert_eq!(outcome.flows[0].packets, 200);
}

/// Two chunks never share a segment. So 20 chunks of 1 byte need 20 segments, although they wait in
/// the queue together.
#[test]
fn each_chunk_begins_with_a_segment_of_its_own() {
    let mut f = chunked(1, Some(1), None);
    f.chunks.as_mut().expect("chunks").count = Some(20);
    let outcome = run(network(&one(f, 2)));
    assert_eq!(outcome.flows[0].packets, 20);
    assert_eq!(outcome.flows[0].delivered_bytes, 20);
    let all = chunks(&outcome);
    assert_eq!(all.done.len(), 20);
    let end = all.done[19].at_ns;
    assert_eq!(outcome.flows[0].completion_ns, Some(end));
}

/// A request takes half a round trip, and its answer another half. The receiver then waits for its
/// think time before the next request.
#[test]
fn what_is_asked_for_takes_a_round_trip() {
    let f = chunked(2_000, None, Some(60));
    let network = network(&one(f, 10));
    let outcome = run(network);
    let all = chunks(&outcome);
    for (one, next) in all.done.iter().zip(&all.done[1..]) {
        // The chunk has two segments, and the second leaves a millisecond after the first.
        assert_eq!(next.took_ns, 41 * MS);
        assert_eq!(next.at_ns - one.at_ns, 101 * MS);
    }
    assert_eq!(all.done[0].took_ns, 61 * MS);
    assert_eq!(all.done.len(), 1 + (10_000 - 61) / 101);
}

/// Requests have their own frame length, and use the return route. Lost requests are sent again.
#[test]
fn requests_that_are_lost_are_sent_again() {
    let mut f = chunked(2_000, None, Some(60));
    f.back = vec![1];
    let mut p = one(f, 60);
    let mut back = link(SLOW, "fifo", &[]);
    back.name = "back".into();
    back.loss = 0.2;
    p.links.push(back);
    let mut network = network(&p);
    while network.advance(1 << 20) {}
    conserved(&network);
    let outcome = network.finish();
    let all = chunks(&outcome);
    let sooner = all.done.iter().filter(|one| one.took_ns == 41 * MS).count();
    let later = all.done.iter().filter(|one| one.took_ns > 200 * MS).count();
    // A fifth of the requests are lost. The receiver sends lost requests again after a timeout of
    // 240 ms, and some requests a second time.
    let share = later as f64 / all.done.len() as f64;
    assert!((0.1..0.3).contains(&share), "{later} of {}", all.done.len());
    assert!(sooner > 5 * later / 2);
    assert_eq!(
        outcome.flows[0].delivered_bytes % 2_000,
        0,
        "nothing is sent unasked"
    );
}

/// During a pause, nothing is sent. After the pause, all waiting data is sent.
#[test]
fn a_pause_is_empty() {
    let pause = [Time::from_secs(2), Time::from_secs(4)];
    for (rate, cc) in [
        (None, "cubic"),
        (None, "bbr"),
        (Some(Rate(4_000_000)), "reno"),
    ] {
        let mut f = flow("f", cc, Time::from_ms(40), &[]);
        (f.rate, f.pause) = (rate, vec![pause]);
        let p = one(f, 6);
        let mut network = network(&p);
        let mut sent = Vec::new();
        let mut last = 0;
        while network.advance(1) {
            let nxt = network.sender(0).flight().nxt;
            if nxt > last {
                last = nxt;
                sent.push(network.now());
            }
        }
        // An ACK that arrives at the moment at which the pause begins still causes the sender to
        // send segments.
        let inside = sent.iter().filter(|at| **at > pause[0] && **at < pause[1]);
        assert_eq!(inside.count(), 0, "{cc}");
        assert!(sent.contains(&pause[1]), "{cc}");
        let outcome = network.finish();
        let share = outcome.flows[0].delivered_bytes as f64
            / (rate.map_or(SLOW as f64 * 1448.0 / 1514.0, |rate| rate.0 as f64) / 8.0 * 4.0);
        assert!((0.85..1.01).contains(&share), "{cc}: {share}");
    }
}

/// The flow has three pauses: one ends before the flow starts, one covers the start, and one covers
/// the end.
#[test]
fn pauses_at_the_ends() {
    let mut f = flow("f", "cubic", Time::from_ms(40), &[]);
    f.start = Time::from_secs(1);
    f.bytes = Some(Bytes(1_000_000));
    f.pause = [[0, 1], [1, 2], [3, 90]]
        .map(|at| at.map(Time::from_secs))
        .into();
    let outcome = run(network(&one(f.clone(), 6)));
    // The connection is established only after the pause that covers the start.
    let done = outcome.flows[0].completion_ns.expect("within a second");
    assert!((1_600 * MS..2_000 * MS).contains(&done), "{done}");
    f.stop = Some(Time::from_secs(2) + Time::from_ms(100));
    let outcome = run(network(&one(f, 6)));
    assert!(outcome.flows[0].completion_ns.is_none());
    assert!(outcome.flows[0].delivered_bytes < 200_000);
}

/// After a pause longer than the timeout, the sender restarts with a smaller window (RFC 5681
/// section 4.1).
#[test]
fn a_long_pause_costs_the_window() {
    let mut f = flow("f", "reno", Time::from_ms(40), &[]);
    f.pause = vec![[Time::from_secs(3), Time::from_secs(5)]];
    let mut p = one(f, 6);
    p.links[0] = link(SLOW, "fifo", &[("limit", Value::Packets(40))]);
    let mut network = network(&p);
    let mut window = 0;
    while network.advance(1) {
        if network.now() < Time::from_secs(5) {
            window = network.sender(0).window.cwnd;
        } else if network.now() < Time::from_secs(5) + Time::from_ms(39) {
            assert_eq!(network.sender(0).window.cwnd, 10, "it was {window}");
        }
    }
    assert!(window > 40, "{window}");
}
