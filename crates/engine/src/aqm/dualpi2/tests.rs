//! Tests the controller against values that were computed by hand. Also tests the coupling, the
//! step threshold, the shares of the schedulers, each response to overload, and the options that
//! each version sets.

use super::core::{Arithmetic, ONE, Overload, Params, Vars, Verdict};
use super::*;
use crate::aqm::QueueContext;
use crate::registry::{Options, defaults, text};
use crate::units::{Bytes, Rate};

const MTU: u32 = 1514;

type Set<'a> = &'a [(&'static str, Value)];

fn given(set: Set) -> Options {
    let mut options = defaults(ENTRY.options);
    for (name, value) in set {
        options.set(name, value.clone());
    }
    options
}

fn options(set: Set) -> Options {
    let mut options = given(set);
    (ENTRY.finish)(&mut options).unwrap();
    options
}

fn refused(set: Set) -> &'static str {
    (ENTRY.finish)(&mut given(set)).unwrap_err()[0].option
}

fn queue(set: Set) -> DualPi2 {
    let context = QueueContext {
        rate: Rate(40_000_000),
        mtu: MTU,
        rng: Stream::new(1, "dualpi2", "test"),
    };
    DualPi2::new(&options(set), context)
}

fn version(name: &'static str) -> (&'static str, Value) {
    ("version", Value::Word(name))
}

const MS: fn(u64) -> Time = Time::from_ms;

/// A queue with a fixed p. Tests enqueue and dequeue single packets.
struct Bench {
    queue: DualPi2,
    sink: Sink,
    now: Time,
}

impl Bench {
    fn new(set: Set, prob: f64) -> Bench {
        let mut queue = queue(set);
        queue.vars.prob = (prob * ONE as f64) as u32;
        let sink = Sink::new(1, Time::ZERO);
        let now = Time::ZERO;
        Bench { queue, sink, now }
    }

    fn put(&mut self, ecn: Ecn, len: u16) {
        let mut packet = Packet::new(0, len, ecn);
        packet.stamp = self.now;
        self.sink.arrive(&packet, self.now);
        self.queue.enqueue(&mut packet, self.now, &mut self.sink);
    }

    fn get(&mut self) -> Option<Packet> {
        let packet = self.queue.take(self.now, &mut self.sink)?;
        self.sink.forward(&packet, self.now);
        Some(packet)
    }

    fn count(&self, cause: Cause) -> u64 {
        self.sink.meter.counts.get(cause)
    }
}

#[test]
fn versions_preset_their_options() {
    let names = [
        "target",
        "tupdate",
        "alpha",
        "beta",
        "limit",
        "arithmetic",
        "timer",
        "scheduler",
        "step_rule",
        "min_qlen_step",
        "overload",
        "l_drop",
        "classic_protection",
        "tshift",
    ];
    let table: Vec<String> = presets::VERSIONS
        .iter()
        .map(|name| {
            let options = options(&[version(name)]);
            let cells = names.map(|n| options.get(n).map_or("-".to_owned(), text));
            format!("{name}: {}", cells.join(" "))
        })
        .collect();
    assert_eq!(
        table,
        [
            "linux-6.17: 15000000ns 16000000ns 0.16015625 3.19921875 10000p div64 hrtimer credit enqueue 0 drop - 10 -",
            "dualpi2-2019-02-21: 20000000ns 32000000ns 0.3125 3.125 10000p ticks jiffies ts-fifo dequeue 1 - 0 10 40000000ns",
            "dualpi2-2019-wrr-counter: 20000000ns 32000000ns 0.3125 3.125 10000p ns jiffies wrr-counter dequeue 1 - 0 10 -",
            "dualpi2-2019-wrr-percent: 20000000ns 32000000ns 0.3125 3.125 10000p ns jiffies wrr-percent dequeue 2 - 100 9 -",
            "dualpi2-2019-refactored: 15000000ns 16000000ns 0.16015625 3.19921875 10000p div127 jiffies credit enqueue 2 drop - 10 -",
        ]
    );
    let own = options(&[
        version("dualpi2-2019-02-21"),
        ("target", Value::Time(MS(15))),
    ]);
    assert_eq!(own.time("target"), MS(15));
    // For each earlier version, a scenario can set the response to overload to that of Linux.
    let own = options(&[
        version("dualpi2-2019-wrr-percent"),
        ("overload", Value::Word("drop")),
    ]);
    assert_eq!((own.word("overload"), own.get("l_drop")), ("drop", None));
}

#[test]
fn gains_of_each_arithmetic() {
    // Compute the effective gains in Hz if the nominal gains are 0.3125 and 3.125.
    let hz = |unit: Arithmetic, nominal: f64| {
        let gain = unit.gain(nominal) as f64 / ONE as f64;
        match unit {
            Arithmetic::Div64 => gain * 1e9 / 64.0,
            Arithmetic::Div127 => gain * 1e9 / 127.0,
            Arithmetic::Ticks => gain * 15_625_000.0,
            Arithmetic::Nanoseconds => gain * 1e9,
        }
    };
    let both = |unit, alpha, beta| {
        let round = |hz: f64| (hz * 1000.0).round() / 1000.0;
        (round(hz(unit, alpha)), round(hz(unit, beta)))
    };
    assert_eq!(both(Arithmetic::Ticks, 0.3125, 3.125), (0.309, 3.114));
    assert_eq!(both(Arithmetic::Nanoseconds, 0.3125, 3.125), (0.233, 2.794));
    let (alpha, beta) = (41.0 / 256.0, 819.0 / 256.0);
    assert_eq!(both(Arithmetic::Div127, alpha, beta), (0.081, 1.611));
    assert_eq!(both(Arithmetic::Div64, alpha, beta), (0.16, 3.198));
    assert_eq!(Arithmetic::Div64.gain(alpha), 44);
    assert_eq!(Arithmetic::Div64.gain(beta), 879);
}

fn params(set: Set) -> Params {
    queue(set).params
}

#[test]
fn the_controller_by_hand() {
    let p = params(&[]);
    let mut v = Vars::default();
    // The delay rises from 0 to 20 ms, so p becomes (44 x 5 ms + 879 x 20 ms) / 64.
    v.update(&p, MS(20));
    assert_eq!(
        v.prob,
        ((44 * 5_000_000 + 879 * 20_000_000_u64) / 64) as u32
    );
    let before = v.prob;
    v.update(&p, MS(20));
    assert_eq!(v.prob - before, 44 * 5_000_000 / 64);
    // The delay falls to 12 ms, so p changes by 44 x -3 ms + 879 x -8 ms.
    let before = v.prob;
    v.update(&p, MS(12));
    assert_eq!(
        before - v.prob,
        (44 * 3_000_000 + 879 * 8_000_000_u64).div_euclid(64) as u32
    );
    v.update(&p, Time::ZERO);
    assert_eq!(v.prob, 0);
    v.prob = u32::MAX - 10;
    v.update(&p, MS(20));
    assert_eq!(v.prob, u32::MAX);
    // If p changes by more than 1, the change is truncated to 32 bits. If the delay changes by 1 s,
    // p changes by 3.2 x 2^32.
    v = Vars::default();
    v.update(&p, Time::from_secs(1));
    let sum = 44 * 985_000_000_u64 + 879 * 1_000_000_000;
    assert_eq!(u64::from(v.prob), (sum / 64) & ONE);

    // With `overflow`, p never exceeds 1/k.
    let p = params(&[("overload", Value::Word("overflow"))]);
    v.prob = u32::MAX / 2;
    v.last = 20_000_000;
    v.update(&p, MS(20));
    assert_eq!(v.prob, u32::MAX / 2);
    // If time counts in ticks, the gains are 85 and 856 units per 64 ns.
    let p = params(&[version("dualpi2-2019-02-21")]);
    v = Vars::default();
    v.update(&p, MS(32));
    assert_eq!(v.prob, 85 * 12 * 15_625 + 856 * 32 * 15_625);
}

#[test]
fn timers() {
    let at = |set: Set| {
        let mut queue = queue(set);
        let mut sink = Sink::new(1, Time::ZERO);
        let first = queue.timer(Time::ZERO, &mut sink).unwrap();
        (first, queue.timer(first, &mut sink).unwrap())
    };
    assert_eq!(at(&[]), (MS(16), MS(32)));
    let tupdate = ("tupdate", Value::Time(MS(15)));
    assert_eq!(at(std::slice::from_ref(&tupdate)), (MS(15), MS(30)));
    // An update comes every four jiffies of 4 ms. In the versions before `dualpi2-2019-refactored`,
    // the first update comes after half a second.
    for (name, first) in [
        ("dualpi2-2019-02-21", 500),
        ("dualpi2-2019-wrr-counter", 500),
        ("dualpi2-2019-wrr-percent", 500),
        ("dualpi2-2019-refactored", 16),
    ] {
        let set = [tupdate.clone(), version(name)];
        assert_eq!(at(&set), (MS(first), MS(first + 16)), "{name}");
    }
}

#[test]
fn the_delay_is_the_larger_of_the_heads() {
    let mut b = Bench::new(&[], 0.0);
    b.put(Ecn::Ect1, 1_000);
    b.now = MS(3);
    b.put(Ecn::NotEct, 1_000);
    b.now = MS(16);
    b.queue.timer(Time::ZERO, &mut b.sink);
    b.queue.timer(MS(16), &mut b.sink);
    assert_eq!(b.queue.vars.last, 16_000_000);
    b.get();
    b.queue.timer(MS(32), &mut b.sink);
    assert_eq!(b.queue.vars.last, 29_000_000);
}

/// Returns the shares of `n` packets that are marked, that are dropped, and that are dropped
/// because of overload.
fn shares(p: &Params, prob: f64, scalable: bool, capable: bool) -> [f64; 3] {
    let v = Vars {
        prob: (prob * ONE as f64) as u32,
        last: 0,
    };
    let mut rng = Stream::new(7, "dualpi2", "shares");
    let n = 100_000;
    let mut counts = [0_u32; 3];
    for _ in 0..n {
        match v.verdict(p, scalable, capable, 50_000, &mut rng) {
            Verdict::Pass => {}
            Verdict::Mark => counts[0] += 1,
            Verdict::Drop => counts[1] += 1,
            Verdict::Overload => counts[2] += 1,
        }
    }
    counts.map(|c| f64::from(c) / f64::from(n))
}

fn near(found: [f64; 3], expected: [f64; 3]) {
    for (a, b) in found.iter().zip(expected) {
        // The tolerance is four standard deviations of the share, for 100,000 packets. If the
        // expected share is 0 or 1, the result must be exact.
        let tolerance = 4.0 * (b * (1.0 - b) / 100_000.0).sqrt();
        assert!(
            (a - b).abs() <= tolerance + 1e-12,
            "{found:?}, {expected:?}"
        );
    }
}

#[test]
fn classic_is_the_square_of_half_the_scalable_probability() {
    let p = params(&[]);
    for prob in [0.03, 0.1, 0.25, 0.4] {
        near(shares(&p, prob, true, true), [2.0 * prob, 0.0, 0.0]);
        near(shares(&p, prob, false, false), [0.0, prob * prob, 0.0]);
        near(shares(&p, prob, false, true), [prob * prob, 0.0, 0.0]);
    }
    let p = params(&[("coupling_factor", Value::Int(4))]);
    near(shares(&p, 0.1, true, true), [0.4, 0.0, 0.0]);
}

#[test]
fn overload_in_each_of_its_forms() {
    // If k p is 1.4, p squared is 0.49.
    let p = params(&[]);
    near(shares(&p, 0.7, true, true), [0.51, 0.0, 0.49]);
    near(shares(&p, 0.7, false, true), [0.0, 0.0, 0.49]);
    near(shares(&p, 0.7, false, false), [0.0, 0.49, 0.0]);
    // Without overload drops, all packets of L are marked. ECN-capable packets of C are marked with
    // probability p squared, where p is 1/k.
    for set in [
        ("overload", Value::Word("overflow")),
        ("l_drop", Value::Int(0)),
    ] {
        let p = params(&[set]);
        assert_eq!(p.overload, Overload::Overflow);
        near(shares(&p, 0.5, true, true), [1.0, 0.0, 0.0]);
        near(shares(&p, 0.5, false, true), [0.25, 0.0, 0.0]);
    }
    // With l_drop = 60, the queue drops packets instead of marking them once k p reaches 0.6.
    let p = params(&[version("dualpi2-2019-02-21"), ("l_drop", Value::Int(60))]);
    near(shares(&p, 0.299, true, true), [0.598, 0.0, 0.0]);
    near(shares(&p, 0.301, true, true), [0.0, 0.0, 0.301 * 0.301]);
    near(shares(&p, 0.301, false, true), [0.0, 0.0, 0.301 * 0.301]);
    near(shares(&p, 0.301, false, false), [0.0, 0.301 * 0.301, 0.0]);
}

#[test]
fn nothing_happens_below_two_frames() {
    let p = params(&[]);
    let v = Vars {
        prob: u32::MAX,
        last: 0,
    };
    let mut rng = Stream::new(1, "dualpi2", "test");
    let at = |backlog, rng: &mut Stream| v.verdict(&p, true, true, backlog, rng);
    assert_eq!(at(3_027, &mut rng), Verdict::Pass);
    assert_ne!(at(3_028, &mut rng), Verdict::Pass);
    // On departure, the backlog no longer includes the packet itself. When the second of three
    // packets leaves, less than two frames remain. So this packet is not dropped.
    let mut b = Bench::new(&[], 1.0);
    for _ in 0..3 {
        b.put(Ecn::NotEct, 1_514);
    }
    assert!(b.get().is_some());
    assert_eq!(
        b.count(Cause::Aqm),
        1,
        "the first saw 3028 bytes, the second 1514"
    );
}

#[test]
fn step_by_time() {
    // A delay of exactly 1 ms is not above the threshold.
    for (us, marked) in [(1_000, false), (1_001, true)] {
        let mut b = Bench::new(&[], 0.0);
        b.put(Ecn::Ect1, 1_000);
        b.now = Time::from_us(us);
        let ecn = b.get().unwrap().ecn;
        assert_eq!(ecn == Ecn::Ce, marked, "{us} us");
        assert_eq!(b.count(Cause::StepMark), u64::from(marked));
        assert_eq!(b.count(Cause::Mark), 0);
    }
    // The earlier versions compare the sojourn time with the threshold in units of 1024 ns. The
    // earlier versions also require at least one more packet in L.
    for (us, second, marked) in [
        (1_025, true, false),
        (1_026, true, true),
        (9_000, false, false),
    ] {
        let mut b = Bench::new(&[version("dualpi2-2019-02-21")], 0.0);
        b.put(Ecn::Ect1, 1_000);
        if second {
            b.put(Ecn::Ect1, 1_000);
        }
        b.now = Time::from_us(us);
        assert_eq!(b.get().unwrap().ecn == Ecn::Ce, marked, "{us} us");
    }
    // Packets with ECT(0) are in C, where the step does not apply. This changes with any_ect.
    for any in [false, true] {
        let mut b = Bench::new(&[("any_ect", Value::Bool(any))], 0.0);
        b.put(Ecn::Ect0, 1_000);
        b.now = MS(10);
        assert_eq!(b.get().unwrap().ecn == Ecn::Ce, any);
    }
    // A packet that arrives with a CE mark does not count as marked again.
    let mut b = Bench::new(&[], 0.0);
    b.put(Ecn::Ce, 1_000);
    b.now = MS(10);
    assert_eq!(b.get().unwrap().ecn, Ecn::Ce);
    assert_eq!(b.sink.meter.counts.marks(), 0);
}

#[test]
fn step_by_packets_and_the_smallest_queue() {
    // With a threshold of two packets, a packet is marked if more than two packets remain when it
    // leaves. This rule marks the first three of six packets.
    let marked = |set: Set| -> Vec<bool> {
        let mut b = Bench::new(set, 0.0);
        for _ in 0..6 {
            b.put(Ecn::Ect1, 1_000);
        }
        b.now = MS(5);
        std::iter::from_fn(|| b.get())
            .map(|p| p.ecn == Ecn::Ce)
            .collect()
    };
    let by_packets = ("step_thresh", Value::Packets(2));
    assert_eq!(
        marked(&[by_packets]),
        [true, true, true, false, false, false]
    );
    // With the rule for arrival, the first two packets find fewer than two packets in L. So the
    // rule for arrival does not mark these two packets.
    let two = ("min_qlen_step", Value::Int(2));
    assert_eq!(marked(&[two]), [false, false, true, true, true, true]);
    // With the rule for departure, only the last packet is not marked, because no packet remains
    // behind it. With dualpi2-2019-wrr-percent, the last two packets are not marked, because fewer
    // than two packets remain behind them.
    let rule = ("step_rule", Value::Word("dequeue"));
    assert_eq!(
        marked(std::slice::from_ref(&rule)),
        [true, true, true, true, true, false]
    );
    let percent = version("dualpi2-2019-wrr-percent");
    let last_two = [true, true, true, true, false, false];
    assert_eq!(marked(std::slice::from_ref(&percent)), last_two);
    // `min_qlen_step` does not apply if the threshold is in packets.
    let one = ("step_thresh", Value::Packets(0));
    assert_eq!(
        marked(&[percent, one]),
        [true, true, true, true, true, false]
    );
}

/// Both queues always have packets, and `n` packets are served. Returns the bytes of C and of L.
fn served(set: Set, n: u32, len_l: u16, len_c: u16) -> (u64, u64) {
    let mut b = Bench::new(set, 0.0);
    let (mut c, mut l) = (0, 0);
    for _ in 0..3 {
        b.put(Ecn::NotEct, len_c);
        b.put(Ecn::Ect1, len_l);
    }
    for _ in 0..n {
        let packet = b.get().unwrap();
        if packet.ecn == Ecn::NotEct {
            c += u64::from(packet.len);
            b.put(Ecn::NotEct, len_c);
        } else {
            l += u64::from(packet.len);
            b.put(Ecn::Ect1, len_l);
        }
    }
    (c, l)
}

#[test]
fn shares_of_the_schedulers_are_exact() {
    // With `credit`, C gets 10 % of the bytes. The credit begins at -80 frames. Eight packets of L
    // raise the credit to 0, and the ninth packet makes the credit positive. After that, C sends
    // one packet for every nine packets of L.
    assert_eq!(served(&[], 9 + 1_000, 1_000, 1_000).0, 99_000 + 1_000);
    // The weights apply to bytes and not to packets. In this test, frames of C are three times as
    // long as frames of L.
    let (c, l) = served(&[], 30_000, 500, 1_500);
    let share = c as f64 / (c + l) as f64;
    assert!((share - 0.1).abs() < 0.0005, "{share}");
    let (c, l) = served(
        &[("classic_protection", Value::Int(30))],
        10_000,
        1_000,
        1_000,
    );
    let share = c as f64 / (c + l) as f64;
    assert!((share - 0.3).abs() < 0.01, "{share}");

    // With `wrr-counter`, C sends one packet after every N packets of L. A time shift of zero has
    // the same result if the packets of L have waited less than those of C.
    let counter = |n, shift: Option<Time>| {
        let mut set = vec![
            version("dualpi2-2019-wrr-counter"),
            ("wrr_ratio", Value::Int(n)),
        ];
        set.extend(shift.map(|time| ("tshift", Value::Time(time))));
        let mut b = Bench::new(&set, 0.0);
        // Enqueue the packets of C first, so that they have waited longer than the packets of L.
        for _ in 0..200 {
            b.put(Ecn::NotEct, 1_000);
        }
        let mut c = 0;
        for n in 0..1_100 {
            b.now = Time::from_us(10 * (n + 1));
            b.put(Ecn::Ect1, 1_000);
            c += u64::from(b.get().unwrap().ecn == Ecn::NotEct);
        }
        c
    };
    // C sends one packet for every 10 or 15 packets of L. So C sends 1100 / 11 and 1100 / 16
    // packets.
    assert_eq!((counter(10, None), counter(15, None)), (100, 68));
    assert_eq!(counter(10, Some(Time::ZERO)), 100);
    // With a time shift of 40 ms, L always sends, so the counter has no effect.
    assert_eq!(counter(10, Some(MS(40))), 0);

    // With `wrr-percent`, L and C share the bytes in a ratio of 9 to 1 or of 5 to 1. For 9 to 1,
    // the credit begins at -8 frames. 13 packets of L make the credit positive, and one packet of C
    // subtracts 9000 bytes. For 5 to 1, the credit begins at -4 frames. 7 packets of L make the
    // credit positive, and one packet of C subtracts 5000 bytes.
    let percent = |x, len_c| {
        let set = [
            version("dualpi2-2019-wrr-percent"),
            ("classic_protection", Value::Int(x)),
        ];
        served(&set, 6_000, 1_000, len_c).0 / u64::from(len_c)
    };
    assert_eq!(percent(10, 1_000), 1 + (6_000 - 14) / 10);
    assert_eq!(percent(15, 1_000), 1 + (6_000 - 8) / 6);
    // With the default of 9 percent, L and C share the bytes in a ratio of 10 to 1. If frames of C
    // are half as long, twice as many of them are served.
    assert_eq!(percent(9, 1_000), 1 + (6_000 - 15) / 11);
    assert_eq!(percent(15, 500), 1 + (6_000 - 8) * 2 / 7);
    // At 0 %, C waits while L has packets. At 100 %, L waits while C has packets.
    assert_eq!((percent(0, 1_000), percent(100, 1_000)), (0, 6_000));
}

#[test]
fn the_older_round_robin_pays_at_once() {
    // A packet of L changes the credit even if C is empty. A packet of C does not change the credit
    // if L is empty.
    let set = [version("dualpi2-2019-wrr-percent")];
    let mut b = Bench::new(&set, 0.0);
    let start = f64::from(MTU) * -9.0;
    assert_eq!(b.queue.scheduler.gauge(), start);
    b.put(Ecn::Ect1, 1_000);
    b.get();
    assert_eq!(b.queue.scheduler.gauge(), start + 1_000.0);
    b.put(Ecn::NotEct, 1_000);
    b.get();
    assert_eq!(b.queue.scheduler.gauge(), start + 1_000.0);
    // The packet changes the credit, although the queue drops it afterwards.
    let mut b = Bench::new(&set, 1.0);
    for _ in 0..4 {
        b.put(Ecn::Ect1, 1_514);
    }
    b.get();
    assert_eq!(b.count(Cause::Overload), 2);
    assert_eq!(b.queue.scheduler.gauge(), start + 3.0 * 1_514.0);
}

#[test]
fn time_shifted_fifo() {
    let first = |delay_c: u64, delay_l: u64, speed: i64| {
        let set = [version("dualpi2-2019-02-21"), ("tspeed", Value::Int(speed))];
        let mut b = Bench::new(&set, 0.0);
        let end = 100;
        for (delay, ecn) in [(delay_c, Ecn::NotEct), (delay_l, Ecn::Ect1)] {
            b.now = MS(end - delay);
            b.put(ecn, 1_000);
        }
        b.now = MS(end);
        b.get().unwrap().ecn
    };
    // The time shift of L is 40 ms. If the shifted delay of L equals the delay of C, L sends.
    assert_ne!(first(50, 10, 0), Ecn::NotEct);
    assert_eq!(first(51, 10, 0), Ecn::NotEct);
    // With this `speed`, the delay of L is multiplied by four.
    assert_ne!(first(80, 10, 2), Ecn::NotEct);
    assert_eq!(first(81, 10, 2), Ecn::NotEct);
}

#[test]
fn credit_moves_only_with_what_is_sent_against_another() {
    let mut b = Bench::new(&[], 0.0);
    let start = f64::from(MTU) * -80.0;
    assert_eq!(b.queue.scheduler.gauge(), start);
    b.put(Ecn::Ect1, 1_000);
    b.get();
    assert_eq!(b.queue.scheduler.gauge(), start, "C was empty");
    b.put(Ecn::NotEct, 1_000);
    b.put(Ecn::Ect1, 1_000);
    b.get();
    assert_eq!(b.queue.scheduler.gauge(), start + 10.0 * 1_000.0);
    b.get();
    assert_eq!(b.queue.scheduler.gauge(), start + 10_000.0, "L was empty");
    assert!(b.get().is_none());
    assert_eq!(
        b.queue.scheduler.gauge(),
        start + 10_000.0,
        "htb would not have asked"
    );

    // If a packet is dropped on departure, the credit does not change. If p is 1, packets are
    // dropped while more than two frames are queued.
    let mut b = Bench::new(&[], 1.0);
    for _ in 0..4 {
        b.put(Ecn::NotEct, 1_514);
        b.put(Ecn::Ect1, 1_514);
    }
    let sent = b.get().unwrap();
    assert_eq!(sent.ecn, Ecn::NotEct);
    assert_eq!(b.count(Cause::Overload), 4);
    assert_eq!(b.count(Cause::Aqm), 2);
    assert_eq!(b.queue.scheduler.gauge(), start);

    // If a drop makes both queues empty, the scheduler is reset.
    let mut b = Bench::new(&[], 1.0);
    b.queue.params.min_backlog = 0;
    b.put(Ecn::NotEct, 1_000);
    b.queue.scheduler.sent(Class::L, 1_000, true);
    assert_eq!(b.queue.scheduler.gauge(), start + 10_000.0);
    assert!(b.get().is_none());
    assert_eq!(b.count(Cause::Aqm), 1);
    assert_eq!(b.queue.scheduler.gauge(), start);
}

#[test]
fn drops_where_it_is_told() {
    // p is 1, and six frames arrive. With drops on arrival, the third frame and all later frames
    // are dropped, because two frames are queued when they arrive. With drops on departure, the
    // queue drops no frame on arrival.
    let arrive = |place| {
        let mut b = Bench::new(&[("drop", Value::Word(place))], 1.0);
        for _ in 0..6 {
            b.put(Ecn::NotEct, 1_514);
        }
        (b.count(Cause::Aqm), b.queue.backlog().packets)
    };
    assert_eq!(arrive("enqueue"), (4, 2));
    assert_eq!(arrive("dequeue"), (0, 6));
}

#[test]
fn limits_by_packets_and_memory() {
    let overflows = |set: Set| {
        let mut b = Bench::new(set, 0.0);
        for n in 0..10 {
            let ecn = [Ecn::NotEct, Ecn::Ect1][n % 2];
            let mut packet = Packet::new(0, 1_514, ecn);
            packet.payload = 1_448;
            b.sink.arrive(&packet, b.now);
            b.queue.enqueue(&mut packet, b.now, &mut b.sink);
        }
        let first = b.count(Cause::Overflow);
        while b.get().is_some() {}
        assert_eq!(b.queue.memory, 0);
        first
    };
    assert_eq!(overflows(&[("limit", Value::Packets(4))]), 6);
    // A packet uses 2280 bytes of memory. So four packets fit into 9120 bytes, and only three
    // packets fit into 9119 bytes.
    assert_eq!(overflows(&[("memlimit", Value::Bytes(Bytes(9_120)))]), 6);
    assert_eq!(overflows(&[("memlimit", Value::Bytes(Bytes(9_119)))]), 7);
    assert_eq!(queue(&[]).memlimit, 30_280_000);
    assert_eq!(
        queue(&[version("dualpi2-2019-refactored")]).memlimit,
        u64::MAX
    );
}

#[test]
fn max_rtt_tunes_as_tc_does() {
    let tuned = |set: Set| {
        let o = options(set);
        ["target", "tupdate"]
            .map(|n| o.time(n).ns() / 1_000)
            .map(|n| n as f64)
            .into_iter()
            .chain(["alpha", "beta"].map(|n| o.float(n) * 256.0))
            .collect::<Vec<_>>()
    };
    // alpha = 0.1 x 16.666 ms / (100 ms)^2 = 0.1667 Hz = 42/256 Hz; beta = 0.3 / 100 ms = 3 Hz.
    let max = ("max_rtt", Value::Time(MS(100)));
    assert_eq!(
        tuned(std::slice::from_ref(&max)),
        [16_666.0, 16_666.0, 42.0, 768.0]
    );
    // The computed tupdate is at most a third of the largest round-trip time.
    let typical = ("typical_rtt", Value::Time(MS(50)));
    assert_eq!(
        tuned(&[max.clone(), typical]),
        [50_000.0, 33_333.0, 85.0, 768.0]
    );
    // Without `max_rtt`, the largest round-trip time is six times the typical round-trip time.
    let typical = ("typical_rtt", Value::Time(MS(20)));
    assert_eq!(tuned(&[typical]), [20_000.0, 20_000.0, 35.0, 640.0]);
    let typical = ("typical_rtt", Value::Time(MS(101)));
    assert_eq!(refused(&[max.clone(), typical]), "typical_rtt");
    assert_eq!(refused(&[max, ("target", Value::Time(MS(1)))]), "target");
    let slow = ("max_rtt", Value::Time(Time::from_secs(20)));
    assert_eq!(refused(&[slow]), "max_rtt");
}

#[test]
fn options_that_make_no_sense() {
    let bytes = ("step_thresh", Value::Bytes(Bytes(1_000)));
    assert_eq!(refused(&[bytes]), "step_thresh");
    let both = [("l_drop", Value::Int(1)), ("overload", Value::Word("drop"))];
    assert_eq!(refused(&both), "l_drop");
}

#[test]
fn statistics_start_anew_where_asked() {
    for reset in [false, true] {
        let mut b = Bench::new(&[("reset_statistics", Value::Bool(reset))], 0.0);
        let read = |b: &mut Bench| {
            b.put(Ecn::Ect1, 1_000);
            let mut gauges = Vec::new();
            b.queue.gauges(b.now, &mut gauges);
            gauges[5]
        };
        assert_eq!(
            (read(&mut b), read(&mut b)),
            if reset { (1.0, 1.0) } else { (1.0, 2.0) }
        );
    }
}

#[test]
fn a_reset_of_statistics_makes_the_whole_delay_growth() {
    // The delay is constant and equals the target. After each reset, p changes once, by beta times
    // the delay.
    let moved = |set: Set| {
        let mut b = Bench::new(set, 0.1);
        b.queue.vars.last = MS(15).ns() as i64;
        let mut steps = Vec::new();
        b.queue.timer(b.now, &mut b.sink);
        for update in 1..=8 {
            b.now = MS(16 * update);
            b.queue.c = Packets::default();
            let mut packet = Packet::new(0, 1_000, Ecn::NotEct);
            packet.stamp = MS(16 * update - 15);
            b.queue.c.push(packet);
            let before = b.queue.vars.prob;
            b.queue.timer(b.now, &mut b.sink);
            steps.push(f64::from(b.queue.vars.prob - before) / ONE as f64);
        }
        steps
    };
    assert_eq!(moved(&[]), [0.0; 8]);
    let kicked = moved(&[("reset_interval", Value::Time(MS(64)))]);
    let kicks: Vec<usize> = (0..8).filter(|&i| kicked[i] > 0.0).collect();
    assert_eq!(kicks, [0, 4]);
    // beta is 3.2 Hz, and the delay is 15 ms.
    assert!((kicked[0] - 0.048).abs() < 0.0005, "{kicked:?}");
}

/// Packets of 1000 bytes arrive for L and C for 40 s, at `l` and `c` times 10 Mbit/s. Returns the
/// mean sojourn times of L and C in ms, and the share of dropped packets. All values are measured
/// over the last 20 s.
fn load(entry: &Entry<Build>, opts: &Options, l: f64, c: f64) -> (f64, f64, f64, Sink) {
    let rate = Rate(10_000_000);
    let context = QueueContext {
        rate,
        mtu: MTU,
        rng: Stream::new(1, "dualpi2", "queue"),
    };
    let mut queue = (entry.build)(opts, context);
    let mut sink = Sink::new(1, Time::from_secs(20));
    let slot = rate.time_for(1_000);
    let mut timer = queue.timer(Time::ZERO, &mut sink).unwrap();
    let (mut now, mut credit) = (Time::ZERO, [0.0, 0.0]);
    let mut sums = [(0.0, 0_u32); 2];
    let mut arrived = 0;
    while now < Time::from_secs(40) {
        for (class, (load, ecn)) in [(l, Ecn::Ect1), (c, Ecn::NotEct)].into_iter().enumerate() {
            credit[class] += load;
            while credit[class] >= 1.0 {
                credit[class] -= 1.0;
                let mut packet = Packet::new(0, 1_000, ecn);
                packet.stamp = now;
                sink.arrive(&packet, now);
                queue.enqueue(&mut packet, now, &mut sink);
                arrived += u32::from(now >= Time::from_secs(20));
            }
        }
        if let Some(packet) = queue.take(now, &mut sink) {
            sink.forward(&packet, now);
            if now >= Time::from_secs(20) {
                let (sum, n) = &mut sums[usize::from(packet.ecn == Ecn::NotEct)];
                *sum += now.since(packet.stamp).ns() as f64 / 1e6;
                *n += 1;
            }
        }
        now += slot;
        while timer <= now {
            timer = queue.timer(timer, &mut sink).unwrap();
        }
    }
    let mean = |(sum, n): (f64, u32)| sum / f64::from(n.max(1));
    let dropped = sink.meter.counts.drops() as f64 / f64::from(arrived);
    (mean(sums[0]), mean(sums[1]), dropped, sink)
}

#[test]
fn the_target_moves_to_the_queue_that_is_overloaded() {
    let o = options(&[]);
    // The load of C is 1.3 times the rate, and the load of L is small. The delay of C settles at
    // the target, and L is empty.
    let (l, c, dropped, _) = load(&ENTRY, &o, 0.05, 1.3);
    assert!((c - 15.0).abs() < 0.75, "C {c} ms");
    assert!(l < 1.7, "L {l} ms");
    assert!((dropped - 0.35 / 1.35).abs() < 0.01, "{dropped}");
    // The load of L is 1.5 times the rate. The delay of L settles at the target, and the queue of C
    // is short.
    let (l, c, dropped, sink) = load(&ENTRY, &o, 1.5, 0.05);
    assert!((l - 15.0).abs() < 0.75, "L {l} ms");
    assert!(c < 15.0, "C {c} ms");
    assert!((dropped - 0.55 / 1.55).abs() < 0.01, "{dropped}");
    assert!(sink.meter.counts.get(Cause::Overload) > 0);
}

#[test]
fn pi2_alone_holds_its_target() {
    let entry = &crate::aqm::pi2::ENTRY;
    let mut o = defaults(entry.options);
    let (_, c, dropped, sink) = load(entry, &o, 0.0, 1.5);
    assert!((c - 15.0).abs() < 0.75, "{c} ms");
    assert!((dropped - 1.0 / 3.0).abs() < 0.005, "{dropped}");
    assert_eq!(sink.meter.counts.get(Cause::Overload), 0);
    // In an overload, scalable packets are also dropped with probability p squared.
    o.set("scalable", Value::Word("ect1"));
    let (l, _, dropped, sink) = load(entry, &o, 1.5, 0.0);
    assert!((l - 15.0).abs() < 0.75, "{l} ms");
    assert!((dropped - 1.0 / 3.0).abs() < 0.005, "{dropped}");
    assert_eq!(sink.meter.counts.get(Cause::Aqm), 0);
}

#[test]
fn each_word_has_an_arithmetic_of_its_own() {
    let all = Arithmetic::WORDS.iter().map(|word| Arithmetic::of(word));
    let expected = [
        Arithmetic::Div64,
        Arithmetic::Div127,
        Arithmetic::Ticks,
        Arithmetic::Nanoseconds,
    ];
    assert!(all.eq(expected));
    // The divisor of 127 only changes the gains. The divisor multiplies the gains by 0.504.
    let [whole, half] = ["div64", "div127"].map(|word| Arithmetic::of(word).gain(3.2));
    assert_eq!(whole, half);
}

/// Tests the warning about a step threshold below two packet times, with which L gets too little of
/// the rate. If the rate is unknown, there is no warning.
#[test]
fn a_step_below_two_packet_times_is_warned_of() {
    use crate::registry::rules::Placed;

    let options = options(&[("step_thresh", Value::Time(Time::from_us(300)))]);
    let findings = |rate: u64, burst: u64, ecn: [bool; 2]| {
        (ENTRY.rules.at_link)(&Placed {
            options: &options,
            rate: Rate(rate),
            frame: 1514,
            burst: Bytes(burst),
            ecn,
        })
        .len()
    };
    let scalable = [true, true];
    // A frame of 1514 bytes takes 1.2 ms at 10 Mbit/s and 0.12 ms at 100 Mbit/s.
    assert_eq!(findings(10_000_000, 0, scalable), 1);
    assert_eq!(findings(100_000_000, 0, scalable), 0);
    assert_eq!(findings(10_000_000, 1514, scalable), 0, "pairs pass");
    assert_eq!(findings(10_000_000, 1513, scalable), 1);
    assert_eq!(findings(10_000_000, 0, [true, false]), 0, "nobody is in L");
    assert_eq!(findings(0, 0, scalable), 0);
}

#[test]
fn a_shrinking_limit_drops_from_c_and_then_from_l_without_the_scheduler() {
    for name in presets::VERSIONS {
        for (limit, left) in [(25, (20, 5)), (10, (10, 0))] {
            let mut bench = Bench::new(&[version(name)], 0.4);
            for _ in 0..20 {
                bench.put(Ecn::Ect1, MTU as u16);
                bench.put(Ecn::Ect0, MTU as u16);
            }
            bench.now = MS(50);
            let state = |queue: &DualPi2| (queue.vars, queue.scheduler, queue.rng.clone().bits());
            let before = state(&bench.queue);
            let memory = bench.queue.memory / 40;
            let setting = Setting {
                rate: Rate(40_000_000),
                mtu: MTU,
                now: bench.now,
            };
            let set = options(&[version(name), ("limit", Value::Packets(limit))]);
            bench.queue.change(&set, &setting, &mut bench.sink);
            assert_eq!(state(&bench.queue), before, "{name}");
            assert_eq!((bench.queue.l.len(), bench.queue.c.len()), left, "{name}");
            assert_eq!(bench.queue.memory, memory * limit, "{name}");
            let counts = &bench.sink.meter.counts;
            assert_eq!(counts.get(Cause::Overflow), 40 - limit, "{name}");
            assert_eq!((counts.get(Cause::Aqm), counts.marks()), (0, 0), "{name}");
        }
    }
}
