//! Tests what FQ-CoDel adds to fair queueing and CoDel. An overflow must drop the right packets,
//! and each flow must have its own CoDel state. The CoDel of each flow must consider the backlog of
//! all flows.

use super::*;
use crate::packet::Ecn;
use crate::registry::{Value, complete_defaults};
use crate::rng::Stream;
use crate::units::Rate;

const MS: u64 = 1_000_000;

struct Bench {
    queue: FqCodel,
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
            rng: Stream::new(1, "fq_codel", "test"),
        };
        Bench {
            queue: FqCodel::new(&options, context),
            sink: Sink::new(8, Time::ZERO),
        }
    }

    fn put(&mut self, ns: u64, flow: u32, len: u16, n: usize, ecn: Ecn) {
        for _ in 0..n {
            let mut packet = Packet::new(flow, len, ecn);
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

    fn count(&self, flow: usize, cause: Cause) -> u64 {
        self.sink.meter.counts_of(flow).get(cause)
    }
}

#[test]
fn overflow_takes_a_batch_off_the_head_of_the_fattest() {
    let mut bench = Bench::new(&[("limit", Value::Packets(300))]);
    bench.put(0, 0, 1514, 200, Ecn::Ect0);
    bench.put(0, 1, 66, 100, Ecn::Ect0);
    assert_eq!(bench.sink.meter.counts.drops(), 0);
    // A packet of the small flow arrives when the queue is full. The queue then drops packets of
    // the large flow.
    bench.put(0, 1, 66, 1, Ecn::Ect0);
    assert_eq!(bench.count(0, Cause::Overflow), 64);
    assert_eq!(bench.count(1, Cause::Overflow), 0);
    assert_eq!(bench.queue.backlog().packets, 301 - 64);
}

#[test]
fn overflow_leaves_half_the_fattest_flows_bytes() {
    let mut bench = Bench::new(&[("limit", Value::Packets(20))]);
    bench.put(0, 0, 1000, 11, Ecn::NotEct);
    bench.put(0, 1, 500, 10, Ecn::NotEct);
    // The drops end once half of the 11,000 bytes have been dropped, which is after six packets of
    // 1000 bytes.
    assert_eq!(bench.count(0, Cause::Overflow), 6);
    let mut bench = Bench::new(&[("limit", Value::Packets(20)), ("drop_batch", Value::Int(1))]);
    bench.put(0, 0, 1000, 11, Ecn::NotEct);
    bench.put(0, 1, 500, 10, Ecn::NotEct);
    assert_eq!(bench.count(0, Cause::Overflow), 1);
    let flow = bench.queue.fair.flow_of(&Packet::new(0, 1000, Ecn::NotEct));
    let [count, dropping] = bench.queue.fair.flow(flow).0.gauges();
    assert_eq!((count, dropping), (1.0, 0.0));
}

#[test]
fn the_first_phase_after_an_overflow_starts_from_one() {
    // The flow overflows before its sojourn time has been above the target for an interval.
    let mut bench = Bench::new(&[("limit", Value::Packets(100))]);
    bench.put(0, 0, 1514, 101, Ecn::Ect0);
    assert_eq!(bench.count(0, Cause::Overflow), 51);
    let flow = bench.queue.fair.flow_of(&Packet::new(0, 1514, Ecn::Ect0));
    assert_eq!(bench.queue.fair.flow(flow).0.gauges(), [51.0, 0.0]);
    // From this packet on, the sojourn time is at least 50 ms. One packet leaves in each ms.
    for ms in 0..1_100 {
        bench.get((50 + ms) * MS);
        bench.put(ms * MS, 0, 1514, 1, Ecn::Ect0);
    }
    // The first mark comes after one interval. The time from mark n to the next mark is 100 ms
    // divided by sqrt(n). In the remaining second, 32 of these intervals pass.
    let marks = bench.count(0, Cause::Mark);
    assert!((31..=35).contains(&marks), "{marks}");
    let gauges = bench.queue.fair.flow(flow).0.gauges();
    assert_eq!(gauges, [marks as f64, 1.0]);
}

#[test]
fn memory_counts_more_than_the_frames() {
    let limit = 10 * (1514 + fair::FRAME_MEMORY);
    let mut bench = Bench::new(&[
        ("memory_limit", Value::Bytes(crate::units::Bytes(limit))),
        ("drop_batch", Value::Int(1)),
    ]);
    bench.put(0, 0, 1514, 10, Ecn::NotEct);
    assert_eq!(bench.sink.meter.counts.drops(), 0);
    bench.put(0, 0, 1514, 1, Ecn::NotEct);
    assert_eq!(bench.sink.meter.counts.drops(), 1);
}

#[test]
fn codel_acts_on_the_flow_that_queues_alone() {
    let mut bench = Bench::new(&[]);
    let mut now = 1_000 * MS;
    bench.put(now - 50 * MS, 0, 1514, 3, Ecn::Ect0);
    for _ in 0..2_000 {
        // Packets of flow 0 always wait for 50 ms. Packets of flow 1 leave at once.
        bench.put(now - 50 * MS, 0, 1514, 1, Ecn::Ect0);
        bench.put(now, 1, 200, 1, Ecn::Ect0);
        bench.get(now);
        bench.get(now);
        now += MS;
    }
    assert!(
        bench.count(0, Cause::Mark) > 20,
        "{}",
        bench.count(0, Cause::Mark)
    );
    assert_eq!(bench.count(1, Cause::Mark), 0);
    assert_eq!(bench.sink.meter.counts.drops(), 0);
}

#[test]
fn the_backlog_of_others_counts_as_more_than_one_mtu() {
    // Flow 0 has two packets at a time, which have waited for 50 ms. If the queue has no other
    // packets, only one MTU remains behind the first packet, so CoDel does not act. If another flow
    // has a backlog, CoDel marks packets of flow 0 after an interval.
    let marks = |others: usize| {
        let mut bench = Bench::new(&[]);
        bench.put(0, 1, 1514, others, Ecn::NotEct);
        let mut now = 1_000 * MS;
        for _ in 0..500 {
            bench.put(now - 50 * MS, 0, 1514, 2, Ecn::Ect0);
            while bench.get(now).is_some_and(|p| p.flow != 0) {}
            while bench.get(now).is_some_and(|p| p.flow != 0) {}
            now += MS;
        }
        bench.count(0, Cause::Mark)
    };
    assert_eq!(marks(0), 0);
    assert!(marks(2_000) > 3);
}

#[test]
fn ce_threshold_marks_above_it_only() {
    let mut bench = Bench::new(&[("ce_threshold", Value::Time(Time::from_ms(1)))]);
    bench.put(0, 0, 1514, 2, Ecn::Ect0);
    // The threshold of 1 ms is 976 ticks of 1024 ns.
    assert_eq!(bench.get(976 << 10).unwrap().ecn, Ecn::Ect0);
    assert_eq!(bench.get(977 << 10).unwrap().ecn, Ecn::Ce);
    assert_eq!(bench.count(0, Cause::StepMark), 1);
}

/// With tc's `ce_threshold_selector 0x1/0x1`, packets with ECT(1) are marked above the threshold,
/// and packets with ECT(0) are not.
#[test]
fn ce_threshold_marks_what_is_selected() {
    let marked = |selector: &'static str| {
        let mut bench = Bench::new(&[
            ("ce_threshold", Value::Time(Time::from_ms(1))),
            (codel::SELECTOR, Value::Word(selector)),
        ]);
        [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0].map(|ecn| {
            bench.put(0, 0, 1514, 1, ecn);
            bench.get(2 * MS).expect("one").ecn == Ecn::Ce
        })
    };
    assert_eq!(marked("0x01/0x01"), [false, true, false]);
    assert_eq!(marked("0x01/0x03"), [false, true, false]);
    assert_eq!(marked("0x02/0x03"), [false, false, true]);
    assert_eq!(marked("0x00/0x01"), [false, false, true]);
}

/// Tests that every selector can be written for tc, and that a selector without `ce_threshold` is
/// an error.
#[test]
fn a_selector_in_tcs_words() {
    let set = |threshold: bool| {
        let mut options = complete_defaults(&ENTRY);
        options.set(codel::SELECTOR, Value::Word("0x01/0x01"));
        if threshold {
            options.set("ce_threshold", Value::Time(Time::from_ms(1)));
        }
        (ENTRY.finish)(&mut options).map(|()| KERNEL.spell(&options, Rate(10_000_000)).words)
    };
    let words = set(true).expect("sensible");
    let said = "ce_threshold 1000us ce_threshold_selector 0x1/0x1 flows 1024";
    assert!(words.contains(said), "{words}");
    assert_eq!(
        set(false).expect_err("no threshold")[0].option,
        codel::SELECTOR
    );
}

#[test]
fn every_selector_has_its_bits() {
    let option = ENTRY.options.iter().find(|o| o.name == codel::SELECTOR);
    let Kind::Word(words) = option.expect("an option").kind else {
        panic!("words");
    };
    for word in words {
        let mut options = complete_defaults(&ENTRY);
        options.set(codel::SELECTOR, Value::Word(word));
        let [value, mask] = codel::selector(&options).expect("bits");
        assert_eq!(format!("{value:#04x}/{mask:#04x}"), *word);
    }
}

#[test]
fn sce_marks_on_the_ramp_below_the_target() {
    let mut bench = Bench::new(&[("sce", Value::Word("on"))]);
    bench.put(0, 0, 1514, 3, Ecn::Ect0);
    assert_eq!(bench.get(2_500_000).unwrap().ecn, Ecn::Ect0);
    // At the target, SCE marks every packet.
    assert_eq!(bench.get(5_000_000).unwrap().ecn, Ecn::Ect1);
    assert_eq!(bench.count(0, Cause::SceMark), 1);
}
