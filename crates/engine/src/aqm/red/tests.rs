//! Tests RED's average against a formula, and the distances between its marks against their
//! distributions.

use super::*;
use crate::packet::Ecn;
use crate::registry::{complete_defaults, defaults};

const MS: u64 = 1_000_000;

fn options(set: &[(&'static str, Value)]) -> Options {
    let mut options = defaults(ENTRY.options);
    for (name, value) in set {
        options.set(name, value.clone());
    }
    (ENTRY.finish)(&mut options).unwrap();
    options
}

fn bytes(n: u64) -> Value {
    Value::Bytes(Bytes(n))
}

/// Returns a core whose average is constant. At this average, the probability is `pb`.
fn core_at(pb: f64, uniformise: &'static str) -> RedCore {
    let options = options(&[
        ("min", bytes(1_000)),
        ("max", bytes(2_000)),
        ("probability", Value::Float(1.0)),
        ("uniformise", Value::Word(uniformise)),
    ]);
    let mut core = RedCore::of(&options);
    core.avg = 1_000.0 + 1_000.0 * pb;
    core
}

/// Counts how often each distance between two marks occurs, in packets. A distance of 1 means that
/// successive packets are marked.
fn gaps(core: &mut RedCore, marks: usize) -> Vec<u64> {
    let mut rng = Stream::new(7, "red", "test");
    let mut seen = vec![0; 400];
    let mut gap = 0;
    let mut started = false;
    let mut n = 0;
    while n < marks {
        gap += 1;
        if core.decide(&mut rng) == Verdict::Early {
            // The first distance begins while the average is below the lower threshold, so it is
            // ignored.
            if started {
                seen[gap.min(399)] += 1;
                n += 1;
            }
            started = true;
            gap = 0;
        }
    }
    seen
}

/// Returns Pearson's chi-square statistic. `seen` contains the observed counts, and `expected`
/// returns the expected probabilities of the distances 1, 2, ...
fn chi_square(seen: &[u64], expected: impl Fn(usize) -> f64) -> f64 {
    let n: u64 = seen.iter().sum();
    (1..seen.len())
        .map(|gap| {
            let e = expected(gap) * n as f64;
            let d = seen[gap] as f64 - e;
            if e > 0.0 {
                d * d / e
            } else {
                assert_eq!(seen[gap], 0, "gap {gap} is impossible");
                0.0
            }
        })
        .sum()
}

fn mean(seen: &[u64]) -> f64 {
    let n: u64 = seen.iter().sum();
    let sum: u64 = seen.iter().zip(0..).map(|(n, gap)| n * gap).sum();
    sum as f64 / n as f64
}

// The 99.9 % quantile of chi-square with 19 degrees of freedom is 43.8.
const CHI_SQUARE_19: f64 = 43.8;

#[test]
fn linux_gaps_are_uniform_on_1_to_1_over_pb() {
    let n = 40_000;
    let seen = gaps(&mut core_at(0.05, "linux"), n);
    let statistic = chi_square(&seen, |gap| if gap <= 20 { 0.05 } else { 0.0 });
    assert!(statistic < CHI_SQUARE_19, "{statistic}");
    // The rate of marks is 2 pb/(1 + pb). The standard error of the mean gap is 5.77/sqrt(n).
    let mean = mean(&seen);
    assert!((mean - 1.05 / 0.1).abs() < 4.0 * 5.77 / 200.0, "{mean}");
}

#[test]
fn wait_gaps_are_uniform_on_1_over_pb_to_2_over_pb() {
    let n = 40_000;
    let seen = gaps(&mut core_at(0.05, "wait"), n);
    let statistic = chi_square(
        &seen,
        |gap| {
            if (20..40).contains(&gap) { 0.05 } else { 0.0 }
        },
    );
    assert!(statistic < CHI_SQUARE_19, "{statistic}");
    let mean = mean(&seen);
    assert!((mean - 29.5).abs() < 4.0 * 5.77 / 200.0, "{mean}");
}

#[test]
fn gaps_without_uniformising_are_geometric() {
    let n = 40_000;
    let mut seen = gaps(&mut core_at(0.05, "none"), n);
    // The chi-square test has one class for each distance from 1 to 19, and one class for all
    // longer distances.
    let tail: u64 = seen.drain(20..).sum();
    seen.push(tail);
    let geometric = |gap: usize| libm::pow(0.95, gap as f64 - 1.0) * 0.05;
    let statistic = chi_square(&seen, |gap| {
        if gap < 20 {
            geometric(gap)
        } else {
            libm::pow(0.95, 19.0)
        }
    });
    assert!(statistic < CHI_SQUARE_19, "{statistic}");
}

#[test]
fn the_gap_follows_the_average_while_it_runs() {
    // As in Linux, RED draws one random number for each distance between marks, and compares it
    // with count x pb. If pb doubles in the meantime, the new pb applies to the whole count.
    let mut rng = Stream::new(1, "red", "test");
    let mut core = core_at(0.01, "linux");
    core.count = 0;
    core.draw = 0.5;
    for packet in 1..25 {
        assert_eq!(core.decide(&mut rng), Verdict::Pass, "{packet}");
    }
    core.avg = 1_000.0 + 20.0;
    // With a pb of 0.02, the product reaches the random number 0.5 at a count of 25.
    assert_eq!(core.decide(&mut rng), Verdict::Early);
    assert_eq!(core.count, 0);
}

#[test]
fn below_min_the_count_starts_over_and_the_first_packet_passes() {
    let mut rng = Stream::new(1, "red", "test");
    let mut core = core_at(0.999_999, "linux");
    for _ in 0..100 {
        core.avg = 999.0;
        assert_eq!(core.decide(&mut rng), Verdict::Pass);
        core.avg = 1_999.999;
        assert_eq!(core.decide(&mut rng), Verdict::Pass);
        // Apart from rounding errors, pb is 1. So the next packet is marked or dropped.
        assert_eq!(core.decide(&mut rng), Verdict::Early);
    }
}

#[test]
fn the_average_has_its_closed_form() {
    let mut core = RedCore::of(&options(&[("weight", Value::Float(0.002))]));
    let arrival = Arrival {
        packets: 3,
        bytes: 5_000,
        idle: None,
        len: 1000,
    };
    for n in 1..=2_000 {
        core.update(&arrival);
        let exact = 5_000.0 * (1.0 - libm::pow(0.998, f64::from(n)));
        assert!((core.avg - exact).abs() < 1e-8, "{n}: {}", core.avg);
    }
    let before = core.avg;
    core.update(&Arrival {
        idle: Some(250.0),
        ..arrival
    });
    assert!((core.avg - before * libm::pow(0.998, 250.0)).abs() < 1e-9);
}

#[test]
fn probability_is_the_curve_of_the_paper() {
    let set = [
        ("min", bytes(5_000)),
        ("max", bytes(15_000)),
        ("probability", Value::Float(0.1)),
    ];
    let mut core = RedCore::of(&options(&set));
    let pb = |core: &mut RedCore, avg| {
        core.avg = avg;
        core.pb()
    };
    for (avg, expected) in [
        (4_999.0, 0.0),
        (5_000.0, 0.0),
        (10_000.0, 0.05),
        (14_000.0, 0.09),
        (15_000.0, 1.0),
    ] {
        assert!((pb(&mut core, avg) - expected).abs() < 1e-12, "{avg}");
    }
    core.gentle = true;
    for (avg, expected) in [
        (14_000.0, 0.09),
        (15_000.0, 0.1),
        (22_500.0, 0.55),
        (29_999.0, 0.1 + 0.9 * 14_999.0 / 15_000.0),
        (30_000.0, 1.0),
    ] {
        assert!((pb(&mut core, avg) - expected).abs() < 1e-12, "{avg}");
    }
}

#[test]
fn gentle_marks_by_chance_between_max_and_twice_max() {
    let set = [
        ("min", bytes(5_000)),
        ("max", bytes(10_000)),
        ("probability", Value::Float(0.1)),
        ("uniformise", Value::Word("none")),
    ];
    let rate = |gentle: bool, avg: f64| {
        let mut core = RedCore::of(&options(&set));
        core.gentle = gentle;
        core.avg = avg;
        let mut rng = Stream::new(3, "red", "test");
        let hits = (0..40_000).filter(|_| core.decide(&mut rng) != Verdict::Pass);
        hits.count() as f64 / 40_000.0
    };
    assert_eq!(rate(false, 10_000.0), 1.0);
    // pb is 0.1 + 0.9/2. The tolerance is four standard errors, each 0.0025.
    assert!((rate(true, 15_000.0) - 0.55).abs() < 0.01);
    assert_eq!(rate(true, 20_000.0), 1.0);
}

#[test]
fn defaults_are_derived_as_tc_does() {
    let get = |set: &[(&'static str, Value)]| {
        let o = options(set);
        (
            o.get("min").cloned().unwrap(),
            o.get("max").cloned().unwrap(),
        )
    };
    assert_eq!(get(&[]), (bytes(33_333), bytes(100_000)));
    assert_eq!(
        get(&[("min", bytes(10_000))]),
        (bytes(10_000), bytes(30_000))
    );
    assert_eq!(
        get(&[("max", bytes(60_000))]),
        (bytes(20_000), bytes(60_000))
    );
    assert_eq!(
        get(&[("limit", Value::Packets(120))]),
        (Value::Packets(10), Value::Packets(30))
    );
    let error = |set: &[(&'static str, Value)]| {
        let mut options = defaults(ENTRY.options);
        for (name, value) in set {
            options.set(name, value.clone());
        }
        (ENTRY.finish)(&mut options).unwrap_err()[0].option
    };
    assert_eq!(error(&[("min", bytes(2)), ("max", bytes(1))]), "min");
    assert_eq!(
        error(&[("min", bytes(2)), ("max", Value::Packets(9))]),
        "max"
    );
}

/// Tests send packets of 1000 bytes through this queue, which comes from the registry.
struct Bench {
    queue: Box<dyn Queue>,
    sink: Sink,
}

impl Bench {
    fn new(set: &[(&'static str, Value)]) -> Bench {
        let context = super::super::QueueContext {
            rate: Rate(8_000_000),
            mtu: 1514,
            rng: Stream::new(1, "red", "queue"),
        };
        Bench {
            queue: (ENTRY.build)(&options(set), context),
            sink: Sink::new(1, Time::ZERO),
        }
    }

    fn put(&mut self, ns: u64, ecn: Ecn) {
        let mut packet = Packet::new(0, 1_000, ecn);
        packet.stamp = Time(ns);
        self.sink.arrive(&packet, Time(ns));
        self.queue.enqueue(&mut packet, Time(ns), &mut self.sink);
    }

    fn get(&mut self, ns: u64) -> Option<Packet> {
        let packet = self.queue.take(Time(ns), &mut self.sink)?;
        self.sink.forward(&packet, Time(ns));
        Some(packet)
    }

    fn avg(&self) -> f64 {
        let mut out = Vec::new();
        self.queue.gauges(Time::ZERO, &mut out);
        out[0]
    }
}

#[test]
fn idle_time_decays_the_average_from_when_the_link_asked_in_vain() {
    let set = [
        ("weight", Value::Float(0.1)),
        ("avpkt", bytes(500)),
        ("idle", Value::Word("decay")),
    ];
    let fill = |set: &[(&'static str, Value)]| {
        let mut bench = Bench::new(set);
        for _ in 0..20 {
            bench.put(MS, Ecn::NotEct);
        }
        let filled = bench.avg();
        while bench.get(MS).is_some() {}
        (bench, filled)
    };
    // The transmission of 500 bytes takes 0.5 ms, so 10 ms are 20 packet times. If the link
    // requests a packet once more, the idle time does not restart.
    let (mut bench, filled) = fill(&set);
    bench.get(5 * MS);
    bench.put(11 * MS, Ecn::NotEct);
    assert!((bench.avg() - filled * libm::pow(0.9, 20.0)).abs() < 1e-9);
    // The idle time is over, so the next packet updates the average as usual.
    let avg = bench.avg();
    bench.put(12 * MS, Ecn::NotEct);
    assert!((bench.avg() - (0.9 * avg + 0.1 * 1_000.0)).abs() < 1e-9);

    let mut hold = set.to_vec();
    hold.push(("idle", Value::Word("hold")));
    let (mut bench, filled) = fill(&hold);
    bench.put(11 * MS, Ecn::NotEct);
    assert!((bench.avg() - 0.9 * filled).abs() < 1e-9);
}

#[test]
fn weight_1_and_equal_thresholds_are_a_step() {
    for (include, passed) in [(false, 4), (true, 3)] {
        let mut bench = Bench::new(&[
            ("min", bytes(4_000)),
            ("max", bytes(4_000)),
            ("weight", Value::Float(1.0)),
            ("ecn", Value::Bool(true)),
            ("include_arriving", Value::Bool(include)),
        ]);
        // With weight 1, an earlier idle time does not affect the average.
        for n in 0..10 {
            bench.put(MS, Ecn::Ect0);
            let marks = (n + 1u64).saturating_sub(passed);
            assert_eq!(
                bench.sink.meter.counts.get(Cause::Mark),
                marks,
                "packet {n}"
            );
        }
        bench.get(MS);
        bench.put(MS, Ecn::NotEct);
        assert_eq!(bench.sink.meter.counts.get(Cause::Aqm), 1);
    }
}

#[test]
fn thresholds_in_packets_count_packets() {
    let mut bench = Bench::new(&[
        ("min", Value::Packets(2)),
        ("max", Value::Packets(2)),
        ("weight", Value::Float(1.0)),
    ]);
    for _ in 0..5 {
        bench.put(MS, Ecn::Ect0);
    }
    assert_eq!(bench.queue.backlog().packets, 2);
    assert_eq!(bench.queue.gauge_names()[0], "red_avg_packets");
}

#[test]
fn a_full_buffer_drops_whatever_red_decided() {
    let mut bench = Bench::new(&[
        ("limit", bytes(2_500)),
        ("min", bytes(1)),
        ("max", bytes(1)),
        ("weight", Value::Float(1.0)),
        ("ecn", Value::Bool(true)),
    ]);
    for _ in 0..4 {
        bench.put(MS, Ecn::Ect0);
    }
    let counts = bench.sink.meter.counts;
    assert_eq!(
        (counts.get(Cause::Mark), counts.get(Cause::Overflow)),
        (1, 2)
    );
}

#[test]
fn the_default_entry_builds() {
    let options = complete_defaults(&ENTRY);
    assert_eq!(RedCore::of(&options).unit(), Unit::Bytes);
}

/// The average decays according to the number of packets that the idle link could have sent. The
/// average does not decay if the rate is unknown, or with `idle = "hold"`.
#[test]
fn idle_time_is_counted_in_packets_of_the_link() {
    let idle = |word: &'static str, rate: u64| {
        let set = [
            ("idle", Value::Word(word)),
            ("avpkt", bytes(1_000)),
            ("min", bytes(10_000)),
            ("max", bytes(30_000)),
        ];
        let mut store = Store::of(&options(&set), Rate(rate));
        let packet = Packet::new(0, 1514, Ecn::NotEct);
        store.arrival(&packet, Time(8 * MS)).idle
    };
    // The transmission of a packet of 1000 bytes takes a millisecond, so 8 ms are 8 packet times.
    assert_eq!(idle("decay", 8_000_000), Some(8.0));
    assert_eq!(idle("hold", 8_000_000), None);
    assert_eq!(idle("decay", 0), None);
}

#[test]
fn a_change_of_options_keeps_the_rate_of_idle_times() {
    let mut set = vec![("idle", Value::Word("decay")), ("avpkt", bytes(1_000))];
    for bandwidth in [None, Some(16_000_000)] {
        set.extend(bandwidth.map(|rate| ("bandwidth", Value::Rate(Rate(rate)))));
        let options = options(&set);
        let packet = Packet::new(0, 1514, Ecn::NotEct);
        // The options are changed in an outage (rate 0), and at a rate below the nominal rate.
        for now in [0, 1_000_000] {
            let mut store = Store::of(&options, Rate(8_000_000));
            let setting = Setting {
                rate: Rate(now),
                mtu: 1514,
                now: Time(4 * MS),
            };
            store.change(&options, &setting);
            let idle = store.arrival(&packet, Time(8 * MS)).idle;
            let expected = if bandwidth.is_some() { 16.0 } else { 8.0 };
            assert_eq!(idle, Some(expected), "{bandwidth:?} {now}");
        }
    }
}
