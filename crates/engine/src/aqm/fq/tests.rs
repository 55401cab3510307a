//! Tests fq against values that were computed by hand with the arithmetic of sch_fq.

use super::*;
use crate::packet::Ecn;
use crate::registry::complete_defaults;
use crate::rng::Stream;
use crate::units::Rate;

const MS: u64 = 1_000_000;

struct Bench {
    queue: Fq,
    sink: Sink,
}

impl Bench {
    fn new(set: &[(&'static str, Value)]) -> Bench {
        let mut options = complete_defaults(&ENTRY);
        for (name, value) in set {
            options.set(name, value.clone());
        }
        let context = QueueContext {
            rate: Rate(10_000_000),
            mtu: 1514,
            rng: Stream::new(1, "fq", "test"),
        };
        Bench {
            queue: Fq::new(&options, context),
            sink: Sink::new(8, Time::ZERO),
        }
    }

    fn put(&mut self, ns: u64, flow: u32, n: usize) {
        for _ in 0..n {
            let mut packet = Packet::new(flow, 1514, Ecn::Ect0);
            packet.stamp = Time(ns);
            self.sink.arrive(&packet, Time(ns));
            self.queue.enqueue(&mut packet, Time(ns), &mut self.sink);
        }
    }

    fn get(&mut self, ns: u64) -> Option<Packet> {
        let packet = self.queue.take(Time(ns), &mut self.sink)?;
        self.sink.forward(&packet, Time(ns));
        Some(packet)
    }

    /// Returns the flows of the next `n` packets.
    fn order(&mut self, ns: u64, n: usize) -> Vec<u32> {
        let mut get = || self.get(ns).expect("a packet").flow;
        (0..n).map(|_| get()).collect()
    }

    fn count(&self, flow: usize, cause: Cause) -> u64 {
        self.sink.meter.counts_of(flow).get(cause)
    }
}

const SLOW: (&str, Value) = ("fast_path", Value::Bool(false));

/// A flow may send ten frames in its first round, and two frames in each later round.
#[test]
fn credit_of_the_first_turn_and_of_rounds() {
    let mut bench = Bench::new(&[SLOW]);
    bench.put(0, 0, 30);
    bench.put(0, 1, 30);
    // A packet may leave while the credit is above 0. In the first turn, the credit of ten frames
    // allows ten packets.
    let expected = [vec![0; 10], vec![1; 10], vec![0, 0, 1, 1, 0, 0]].concat();
    assert_eq!(bench.order(0, 26), expected);
    assert_eq!(bench.queue.backlog().packets, 34);
}

/// If a flow becomes active again, it keeps the rest of its credit. If the flow was inactive for
/// the refill delay, its credit is at least a quantum.
#[test]
fn credit_of_a_flow_that_comes_back() {
    for (wait, expected) in [(40 * MS, [0, 1, 0]), (43 * MS, [0, 0, 1])] {
        let mut bench = Bench::new(&[SLOW, ("initial_quantum", Value::Int(2_000))]);
        bench.put(0, 0, 1);
        assert_eq!(bench.order(0, 1), [0]);
        // fq serves the flow, which is empty. fq moves it to the old flows, and later makes it
        // inactive. The flow's credit is 486 bytes.
        assert!(bench.get(0).is_none());
        bench.put(wait, 0, 2);
        bench.put(wait, 1, 1);
        assert_eq!(bench.order(wait, 3), expected, "{wait}");
    }
}

#[test]
fn limits_of_a_flow_and_of_all() {
    let mut bench = Bench::new(&[SLOW, ("limit", Value::Packets(150))]);
    bench.put(0, 0, 120);
    assert_eq!(bench.count(0, Cause::Overflow), 20);
    bench.put(0, 1, 60);
    assert_eq!(bench.count(1, Cause::Overflow), 10);
    assert_eq!(bench.queue.backlog().packets, 150);
}

/// Packets that have waited longer than the threshold are marked, even if the difference is only a
/// nanosecond. Packets that are not ECN-capable are not marked.
#[test]
fn marks_above_the_threshold() {
    let threshold = ("ce_threshold", Value::Time(Time::from_ms(1)));
    let mut bench = Bench::new(&[SLOW, threshold.clone()]);
    bench.put(0, 0, 2);
    assert_eq!(bench.get(MS).expect("first").ecn, Ecn::Ect0);
    assert_eq!(bench.get(MS + 1).expect("second").ecn, Ecn::Ce);
    assert_eq!(bench.count(0, Cause::StepMark), 1);
    let mut packet = Packet::new(0, 1514, Ecn::NotEct);
    bench.sink.arrive(&packet, Time::ZERO);
    bench
        .queue
        .enqueue(&mut packet, Time::ZERO, &mut bench.sink);
    assert_eq!(bench.get(9 * MS).expect("third").ecn, Ecn::NotEct);
}

/// At most eight packets take the fast path. These packets leave before all other packets. Packets
/// on the fast path are never marked, even if they have waited longer than the threshold.
#[test]
fn the_fast_path_is_for_eight_and_does_not_mark() {
    let mut bench = Bench::new(&[("ce_threshold", Value::Time(Time::from_ms(1)))]);
    bench.put(0, 0, 6);
    bench.put(0, 1, 6);
    let first: Vec<_> = (0..8).map(|_| bench.get(5 * MS).expect("one")).collect();
    let flows: Vec<u32> = first.iter().map(|packet| packet.flow).collect();
    assert_eq!(flows, [0, 0, 0, 0, 0, 0, 1, 1]);
    assert!(first.iter().all(|packet| packet.ecn == Ecn::Ect0));
    // From the ninth packet on, packets of flow 1 are in the flow's own queue. While they wait, no
    // packet takes the fast path.
    bench.put(5 * MS, 0, 1);
    assert_eq!(bench.get(5 * MS).expect("one").ecn, Ecn::Ce);
    assert_eq!(bench.order(5 * MS, 4), [1, 1, 1, 0]);
    bench.put(5 * MS, 0, 1);
    assert_eq!((bench.queue.fast_packets, bench.queue.busy), (1, 0));
}

/// With a mask of 0, all packets belong to one flow, so they leave in the order of arrival.
#[test]
fn a_mask_of_0_is_one_flow() {
    let mut bench = Bench::new(&[SLOW, ("orphan_mask", Value::Int(0))]);
    for i in 0..50 {
        bench.put(0, i % 5, 1);
    }
    let expected: Vec<u32> = (0..50).map(|i| i % 5).collect();
    assert_eq!(bench.order(0, 50), expected);
}
