//! Laws of BBR: what its authors promise, and what is known of it.

mod common;

use common::*;
use tailback_engine::network::Network;
use tailback_engine::plan::{FlowPlan, Plan, SeriesMode};
use tailback_engine::registry::Value;
use tailback_engine::units::{Bytes, Time};
use tailback_record::Outcome;

const RATE: u64 = 50_000_000;
const RTT: Time = Time::from_ms(40);
/// Segments of 1514 bytes in 40 ms at 50 Mbit/s.
const BDP: f64 = 50e6 * 0.04 / 8.0 / 1514.0;
const PROBE_RTT: f64 = 3.0;

/// Flows of 40 ms through a FIFO of so many packets at 50 Mbit/s.
fn through(packets: u64, flows: Vec<FlowPlan>, seconds: u64, warmup: u64) -> Plan {
    let mut p = plan(
        Time::from_secs(seconds),
        vec![link(RATE, "fifo", &[("limit", Value::Packets(packets))])],
        flows,
    );
    p.warmup = Time::from_secs(warmup);
    p.record.series = SeriesMode::Interval;
    p.record.interval = Time::from_ms(10);
    p
}

fn one(cc: &str, set: &[(&'static str, Value)]) -> FlowPlan {
    let mut f = flow(cc, cc, RTT, set);
    f.tcp.rwnd = Bytes(1 << 30);
    f
}

fn named(name: &str, cc: &str) -> FlowPlan {
    let mut f = one(cc, &[]);
    f.name = name.into();
    f
}

fn played(p: &Plan) -> Outcome {
    run(Network::new(p))
}

/// A flow's series: seconds and values.
fn series(outcome: &Outcome, flow: &str, quantity: &str) -> Vec<(f64, f64)> {
    let s = &outcome.series;
    let of = |key: &tailback_record::series::SeriesKey| {
        key.flow.as_deref() == Some(flow) && key.quantity == quantity
    };
    let id = s.keys.iter().position(of).expect("a series") as u32;
    (0..s.len())
        .filter(|&i| s.key[i] == id)
        .map(|i| (s.time_ns[i] as f64 / 1e9, s.value[i]))
        .collect()
}

/// Beginnings and ends of the times spent in a mode.
fn spells(modes: &[(f64, f64)], mode: f64) -> Vec<(f64, f64)> {
    let mut spells: Vec<(f64, f64)> = Vec::new();
    let mut inside = false;
    for &(t, m) in modes {
        if m == mode {
            match spells.last_mut().filter(|_| inside) {
                Some(spell) => spell.1 = t,
                None => spells.push((t, t)),
            }
        }
        inside = m == mode;
    }
    spells
}

/// Goodput, Mbit/s.
fn goodput(outcome: &Outcome, flow: usize) -> f64 {
    let f = &outcome.flows[flow];
    f.delivered_bytes as f64 * 8e3 / (f.to_ns - f.from_ns) as f64
}

/// Mean queue in bandwidth-delay products.
fn mean_queue(outcome: &Outcome) -> f64 {
    let seconds_ns = (outcome.duration_ns - outcome.warmup_ns) as f64;
    outcome.links[0].backlog_byte_ns as f64 / seconds_ns / (BDP * 1514.0)
}

#[test]
fn numbers() {
    for cc in ["bbr", "bbr3"] {
        let o = played(&through(10_000, vec![one(cc, &[])], 42, 5));
        let modes = series(&o, cc, "mode");
        println!(
            "{cc} goodput {} queue {} drops {}",
            goodput(&o, 0),
            mean_queue(&o),
            o.flows[0].retransmits
        );
        println!("  probe_rtt {:?}", spells(&modes, 3.0));
        println!(
            "  startup {:?} drain {:?}",
            spells(&modes, 0.0),
            spells(&modes, 1.0).first()
        );
        let cwnd = series(&o, cc, "cwnd");
        let fl = series(&o, cc, "in_flight");
        for (s, e) in spells(&modes, 3.0) {
            let c: Vec<_> = cwnd
                .iter()
                .zip(&fl)
                .filter(|(c, _)| c.0 >= s - 0.01 && c.0 <= e + 0.05)
                .map(|(c, f)| (c.1, f.1))
                .collect();
            println!("  {c:?}");
        }
        let max = fl
            .iter()
            .filter(|f| f.0 > 5.0)
            .fold(0.0_f64, |m, f| m.max(f.1));
        println!(
            "  max in flight {max} bdp {BDP} bw {:?}",
            series(&o, cc, "bw_mbit").last()
        );
    }
    for cc in ["bbr", "bbr3"] {
        for buffer in [1.0, 4.0] {
            let o = played(&through(
                (BDP * buffer) as u64,
                vec![named("a", cc), named("b", cc)],
                60,
                20,
            ));
            println!(
                "two {cc} {buffer} bdp: {} {} retrans {} {} queue {}",
                goodput(&o, 0),
                goodput(&o, 1),
                o.flows[0].retransmits,
                o.flows[1].retransmits,
                mean_queue(&o)
            );
            let o = played(&through(
                (BDP * buffer) as u64,
                vec![named("a", cc), named("b", "cubic")],
                60,
                20,
            ));
            println!(
                "{cc} / cubic {buffer} bdp: {} {} retrans {} {}",
                goodput(&o, 0),
                goodput(&o, 1),
                o.flows[0].retransmits,
                o.flows[1].retransmits
            );
        }
    }
    for cc in ["bbr", "bbr3", "cubic"] {
        let mut p = through(1000, vec![one(cc, &[])], 40, 10);
        p.links[0].loss = 0.01;
        let o = played(&p);
        println!(
            "1% {cc}: {} timeouts {}",
            goodput(&o, 0),
            o.flows[0].timeouts
        );
    }
}
