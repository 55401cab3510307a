//! Tests hosts that hold packets before they leave. Checks how long packets wait, which packets wait
//! together, and that no packet is lost or overtaken.

mod common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use common::*;
use tailback_engine::aqm::{Backlog, Dequeue, Queue, Sink, fifo::Packets};
use tailback_engine::hosts::{self, HostKind};
use tailback_engine::network::Network;
use tailback_engine::packet::Packet;
use tailback_engine::plan::*;
use tailback_engine::registry::{Value, defaults, find};
use tailback_engine::traffic;
use tailback_engine::units::{Bytes, Rate, Time};

/// The rate of a link that adds no delay worth mentioning.
const FAST: u64 = 100_000_000_000;
const RTT: Time = Time::from_ms(20);

fn kind(name: &str) -> &'static HostKind {
    let mut all = hosts::ENTRIES.iter().copied();
    all.find(|kind| kind.name == name).expect("registered")
}

/// Returns the shortest and the longest wait of virtual machines, in ns.
fn bounds() -> [u64; 2] {
    kind("vm").wait.expect("packets wait").map(Time::ns)
}

/// The flow and the time of each packet that arrived at a queue.
type Seen = Arc<Mutex<Vec<(u32, Time)>>>;

/// An unlimited FIFO that records when packets arrive.
struct Noting {
    packets: Packets,
    seen: Seen,
}

impl Queue for Noting {
    fn enqueue(&mut self, packet: &mut Packet, now: Time, _sink: &mut Sink) {
        let mut seen = self.seen.lock().expect("one thread");
        seen.push((packet.flow, now));
        self.packets.push(*packet);
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut Sink, next: &mut Packet) -> Dequeue {
        self.packets.give(next)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

/// Runs a plan, and returns the packets that arrived at link 0 with their times.
fn arrivals(plan: &Plan, seed: u64) -> Vec<(u32, Time)> {
    let mut network = Network::new(&Arc::new(plan.clone()), seed);
    let seen = Seen::default();
    let queue = Noting {
        packets: Packets::default(),
        seen: seen.clone(),
    };
    network.replace_queue(0, Box::new(queue));
    while network.advance(1000) {
        let c = network.census();
        assert_eq!(c.entered, c.ended + c.inside + c.dropped);
    }
    Arc::try_unwrap(seen).map_or_else(
        |shared| shared.lock().expect("one thread").clone(),
        |own| own.into_inner().expect("one thread"),
    )
}

/// Returns a plan with a source for each RTT. Each source sends a packet per `gap`.
fn sources(hosts: &str, rtts: &[Time], gap: Time, duration: Time) -> Plan {
    let mut p = plan(duration, vec![link(FAST, "fifo", &[])], vec![]);
    p.hosts = kind(hosts);
    let source = |(i, rtt): (usize, &Time)| TrafficPlan {
        name: format!("c{i}"),
        rtt: *rtt,
        ..cbr(
            "c",
            8 * 1_000 * 1_000_000_000 / gap.ns(),
            &[("packet_size", Value::Int(1_000))],
        )
    };
    p.traffic = rtts.iter().enumerate().map(source).collect();
    p
}

/// A packet that comes alone waits for a time that is uniformly distributed between the bounds.
#[test]
fn a_lone_packet_waits_for_the_expected_time() {
    let [min, max] = bounds();
    let gap = Time::from_ms(1);
    let p = sources("vm", &[RTT], gap, Time::from_secs(20));
    let seen = arrivals(&p, 1);
    assert!(seen.len() > 19_900, "{}", seen.len());
    let waits: Vec<u64> = (0..)
        .zip(&seen)
        .map(|(i, (_, at))| at.ns() - RTT.ns() / 2 - i * gap.ns())
        .collect();
    assert!(waits.iter().all(|wait| (min..max).contains(wait)));
    let n = waits.len() as f64;
    let mean = waits.iter().sum::<u64>() as f64 / n;
    let span = (max - min) as f64;
    // A uniform distribution has the standard deviation span / sqrt(12).
    let error = span / (12.0 * n).sqrt();
    assert!(
        (mean - (min + max) as f64 / 2.0).abs() < 4.0 * error,
        "{mean}"
    );
    let below = waits.iter().filter(|wait| **wait < min + (max - min) / 4);
    let share = below.count() as f64 / n;
    assert!(
        (share - 0.25).abs() < 4.0 * (0.25 * 0.75 / n).sqrt(),
        "{share}"
    );
}

/// Returns the flows of the packets that arrived at each time.
fn bursts(seen: &[(u32, Time)]) -> BTreeMap<Time, Vec<u32>> {
    let mut out: BTreeMap<Time, Vec<u32>> = BTreeMap::new();
    for (flow, at) in seen {
        out.entry(*at).or_default().push(*flow);
    }
    out
}

/// Packets that become ready while a host waits leave together and in order. The next wait begins
/// with the first packet that becomes ready later.
#[test]
fn packets_that_wait_leave_together() {
    let [min, max] = bounds();
    let gap = Time::from_us(10);
    let p = sources("vm", &[RTT], gap, Time::from_secs(2));
    let seen = arrivals(&p, 1);
    assert!(seen.is_sorted_by_key(|packet| packet.1));
    let bursts = bursts(&seen);
    let mut first = 0;
    for (at, packets) in &bursts {
        let ready = |packet: u64| RTT.ns() / 2 + packet * gap.ns();
        let wait = at.ns() - ready(first);
        assert!((min..max).contains(&wait), "{at}: {wait}");
        // Every packet that was ready at the time `at` has left.
        let next = first + packets.len() as u64;
        assert!(ready(next - 1) <= at.ns() && ready(next) > at.ns(), "{at}");
        first = next;
    }
    // A wait of 120 us on average, in which twelve packets become ready after the first.
    let mean = seen.len() as f64 / bursts.len() as f64;
    let expected = ((min + max) / 2) as f64 / gap.ns() as f64 + 0.5;
    assert!((mean - expected).abs() < 0.5, "{mean} {expected}");
}

/// Sources of one pair of hosts wait together, and other hosts wait on their own.
#[test]
fn only_packets_of_one_host_wait_together() {
    let other = RTT + Time(2);
    for (rtts, together) in [([RTT, RTT], true), ([RTT, other], false)] {
        let p = sources("vm", &rtts, Time::from_us(10), Time::from_secs(1));
        let seen = arrivals(&p, 1);
        let bursts = bursts(&seen);
        let both = bursts.values().filter(|b| b.contains(&0) && b.contains(&1));
        let share = both.count() as f64 / bursts.len() as f64;
        assert_eq!(share > 0.9, together, "{share}");
        assert_eq!(share < 0.01, !together, "{share}");
    }
}

#[test]
fn waits_depend_on_the_seed_only() {
    let p = sources("vm", &[RTT, RTT], Time::from_us(50), Time::from_secs(1));
    assert_eq!(arrivals(&p, 1), arrivals(&p, 1));
    assert_ne!(arrivals(&p, 1), arrivals(&p, 2));
    // A source between other hosts does not change how long packets wait at these hosts.
    let mut more = p.clone();
    more.traffic.push(TrafficPlan {
        name: "later".into(),
        rtt: Time::from_ms(3),
        ..cbr("later", 1_000_000, &[])
    });
    let mut seen = arrivals(&more, 1);
    seen.retain(|packet| packet.0 < 2);
    assert_eq!(seen, arrivals(&p, 1));
}

/// Packets that become ready while a host pauses leave together at the end of the pause. All other
/// packets leave at once. Lengths of pauses and the times between them have the expected means.
#[test]
fn packets_leave_at_the_end_of_a_pause() {
    let pausing = kind("vm-shared").pauses.as_ref().expect("hosts pause");
    let [min, max] = pausing.length.map(Time::ns);
    let gap = Time::from_us(100);
    let p = sources("vm-shared", &[RTT], gap, Time::from_secs(2_000));
    let seen = arrivals(&p, 1);
    assert!(seen.is_sorted_by_key(|packet| packet.1));
    let waits = (0..)
        .zip(&seen)
        .map(|(i, (_, at))| at.ns() - RTT.ns() / 2 - i * gap.ns());
    // The wait of the first packet of a pause is the length of the pause, less at most one gap.
    let mut firsts = Vec::new();
    let mut last = 0;
    for wait in waits {
        assert!(wait <= max, "{wait}");
        if wait > last {
            firsts.push(wait);
        }
        last = wait;
    }
    let n = firsts.len() as f64;
    assert!(firsts.iter().all(|wait| wait + gap.ns() >= min));
    let mean = firsts.iter().sum::<u64>() as f64 / n + gap.ns() as f64 / 2.0;
    let error = (max - min) as f64 / (12.0 * n).sqrt();
    assert!(
        (mean - (min + max) as f64 / 2.0).abs() < 4.0 * error,
        "{mean}"
    );
    let period = pausing.gap.ns() as f64 + (min + max) as f64 / 2.0;
    let expected = 2_000e9 / period;
    // The times between pauses are exponential, so their number varies like its square root.
    assert!(
        (n - expected).abs() < 4.0 * expected.sqrt(),
        "{n} {expected}"
    );
}

/// Two sources of one pair of hosts pause at the same times. Sources of other hosts do not. A jitter
/// does not change the pauses.
#[test]
fn everything_in_a_host_pauses_at_the_same_times() {
    let other = RTT + Time(2);
    let late = |p: &Plan| -> [Vec<u64>; 2] {
        let seen = arrivals(p, 1);
        [0, 1].map(|flow| {
            let own = seen.iter().filter(|packet| packet.0 == flow);
            let waits = own.enumerate().map(|(i, (_, at))| {
                let ready = RTT.ns() / 2 + i as u64 * 1_000_000;
                (i as u64, at.ns().saturating_sub(ready))
            });
            waits
                .filter(|(_, wait)| *wait > 1_000_000)
                .map(|(i, _)| i)
                .collect()
        })
    };
    for (rtts, together) in [([RTT, RTT], true), ([RTT, other], false)] {
        let p = sources("vm-shared", &rtts, Time::from_ms(1), Time::from_secs(100));
        let [a, b] = late(&p);
        assert!(a.len() > 200, "{}", a.len());
        assert_eq!(a == b, together);
        let mut jittered = p.clone();
        jittered.host_jitter = Time::from_us(10);
        let [c, d] = late(&jittered);
        let differ = a.iter().filter(|i| !c.contains(i)).count();
        assert!(differ <= a.len() / 20, "{differ}");
        assert_eq!(
            c.iter().filter(|i| !d.contains(i)).count() < c.len() / 20,
            together
        );
    }
}

/// A host with a name pauses at the same times on both of its paths, and as sender or receiver.
#[test]
fn a_named_host_has_one_schedule_of_pauses() {
    let late = |names: [[&str; 2]; 2]| -> [Vec<usize>; 2] {
        let rtts = [RTT, RTT];
        let mut p = sources("vm-shared", &rtts, Time::from_ms(1), Time::from_secs(100));
        for (source, pair) in p.traffic.iter_mut().zip(names) {
            source.hosts = Some(pair.map(str::to_owned));
        }
        let seen = arrivals(&p, 1);
        [0, 1].map(|flow| {
            let own = seen.iter().filter(|packet| packet.0 == flow);
            let waits = own
                .enumerate()
                .map(|(i, (_, at))| (i, at.ns() - RTT.ns() / 2));
            let waits = waits.filter(|(i, at)| at - *i as u64 * 1_000_000 > 1_000_000);
            waits.map(|(i, _)| i).collect()
        })
    };
    let [a, b] = late([["s", "x"], ["s", "y"]]);
    assert!(a.len() > 200 && a == b);
    let [c, d] = late([["s", "x"], ["x", "s"]]);
    assert!(c == a && d != c, "the host x has pauses of its own");
    let [_, e] = late([["y", "s"], ["x", "y"]]);
    assert_eq!(d, e, "x pauses as a sender as it does beside other hosts");
}

/// Pauses of both hosts delay packets, so the mean RTT grows by the mean waits of both hosts. No
/// packet is lost or retransmitted.
#[test]
fn a_flow_sees_the_pauses_of_both_hosts() {
    let pausing = kind("vm-shared").pauses.as_ref().expect("hosts pause");
    let [min, max] = pausing.length.map(|time| time.ns() as f64);
    let rtt = |hosts| {
        let mut f = flow("f", "reno", RTT, &[]);
        f.tcp.rwnd = Bytes(2 * 1448);
        let mut p = plan(
            Time::from_secs(4_000),
            vec![link(FAST, "fifo", &[])],
            vec![f],
        );
        p.hosts = kind(hosts);
        let outcome = run(network(&p));
        assert_eq!(outcome.flows[0].retransmits, 0);
        outcome.flows[0].rtt.mean().expect("samples")
    };
    let more = rtt("vm-shared") - rtt("ideal");
    // A packet meets a pause with probability mean / period, and then waits for half of a pause, or
    // longer if the pause is longer: E[length^2] / 2 / period for each host.
    let square = (min * min + min * max + max * max) / 3.0;
    let period = pausing.gap.ns() as f64 + (min + max) / 2.0;
    let expected = 2.0 * square / 2.0 / period;
    // About 4000 pauses are met by at most one packet in three, so the error is some percent.
    assert!((more / expected - 1.0).abs() < 0.2, "{more} {expected}");
}

/// Ideal hosts send packets at the times at which the source makes them.
#[test]
fn ideal_hosts_do_not_wait() {
    let gap = Time::from_us(50);
    let p = sources("ideal", &[RTT], gap, Time::from_secs(1));
    for (i, (_, at)) in (0..).zip(arrivals(&p, 1)) {
        assert_eq!(at.ns(), RTT.ns() / 2 + i * gap.ns());
    }
    assert_eq!(p.hosts, Plan::default().hosts);
}

/// Both directions wait, and no packet overtakes another: the RTT grows by two mean waits, and TCP
/// retransmits nothing. A queue of the link could only add to the RTT.
#[test]
fn a_flow_sees_both_hosts_wait() {
    let [min, max] = bounds();
    let rtt = |hosts| {
        let mut f = flow("f", "reno", RTT, &[]);
        f.tcp.rwnd = Bytes(2 * 1448);
        let mut p = plan(Time::from_secs(60), vec![link(FAST, "fifo", &[])], vec![f]);
        p.hosts = kind(hosts);
        let outcome = run(network(&p));
        assert_eq!(outcome.flows[0].retransmits, 0);
        outcome.flows[0].rtt.mean().expect("samples")
    };
    let more = rtt("vm") - rtt("ideal");
    // In 60 s there are at least 2900 round trips, each with a window of two segments.
    let error = 2.0_f64.sqrt() * (max - min) as f64 / (12.0 * 2_900.0_f64).sqrt();
    assert!((more - (min + max) as f64).abs() < 4.0 * error, "{more} ns");
}

/// Datagrams that are answered wait in both hosts, too.
#[test]
fn answers_wait_as_well() {
    let [min, max] = bounds();
    let entry = find(traffic::TABLE.entries(), "ping").expect("registered");
    let mut options = defaults(entry.options);
    (entry.finish)(&mut options).expect("sensible");
    let mut p = plan(Time::from_secs(30), vec![link(FAST, "fifo", &[])], vec![]);
    p.hosts = kind("vm");
    p.traffic = vec![TrafficPlan {
        kind: entry.name,
        options,
        answers: Some(vec![]),
        rtt: RTT,
        ..cbr("p", 1_000, &[])
    }];
    let echoes = run(network(&p)).traffic.swap_remove(0).echoes;
    let echoes = echoes.expect("a ping has echoes");
    assert!(echoes.answered > 20 && echoes.lost == 0);
    let least = RTT.ns() / 2 + min;
    let back = echoes.back.max().expect("answers");
    assert!((least..RTT.ns() / 2 + max).contains(&back), "{back}");
    let both = echoes.rtt.max().expect("answers");
    assert!(
        (RTT.ns() + 2 * min..RTT.ns() + 2 * max).contains(&both),
        "{both}"
    );
}

/// Random flows on links with little room: every packet is accounted for, and every transfer ends.
#[test]
fn hosts_that_wait_conserve_packets() {
    for seed in 1..=20 {
        let flows = (0..4).map(|i| FlowPlan {
            bytes: Some(Bytes(400_000)),
            count: 1 + i % 3,
            ..flow(
                &format!("f{i}"),
                ["cubic", "bbr", "prague", "reno"][i as usize],
                Time::from_ms(2 + 9 * (i % 2)),
                &[],
            )
        });
        let mut l = link(20_000_000, "fifo", &[("limit", Value::Packets(20))]);
        l.rate = RatePlan::Constant(Rate(20_000_000));
        let mut p = plan(Time::from_secs(60), vec![l], flows.collect());
        p.hosts = kind(["vm", "vm-shared"][seed as usize % 2]);
        let mut network = Network::new(&Arc::new(p.clone()), seed);
        while network.advance(1000) {
            let c = network.census();
            assert_eq!(c.entered, c.ended + c.inside + c.dropped);
        }
        let outcome = network.finish();
        for flow in &outcome.flows {
            assert_eq!(flow.delivered_bytes, 400_000, "{}", flow.name);
        }
    }
}
