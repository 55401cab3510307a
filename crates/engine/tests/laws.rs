//! Tests the simulator against analytical results for TCP and queues.

mod common;

use std::sync::Arc;

use common::*;
use tailback_engine::aqm::{Backlog, Dequeue, Queue, Sink, fifo::Packets};
use tailback_engine::cc;
use tailback_engine::keys::Plain;
use tailback_engine::network::Network;
use tailback_engine::packet::{Packet, flags};
use tailback_engine::plan::{Delack, Schedule};
use tailback_engine::registry::Value;
use tailback_engine::rng::Stream;
use tailback_engine::units::{Bytes, Time};
use tailback_record::{Cause, Outcome};

/// The rate of the link. This rate is so high that there is no queue, so the flow is limited only
/// by losses.
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

fn periodic(cc: &str, rtt: Time, n: u64, mark: bool, seconds: u64) -> Outcome {
    let mut f = flow("f", cc, rtt, &[]);
    f.ecn = mark;
    let mut p = plan(
        Time::from_secs(seconds),
        vec![link(FAST, "fifo", &[])],
        vec![f],
    );
    p.warmup = Time::from_secs(seconds / 5);
    let mut network = network(&p);
    network.replace_queue(0, EveryNth::new(n, mark));
    run(network)
}

/// Runs one flow over a link that loses packets at random with probability `loss`.
fn random_loss(cc: &str, rtt: Time, loss: f64, seconds: u64) -> Outcome {
    let mut l = link(FAST, "fifo", &[]);
    l.loss = loss;
    let mut p = plan(
        Time::from_secs(seconds),
        vec![l],
        vec![flow("f", cc, rtt, &[])],
    );
    p.warmup = Time::from_secs(seconds / 5);
    run(network(&p))
}

/// Mathis et al. 1997: W = sqrt(3/2) / sqrt p if every (1/p)-th packet is lost.
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

/// The law also holds for marks, because a mark reduces the window by the same factor as a loss
/// (RFC 3168 section 6.1.2).
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

/// Ott, Kemperman, Mathis 1996: if packets are lost independently, the time average of the window
/// is 1.3098 / sqrt p.
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

/// Mean number of packets in flight in Linux, for each test case. `python tests/laws.py` writes
/// this file.
const OF_LINUX: &str = include_str!("../../../tests/laws/linux.tsv");

fn linux(case: &str) -> f64 {
    let row = OF_LINUX
        .lines()
        .find(|line| line.split('\t').next() == Some(case));
    let window = row.and_then(|row| row.split('\t').nth(2)).expect(case);
    window.parse().expect("a number")
}

/// Runs one CUBIC flow with an RTT of 100 ms. An early loss ends slow start, and then every n-th
/// packet is lost. Returns the mean number of packets in flight, computed from the arrivals.
/// tests/laws.py does the same with Linux.
fn cubic_window(n: u64, first: u64, seconds: u64, fast_convergence: bool) -> f64 {
    let options = [("fast_convergence", Value::Bool(fast_convergence))];
    let rtt = Time::from_ms(100);
    let mut f = flow("f", "cubic", rtt, &options);
    f.tcp.rwnd = Bytes(1 << 30);
    let mut l = link(
        10_000_000_000,
        "fifo",
        &[("limit", Value::Packets(100_000))],
    );
    l.schedule = Some(Schedule {
        marks: vec![],
        drops: (0..400).map(|i| first + i * n).collect(),
    });
    let mut p = plan(Time::from_secs(seconds), vec![l], vec![f]);
    p.warmup = Time::from_secs(seconds * 2 / 5);
    let outcome = run(network(&p));
    let f = &outcome.flows[0];
    assert_eq!(f.timeouts, 0);
    let segments = f.delivered_bytes as f64 / 1448.0;
    segments / ((f.to_ns - f.from_ns) as f64 / rtt.ns() as f64)
}

/// RFC 9438 section 5.2: W = 1.054 (RTT/p)^0.75 if each loss comes when the window has just
/// returned to W_max, after the time K = cbrt(W_max (1 - beta)/C).
///
/// Near W_max the curve is flat. Linux's target is in whole segments, so its window reaches W_max
/// when the curve is less than one segment below W_max. The curve reaches this point cbrt(1/C) =
/// 1.36 s before K. Linux looks one RTT ahead, so subtract the RTT from the 1.36 s. The interval
/// between losses is shorter by this difference, so the window for a given p is larger. The window
/// exceeds the law by 20 % at p = 1e-4, and by 12 % at 1e-5, where K is larger. If the same packets
/// are lost, the window of Linux itself exceeds the law by the same percentages. The simulator must
/// agree with Linux to within one segment.
#[test]
fn cubic_response_to_periodic_loss() {
    let rtt = 0.1;
    let (c, beta) = (410.0 / 1024.0, 717.0 / 1024.0);
    let cases = [
        ("cubic, every 10000th lost", 10_000, 400, 1_000, 187.0),
        ("cubic, every 100000th lost", 100_000, 2_000, 1_000, 1_054.0),
    ];
    for (case, n, first, seconds, of_the_rfc) in cases {
        // An interval between losses has 1/p packets, at a mean window of (3 + beta)/4 W_max.
        // Bisection finds W_max.
        let mean = |w_max: f64| (3.0 + beta) / 4.0 * w_max;
        let solve = |ahead: f64| {
            let interval = |w_max: f64| libm::cbrt(w_max * (1.0 - beta) / c) - ahead;
            let (mut low, mut high) = (10.0, 1e5);
            for _ in 0..60 {
                let w_max = (low + high) / 2.0;
                if mean(w_max) * interval(w_max) / rtt < n as f64 {
                    low = w_max;
                } else {
                    high = w_max;
                }
            }
            mean(low)
        };
        within("the RFC's formula", solve(0.0), of_the_rfc, 0.005);
        let whole_segments = solve(libm::cbrt(1.0 / c) - rtt);
        within(
            "Linux, in whole segments",
            linux(case),
            whole_segments,
            0.02,
        );
        let of_linux = linux(case);
        let measured = cubic_window(n, first, seconds, false);
        within(case, measured, of_linux, 1.0 / of_linux);
        // With fast convergence, a maximum that is one segment below the previous maximum counts as
        // a decrease. This reduces the mean window further.
        let case = format!("{case}, fast convergence");
        let of_linux = linux(&case);
        let measured = cubic_window(n, first, seconds, true);
        within(&case, measured, of_linux, 1.0 / of_linux);
    }
}

/// A FIFO that marks each data packet with the same probability, independently.
struct RandomMarks {
    packets: Packets,
    p: f64,
    stream: Stream,
}

impl Queue for RandomMarks {
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        if !packet.has(flags::SYN | flags::ACK) && self.stream.chance(self.p) {
            sink.mark(packet, Cause::Mark, now);
        }
        self.packets.push(*packet);
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut Sink, next: &mut Packet) -> Dequeue {
        self.packets.give(next)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

/// Runs one DCTCP flow whose packets are marked with probability p. Returns its mean window times
/// p.
fn dctcp_under_random_marks(p_mark: f64, alpha_bits: i64, seed: u64, seconds: u64) -> f64 {
    let options = [("alpha_bits", Value::Int(alpha_bits))];
    let f = flow("f", "dctcp", Time::from_ms(20), &options);
    let mut p = plan(
        Time::from_secs(seconds),
        vec![link(FAST, "fifo", &[])],
        vec![f],
    );
    p.warmup = Time::from_secs(seconds / 3);
    let mut network = network(&p);
    let queue = RandomMarks {
        packets: Packets::default(),
        p: p_mark,
        stream: Stream::new(seed, "marks", "test"),
    };
    network.replace_queue(0, Box::new(queue));
    mean_window(&run(network), 0) * p_mark
}

/// Returns p times the mean window of DCTCP in Linux's integer arithmetic. Computes the window
/// packet by packet. The computation has no network, no delayed ACKs and no PRR. The window is in
/// whole segments, so a reduction by alpha W/2 is rounded. A reduction also resets the count of
/// ACKs towards the next segment (`tcp_init_cwnd_reduction`), and the window does not grow during
/// its round.
fn dctcp_in_whole_segments(p: f64, alpha_bits: u32) -> f64 {
    let mut marks = Stream::new(1, "marks", "arithmetic");
    let (one, shift) = (1_u64 << alpha_bits, 4);
    let (mut w, mut alpha) = ((2.0 / p) as u64, (p * one as f64) as u64);
    let (mut grown, mut reducing, mut seen, mut marked) = (0, 0, 0, 0);
    let (packets, warmup) = (6_000_000_u64, 500_000);
    let mut rounds = 0.0;
    for packet in 0..packets {
        if packet >= warmup {
            rounds += 1.0 / w as f64;
        }
        let mark = marks.chance(p);
        seen += 1;
        marked += u64::from(mark);
        if seen >= w {
            // Update alpha as `dctcp_update_alpha` does.
            let decay = if alpha >> shift > 0 {
                alpha >> shift
            } else {
                alpha
            };
            alpha = (alpha - decay + (marked << (alpha_bits - shift)) / seen).min(one);
            (seen, marked) = (0, 0);
        }
        if reducing > 0 {
            reducing -= 1;
        } else if mark {
            w = (w - ((w * alpha) >> (alpha_bits + 1))).max(2);
            (reducing, grown) = (w, 0);
        } else {
            grown += 1;
            if grown >= w {
                (w, grown) = (w + 1, 0);
            }
        }
    }
    (packets - warmup) as f64 / rounds * p
}

/// With random marking, W = 2/p: the window grows by one segment per round, and a reduction is
/// alpha W/2 with alpha = p. The reduction is one segment, so rounding to whole segments makes W 7
/// to 13 % smaller (see [`dctcp_in_whole_segments`]). For Linux itself, with its 10 bits of alpha
/// and p = 0.05, see docs/evidence/response.md (`python tests/laws.py`).
#[test]
fn dctcp_response_to_random_marks() {
    for (p, bits) in [(0.05, 10), (0.05, 20), (0.01, 20), (0.004, 20)] {
        let law = dctcp_in_whole_segments(p, bits);
        within("2/p, the fluid law", law, 2.0, 0.13);
        let runs =
            [1, 2, 3, 4, 5].map(|seed| dctcp_under_random_marks(p, i64::from(bits), seed, 120));
        let mean = runs.iter().sum::<f64>() / 5.0;
        let variance = runs.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / 4.0;
        // The confidence interval is computed with Student's t at 99 %. Five runs give four degrees
        // of freedom. Add one segment, because delayed ACKs and PRR round differently.
        let interval = 4.604 * (variance / 5.0).sqrt() + p;
        let what = format!("W p, p = {p}, alpha of {bits} bits");
        within(&what, mean, law, interval / law);
    }
    // With 10 bits and g = 1/16, Linux rounds fractions below 1/64 to 0, and an alpha below 1/64
    // falls to 0. If an alpha below 1/64 is needed for a window of 2/p, Linux almost ignores the
    // marks.
    assert!(dctcp_under_random_marks(0.01, 10, 1, 300) > 4.0);
}

/// Version 0.7 of Prague under random marking, at RTTs up to its target of 25 ms. In each target
/// RTT, its rate grows by 1 - p packets per target RTT. A reduction by alpha/2 with alpha = p comes
/// at the first mark that is at least a target RTT after the last reduction. So with x marks in a
/// target RTT, 1 - p = x/2 / (1 + 1/x). The law is the same at any RTT. (The module states 1/p - 1
/// Mbit/s, which is x = 2 (1 - p), for reductions exactly one target RTT apart.)
#[test]
fn prague_0_7_response_to_random_marks() {
    for (p, rtt_ms) in [(0.1, 5), (0.1, 10), (0.1, 25), (0.03, 10), (0.5, 10)] {
        let packets = |seed| {
            let version = [("version", Value::Word("0.7"))];
            let f = flow("f", "prague", Time::from_ms(rtt_ms), &version);
            let link = link(FAST, "fifo", &[]);
            let mut plan = plan(Time::from_secs(120), vec![link], vec![f]);
            plan.warmup = Time::from_secs(30);
            let mut network = network(&plan);
            let queue = RandomMarks {
                packets: Packets::default(),
                p,
                stream: Stream::new(seed, "marks", "test"),
            };
            network.replace_queue(0, Box::new(queue));
            run(network).flows[0].packets as f64 * 0.025 / 90.0
        };
        let mean = (1..=3).map(packets).sum::<f64>() / 3.0;
        let free = 1.0 - p;
        let law = (free + (free * free + 2.0 * free).sqrt()) / p;
        within(&format!("p = {p}, {rtt_ms} ms"), mean, law, 0.08);
    }
}

/// The oscillation of DCTCP at a queue that marks above a step threshold.
struct Sawtooth {
    alpha: f64,
    /// Lengths of the shortest and the longest queue, in packets.
    queue: (u64, u64),
}

/// Runs `n` flows over a path with a bandwidth-delay product of 100 packets and a threshold of `k`
/// packets. Every packet is acknowledged separately.
fn dctcp_over_a_step(k: u64, n: u64, options: &[(&'static str, Value)]) -> Sawtooth {
    let l = link(121_120_000, "step", &[("threshold", Value::Packets(k))]);
    let flows = (0..n).map(|i| {
        let mut f = flow(&format!("f{i}"), "dctcp", Time::from_ms(10), options);
        f.tcp.delack = Delack::OFF;
        f
    });
    let from = Time::from_secs(10);
    let p = plan(Time::from_secs(40), vec![l], flows.collect());
    let mut network = network(&p);
    let (mut sum, mut samples, mut queue) = (0.0, 0, (u64::MAX, 0));
    let (mut next, mut gauges) = (from, Vec::new());
    while network.advance(1) {
        if network.now() < from {
            continue;
        }
        let backlog = network.backlog(0).packets;
        queue = (queue.0.min(backlog), queue.1.max(backlog));
        if network.now() >= next {
            next += Time::from_ms(1);
            let sender = network.sender(0);
            gauges.clear();
            sender.gauges(&mut gauges);
            sum += gauges[0];
            samples += 1;
        }
    }
    let alpha = sum / f64::from(samples);
    Sawtooth { alpha, queue }
}

/// Alizadeh et al. 2010: N synchronised flows at a queue with a threshold of K packets. Each window
/// is reduced in a single step, as in the paper.
#[test]
fn dctcp_sawtooth_of_the_paper() {
    let options = [
        ("reduction", Value::Word("immediate")),
        ("alpha_bits", Value::Int(20)),
    ];
    for (k, n) in [(20, 1), (65, 1), (65, 2)] {
        let what = format!("K = {k}, N = {n}");
        let seen = dctcp_over_a_step(k, n, &options);
        // Solve alpha^2 (1 - alpha/4) = (2 W* + 1)/(W* + 1)^2 for W*.
        let pipe = 100.0 + k as f64;
        let w = pipe / n as f64;
        let right = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
        let mut alpha = right.sqrt();
        for _ in 0..50 {
            alpha = (right / (1.0 - alpha / 4.0)).sqrt();
        }
        within(&format!("{what}: alpha"), seen.alpha, alpha, 0.05);
        // The maximum queue length is K + N packets, plus the packet that has just arrived.
        assert_eq!(seen.queue.1, k + n + 1, "{what}: largest queue");
        // The amplitude is a whole number of packets, so allow for rounding.
        let amplitude = (2.0 * n as f64 * pipe).sqrt() / 2.0;
        let measured = (seen.queue.1 - seen.queue.0) as f64;
        assert!(
            (measured - amplitude).abs() <= 1.2,
            "{what}: amplitude {measured}, {amplitude}"
        );
    }
}

/// Linux uses PRR, so the reduction lasts a round. At the beginning of this round, packets are
/// still marked. The echo of these marks arrives after CWR has ended, and starts a second CWR. So
/// the amplitude is two reductions by alpha (W* + 1)/2.
#[test]
fn dctcp_sawtooth_of_linux_has_two_cuts() {
    for k in [20, 65] {
        let seen = dctcp_over_a_step(k, 1, &[]);
        let amplitude = seen.alpha * (101.0 + k as f64);
        let measured = (seen.queue.1 - seen.queue.0) as f64;
        assert!(
            (measured - amplitude).abs() <= 2.0,
            "K = {k}: {measured}, {amplitude}"
        );
        assert_eq!(seen.queue.1, k + 2);
    }
}

/// With almost no buffer, Reno uses 3/4 of the link. With a buffer of one bandwidth-delay product,
/// Reno uses the whole link.
#[test]
fn reno_utilisation_against_buffer() {
    let rtt = Time::from_ms(100);
    let utilisation = |limit: u64| {
        // The bandwidth-delay product of 48 Mbit/s x 100 ms is 396 packets.
        let l = link(48_000_000, "fifo", &[("limit", Value::Packets(limit))]);
        // Every segment is acknowledged separately, so the largest burst is two packets.
        let mut f = flow("f", "reno", rtt, &[]);
        f.tcp.delack = Delack::OFF;
        let mut p = plan(Time::from_secs(900), vec![l], vec![f]);
        p.warmup = Time::from_secs(200);
        let outcome = run(network(&p));
        outcome.links[0].bytes as f64 / outcome.links[0].capacity_bytes
    };
    within("no buffer", utilisation(4), 0.75, 0.03);
    within("one BDP", utilisation(397), 1.0, 0.005);
}

/// If each ACK acknowledges `n` segments, the receiver sends 1/`n` of the ACKs. The throughput
/// stays the same, unless the queue becomes empty between ACKs.
#[test]
fn stretched_acks_are_as_many_fewer() {
    for n in [1, 2, 4, 16] {
        let forward = link(12_112_000, "fifo", &[("limit", Value::Packets(1000))]);
        let mut back = link(1_000_000_000, "fifo", &[]);
        back.name = "back".to_owned();
        let mut f = flow("f", "reno", Time::from_ms(20), &[]);
        f.back = vec![1];
        f.tcp.delack = Plain::of(Value::Int(n)).expect("a number of segments");
        f.tcp.quickack = false;
        // The receive window is ten bandwidth-delay products.
        f.tcp.rwnd = Bytes(20 * 10 * 1448);
        let mut p = plan(Time::from_secs(40), vec![forward, back], vec![f]);
        p.warmup = Time::from_secs(10);
        let outcome = run(network(&p));
        let [data, acks] = [0, 1].map(|link| outcome.links[link].delay.count());
        assert!(data >= 29_990, "{n}: {data} of 30000 packets");
        within(
            "segments of an ACK",
            data as f64 / acks as f64,
            n as f64,
            0.01,
        );
    }
}

/// At any time and with any queue, every packet that was sent is in the network, was delivered, or
/// is counted as dropped.
#[test]
fn every_packet_is_somewhere() {
    for queue in tailback_engine::aqm::ENTRIES {
        for cc in tailback_engine::cc::ENTRIES {
            // With `idle = "hold"`, a RED queue could drop every packet of a flow forever.
            let decay = [("idle", Value::Word("decay"))];
            let set: &[_] = if queue.name == "red" { &decay } else { &[] };
            let mut l = link(10_000_000, queue.name, set);
            l.loss = 0.01;
            let flows = (0..3)
                .map(|i| flow(&format!("f{i}"), cc.name, Time::from_ms(10 * (i + 1)), &[]))
                .collect();
            let mut network = network(&plan(Time::from_secs(10), vec![l], flows));
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

/// Little's law: mean backlog = arrival rate x mean sojourn time.
#[test]
fn little() {
    let l = link(10_000_000, "fifo", &[("limit", Value::Packets(60))]);
    let p = plan(
        Time::from_secs(60),
        vec![l],
        vec![flow("f", "reno", Time::from_ms(40), &[])],
    );
    let outcome = run(network(&p));
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

/// A transfer delivers exactly its size. The duration of the transfer is the handshake plus slow
/// start, in which the rounds have 10, 20, 40, ... segments.
#[test]
fn a_transfer_completes_in_the_rounds_of_slow_start() {
    let mut f = flow("f", "reno", Time::from_ms(100), &[]);
    f.bytes = Some(Bytes(70 * 1448));
    let outcome = run(network(&plan(
        Time::from_secs(5),
        vec![link(FAST, "fifo", &[])],
        vec![f],
    )));
    let f = &outcome.flows[0];
    assert_eq!(f.delivered_bytes, 70 * 1448);
    // SYN and SYN-ACK take 100 ms. The rounds of 10 and 20 segments take two more round trips, and
    // the last 40 segments take half a round trip.
    let completion = f.completion_ns.expect("complete") as f64 / 1e6;
    within("completion", completion, 350.0, 0.001);
}

/// Flows of the same kind get equal shares, and a repeated run has the same counters.
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
        run(network(&p))
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

/// RFC 9332 section 2.1: the drop probability of C is p_C = (p_L/k)^2, where p_L is the marking
/// probability of L. The test compares the measured shares of marks and drops. The test has real
/// flows, and a step threshold that the queue never reaches. The tolerance is 6 %, or the 95 %
/// confidence interval of the number of drops if that is larger. Use small gains, so that p varies
/// little. With the default gains, the mean of p squared would exceed the square of the mean of p
/// (by a third at 50 ms).
#[test]
fn the_coupling_of_dualpi2() {
    let law = |k: i64, each: usize, rtt: u64| {
        let set = [
            ("any_ect", Value::Bool(true)),
            ("step_thresh", Value::Time(Time::from_secs(4))),
            ("coupling_factor", Value::Int(k)),
            ("alpha", Value::Float(2.0 / 256.0)),
            ("beta", Value::Float(26.0 / 256.0)),
        ];
        let flows = (0..2 * each)
            .map(|i| {
                let cc = if i < each { "dctcp" } else { "cubic" };
                flow(&format!("f{i}"), cc, Time::from_ms(rtt), &[])
            })
            .collect();
        let mut p = plan(
            Time::from_secs(160),
            vec![link(40_000_000, "dualpi2", &set)],
            flows,
        );
        p.warmup = Time::from_secs(40);
        p.start_jitter = Time::from_ms(rtt);
        let outcome = run(network(&p));
        let share = |flows: &[tailback_record::FlowOutcome], cause| {
            let hit: u64 = flows.iter().map(|f| f.counts.get(cause)).sum();
            let all: u64 = flows.iter().map(|f| f.packets).sum();
            (hit as f64 / all as f64, hit as f64)
        };
        let (l, _) = share(&outcome.flows[..each], Cause::Mark);
        let (c, drops) = share(&outcome.flows[each..], Cause::Aqm);
        assert_eq!(outcome.links[0].counts.get(Cause::StepMark), 0);
        assert_eq!(outcome.links[0].counts.get(Cause::Overload), 0);
        let base = l / k as f64;
        within(
            &format!("k {k}, {each} + {each} flows, {rtt} ms, {drops} drops"),
            c,
            base * base,
            f64::max(0.06, 1.96 / drops.sqrt()),
        );
    };
    law(2, 1, 10);
    law(2, 5, 10);
    law(2, 5, 50);
    law(4, 5, 10);
}

/// Returns how many bytes a link of this rate carries in this time, but at most 200 MB.
fn bytes_over(rate: u64, time: Time) -> u64 {
    (rate / 8_000 * time.ns() / 1_000_000).min(200_000_000)
}

/// A segment is retransmitted if and only if it was dropped. The runs have no timeouts and no
/// reordering, and every SACK block is reported, so no segment that has arrived is treated as lost.
/// All transfers end within the run, so every lost segment is repaired.
#[test]
fn retransmissions_equal_drops() {
    let (mut judged, mut wrong) = (0, Vec::new());
    for entry in cc::ENTRIES {
        for rate in [10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000_u64] {
            for (rtt, packets) in [
                (2, 10),
                (2, 100),
                (10, 10),
                (10, 1_000),
                (40, 30),
                (40, 400),
            ] {
                let limit = [("limit", Value::Packets(packets))];
                let mut f = flow("f", entry.name, Time::from_ms(rtt), &[]);
                f.bytes = Some(Bytes(bytes_over(rate, Time::from_secs(2))));
                let p = plan(
                    Time::from_secs(60),
                    vec![link(rate, "fifo", &limit)],
                    vec![f],
                );
                let outcome = run(network(&p));
                let f = &outcome.flows[0];
                let (sent_again, dropped) = (f.retransmits, f.counts.drops());
                if f.timeouts > 0 || f.completion_ns.is_none() || dropped == 0 {
                    continue;
                }
                if sent_again != dropped {
                    let case = format!("{} {rate} bit/s {rtt} ms {packets}p", entry.name);
                    wrong.push(format!("{case}: {sent_again} for {dropped}"));
                }
                judged += 1;
            }
        }
    }
    assert!(judged >= 150, "{judged}");
    assert_eq!(wrong, [""; 0]);
}

fn correlation_with_order(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let rank = |value: f64| {
        let below = values.iter().filter(|v| **v < value).count() as f64;
        let equal = values.iter().filter(|v| **v == value).count() as f64;
        below + (equal - 1.0) / 2.0 - (n - 1.0) / 2.0
    };
    let ranks: Vec<f64> = values.iter().map(|v| rank(*v)).collect();
    let order = |i: usize| i as f64 - (n - 1.0) / 2.0;
    let both: f64 = ranks.iter().enumerate().map(|(i, r)| r * order(i)).sum();
    let own: f64 = ranks.iter().map(|r| r * r).sum();
    let all: f64 = (0..values.len()).map(|i| order(i) * order(i)).sum();
    both / (own * all).sqrt()
}

/// The order of identical flows in the scenario file does not affect their throughput, even if most
/// of their packets are dropped. Over independent seeds, the correlation of throughput with the
/// position has mean 0 and standard deviation 1 / sqrt(n - 1).
#[test]
fn flows_alike_have_no_order() {
    const SEEDS: u64 = 8;
    let (rate, rtt) = (2_000_000, Time::from_ms(40));
    let (mut squares, mut cases) = (0.0, 0.0);
    for (queue, options) in [
        ("fifo", vec![("limit", Value::Packets(50))]),
        ("codel", vec![]),
        ("pie", vec![]),
        ("fq_codel", vec![]),
        ("dualpi2", vec![]),
    ] {
        for control in ["reno", "cubic", "bbr", "prague"] {
            for count in [20, 60] {
                let flows = (0..count).map(|i| flow(&format!("f{i}"), control, rtt, &[]));
                let mut p = plan(
                    Time::from_secs(30),
                    vec![link(rate, queue, &options)],
                    flows.collect(),
                );
                p.start_jitter = rtt;
                p.timer_phase = None;
                let sum: f64 = (1..=SEEDS)
                    .map(|seed| {
                        let outcome = run(Network::new(&Arc::new(p.clone()), seed));
                        let bytes = outcome.flows.iter().map(|f| f.delivered_bytes as f64);
                        correlation_with_order(&bytes.collect::<Vec<_>>())
                    })
                    .sum();
                let deviations = sum / (SEEDS as f64).sqrt() * f64::from(count - 1).sqrt();
                assert!(
                    deviations.abs() < 4.0,
                    "{queue} {control} {count}: {deviations:.1} standard deviations"
                );
                squares += deviations * deviations;
                cases += 1.0;
            }
        }
    }
    // The mean of 40 squared standard normal variables exceeds 1.9 with a probability of only 1 in
    // 2,000.
    assert!(squares / cases < 1.9, "{}", squares / cases);
}
