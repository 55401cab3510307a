//! Laws that a simulator of TCP and queues is held against.

mod common;

use common::*;
use tailback_engine::network::Network;
use tailback_engine::registry::Value;
use tailback_engine::units::{Bytes, Time};
use tailback_record::Outcome;

/// A link so fast that there is no queue: what limits is loss alone.
const FAST: u64 = 100_000_000_000;

fn within(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let error = measured / expected - 1.0;
    assert!(
        error.abs() <= tolerance,
        "{what}: {measured:.4}, the law says {expected:.4} ({:+.1} %, allowed {:.1} %)",
        error * 100.0,
        tolerance * 100.0
    );
}

/// One flow whose every n-th packet is dropped or marked.
fn periodic(cc: &str, rtt: Time, n: u64, mark: bool, seconds: u64) -> Outcome {
    let mut f = flow("f", cc, rtt, &[]);
    f.ecn = mark;
    let mut p = plan(
        Time::from_secs(seconds),
        vec![link(FAST, "fifo", &[])],
        vec![f],
    );
    p.warmup = Time::from_secs(seconds / 5);
    let mut network = Network::new(&p);
    network.replace_queue(0, EveryNth::new(n, mark));
    run(network)
}

/// One flow over a link that loses packets at random.
fn random_loss(cc: &str, rtt: Time, loss: f64, seconds: u64) -> Outcome {
    let mut l = link(FAST, "fifo", &[]);
    l.loss = loss;
    let mut p = plan(
        Time::from_secs(seconds),
        vec![l],
        vec![flow("f", cc, rtt, &[])],
    );
    p.warmup = Time::from_secs(seconds / 5);
    run(Network::new(&p))
}

/// Mathis et al. 1997: W = sqrt(3/2) / sqrt p for a loss every 1/p packets.
#[test]
fn reno_response_to_periodic_loss() {
    for (n, seconds) in [(1_000, 600), (10_000, 1_500)] {
        let outcome = periodic("reno", Time::from_ms(50), n, false, seconds);
        within(
            &format!("p = 1/{n}"),
            mean_window(&outcome, 0),
            (1.5 * n as f64).sqrt(),
            0.05,
        );
        assert_eq!(outcome.flows[0].timeouts, 0);
    }
}

/// The same law for marks: ECN reductions are as deep (RFC 3168 section 6.1.2).
#[test]
fn reno_response_to_periodic_marks() {
    let outcome = periodic("reno", Time::from_ms(50), 1_000, true, 600);
    within(
        "p = 1/1000",
        mean_window(&outcome, 0),
        1_500_f64.sqrt(),
        0.05,
    );
    assert_eq!(outcome.flows[0].retransmits, 0);
}

/// Ott, Kemperman, Mathis 1996: the mean over time is 1.3098 / sqrt p where
/// each packet is lost independently.
#[test]
fn reno_response_to_random_loss() {
    let outcome = random_loss("reno", Time::from_ms(20), 1e-3, 4_000);
    within(
        "p = 0.001",
        mean_window(&outcome, 0),
        1.3098 / 1e-3_f64.sqrt(),
        0.05,
    );
}

/// Utilisation 3/4 with next to no buffer, 1 with a bandwidth-delay product.
#[test]
fn reno_utilisation_against_buffer() {
    let rtt = Time::from_ms(100);
    let utilisation = |limit: u64| {
        // 48 Mbit/s x 100 ms are 396 packets.
        let l = link(48_000_000, "fifo", &[("limit", Value::Packets(limit))]);
        // Every segment acknowledged: two packets at a time is the largest burst.
        let mut f = flow("f", "reno", rtt, &[]);
        f.tcp.delack = false;
        let mut p = plan(Time::from_secs(900), vec![l], vec![f]);
        p.warmup = Time::from_secs(200);
        let outcome = run(Network::new(&p));
        outcome.links[0].bytes as f64 / outcome.links[0].capacity_bytes
    };
    within("no buffer", utilisation(4), 0.75, 0.03);
    within("one BDP", utilisation(397), 1.0, 0.005);
}

/// Conservation, whatever the queue does and at any moment.
#[test]
fn every_packet_is_somewhere() {
    for queue in tailback_engine::aqm::ENTRIES {
        for cc in tailback_engine::cc::ENTRIES {
            let mut l = link(10_000_000, queue.name, &[]);
            l.loss = 0.01;
            let flows = (0..3)
                .map(|i| flow(&format!("f{i}"), cc.name, Time::from_ms(10 * (i + 1)), &[]))
                .collect();
            let mut network = Network::new(&plan(Time::from_secs(10), vec![l], flows));
            loop {
                let more = network.advance(997);
                let c = network.census();
                assert_eq!(
                    c.entered,
                    c.ended + c.inside + c.dropped,
                    "{} {}",
                    queue.name,
                    cc.name
                );
                if !more {
                    break;
                }
            }
            assert!(
                network.census().entered > 5_000,
                "{} {}",
                queue.name,
                cc.name
            );
        }
    }
}

/// Little's law: mean backlog = arrival rate x mean delay.
#[test]
fn little() {
    let l = link(10_000_000, "fifo", &[("limit", Value::Packets(60))]);
    let p = plan(
        Time::from_secs(60),
        vec![l],
        vec![flow("f", "reno", Time::from_ms(40), &[])],
    );
    let outcome = run(Network::new(&p));
    let link = &outcome.links[0];
    let backlog = link.backlog_byte_ns as f64 / outcome.duration_ns as f64;
    let rate = link.bytes as f64 / outcome.duration_ns as f64;
    within(
        "backlog",
        rate * link.delay.mean().expect("packets"),
        backlog,
        0.002,
    );
}

/// A transfer of given size delivers exactly that, and completes when slow
/// start says: handshake, then rounds of 10, 20, 40, ... segments.
#[test]
fn a_transfer_completes_in_the_rounds_of_slow_start() {
    let mut f = flow("f", "reno", Time::from_ms(100), &[]);
    f.bytes = Some(Bytes(70 * 1448));
    let outcome = run(Network::new(&plan(
        Time::from_secs(5),
        vec![link(FAST, "fifo", &[])],
        vec![f],
    )));
    let f = &outcome.flows[0];
    assert_eq!(f.delivered_bytes, 70 * 1448);
    // SYN and SYN-ACK 100 ms, two more round trips for 10 and 20 segments,
    // half of one for the last 40.
    let completion = f.completion_ns.expect("complete") as f64 / 1e6;
    within("completion", completion, 350.0, 0.001);
}

/// Two flows of the same kind share equally; determinism to the last count.
#[test]
fn equal_flows_share_equally_and_runs_repeat() {
    let build = || {
        let l = link(20_000_000, "fifo", &[("limit", Value::Packets(100))]);
        let flows = (0..2)
            .map(|i| flow(&format!("f{i}"), "reno", Time::from_ms(30), &[]))
            .collect();
        let mut p = plan(Time::from_secs(300), vec![l], flows);
        p.start_jitter = Time::from_ms(30);
        p.host_jitter = Time::from_us(300);
        run(Network::new(&p))
    };
    let (a, b) = (build(), build());
    let rates: Vec<f64> = a.flows.iter().map(|f| f.delivered_bytes as f64).collect();
    let sum = rates.iter().sum::<f64>();
    let jain = sum * sum / (2.0 * rates.iter().map(|r| r * r).sum::<f64>());
    assert!(jain > 0.99, "Jain {jain}");
    assert_eq!(a.events, b.events);
    assert_eq!(a.flows[0].delivered_bytes, b.flows[0].delivered_bytes);
    assert!(a.links[0].delay.buckets().eq(b.links[0].delay.buckets()));
}
