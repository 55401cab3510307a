//! Tests PIE's controller against each row of its tuning table. Also tests the distance between
//! drops, and the burst allowance.

use super::law::ticks;
use super::*;
use crate::aqm::QueueContext;
use crate::packet::Ecn;
use crate::registry::{Options, defaults};
use crate::units::Rate;

const MTU: u32 = 1514;

fn options(set: &[(&'static str, Value)]) -> Options {
    let mut options = defaults(ENTRY.options);
    for (name, value) in set {
        options.set(name, value.clone());
    }
    (ENTRY.finish)(&mut options).unwrap();
    options
}

fn params(set: &[(&'static str, Value)]) -> Params {
    Params::of(&options(set), MTU)
}

fn old() -> Params {
    params(&[("version", Value::Word("linux-3.14"))])
}

/// Returns the state of a queue that has a backlog and the probability `prob`. The burst allowance
/// is used up.
fn vars(p: &Params, prob: f64, delay: Time, delay_old: Time) -> Vars {
    Vars {
        prob: (prob * p.one as f64) as u64,
        qdelay: ticks(delay),
        qdelay_old: ticks(delay_old),
        burst: 0,
        ..Vars::new(p)
    }
}

/// Returns by how much one update changes the probability.
fn step(p: &Params, prob: f64, delay: Time, delay_old: Time) -> f64 {
    let mut v = vars(p, prob, delay, delay_old);
    let before = v.prob;
    v.update(p, 50_000);
    (i128::from(v.prob) - i128::from(before)) as f64 / p.one as f64
}

#[test]
fn defaults_of_both_versions() {
    let p = params(&[]);
    assert_eq!(
        (p.target, p.tupdate, p.burst),
        (234_375, Time::from_ms(15), 2_343_750)
    );
    let p = old();
    assert_eq!(
        (p.target, p.tupdate, p.burst),
        (312_500, Time::from_ms(30), 1_562_500)
    );
    assert!(p.estimate);
    let mut options = defaults(ENTRY.options);
    options.set("version", Value::Word("linux-3.14"));
    options.set("dq_rate_estimator", Value::Bool(false));
    let errors = (ENTRY.finish)(&mut options).unwrap_err();
    assert_eq!(errors[0].option, "dq_rate_estimator");
}

/// RFC 8033 section 4.2. Each row has a probability from one range of the RFC's table, and the
/// divisor of the gains in this range.
const TABLE: [(f64, f64); 7] = [
    (0.5e-6, 2_048.0),
    (0.5e-5, 512.0),
    (0.5e-4, 128.0),
    (0.5e-3, 32.0),
    (0.5e-2, 8.0),
    (0.05, 2.0),
    (0.15, 1.0),
];

#[test]
fn the_tuning_table_line_by_line() {
    let p = params(&[]);
    for (prob, divisor) in TABLE {
        // The delay stays 10 ms above the target, so only alpha (0.125/s) has an effect.
        let constant = step(&p, prob, Time::from_ms(25), Time::from_ms(25));
        let expected = 0.125 * 0.010 / divisor;
        assert!(
            (constant / expected - 1.0).abs() < 1e-5,
            "p {prob}: {constant}, expected {expected}"
        );
        // The delay has risen by 1 ms and equals the target, so only beta (1.25/s) has an effect.
        let rise = step(&p, prob, Time::from_ms(15), Time::from_ms(14));
        let expected = 1.25 * 0.001 / divisor;
        assert!((rise / expected - 1.0).abs() < 1e-5, "p {prob}: {rise}");
    }
    // A probability on the border of two ranges belongs to the higher range.
    for (limit, divisor) in [(0.1, 1.0), (0.01, 2.0), (0.001, 8.0), (1e-6, 512.0)] {
        let at = step(
            &p,
            limit * (1.0 + 1e-9),
            Time::from_ms(25),
            Time::from_ms(25),
        );
        assert!((at / (0.00125 / divisor) - 1.0).abs() < 1e-5, "{limit}");
    }
}

#[test]
fn the_gains_of_linux_3_14_are_whole_numbers_of_its_clock() {
    let p = old();
    // The gains alpha and beta are multiplied by 274, which is 2^32 divided by the ticks per
    // second. Then the products are shifted right by 7, 5 or 4 bits, depending on the probability.
    for (prob, alpha, beta) in [(0.005, 4, 42), (0.05, 17, 171), (0.2, 34, 342)] {
        let v = vars(&p, prob, Time::ZERO, Time::ZERO);
        assert_eq!((v.gain(&p, 2), v.gain(&p, 20)), (alpha, beta), "p {prob}");
    }
}

#[test]
fn steps_are_capped_above_10_percent_only() {
    let p = params(&[]);
    // Without the limit of 2 %, a rise by 30 ms would add 0.0375.
    let delays = (Time::from_ms(45), Time::from_ms(15));
    assert!((step(&p, 0.1001, delays.0, delays.1) - 0.02).abs() < 1e-9);
    let free = step(&p, 0.0999, delays.0, delays.1);
    assert!(
        (free - (1.25 * 0.030 + 0.125 * 0.030) / 2.0).abs() < 1e-7,
        "{free}"
    );
}

#[test]
fn a_delay_above_250_ms_adds_2_percent() {
    let p = params(&[]);
    let at = |ms| step(&p, 0.05, Time::from_ms(ms), Time::from_ms(ms));
    let slope = 0.125 * 0.001 / 2.0;
    assert!((at(251) - at(250) - slope - 0.02).abs() < 1e-7);
    assert!((at(250) - at(249) - slope).abs() < 1e-7);
}

#[test]
fn the_probability_stops_at_zero() {
    let p = params(&[]);
    let mut v = vars(&p, 0.001, Time::from_ms(1), Time::from_ms(100));
    v.update(&p, 50_000);
    assert_eq!(v.prob, 0);
}

#[test]
fn without_delay_the_probability_decays() {
    let p = params(&[("alpha", Value::Int(0)), ("beta", Value::Int(0))]);
    let after = |backlog| {
        let mut v = vars(&p, 0.32, Time::ZERO, Time::ZERO);
        v.update(&p, backlog);
        v.prob as f64 / p.one as f64
    };
    assert!((after(0) - 0.32 * 63.0 / 64.0).abs() < 1e-12);
    // The backlog is so small that the delay is 0. But the probability does not decay while packets
    // are queued.
    assert!((after(100) - 0.32).abs() < 1e-12);

    // In linux-3.14, the probability is multiplied by 98 and divided by 100. The product fits into
    // 32 bits only if the probability is at most 1.02 %.
    let p = params(&[
        ("alpha", Value::Int(0)),
        ("beta", Value::Int(0)),
        ("version", Value::Word("linux-3.14")),
    ]);
    let after = |prob: u64| {
        let mut v = vars(&p, 0.0, Time::ZERO, Time::ZERO);
        v.prob = prob;
        v.update(&p, 0);
        v.prob
    };
    assert_eq!(after(43_000_000), 42_140_000);
    assert_eq!(after(1 << 31), 0);
}

#[test]
fn burst_allowance_is_served_time_and_comes_back_when_calm() {
    let p = params(&[]);
    let mut v = Vars::new(&p);
    v.prob = p.one;
    v.qdelay = 10 * p.target;
    let mut rng = Stream::new(1, "pie", "test");
    let mut packet = Packet::new(0, 1_000, Ecn::NotEct);
    // From the first dequeue on, the burst allowance decreases. After 149 ms, 1 ms of the allowance
    // is left.
    for ms in 0..150 {
        packet.stamp = Time::from_ms(ms);
        v.dequeued(&p, &packet, 50_000, Time::from_ms(ms + 100));
        assert!(!v.drop_early(&p, 50_000, 1_000, &mut rng), "{ms} ms");
    }
    v.dequeued(&p, &packet, 50_000, Time::from_ms(250));
    assert!(v.drop_early(&p, 50_000, 1_000, &mut rng));
    // The burst allowance is renewed if two successive delays are below half the target and the
    // probability is 0.
    v.prob = 0;
    v.qdelay = p.target / 2 - 1;
    v.qdelay_old = p.target / 2;
    v.update(&p, 50_000);
    assert_eq!(v.burst, 0);
    v.update(&p, 50_000);
    assert_eq!(v.burst, p.burst);
}

#[test]
fn nothing_is_dropped_while_delay_and_probability_are_low_or_the_queue_short() {
    let p = params(&[]);
    let mut rng = Stream::new(1, "pie", "test");
    let mut drops = |prob: f64, delay: u64, backlog: u64| {
        let mut v = vars(&p, prob, Time::ZERO, Time::ZERO);
        v.qdelay = delay;
        (0..1_000)
            .filter(|_| v.drop_early(&p, backlog, 1_000, &mut rng))
            .count()
    };
    assert_eq!(drops(0.199, p.target / 2 - 1, 50_000), 0);
    assert!(drops(0.201, p.target / 2 - 1, 50_000) > 100);
    assert!(drops(0.199, p.target / 2, 50_000) > 100);
    assert_eq!(drops(0.9, 10 * p.target, 2 * 1_514 - 1), 0);
    assert!(drops(0.9, 10 * p.target, 2 * 1_514) > 100);
}

#[test]
fn derandomised_gaps_stay_between_their_bounds() {
    let p = params(&[]);
    let mut rng = Stream::new(1, "pie", "test");
    let mut v = vars(&p, 0.1, Time::from_ms(30), Time::from_ms(30));
    let (mut gap, mut gaps) = (0u32, Vec::new());
    while gaps.len() < 20_000 {
        gap += 1;
        if v.drop_early(&p, 50_000, 1_000, &mut rng) {
            v.dropped();
            gaps.push(gap);
            gap = 0;
        }
    }
    // The sum reaches 0.85 with the ninth packet, and 8.5 with packet 85 or 86. (The probability of
    // 0.1 is rounded down.)
    assert_eq!(gaps.iter().min(), Some(&9));
    assert!(gaps.iter().all(|&g| g <= 86));
    // From the ninth packet on, each packet is dropped with probability 0.1. So the mean distance
    // between drops is 8 + 10 packets, with a standard deviation of 9.5.
    let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
    assert!((mean - 18.0).abs() < 4.0 * 9.5 / 141.0, "{mean}");

    // If the sum is 8.5, a drop is certain, even if the probability is too small for a random drop.
    let mut v = vars(&p, 1e-12, Time::from_ms(30), Time::from_ms(30));
    v.accu_prob = p.one / 2 * 17 - v.prob - 1;
    assert!(!v.drop_early(&p, 50_000, 1_000, &mut rng));
    assert!(v.drop_early(&p, 50_000, 1_000, &mut rng));
    // With linux-3.14, each packet is dropped independently of the others. The limits of 0.85 and
    // 8.5 do not apply.
    let p = old();
    let v = vars(&p, 0.1, Time::from_ms(30), Time::from_ms(30));
    let hits = (0..40_000).filter(|_| v.clone().drop_early(&p, 50_000, 1_000, &mut rng));
    let rate = hits.count() as f64 / 40_000.0;
    assert!((rate - 0.1).abs() < 4.0 * 0.0015, "{rate}");
}

#[test]
fn bytemode_scales_by_size() {
    let p = params(&[
        ("bytemode", Value::Bool(true)),
        ("version", Value::Word("linux-3.14")),
    ]);
    let mut rng = Stream::new(1, "pie", "test");
    let mut rate = |len| {
        let mut v = vars(&p, 0.4, Time::from_ms(30), Time::from_ms(30));
        let hits = (0..40_000).filter(|_| v.drop_early(&p, 50_000, len, &mut rng));
        hits.count() as f64 / 40_000.0
    };
    assert!((rate(757) - 0.2).abs() < 0.008);
    assert!((rate(1_514) - 0.4).abs() < 0.01);
    // For packets larger than the MTU, the probability is not scaled.
    assert!((rate(3_000) - 0.4).abs() < 0.01);
}

#[test]
fn the_departure_rate_is_estimated_over_16_kib() {
    let p = old();
    let mut v = Vars::new(&p);
    // 1000 bytes leave per millisecond. This departure rate equals 1000 x 256 / 15625 = 16.384
    // bytes per 256 ticks.
    let packet = Packet::new(0, 1_000, Ecn::NotEct);
    for ms in 0..16 {
        v.dequeued(&p, &packet, 20_000, Time::from_ms(ms));
        assert_eq!(v.avg_dq_rate, 0, "{ms}");
    }
    // The estimate counts 17 packets in 16 ms, because the packet with which the measurement begins
    // counts as well.
    v.dequeued(&p, &packet, 20_000, Time::from_ms(16));
    assert_eq!(v.avg_dq_rate, 17_000 * 256 / (16 * 15_625));
    assert_eq!(v.burst, p.burst - 16 * 15_625);
    // The delay is 20,000 bytes divided by the estimate of 17 bytes per 256 ticks.
    v.update(&p, 20_000);
    assert_eq!(v.qdelay, 20_000 * 256 / 17);
}

#[test]
fn marks_up_to_10_percent_and_drops_above() {
    let p = params(&[("ecn", Value::Bool(true))]);
    let ect = Packet::new(0, 1_000, Ecn::Ect0);
    let low = vars(&p, 0.0999, Time::ZERO, Time::ZERO);
    let high = vars(&p, 0.1001, Time::ZERO, Time::ZERO);
    assert!(p.marks(&low, &ect));
    assert!(!p.marks(&high, &ect));
    assert!(!p.marks(&low, &Packet::new(0, 1_000, Ecn::NotEct)));
    assert!(!params(&[]).marks(&low, &ect));
}

/// Packets of 1000 bytes arrive at `factor` times 10 Mbit/s for 40 s. Returns the mean sojourn time
/// in ms, and the share of packets that were dropped or marked. Both values are measured over the
/// last 20 s.
fn overload(set: &[(&'static str, Value)], factor: f64, ecn: Ecn) -> (f64, f64, Sink) {
    let rate = Rate(10_000_000);
    let context = QueueContext {
        rate,
        mtu: MTU,
        rng: Stream::new(1, "pie", "queue"),
    };
    let mut queue = (ENTRY.build)(&options(set), context);
    let mut sink = Sink::new(1, Time::from_secs(20));
    let slot = rate.time_for(1_000);
    let mut timer = queue.timer(Time::ZERO, &mut sink).unwrap();
    // A timer of 15 ms is set to 15 jiffies, and fires one jiffy later. In the Linux of 2014, the
    // timer fired in the last of the 15 jiffies.
    let old = set.iter().any(|(name, _)| *name == "version");
    assert_eq!(timer, Time::from_ms(if old { 30 } else { 16 }));
    let (mut now, mut credit) = (Time::ZERO, 0.0);
    let mut arrived = 0;
    while now < Time::from_secs(40) {
        credit += factor;
        while credit >= 1.0 {
            credit -= 1.0;
            let mut packet = Packet::new(0, 1_000, ecn);
            packet.stamp = now;
            sink.arrive(&packet, now);
            queue.enqueue(&mut packet, now, &mut sink);
            arrived += u32::from(now >= Time::from_secs(20));
        }
        if let Some(packet) = queue.take(now, &mut sink) {
            sink.forward(&packet, now);
        }
        now += slot;
        while timer <= now {
            timer = queue.timer(timer, &mut sink).unwrap();
        }
    }
    let hit = sink.meter.counts.drops() + sink.meter.counts.marks();
    let share = hit as f64 / f64::from(arrived);
    (sink.meter.delay.mean().unwrap() / 1e6, share, sink)
}

#[test]
fn an_overload_is_held_at_the_target() {
    // The load is 1.5 times the rate and does not respond to drops. So a third of the packets is
    // dropped. The delay settles at the target. The integral part of the controller removes any
    // lasting error.
    let (delay, dropped, _) = overload(&[], 1.5, Ecn::NotEct);
    assert!((delay - 15.0).abs() < 0.75, "{delay} ms");
    assert!((dropped - 1.0 / 3.0).abs() < 0.005, "{dropped}");
    let set = [("version", Value::Word("linux-3.14"))];
    let (delay, dropped, _) = overload(&set, 1.5, Ecn::NotEct);
    assert!((delay - 20.0).abs() < 2.0, "{delay} ms");
    assert!((dropped - 1.0 / 3.0).abs() < 0.005, "{dropped}");
}

#[test]
fn with_ecn_an_overload_is_dropped_all_the_same() {
    let set = [("ecn", Value::Bool(true))];
    let (delay, share, sink) = overload(&set, 1.5, Ecn::Ect0);
    assert!((delay - 15.0).abs() < 0.75, "{delay} ms");
    assert_eq!(sink.meter.counts.marks(), 0);
    assert!((share - 1.0 / 3.0).abs() < 0.005, "{share}");
}

#[test]
fn every_drop_resets_the_sum_and_a_forced_mark_does_not() {
    let p = params(&[("ecn", Value::Bool(true))]);
    let mut pie = Pie {
        packets: Packets::default(),
        limit: Limit::Packets(5),
        vars: vars(&p, 0.05, Time::from_ms(30), Time::from_ms(30)),
        params: p,
        next_update: Time::NEVER,
        rng: Stream::new(1, "pie", "queue"),
    };
    let mut sink = Sink::new(1, Time::ZERO);
    let mut put = |pie: &mut Pie, accu_prob, ecn| {
        pie.vars.accu_prob = accu_prob;
        let mut packet = Packet::new(0, 1_514, ecn);
        sink.arrive(&packet, Time::ZERO);
        pie.enqueue(&mut packet, Time::ZERO, &mut sink);
        (
            pie.vars.accu_prob,
            sink.meter.counts.drops(),
            sink.meter.counts.marks(),
        )
    };
    let forced = 9 * p.one;
    // The queue is too short for PIE to act.
    assert_eq!(put(&mut pie, forced, Ecn::NotEct), (forced, 0, 0));
    assert_eq!(put(&mut pie, forced, Ecn::NotEct), (forced, 0, 0));
    assert_eq!(put(&mut pie, forced, Ecn::NotEct), (0, 1, 0));
    let marked = forced + pie.vars.prob;
    assert_eq!(put(&mut pie, forced, Ecn::Ect0), (marked, 1, 1));
    for _ in 0..2 {
        put(&mut pie, 0, Ecn::NotEct);
    }
    // Five packets are queued, which is enough for PIE to act.
    assert_eq!(put(&mut pie, p.one / 2, Ecn::NotEct), (0, 2, 1));
}

#[test]
fn a_shrinking_limit_drops_from_the_head_without_the_controller() {
    for version in ["linux-7.3", "linux-3.14"] {
        let set = |limit| {
            options(&[
                ("version", Value::Word(version)),
                ("limit", Value::Packets(limit)),
            ])
        };
        let params = Params::of(&set(1_000), MTU);
        let mut queue = Pie {
            packets: Packets::default(),
            limit: Limit::Packets(1_000),
            vars: Vars::new(&params),
            params,
            next_update: Time::NEVER,
            rng: Stream::new(1, "pie", "test"),
        };
        let mut sink = Sink::new(1, Time::ZERO);
        for _ in 0..50 {
            let mut packet = Packet::new(0, MTU as u16, Ecn::NotEct);
            sink.arrive(&packet, Time::ZERO);
            queue.enqueue(&mut packet, Time::ZERO, &mut sink);
        }
        // With this packet, a measurement of the departure rate begins.
        assert!(queue.take(Time::from_ms(20), &mut sink).is_some());
        let before = queue.vars;
        let setting = Setting {
            rate: Rate(10_000_000),
            mtu: MTU,
            now: Time::from_ms(50),
        };
        queue.change(&set(10), &setting, &mut sink);
        assert_eq!(queue.vars, before, "{version}");
        assert_eq!(queue.backlog().packets, 10);
        assert_eq!(sink.meter.counts.get(Cause::Overflow), 39);
    }
}
