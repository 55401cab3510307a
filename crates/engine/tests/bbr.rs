//! Tests the claims of BBR's authors, and the known weaknesses of BBR.

mod common;

use common::*;
use tailback_engine::aqm::{Backlog, Dequeue, Queue, Sink, fifo::Packets};
use tailback_engine::packet::Packet;
use tailback_engine::plan::{FlowPlan, Plan, SeriesMode};
use tailback_engine::registry::Value;
use tailback_engine::units::{Bytes, Time};
use tailback_record::{Cause, Outcome};

const RATE: u64 = 50_000_000;
const RTT: Time = Time::from_ms(40);
/// Bandwidth-delay product at 50 Mbit/s and 40 ms, in frames of 1514 bytes.
const BDP: f64 = 50e6 * 0.04 / 8.0 / 1514.0;
const PROBE_RTT: f64 = 3.0;

/// Runs flows with a round-trip time of 40 ms through a FIFO of this many packets at 50 Mbit/s.
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
    run(network(p))
}

/// Returns the recorded times, in seconds, and the values of a quantity of a flow.
fn series(outcome: &Outcome, flow: &str, quantity: &str) -> Vec<(f64, f64)> {
    let s = &outcome.series;
    let of = |key: &tailback_record::series::SeriesKey| {
        key.flow.as_deref() == Some(flow) && &*key.quantity == quantity
    };
    let id = s.keys.iter().position(of).expect("a series") as u32;
    s.rows()
        .filter(|row| row.key == id)
        .map(|row| (row.time_ns as f64 / 1e9, row.value))
        .collect()
}

/// Returns the start and the end of each period during which BBR is in this mode.
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

fn goodput(outcome: &Outcome, flow: usize) -> f64 {
    let f = &outcome.flows[flow];
    f.delivered_bytes as f64 * 8e3 / (f.to_ns - f.from_ns) as f64
}

fn mean_queue(outcome: &Outcome) -> f64 {
    let seconds_ns = (outcome.duration_ns - outcome.warmup_ns) as f64;
    outcome.links[0].backlog_byte_ns as f64 / seconds_ns / (BDP * 1514.0)
}

/// Returns the share of the link that a flow uses after `from` seconds. The time in PROBE_RTT is
/// not included.
fn utilisation(outcome: &Outcome, flow: &str, from: f64) -> f64 {
    let pauses = spells(&series(outcome, flow, "mode"), PROBE_RTT);
    let delivered = series(outcome, flow, "delivered_bytes");
    let (mut bytes, mut seconds) = (0.0, 0.0);
    for pair in delivered.windows(2) {
        let ((t, before), (u, after)) = (pair[0], pair[1]);
        // Leave out PROBE_RTT and the next two round trips, during which the flow fills the link
        // again.
        let paused = |&(start, end): &(f64, f64)| u > start && t < end + 0.08;
        if t >= from && !pauses.iter().any(paused) {
            bytes += after - before;
            seconds += u - t;
        }
    }
    bytes * 8.0 / seconds / (RATE as f64 * 1448.0 / 1514.0)
}

/// Cardwell et al. 2016: for every buffer size, the link is busy and the queue almost empty.
/// Version 1 enters PROBE_RTT every 10 s and then has a window of four segments. Version 3 enters
/// PROBE_RTT every 5 s and then has a window of half the bandwidth-delay product.
#[test]
fn a_full_pipe_and_a_short_queue() {
    let half = (BDP / 2.0).ceil();
    for (cc, period, times, window) in [("bbr", 10.0, 4, 4.0), ("bbr3", 5.0, 8, half)] {
        let o = played(&through(10_000, vec![one(cc, &[])], 42, 5));
        assert_eq!(o.flows[0].retransmits, 0, "{cc}");
        let used = utilisation(&o, cc, 5.0);
        assert!((0.97..1.0).contains(&used), "{cc}: {used}");
        let queue = mean_queue(&o);
        assert!(queue < 0.1, "{cc}: {queue} bdp");
        let in_flight = series(&o, cc, "in_flight");
        let most = in_flight.iter().filter(|f| f.0 > 5.0).map(|f| f.1);
        assert!(most.fold(0.0, f64::max) <= 2.0 * BDP, "{cc}");

        // BBR leaves STARTUP and DRAIN within a second, and does not return to them.
        let modes = series(&o, cc, "mode");
        let mut order: Vec<f64> = modes.iter().map(|m| m.1).collect();
        order.dedup();
        assert_eq!(order[..5], [0.0, 1.0, 2.0, 3.0, 2.0], "{cc}");
        assert!(order[2..].iter().all(|&m| m >= 2.0), "{cc}: {order:?}");
        assert!(spells(&modes, 1.0)[0].1 < 1.0, "{cc}");

        let pauses = spells(&modes, PROBE_RTT);
        assert_eq!(pauses.len(), times, "{cc}");
        let mut last = 0.0;
        for &(start, end) in &pauses {
            // The interval between two PROBE_RTTs begins at the end of the first PROBE_RTT. Each
            // PROBE_RTT lasts 0.2 s plus one or two round trips.
            let (gap, length) = (start - last, end - start);
            assert!((period - 0.01..period + 0.1).contains(&gap), "{cc}: {gap}");
            assert!((0.2..0.3).contains(&length), "{cc}: {length}");
            last = end;
            let inside = series(&o, cc, "cwnd")
                .into_iter()
                .filter(|w| w.0 > start && w.0 < end);
            let windows: Vec<f64> = inside.map(|w| w.1).collect();
            assert!(windows.len() >= 18);
            let right = |w: &f64| (w - window).abs() <= f64::from(cc == "bbr3");
            assert!(windows.iter().all(right), "{cc}: {windows:?}");
            let drained = in_flight.iter().find(|f| f.0 > end - 0.05);
            assert!(drained.expect("a sample").1 <= window + 1.0, "{cc}");
        }
    }
}

/// Linux `bbr_pacing_gain`: the pacing gain is 5/4 for one round trip, 3/4 for at most one round
/// trip, and 1 for six round trips.
#[test]
fn version_1_probes_every_eight_round_trips() {
    let o = played(&through(10_000, vec![one("bbr", &[])], 10, 5));
    let gains = series(&o, "bbr", "pacing_gain");
    let steady: Vec<_> = gains.into_iter().filter(|g| g.0 > 2.0).collect();
    let up = spells(&steady, 1.25);
    let cruise = spells(&steady, 1.0);
    let mean = |spells: &[(f64, f64)]| {
        let whole = &spells[1..spells.len() - 1];
        whole.iter().map(|s| s.1 - s.0 + 0.01).sum::<f64>() / whole.len() as f64
    };
    // A phase begins at an ACK, and ends at the first ACK that arrives more than a round trip
    // later.
    assert!((0.04..0.07).contains(&mean(&up)), "{up:?}");
    assert!((0.24..0.26).contains(&mean(&cruise)), "{cruise:?}");
    let periods: Vec<f64> = up.windows(2).map(|w| w[1].0 - w[0].0).collect();
    assert!(
        periods.iter().all(|p| (0.29..0.37).contains(p)),
        "{periods:?}"
    );
}

/// Linux `bbr_update_cycle_phase` of version 3: the phases are down, cruise, refill and up. BBR
/// probes for bandwidth every two to three seconds, or every 63 rounds.
#[test]
fn version_3_probes_every_two_to_three_seconds() {
    let mut f = one("bbr3", &[("probe_rtt", Value::Time(Time::ZERO))]);
    f.name = "f".into();
    let o = played(&through(10_000, vec![f], 40, 5));
    let phases = series(&o, "f", "phase");
    let mut order: Vec<f64> = phases.iter().filter(|p| p.0 > 1.0).map(|p| p.1).collect();
    order.dedup();
    let start = order.iter().position(|&p| p == 1.0).expect("PROBE_DOWN");
    for cycle in order[start..].chunks_exact(4) {
        assert_eq!(cycle, [1.0, 2.0, 3.0, 0.0], "{order:?}");
    }
    let up = spells(&phases, 0.0);
    let periods: Vec<f64> = up[1..].windows(2).map(|w| w[1].0 - w[0].0).collect();
    assert!(periods.len() >= 10, "{periods:?}");
    assert!(
        periods.iter().all(|p| (2.0..3.3).contains(p)),
        "{periods:?}"
    );
    let rounds = periods.iter().filter(|p| **p < 2.9).count();
    assert!(rounds * 2 > periods.len(), "{periods:?}");
}

/// Two flows of the same kind share the link, although one starts 5 s later.
#[test]
fn two_flows_share() {
    for cc in ["bbr", "bbr3"] {
        for buffer in [1.0, 4.0] {
            let mut late = named("b", cc);
            late.start = Time::from_secs(5);
            let flows = vec![named("a", cc), late];
            let o = played(&through((BDP * buffer) as u64, flows, 80, 30));
            let (a, b) = (goodput(&o, 0), goodput(&o, 1));
            let (total, share) = (a + b, a / (a + b));
            assert!(total > 46.0, "{cc}, {buffer} bdp: {a} {b}");
            assert!((0.4..0.6).contains(&share), "{cc}, {buffer} bdp: {a} {b}");
        }
    }
}

/// Ware et al. 2019: in a shallow buffer, version 1 takes most of the link from loss-based flows.
/// Version 3 leaves a single CUBIC flow its fair share. In a deep buffer, BBR limits its data in
/// flight to two bandwidth-delay products, so CUBIC gets half of the link.
#[test]
fn cubic_fares_better_with_version_3() {
    let against = |cc, buffer: f64| {
        let flows = vec![named("b", cc), named("c", "cubic")];
        let o = played(&through((BDP * buffer) as u64, flows, 80, 20));
        goodput(&o, 1) / (goodput(&o, 0) + goodput(&o, 1))
    };
    let (one, three) = (against("bbr", 1.0), against("bbr3", 1.0));
    assert!((0.05..0.2).contains(&one), "CUBIC with bbr: {one}");
    assert!((0.35..0.65).contains(&three), "CUBIC with bbr3: {three}");
    let deep = against("bbr", 4.0);
    assert!((0.4..0.7).contains(&deep), "CUBIC with bbr, 4 bdp: {deep}");
}

/// Cardwell et al. 2016, figure 8: random losses do not slow version 1 down. The window of CUBIC,
/// in contrast, is the larger of 1.17 C^(1/4) (RTT/p)^(3/4) and Reno's 1.3/sqrt p.
#[test]
fn random_losses() {
    let lossy = |cc| {
        let mut p = through(1_000, vec![one(cc, &[])], 40, 10);
        p.links[0].loss = 0.01;
        let o = played(&p);
        assert_eq!(o.flows[0].timeouts, 0, "{cc}");
        utilisation_of_total(&o)
    };
    let (one, three, cubic) = (lossy("bbr"), lossy("bbr3"), lossy("cubic"));
    assert!(one > 0.9, "bbr: {one}");
    assert!((0.5..0.9).contains(&three), "bbr3: {three}");
    assert!(cubic < 0.1, "cubic: {cubic}");
}

fn utilisation_of_total(outcome: &Outcome) -> f64 {
    goodput(outcome, 0) * 1e6 / (RATE as f64 * 1448.0 / 1514.0)
}

/// A policer that drops packets above 10 Mbit/s. The policer's token bucket holds the tokens of 1
/// s.
struct Policer {
    packets: Packets,
    /// Tokens in the bucket, in bytes x 1e9.
    tokens: u64,
    at: Time,
}

const POLICED: u64 = 10_000_000;
const BUCKET: u64 = POLICED / 8 * 1_000_000_000;

impl Queue for Policer {
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        self.tokens = (self.tokens + (now - self.at).ns() * POLICED / 8).min(BUCKET);
        self.at = now;
        let need = u64::from(packet.len) * 1_000_000_000;
        if self.tokens < need {
            return sink.drop(packet, Cause::Aqm, now);
        }
        self.tokens -= need;
        self.packets.push(*packet);
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut Sink, next: &mut Packet) -> Dequeue {
        self.packets.give(next)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

/// Flach et al. 2016, Linux `bbr_lt_bw_sampling`: BBR detects a policer by losses at a steady rate.
/// After that, BBR sends at this rate without probing.
#[test]
fn a_policer_is_found() {
    let policed = |seeks| {
        let f = one("bbr", &[("policer", Value::Bool(seeks))]);
        let p = through(10_000, vec![f], 9, 0);
        let mut network = network(&p);
        network.replace_queue(
            0,
            Box::new(Policer {
                packets: Packets::default(),
                tokens: BUCKET,
                at: Time::ZERO,
            }),
        );
        let o = run(network);
        let steady = series(&o, "bbr", "pacing_gain");
        let spell = spells(&steady, 1.0).into_iter().map(|s| s.1 - s.0);
        let bw = series(&o, "bbr", "bw_mbit");
        let used = bw.iter().filter(|b| b.0 > 1.0 && b.0 < 2.0).map(|b| b.1);
        (spell.fold(0.0, f64::max), used.sum::<f64>() / 100.0)
    };
    let (steady, bw) = policed(true);
    // BBR paces at the policer's payload rate for 48 rounds, with a gain of 1.
    assert!((1.9..2.4).contains(&steady), "{steady} s");
    assert!((9.4..9.7).contains(&bw), "{bw} Mbit/s");
    let (steady, ..) = policed(false);
    assert!(steady < 0.3, "{steady} s");
}

/// With the option `ecn_response`, version 3 responds to marks on a short path. On other paths, it
/// ignores marks. Version 1 always ignores marks.
#[test]
fn marks_bound_version_3_if_asked() {
    let marked = |response, rtt| {
        let mut f = one("bbr3", &[("ecn_response", Value::Bool(response))]);
        f.rtt = Time::from_ms(rtt);
        f.ecn = true;
        let p = through(10_000, vec![f], 12, 2);
        let mut network = network(&p);
        network.replace_queue(0, EveryNth::new(1, true));
        let o = run(network);
        utilisation_of_total(&o)
    };
    let (deaf, heard, far) = (marked(false, 4), marked(true, 4), marked(true, 40));
    assert!(deaf > 0.95 && far > 0.95, "{deaf}, {far}");
    assert!((0.05..0.8).contains(&heard), "{heard}");
}
