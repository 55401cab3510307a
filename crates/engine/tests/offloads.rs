//! Tests `path.offloads`. With offloads, hosts join several segments into one packet, and queues
//! handle each packet as a whole.

mod common;

use std::sync::{Arc, Mutex};

use common::*;
use tailback_engine::aqm::{Backlog, Dequeue, Queue, Sink, fifo::Packets};
use tailback_engine::packet::{Ecn, Packet, flags};
use tailback_engine::plan::{ConnectionsPlan, EcnFeedback, FlowPlan, Plan, TrafficPlan};
use tailback_engine::registry::{Value, complete_defaults};
use tailback_engine::traffic;
use tailback_engine::units::{Bytes, Time};
use tailback_record::{Cause, Outcome};

const FRAME: u64 = 1514;
const MSS: u64 = 1448;

/// The counters of an [`Observer`], in segments of data.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    packets: u64,
    segments: u64,
    dropped: u64,
    marked: u64,
    largest: u32,
}

/// An unlimited FIFO that drops or marks every n-th data packet and counts segments.
struct Observer {
    packets: Packets,
    every: u64,
    mark: bool,
    seen: Arc<Mutex<Seen>>,
}

impl Queue for Observer {
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        if !packet.has(flags::SYN | flags::ACK) {
            let segments = packet.segments();
            assert_eq!(
                u64::from(packet.len) - u64::from(packet.payload),
                u64::from(segments) * (FRAME - MSS),
                "each segment has headers of its own"
            );
            assert_eq!(u64::from(packet.payload).div_ceil(MSS), u64::from(segments));
            let seen = &mut *self.seen.lock().expect("no panic");
            seen.packets += 1;
            seen.segments += u64::from(segments);
            seen.largest = seen.largest.max(segments);
            if seen.packets.is_multiple_of(self.every) {
                if !self.mark {
                    seen.dropped += u64::from(segments);
                    return sink.drop(packet, Cause::Aqm, now);
                }
                if packet.ecn != Ecn::NotEct {
                    seen.marked += u64::from(segments);
                    sink.mark(packet, Cause::Mark, now);
                }
            }
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

fn with_offloads(flow: FlowPlan, rate: u64, seconds: u64) -> Plan {
    over("fifo", flow, rate, seconds)
}

/// Returns a plan with offloads and a link with this queue.
fn over(queue: &'static str, flow: FlowPlan, rate: u64, seconds: u64) -> Plan {
    let links = vec![link(rate, queue, &[])];
    let mut plan = plan(Time::from_secs(seconds), links, vec![flow]);
    plan.offloads = true;
    plan
}

/// Runs a plan whose first link is an [`Observer`]. Checks regularly that every packet is accounted
/// for.
fn observed(plan: &Plan, every: u64, mark: bool) -> (Outcome, Seen, u64) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut network = network(plan);
    network.replace_queue(
        0,
        Box::new(Observer {
            packets: Packets::default(),
            every,
            mark,
            seen: seen.clone(),
        }),
    );
    while network.advance(1000) {
        let census = network.census();
        assert_eq!(
            census.entered,
            census.ended + census.inside + census.dropped
        );
    }
    let marked = network.sender(0).conn.delivered_ce;
    let outcome = network.finish();
    let seen = seen.lock().expect("no panic").clone();
    (outcome, seen, marked)
}

/// Every byte arrives. The sender retransmits exactly the segments of the dropped packets.
#[test]
fn a_drop_drops_every_segment_of_a_packet_and_no_byte_is_lost() {
    for cc in ["cubic", "reno", "bbr", "bbr3", "dctcp"] {
        let mut flow = flow("f", cc, Time::from_ms(20), &[]);
        let bytes = 60_000_123;
        flow.bytes = Some(Bytes(bytes));
        let plan = with_offloads(flow, 200_000_000, 60);
        let (outcome, seen, _) = observed(&plan, 300, false);
        let flow = &outcome.flows[0];
        assert_eq!(flow.delivered_bytes, bytes, "{cc}");
        assert!(flow.completion_ns.is_some(), "{cc}");
        assert_eq!(flow.packets, seen.segments, "{cc}: all pass the queue");
        assert!(seen.dropped > 2 * (seen.packets / 300), "{cc}: {seen:?}");
        assert_eq!(flow.retransmits, seen.dropped, "{cc}: {seen:?}");
        assert_eq!(flow.packets - flow.retransmits, bytes.div_ceil(MSS), "{cc}");
    }
}

/// If a packet is marked, each of its segments counts as marked. Accurate ECN reports all these
/// segments.
#[test]
fn a_mark_marks_every_segment_of_a_packet() {
    let mut flow = flow("f", "cubic", Time::from_ms(20), &[]);
    flow.ecn = true;
    flow.tcp.ecn_feedback = EcnFeedback::AccEcn;
    flow.tcp.mss = 1460;
    flow.tcp.header = 54;
    // The option of Accurate ECN uses 12 bytes of each segment.
    flow.bytes = Some(Bytes(30_000_000));
    let plan = with_offloads(flow, 200_000_000, 60);
    let (outcome, seen, marked) = observed(&plan, 100, true);
    assert_eq!(outcome.flows[0].retransmits, 0);
    assert!(
        seen.marked > 2 * outcome.flows[0].counts.marks(),
        "packets of several segments were marked: {seen:?}"
    );
    assert_eq!(marked, seen.marked);
}

/// A queue that splits packets gets each segment as a packet of its own, so it drops and marks
/// single segments. Every byte arrives.
#[test]
fn a_queue_that_splits_packets_drops_and_marks_segments() {
    for (queue, cc, mark) in [
        ("cake", "cubic", false),
        ("dualpi2", "bbr", false),
        ("cake", "cubic", true),
        ("dualpi2", "dctcp", true),
    ] {
        let mut flow = flow("f", cc, Time::from_ms(20), &[]);
        let bytes = 30_000_123;
        flow.bytes = Some(Bytes(bytes));
        if mark {
            (flow.ecn, flow.tcp.ecn_feedback) = (true, EcnFeedback::AccEcn);
            // The option of Accurate ECN uses 12 bytes of each segment.
            (flow.tcp.mss, flow.tcp.header) = (1460, 54);
        }
        let whole = with_offloads(flow.clone(), 200_000_000, 60);
        assert!(observed(&whole, u64::MAX, mark).1.largest > 10, "{cc}");
        let plan = over(queue, flow, 200_000_000, 60);
        let (outcome, seen, marked) = observed(&plan, 300, mark);
        let flow = &outcome.flows[0];
        assert_eq!(flow.delivered_bytes, bytes, "{cc} over {queue}");
        assert_eq!((seen.largest, seen.packets), (1, seen.segments));
        assert_eq!(flow.packets, seen.segments, "{cc} over {queue}");
        assert_eq!(flow.retransmits, seen.dropped, "{cc} over {queue}");
        assert_eq!(seen.dropped > 0, !mark, "{cc} over {queue}");
        if mark {
            assert!(seen.marked > 0);
            assert_eq!(marked, seen.marked, "{cc} over {queue}");
        }
    }
}

/// A sender joins the segments that it sends in a millisecond (Linux `tcp_tso_autosize`), up to a
/// frame length of 65,535 bytes.
#[test]
fn packets_grow_with_the_rate() {
    let largest = |rate| {
        let plan = with_offloads(flow("f", "cubic", Time::from_ms(40), &[]), rate, 10);
        observed(&plan, u64::MAX, false).1
    };
    // With a pacing rate of 1.2 windows per RTT, a burst has the bytes of about a millisecond.
    let slow = largest(20_000_000);
    assert!(slow.largest <= 4, "{slow:?}");
    assert!(slow.segments > slow.packets, "{slow:?}");
    let fast = largest(2_000_000_000);
    assert_eq!(fast.largest as u64, 65_535 / FRAME);
    assert!(fast.segments > 30 * fast.packets, "{fast:?}");
}

/// If only one segment fits into a packet, offloads do not change any result. (Prague is not in the
/// list, because without offloads the segments of its bursts leave together.)
#[test]
fn packets_of_one_segment_behave_as_without_offloads() {
    for cc in ["cubic", "bbr", "dctcp"] {
        for queue in ["fifo", "codel", "fq_codel", "pie"] {
            let made = |offloads| {
                let mut flow = flow("f", cc, Time::from_ms(20), &[]);
                flow.count = 2;
                flow.tcp.mss = 40_000;
                let link = link(1_000_000_000, queue, &[("limit", Value::Packets(100))]);
                let mut plan = plan(Time::from_secs(5), vec![link], vec![flow]);
                plan.offloads = offloads;
                plan.host_jitter = Time::from_us(100);
                format!("{:?}", run(network(&plan)))
            };
            assert!(made(true) == made(false), "{cc} over {queue}");
        }
    }
}

#[test]
fn runs_repeat() {
    let made = || {
        let flow = flow("f", "cubic", Time::from_ms(20), &[]);
        let mut plan = with_offloads(flow, 1_000_000_000, 5);
        plan.links = vec![link(1_000_000_000, "fq_codel", &[])];
        format!("{:?}", run(network(&plan)))
    };
    assert!(made() == made());
}

/// The packets that a source has sent and received are counted in segments.
#[test]
fn a_source_counts_segments_at_both_ends() {
    let outcome = requests("fifo", &[Time::ZERO], 4_000_000);
    let segments = 4_000_000_u64.div_ceil(MSS);
    let source = &outcome.traffic[0];
    assert_eq!(source.sent_packets, segments);
    assert_eq!(source.received_packets, segments);
    assert!(outcome.links[0].packets < segments / 2);
}

/// Connections of a source that follow each other use the same slot in the simulator. Every segment
/// arrives, even if a queue splits packets.
#[test]
fn connections_reuse_a_slot_whose_packets_were_split() {
    let gaps = [Time::from_ms(100); 20];
    for queue in ["fifo", "cake"] {
        let outcome = requests(queue, &gaps, 100_000);
        let source = &outcome.traffic[0];
        let segments = 20 * 100_000_u64.div_ceil(MSS);
        assert_eq!(source.received_packets, segments, "{queue}");
        let split = outcome.links[0].packets >= segments;
        assert_eq!(split, queue == "cake");
    }
}

/// Runs a source that makes requests with these gaps between them. At most one request is open at a
/// time.
fn requests(queue: &'static str, gaps: &[Time], bytes: u64) -> Outcome {
    let entry = traffic::web::ENTRY;
    let mut options = complete_defaults(&entry);
    let gaps: Vec<Value> = gaps.iter().copied().map(Value::Time).collect();
    let lengths = vec![Value::Bytes(Bytes(bytes)); gaps.len()];
    options.set("gaps", Value::List(gaps));
    options.set("lengths", Value::List(lengths));
    let server = flow("server", "cubic", Time::from_ms(20), &[]);
    let source = TrafficPlan {
        name: "web".into(),
        count: 1,
        kind: entry.name,
        start: Time::ZERO,
        stop: None,
        rtt: server.rtt,
        route: vec![0],
        answers: None,
        connections: Some(Box::new(ConnectionsPlan {
            cc: server.cc,
            module: None,
            ecn: false,
            back: vec![],
            tcp: server.tcp,
            limit: 1,
        })),
        options,
        hosts: None,
        dscp: 0,
        class: None,
    };
    let links = vec![link(1_000_000_000, queue, &[])];
    let mut plan = plan(Time::from_secs(10), links, vec![]);
    plan.traffic = vec![source];
    plan.offloads = true;
    run(network(&plan))
}
