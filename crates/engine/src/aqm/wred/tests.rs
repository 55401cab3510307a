//! Tests that each class has its own thresholds and probability, and that the averages of both
//! classes measure the length of the whole queue.

use tailback_record::Cause;

use super::*;
use crate::aqm::QueueContext;
use crate::packet::Ecn;
use crate::registry::{Options, defaults};
use crate::units::{Bytes, Rate};

const NOW: Time = Time::from_ms(1);

fn bytes(n: u64) -> Value {
    Value::Bytes(Bytes(n))
}

fn class(set: &[(&'static str, Value)]) -> Value {
    let mut table = defaults(CLASS);
    for (name, value) in set {
        table.set(name, value.clone());
    }
    Value::Table(table)
}

fn step(at: u64) -> Value {
    class(&[
        ("min", bytes(at)),
        ("max", bytes(at)),
        ("weight", Value::Float(1.0)),
    ])
}

fn options(set: &[(&'static str, Value)]) -> Options {
    let mut options = defaults(ENTRY.options);
    for (name, value) in set {
        options.set(name, value.clone());
    }
    options
}

struct Bench {
    queue: Box<dyn Queue>,
    sink: Sink,
}

impl Bench {
    fn new(set: &[(&'static str, Value)]) -> Bench {
        let mut options = options(set);
        (ENTRY.finish)(&mut options).unwrap();
        let context = QueueContext {
            rate: Rate(10_000_000),
            mtu: 1514,
            rng: Stream::new(1, "wred", "queue"),
        };
        Bench {
            queue: (ENTRY.build)(&options, context),
            sink: Sink::new(2, Time::ZERO),
        }
    }

    /// Enqueues a packet of 1000 bytes. Returns how many packets have been dropped and how many
    /// have been marked so far.
    fn put(&mut self, ecn: Ecn) -> (u64, u64) {
        let flow = u32::from(ecn.is_capable());
        let mut packet = Packet::new(flow, 1_000, ecn);
        packet.stamp = NOW;
        self.sink.arrive(&packet, NOW);
        self.queue.enqueue(&mut packet, NOW, &mut self.sink);
        let counts = self.sink.meter.counts;
        (counts.get(Cause::Aqm), counts.get(Cause::Mark))
    }

    fn gauges(&self) -> Vec<f64> {
        let mut out = Vec::new();
        self.queue.gauges(NOW, &mut out);
        out
    }
}

#[test]
fn each_class_has_its_own_threshold_on_the_whole_queue() {
    let mut bench = Bench::new(&[("ecn", step(2_000)), ("classic", step(4_000))]);
    assert_eq!(bench.put(Ecn::NotEct), (0, 0));
    assert_eq!(bench.put(Ecn::NotEct), (0, 0));
    // The queue contains 2000 bytes of the class `classic`, so this packet is marked.
    assert_eq!(bench.put(Ecn::Ect0), (0, 1));
    assert_eq!(bench.put(Ecn::NotEct), (0, 1));
    // 4000 bytes are in the queue, so this packet is dropped.
    assert_eq!(bench.put(Ecn::NotEct), (1, 1));
    assert_eq!(bench.put(Ecn::Ect1), (1, 2));
    assert_eq!(bench.put(Ecn::Ce), (1, 3));
    assert_eq!(bench.queue.backlog().packets, 6);
    assert_eq!(bench.sink.meter.counts_of(0).marks(), 0);
    assert_eq!(bench.sink.meter.counts_of(1).drops(), 0);
}

#[test]
fn rates_of_the_classes_are_those_of_their_curves() {
    // The queue always contains 50,000 bytes. With weight 1, the average is therefore 50,000 bytes.
    let curve = |probability: f64, uniformise: &'static str| {
        class(&[
            ("min", bytes(40_000)),
            ("max", bytes(60_000)),
            ("probability", Value::Float(probability)),
            ("weight", Value::Float(1.0)),
            ("uniformise", Value::Word(uniformise)),
        ])
    };
    let n = 40_000;
    let mut bench = Bench::new(&[
        ("ecn", curve(0.4, "linux")),
        ("classic", curve(0.1, "linux")),
    ]);
    let fill = |bench: &mut Bench| {
        while bench.queue.backlog().bytes < 50_000 {
            bench.put(Ecn::Ect0);
        }
    };
    fill(&mut bench);
    let marks_before = bench.sink.meter.counts.get(Cause::Mark);
    let (mut drops, mut marks) = (0, 0);
    for _ in 0..n {
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let before = bench.sink.meter.counts;
            bench.put(ecn);
            drops += bench.sink.meter.counts.get(Cause::Aqm) - before.get(Cause::Aqm);
            marks += bench.sink.meter.counts.get(Cause::Mark) - before.get(Cause::Mark);
            while bench.queue.backlog().bytes > 50_000 {
                if let Some(packet) = bench.queue.take(NOW, &mut bench.sink) {
                    bench.sink.forward(&packet, NOW);
                }
            }
        }
    }
    assert!(marks_before < 10);
    // The queue length stays in the middle between the thresholds. So pb is 0.2 in one class and
    // 0.05 in the other class. The rates 2 pb/(1 + pb) are 1/3 and 0.0952. The standard deviation
    // of the distance between marks is sqrt((1/pb^2 - 1)/12), which is 1.41 for a pb of 0.2 and
    // 5.77 for a pb of 0.05. The relative standard errors are 1.41/3/115 and 5.77/10.5/62. The
    // tolerance is four standard errors.
    let rate = |hits: u64| hits as f64 / f64::from(n);
    assert!(
        (rate(marks) / (1.0 / 3.0) - 1.0).abs() < 4.0 * 0.0041,
        "{marks}"
    );
    assert!(
        (rate(drops) / (2.0 / 21.0) - 1.0).abs() < 4.0 * 0.0089,
        "{drops}"
    );
}

#[test]
fn averages_are_updated_by_every_arrival_or_by_their_own() {
    let run = |average: &'static str| {
        let weight = |w| class(&[("weight", Value::Float(w))]);
        let mut bench = Bench::new(&[
            ("average", Value::Word(average)),
            ("ecn", weight(0.5)),
            ("classic", weight(0.25)),
        ]);
        // The first packet ends the idle time that began at time 0. The next packets update the
        // averages with 0, 1000 and 2000 bytes.
        bench.put(Ecn::NotEct);
        bench.put(Ecn::NotEct);
        bench.put(Ecn::Ect0);
        let gauges = bench.gauges();
        (gauges[0], gauges[3])
    };
    assert_eq!(run("arrival"), (1_250.0, 687.5));
    assert_eq!(run("class"), (1_000.0, 250.0));
}

#[test]
fn errors_name_the_class() {
    let mut options = options(&[("classic", class(&[("min", bytes(9)), ("max", bytes(5))]))]);
    let errors = (ENTRY.finish)(&mut options).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].option, "classic.min");
}

#[test]
fn an_idle_time_decays_both_averages() {
    let weight = || class(&[("weight", Value::Float(0.5))]);
    let mut bench = Bench::new(&[
        ("average", Value::Word("class")),
        ("ecn", weight()),
        ("classic", weight()),
    ]);
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::NotEct] {
        bench.put(ecn);
    }
    let before = bench.gauges();
    while let Some(packet) = bench.queue.take(NOW, &mut bench.sink) {
        bench.sink.forward(&packet, NOW);
    }
    // 2.4 ms at 10 Mbit/s are three packet times for packets of the default 1000 bytes.
    let later = NOW + Time::from_us(2_400);
    let mut packet = Packet::new(0, 1_000, Ecn::NotEct);
    packet.stamp = later;
    bench.sink.arrive(&packet, later);
    bench.queue.enqueue(&mut packet, later, &mut bench.sink);
    let after = bench.gauges();
    assert!(before[0] > 0.0 && before[3] > 0.0);
    assert!((after[0] - before[0] / 8.0).abs() < 1e-9);
    assert!((after[3] - before[3] / 8.0).abs() < 1e-9);
}

/// The module `sch_wred` stores a size in 31 bits. If a size does not fit, the option has an error.
#[test]
fn linux_takes_sizes_of_31_bits() {
    let refused = |option: &'static str, value: Value| -> Vec<&'static str> {
        let spelled = super::kernel::KERNEL.spell(&options(&[(option, value)]), Rate(10_000_000));
        spelled.refused.iter().map(|refused| refused.at).collect()
    };
    let largest = (1 << 31) - 1;
    assert_eq!(refused("limit", bytes(largest)), [""; 0]);
    assert_eq!(refused("limit", bytes(largest + 1)), ["limit"]);
    for name in ["ecn", "classic"] {
        assert_eq!(refused(name, step(largest)), [""; 0]);
        // Both `min` and `max` are out of range, so the option has two errors.
        assert_eq!(refused(name, step(largest + 1)), [name; 2]);
    }
}
