//! Tests CoDel's control law, how a new dropping phase starts, and on which packets CoDel does not
//! act.

use tailback_record::Cause;

use super::*;
use crate::packet::Ecn;
use crate::registry::Value;
use crate::rng::Stream;

const MS: u64 = 1_000_000;
const MTU: u32 = 1514;

/// A queue that records drops and marks with their times.
struct Bench {
    queue: Codel,
    sink: Sink,
}

impl Bench {
    fn new(ecn: bool, ce_threshold: Option<Time>) -> Bench {
        let mut options = crate::registry::complete_defaults(&ENTRY);
        options.set("ecn", Value::Bool(ecn));
        options.set("limit", Value::Packets(1_000_000));
        if let Some(time) = ce_threshold {
            options.set("ce_threshold", Value::Time(time));
        }
        Bench {
            queue: Codel {
                packets: Packets::default(),
                limit: Limit::of(options.get("limit")),
                params: Params::of(&options, MTU),
                vars: Vars::default(),
                sce: Marker::of(&options, Stream::new(1, "codel", "test")),
            },
            sink: Sink::new(1, Time::ZERO),
        }
    }

    fn put(&mut self, ns: u64, n: usize, ecn: Ecn) {
        for _ in 0..n {
            let mut packet = Packet::new(0, MTU as u16, ecn);
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

    fn drops(&self) -> u64 {
        self.sink.meter.counts.get(Cause::Aqm)
    }

    /// Every `step` ns, enqueues a packet that arrived `age` ns ago, and dequeues a packet. Returns
    /// when packets were dropped or marked.
    fn run(&mut self, from: u64, to: u64, step: u64, age: u64, ecn: Ecn) -> Vec<u64> {
        let mut times = Vec::new();
        let mut before = self.drops() + self.sink.meter.counts.marks();
        let mut now = from;
        while now < to {
            self.put(now - age, 1, ecn);
            self.get(now);
            let after = self.drops() + self.sink.meter.counts.marks();
            times.extend((before..after).map(|_| now));
            before = after;
            now += step;
        }
        times
    }
}

#[test]
fn drop_times_follow_the_control_law() {
    let mut bench = Bench::new(false, None);
    let start = 1_000 * MS;
    bench.put(start - 50 * MS, 2_000, Ecn::NotEct);
    // The sojourn times stay far above the target. A dequeue every 10 us is frequent enough to
    // resolve the times of the control law.
    let step = 10_000;
    let times = bench.run(start, start + 3_000 * MS, step, 50 * MS, Ecn::NotEct);
    // The first drop comes one interval after a dequeue first finds the sojourn time above the
    // target. The tolerance is one dequeue step plus one tick.
    let first = times[0] as f64;
    assert!(
        (first - (start + 100 * MS) as f64).abs() < 12_000.0,
        "{first}"
    );
    assert!(times.len() > 200, "{} drops", times.len());

    // Compute the control law in floating point. The time from drop k to drop k+1 is interval times
    // x(k), where x(k) is one Newton step from x(k-1) towards 1/sqrt(k). Linux rounds x to 16 bits
    // and times to ticks. Rounding changes the time of each drop by at most 3 units of 2^-16
    // interval plus one tick. A drop occurs at the first dequeue after it is due. So a drop is at
    // most one step late.
    let interval = 97_656.0 * 1_024.0;
    let (mut due, mut x) = (first, 1.0);
    for (k, pair) in (1u32..).zip(times.windows(2)) {
        let count = f64::from(k);
        if k > 1 {
            x = x / 2.0 * (3.0 - count * x * x);
        }
        due += interval * x;
        let error = pair[1] as f64 - due;
        let lost = count * (3.0 * interval / 65_536.0 + 1_024.0);
        assert!(
            -lost <= error && error <= step as f64 + 1_024.0,
            "drop {}: {error} ns off",
            k + 1
        );

        // RFC 8289 section 5.6 (`control_law`): interval / sqrt(count). The single Newton step
        // starts from the value for count - 1, whose relative error is 1/(2 count). After the step,
        // the relative error is 3/8 of 1/count^2. The tolerance is twice this error, because
        // earlier steps have errors, too.
        let law = 100e6 / libm::sqrt(count);
        let gap = (pair[1] - pair[0]) as f64;
        let allowed = law / (count * count) + step as f64 + 6_000.0;
        assert!(
            k < 8 || (gap - law).abs() <= allowed,
            "gap {k}: {gap} ns, the law says {law}"
        );
    }
}

#[test]
fn inverse_square_root_converges() {
    let mut vars = Vars {
        count: 1,
        rec_inv_sqrt: u16::MAX,
        ..Vars::default()
    };
    for count in 2..100_000u32 {
        vars.count = count;
        vars.newton_step();
        if count >= 8 {
            let n = f64::from(count);
            let exact = 65_536.0 / libm::sqrt(n);
            let error = (f64::from(vars.rec_inv_sqrt) - exact).abs();
            // The tolerance allows for the error of one Newton step (3/8 of 1/count^2), and for the
            // last bits of the fraction.
            assert!(error <= exact / (n * n) + 3.0, "{count}: off by {error}");
        }
    }
}

#[test]
fn below_target_nothing_happens() {
    let mut bench = Bench::new(false, None);
    bench.put(0, 1, Ecn::NotEct);
    // A sojourn time of 4.99 ms is 4873 ticks, which is below the target of 4882 ticks.
    let times = bench.run(1_000 * MS, 3_000 * MS, 100_000, 4_990_000, Ecn::NotEct);
    assert!(times.is_empty(), "{times:?}");
}

#[test]
fn a_single_dip_below_the_target_restarts_the_interval() {
    let mut bench = Bench::new(false, None);
    bench.put(940 * MS, 2, Ecn::NotEct);
    let early = bench.run(1_000 * MS, 1_090 * MS, MS, 50 * MS, Ecn::NotEct);
    assert!(early.is_empty(), "{early:?}");
    // Three packets have not waited before they are enqueued. These packets reach the head 2 ms
    // later, at 1092 to 1094 ms, and their sojourn times are below the target. From 1095 ms on, the
    // packets have again waited for 50 ms.
    bench.run(1_090 * MS, 1_093 * MS, MS, 0, Ecn::NotEct);
    let later = bench.run(1_093 * MS, 1_250 * MS, MS, 50 * MS, Ecn::NotEct);
    assert_eq!(later[0], 1_195 * MS);
}

#[test]
fn the_last_packet_is_never_dropped() {
    // Only one MTU stays queued behind the head. So CoDel does not act, even if packets have waited
    // for long.
    let mut bench = Bench::new(false, None);
    bench.put(0, 1, Ecn::NotEct);
    assert!(
        bench
            .run(1_000 * MS, 5_000 * MS, MS, 500 * MS, Ecn::NotEct)
            .is_empty()
    );
    // Two MTUs stay queued behind the head, so CoDel acts.
    let mut bench = Bench::new(false, None);
    bench.put(0, 2, Ecn::NotEct);
    assert!(
        !bench
            .run(1_000 * MS, 5_000 * MS, MS, 500 * MS, Ecn::NotEct)
            .is_empty()
    );
}

#[test]
fn one_mark_for_each_dequeue_and_all_drops_at_once() {
    // After a pause of 20 s, many drops are due at the next dequeue.
    let due = |ecn: Ecn| {
        let mut bench = Bench::new(true, None);
        bench.put(900 * MS, 5_000, ecn);
        bench.run(1_000 * MS, 1_500 * MS, MS, 50 * MS, ecn);
        let before = bench.drops() + bench.sink.meter.counts.marks();
        let packet = bench.get(21_500 * MS).unwrap();
        let done = bench.drops() + bench.sink.meter.counts.marks() - before;
        (done, packet.ecn)
    };
    assert_eq!(due(Ecn::Ect0), (1, Ecn::Ce));
    // The count n follows from 2 sqrt(n) - 2 sqrt(n0) = 200 intervals, so about 10,000 drops would
    // be due. Of the 4,999 waiting packets, Linux drops 256. Linux skips the other drops.
    assert_eq!(due(Ecn::NotEct).0, 256);
}

#[test]
fn re_entry_goes_on_from_what_the_last_phase_added() {
    let re_enter = |pause_intervals: u64| {
        let mut bench = Bench::new(false, None);
        bench.put(900 * MS, 100, Ecn::NotEct);
        let dropped = bench.run(1_000 * MS, 2_000 * MS, MS, 50 * MS, Ecn::NotEct);
        let before = bench.queue.vars;
        assert_eq!(before.count, dropped.len() as u32);
        assert_eq!(before.lastcount, 1);
        while bench.get(2_000 * MS).is_some() {}
        assert!(!bench.queue.vars.dropping);
        let start = 2_000 * MS + pause_intervals * 100 * MS;
        bench.put(start - 50 * MS, 100, Ecn::NotEct);
        bench.run(start, start + 102 * MS, MS, 50 * MS, Ecn::NotEct);
        assert!(bench.queue.vars.dropping);
        (before.count - before.lastcount, bench.queue.vars.count)
    };
    let (added, count) = re_enter(2);
    assert!(added > 10);
    assert_eq!(count, added);
    // If the new phase begins at least 16 intervals after drop_next, its count starts from 1 again.
    // The new phase begins one interval after the sojourn time has risen above the target.
    assert_eq!(re_enter(14).1, added);
    assert_eq!(re_enter(17).1, 1);
}

#[test]
fn re_entry_after_a_phase_of_two_starts_from_one() {
    let mut vars = Vars {
        count: 2,
        lastcount: 1,
        ..Vars::default()
    };
    let options = crate::registry::complete_defaults(&ENTRY);
    let params = Params::of(&options, MTU);
    vars.enter(&params, 10);
    assert_eq!((vars.count, vars.rec_inv_sqrt), (1, u16::MAX));
    vars.count = 4;
    vars.enter(&params, 10);
    assert_eq!((vars.count, vars.lastcount), (3, 3));
}

#[test]
fn ecn_off_drops_what_could_be_marked() {
    let mut bench = Bench::new(false, None);
    bench.put(900 * MS, 100, Ecn::Ect0);
    bench.run(1_000 * MS, 2_000 * MS, MS, 50 * MS, Ecn::Ect0);
    assert_eq!(bench.sink.meter.counts.marks(), 0);
    assert!(bench.drops() > 10);
}

#[test]
fn ce_threshold_marks_every_packet_above_it() {
    let mut bench = Bench::new(true, Some(Time::from_ms(1)));
    bench.put(0, 1, Ecn::Ect1);
    bench.put(0, 1, Ecn::NotEct);
    bench.put(0, 1, Ecn::Ect0);
    // 1 ms is 976 ticks, so 977 ticks is the first sojourn time above this threshold.
    assert_eq!(bench.get(976 << 10).unwrap().ecn, Ecn::Ect1);
    assert_eq!(bench.get(977 << 10).unwrap().ecn, Ecn::NotEct);
    assert_eq!(bench.get(977 << 10).unwrap().ecn, Ecn::Ce);
    assert_eq!(bench.sink.meter.counts.get(Cause::StepMark), 1);
    assert_eq!(bench.sink.meter.counts.drops(), 0);
}

#[test]
fn a_packet_is_counted_as_marked_once() {
    let mut bench = Bench::new(true, Some(Time::from_ms(1)));
    bench.put(900 * MS, 100, Ecn::Ect0);
    let n = 500;
    bench.run(1_000 * MS, (1_000 + n) * MS, MS, 50 * MS, Ecn::Ect0);
    assert!(bench.sink.meter.counts.get(Cause::Mark) > 3);
    assert_eq!(bench.sink.meter.counts.marks(), n);
}

#[test]
fn the_tail_is_dropped_at_the_limit() {
    let mut bench = Bench::new(false, None);
    bench.queue.limit = Limit::Packets(3);
    bench.put(0, 5, Ecn::NotEct);
    assert_eq!(bench.queue.backlog().packets, 3);
    assert_eq!(bench.sink.meter.counts.get(Cause::Overflow), 2);
}

#[test]
fn the_interval_is_over_after_its_last_tick() {
    let mut bench = Bench::new(false, None);
    bench.put(0, 10, Ecn::NotEct);
    let start = 1_000_000;
    let interval = 97_656;
    bench.get(start << 10);
    bench.get((start + interval) << 10);
    assert_eq!(bench.drops(), 0);
    bench.get((start + interval + 1) << 10);
    assert_eq!(bench.drops(), 1);
}

#[test]
fn sce_marks_come_after_ce() {
    let mut options = crate::registry::complete_defaults(&ENTRY);
    options.set("sce", Value::Word("on"));
    let mut bench = Bench::new(true, Some(Time::from_ms(10)));
    bench.queue.sce = Marker::of(&options, Stream::new(1, "codel", "test"));
    bench.put(0, 4, Ecn::Ect0);
    let seen = [2, 5, 9, 11].map(|ms| bench.get(ms * MS).unwrap().ecn);
    assert_eq!(seen, [Ecn::Ect0, Ecn::Ect1, Ecn::Ect1, Ecn::Ce]);
    assert_eq!(bench.sink.meter.counts.get(Cause::SceMark), 2);
}

#[test]
fn a_shrinking_limit_drops_from_the_head_without_the_control_law() {
    let mut bench = Bench::new(true, Some(Time::from_ms(1)));
    bench.put(0, 50, Ecn::Ect0);
    // The interval begins with this packet, so CoDel would begin to mark at a dequeue at 400 ms.
    bench.get(200 * MS);
    let before = format!("{:?}", bench.queue.vars);
    let marks = bench.sink.meter.counts.marks();
    let mut options = crate::registry::complete_defaults(&ENTRY);
    options.set("ecn", Value::Bool(true));
    options.set("limit", Value::Packets(10));
    let setting = Setting {
        rate: crate::units::Rate(10_000_000),
        mtu: MTU,
        now: Time(400 * MS),
    };
    bench.queue.change(&options, &setting, &mut bench.sink);
    assert_eq!(format!("{:?}", bench.queue.vars), before);
    assert_eq!(bench.queue.backlog().packets, 10);
    let counts = &bench.sink.meter.counts;
    assert_eq!((counts.get(Cause::Overflow), counts.marks()), (39, marks));
}
