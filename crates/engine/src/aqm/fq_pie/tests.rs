//! Tests FQ-PIE's timer and its overflow. Also tests the probability above which FQ-PIE drops
//! ECN-capable packets.

use super::*;
use crate::packet::Ecn;
use crate::registry::{Value, complete_defaults};
use crate::units::{Bytes, Rate};

fn queue(set: &[(&'static str, Value)]) -> FqPie {
    let mut options = complete_defaults(&ENTRY);
    for (name, value) in set {
        options.set(name, value.clone());
    }
    let context = QueueContext {
        rate: Rate(10_000_000),
        mtu: 1514,
        rng: Stream::new(1, "fq_pie", "test"),
    };
    FqPie::new(&options, context)
}

/// Returns when the timer fires, for the first `n` times.
fn timers(queue: &mut FqPie, n: usize) -> Vec<u64> {
    let mut sink = Sink::new(1, Time::ZERO);
    let mut now = Time::ZERO;
    let mut times = Vec::new();
    for _ in 0..n {
        now = queue.timer(now, &mut sink).unwrap();
        times.push(now.ns() / 1_000_000);
    }
    times
}

#[test]
fn the_timer_runs_in_rounds_of_2048_flows() {
    assert_eq!(timers(&mut queue(&[]), 4), [16, 32, 48, 64]);
    let mut large = queue(&[("flows", Value::Int(5_000))]);
    assert_eq!(timers(&mut large, 6), [16, 17, 18, 34, 35, 36]);
    let mut exact = queue(&[("flows", Value::Int(2_048))]);
    assert_eq!(timers(&mut exact, 3), [16, 32, 48]);
}

/// Enqueues packets of a few flows, with pauses. After each update, every flow must have the same
/// state as if the timer skipped no flow.
#[test]
fn flows_that_sleep_are_as_if_updated() {
    for estimator in [false, true] {
        let flows = 3_000;
        let mut q = queue(&[
            ("flows", Value::Int(flows)),
            ("dq_rate_estimator", Value::Bool(estimator)),
        ]);
        let mut sink = Sink::new(8, Time::ZERO);
        let mut due = q.timer(Time::ZERO, &mut sink).unwrap();
        let mut most_awake = 0;
        for n in 0..120_000u64 {
            // A packet leaves every 1.2 ms. During the first half of every 36 s, two packets arrive
            // every 1.2 ms. During the second half, no packets arrive.
            let now = Time(n * 1_200_000);
            while due <= now {
                let round = q.cursor..(q.cursor + ROUND).min(flows as usize);
                let mut expected: Vec<Vars> = Vec::new();
                for flow in 0..flows as u32 {
                    let (state, queue) = q.fair.flow(flow);
                    let mut vars = state.vars;
                    if round.contains(&(flow as usize)) {
                        vars.update(&q.params, queue.bytes());
                    }
                    expected.push(vars);
                }
                due = q.timer(due, &mut sink).unwrap();
                for flow in 0..flows as u32 {
                    assert_eq!(q.fair.flow(flow).0.vars, expected[flow as usize]);
                }
            }
            if n % 30_000 < 15_000 {
                for k in 0..2 {
                    let mut packet = Packet::new(((n + k) % 7) as u32, 1514, Ecn::NotEct);
                    packet.stamp = now;
                    sink.arrive(&packet, now);
                    q.enqueue(&mut packet, now, &mut sink);
                }
            }
            if let Some(packet) = q.take(now, &mut sink) {
                sink.forward(&packet, now);
            }
            most_awake = most_awake.max(q.awake.len());
        }
        assert_eq!(most_awake, 7);
        assert!(sink.meter.counts.get(Cause::Aqm) > 1_000);
    }
}

#[test]
fn a_packet_that_finds_the_limit_is_dropped_whosever_it_is() {
    let mut q = queue(&[
        ("limit", Value::Packets(10)),
        ("memory_limit", Value::Bytes(Bytes(1_000))),
    ]);
    let mut sink = Sink::new(2, Time::ZERO);
    let mut put = |flow, n| {
        for _ in 0..n {
            let mut packet = Packet::new(flow, 1514, Ecn::NotEct);
            sink.arrive(&packet, Time::ZERO);
            q.enqueue(&mut packet, Time::ZERO, &mut sink);
        }
        sink.meter.counts_of(flow as usize).get(Cause::Overflow)
    };
    // The queue exceeds memory_limit, but this does not cause drops.
    assert_eq!(put(0, 10), 0);
    assert_eq!(put(1, 3), 3);
}

#[test]
fn marks_give_way_to_drops_above_ecn_prob() {
    let packet = Packet::new(0, 1514, Ecn::Ect0);
    for percent in [0, 10, 40, 100] {
        let q = queue(&[
            ("ecn", Value::Bool(true)),
            ("ecn_prob", Value::Int(percent)),
        ]);
        let vars = |prob: f64| Vars::with_probability(&q.params, prob);
        let limit = percent as f64 / 100.0;
        assert!(q.params.marks(&vars(limit * 0.999), &packet));
        assert!(!q.params.marks(&vars(limit + 0.001), &packet));
    }
}
