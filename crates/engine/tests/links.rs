//! Tests links, routes and sources. Checks when packets leave, and the values of the counters.

mod common;

use std::sync::{Arc, Mutex};

use common::*;
use proptest::prelude::*;
use tailback_engine::aqm::{Backlog, Dequeue, Queue, Sink, fifo::Packets};
use tailback_engine::keys::Plain;
use tailback_engine::network::Network;
use tailback_engine::packet::{Ecn, Packet};
use tailback_engine::plan::*;
use tailback_engine::registry::Value;
use tailback_engine::units::{Bytes, Rate, Time};
use tailback_record::class::Interval;
use tailback_record::{Cause, ClassOutcome, Histogram, Summary};

/// The rate of a link that has no effect because it is so fast.
const FAST: u64 = 100_000_000_000;

/// Returns [`common::cbr`] with packets of this size in bytes.
fn cbr(name: &str, rate: u64, size: i64) -> TrafficPlan {
    common::cbr(name, rate, &[("packet_size", Value::Int(size))])
}

fn with_traffic(until: Time, links: Vec<LinkPlan>, traffic: Vec<TrafficPlan>) -> Plan {
    let mut p = plan(until, links, vec![]);
    p.traffic = traffic;
    p
}

#[test]
fn cbr_sends_at_its_rate_exactly() {
    let (rate, size, seconds) = (1_700_000, 977, 100);
    let p = with_traffic(
        Time::from_secs(seconds),
        vec![link(FAST, "fifo", &[])],
        vec![cbr("c", rate, size)],
    );
    let outcome = run(network(&p));
    // Packet k leaves after the transmission time of the k packets before it.
    let expected = (seconds * rate).div_ceil(8 * size as u64);
    assert_eq!(outcome.traffic[0].sent_packets, expected);
    assert_eq!(
        outcome.traffic[0].received_bytes,
        outcome.traffic[0].received_packets * size as u64
    );
}

/// Returns a plan with 1250 bytes every 2 ms over 10 Mbit/s, and an outage from 1 s to 3 s.
fn outage(until: Time, resumes: bool) -> Plan {
    let mut l = link(0, "fifo", &[("limit", Value::Packets(5_000))]);
    let mut steps = vec![
        (Time::ZERO, Rate(10_000_000)),
        (Time::from_secs(1), Rate(0)),
    ];
    if resumes {
        steps.push((Time::from_secs(3), Rate(10_000_000)));
    }
    l.rate = RatePlan::Steps(steps);
    with_traffic(until, vec![l], vec![cbr("c", 5_000_000, 1250)])
}

#[test]
fn nothing_leaves_while_the_rate_is_zero() {
    for mode in [LinkMode::Shaper, LinkMode::Wire] {
        let mut p = outage(Time::from_ms(2_500), true);
        p.links[0].mode = mode;
        let outcome = run(network(&p));
        assert_eq!(outcome.traffic[0].received_packets, 500, "{mode:?}");
        assert_eq!(outcome.links[0].capacity_bytes, 1.25e6);
    }
}

#[test]
fn a_link_wakes_when_its_rate_comes_back() {
    for mode in [LinkMode::Shaper, LinkMode::Wire] {
        let mut p = outage(Time::from_secs(10), true);
        p.links[0].mode = mode;
        let outcome = run(network(&p));
        // At 3 s, 1000 packets wait. One packet leaves every 1 ms, and one packet arrives every 2
        // ms. So the queue is empty at 5 s, and no packet was lost.
        assert_eq!(outcome.links[0].packets, 5_000, "{mode:?}");
        assert_eq!(outcome.links[0].counts.drops(), 0);
        // The packet that arrived at 1 s waited for 2 s.
        assert_eq!(outcome.links[0].delay.max(), Some(2_000_000_000));
    }
}

#[test]
fn a_link_that_stops_for_good_has_a_finite_occupancy() {
    let mut p = outage(Time::from_secs(3), false);
    p.links[0].mode = LinkMode::Wire;
    p.links[0].count_in_service = true;
    let outcome = run(network(&p));
    // In the first second, the link transmits packets for half of the time. Then the queue grows
    // from 0 to 1000 packets in 2 s.
    let byte_s = outcome.links[0].backlog_byte_ns as f64 / 1e9;
    let expected = 1250.0 * 0.5 + 1250.0 * 500.0 * 2.0;
    assert!((byte_s / expected - 1.0).abs() < 0.002, "{byte_s}");
}

#[test]
fn a_slot_of_the_last_packet_counts_up_to_the_end() {
    // The transmission of one packet of 1250 bytes takes 1 s at 10 kbit/s, but the run ends after
    // 0.5 s.
    let mut l = link(10_000, "fifo", &[]);
    l.count_in_service = true;
    let p = with_traffic(Time::from_ms(500), vec![l], vec![cbr("c", 10_000, 1250)]);
    let outcome = run(network(&p));
    assert_eq!(outcome.links[0].backlog_byte_ns, 1250 * 500_000_000);
}

/// Cake contains a shaper, so the link sends packets from Cake at once. A wire after Cake still
/// serialises these packets.
#[test]
fn a_queue_that_shapes_is_the_links_only_shaper() {
    let cake = [("tins", Value::Word("besteffort"))];
    for mode in [LinkMode::Shaper, LinkMode::Wire] {
        let mut l = link(10_000_000, "cake", &cake);
        l.mode = mode;
        l.overhead = 24;
        let p = with_traffic(
            Time::from_secs(10),
            vec![l],
            vec![cbr("c", 20_000_000, 1226)],
        );
        let outcome = run(network(&p));
        // Packets leave every 1 ms, the first one at once.
        assert_eq!(outcome.links[0].packets, 10_000, "{mode:?}");
        let behind = u64::from(mode == LinkMode::Wire);
        assert_eq!(outcome.traffic[0].received_packets, 10_000 - behind);
        assert_eq!(outcome.links[0].capacity_bytes, 12.5e6);
    }
}

#[test]
fn a_queue_that_shapes_follows_the_steps_of_the_rate() {
    let mut l = link(0, "cake", &[("tins", Value::Word("besteffort"))]);
    l.rate = RatePlan::Steps(vec![
        (Time::ZERO, Rate(10_000_000)),
        (Time::from_secs(1), Rate(2_000_000)),
        (Time::from_secs(3), Rate(0)),
        (Time::from_secs(4), Rate(10_000_000)),
    ]);
    l.count_in_service = true;
    let p = with_traffic(
        Time::from_secs(5),
        vec![l],
        vec![cbr("c", 20_000_000, 1250)],
    );
    let outcome = run(network(&p));
    // A packet takes 1 ms during the first second, 5 ms for 2 s, and 1 ms in the last second.
    // Between these times, there is an outage of 1 s. If a packet leaves exactly when the rate
    // changes, it was sent at the old rate.
    assert_eq!(outcome.links[0].packets, 1_001 + 400 + 996);
}

#[test]
fn a_saturated_trace_is_used_to_the_byte() {
    // In each period of 5 ms, the trace lets four packets of 1504 bytes leave: two at 1 ms and two
    // at 5 ms.
    let times: Vec<Time> = [1, 1, 5, 5].map(Time::from_ms).to_vec();
    for size in [100, 1504, 1514, 9000] {
        let mut l = link(0, "fifo", &[("limit", Value::Packets(100))]);
        l.rate = RatePlan::Trace(times.clone().into());
        let p = with_traffic(
            Time::from_secs(10),
            vec![l],
            vec![cbr("c", 100_000_000, size)],
        );
        let outcome = run(network(&p));
        let link = &outcome.links[0];
        // The run has 2000 periods, and ends just before the last two packets may leave.
        assert_eq!(link.capacity_bytes, 8_000.0 * 1504.0);
        let sent = link.bytes as f64 + 2.0 * 1504.0;
        assert!(
            (sent - link.capacity_bytes).abs() <= size as f64,
            "{size}: {sent} of {}",
            link.capacity_bytes
        );
    }
}

#[test]
fn a_burst_leaves_at_once_after_idling_and_the_rate_stays() {
    // Once a second, ten packets of 1250 bytes arrive at the same time. Each packet takes 1 ms at
    // the link's rate.
    let sources = (0..10).map(|i| cbr(&format!("s{i}"), 10_000, 1250));
    let sources: Vec<TrafficPlan> = sources.collect();
    for (burst, mean_delay_ms) in [
        // Without a burst, the packets wait 0, 1, ... 9 ms.
        (0, 4.5),
        // If the burst is 1600 bytes, two packets leave at once. The third packet leaves 0.72 ms
        // later, when tokens for 2 x 1250 - 1600 bytes have arrived. The other packets follow every
        // 1 ms.
        (1_600, (8.0 * 0.72 + 28.0) / 10.0),
        (1_250, (8.0 * 1.0 + 28.0) / 10.0),
        // With a burst of 8 packets, nine packets leave at once, and the tenth leaves 1 ms later.
        // With a larger burst, all packets leave at once.
        (10_000, 0.1),
        (11_250, 0.0),
    ] {
        let mut l = link(10_000_000, "fifo", &[]);
        l.burst = Bytes(burst);
        let p = with_traffic(Time::from_ms(9_500), vec![l.clone()], sources.clone());
        let outcome = run(network(&p));
        let mean = outcome.links[0].delay.mean().expect("packets") / 1e6;
        assert!((mean - mean_delay_ms).abs() < 1e-6, "{burst}: {mean}");
        // A loaded link carries its rate times the duration, plus one burst.
        let p = with_traffic(
            Time::from_secs(10),
            vec![l],
            vec![cbr("c", 20_000_000, 1250)],
        );
        let bytes = run(network(&p)).links[0].bytes;
        let most = 12_500_000 + burst + 1_250;
        assert!((most - 1_250..=most).contains(&bytes), "{burst}: {bytes}");
    }
}

/// DualPI2's step threshold marks packets that wait for 1 ms, and a packet takes 1.2 ms at 10
/// Mbit/s. With delayed ACKs, DCTCP sends packets in pairs, and the second packet of a pair is
/// marked because it waits for the first. With tc's burst, both packets leave at once. The option
/// `min_qlen_step` exempts such pairs from the threshold.
#[test]
fn what_a_scalable_flow_gets_of_a_slow_link_depends_on_the_burst() {
    let throughput = |burst, min_qlen_step| {
        let set = [
            ("any_ect", Value::Bool(true)),
            ("min_qlen_step", Value::Int(min_qlen_step)),
        ];
        let mut l = link(10_000_000, "dualpi2", &set);
        l.burst = Bytes(burst);
        let flow = flow("f", "dctcp", Time::from_ms(40), &[]);
        let mut p = plan(Time::from_secs(40), vec![l], vec![flow]);
        p.warmup = Time::from_secs(10);
        let flow = run(network(&p)).flows.remove(0);
        flow.delivered_bytes as f64 * 8.0 / 30e6
    };
    for (burst, min_qlen_step, mbit) in [
        (0, 0, 1.05),
        (1_600, 0, 7.88),
        // The kernel engine measures 9.47 Mbit/s in this case.
        (0, 2, 9.46),
        (1_600, 2, 9.56),
    ] {
        let got = throughput(burst, min_qlen_step);
        let what = format!("{burst} B, min_qlen_step {min_qlen_step}: {got} Mbit/s");
        assert!((got / mbit - 1.0).abs() < 0.02, "{what}");
    }
}

#[test]
fn a_packet_leaves_a_shaper_first_and_a_wire_last() {
    // Two packets of 1250 bytes arrive at the same time. Each packet takes 10 ms.
    for (mode, delivered_by_15_ms) in [(LinkMode::Shaper, 2), (LinkMode::Wire, 1)] {
        let run_until = |until| {
            let mut l = link(1_000_000, "fifo", &[]);
            l.mode = mode;
            let mut sources = vec![cbr("a", 1_000_000, 1250), cbr("b", 1_000_000, 1250)];
            sources
                .iter_mut()
                .for_each(|s| s.stop = Some(Time::from_ms(5)));
            run(network(&with_traffic(until, vec![l], sources)))
        };
        let early = run_until(Time::from_ms(15));
        let received: u64 = early.traffic.iter().map(|t| t.received_packets).sum();
        assert_eq!(received, delivered_by_15_ms, "{mode:?}");
        // The delay of a queue excludes the transmission of the packet itself. So the delay is 0
        // for the first packet and 10 ms for the second.
        let late = run_until(Time::from_ms(100));
        assert_eq!(late.links[0].delay.count(), 2);
        assert_eq!(late.links[0].delay.max(), Some(10_000_000));
        assert_eq!(late.links[0].delay.mean(), Some(5_000_000.0));
    }
}

#[test]
fn a_parking_lot_has_two_bottlenecks() {
    let rtt = Time::from_ms(20);
    let links = ["a", "b"]
        .map(|name| {
            let mut l = link(10_000_000, "fifo", &[("limit", Value::Packets(50))]);
            l.name = name.into();
            l
        })
        .to_vec();
    let mut flows = vec![
        flow("long", "reno", rtt, &[]),
        flow("first", "reno", rtt, &[]),
        flow("second", "reno", rtt, &[]),
    ];
    flows[0].route = vec![0, 1];
    flows[2].route = vec![1];
    let mut p = plan(Time::from_secs(120), links, flows);
    p.warmup = Time::from_secs(10);
    p.start_jitter = rtt;
    p.host_jitter = Time::from_us(500);
    let outcome = run(network(&p));
    for link in &outcome.links {
        let utilisation = link.bytes as f64 / link.capacity_bytes;
        assert!(utilisation > 0.98, "{}: {utilisation}", link.name);
    }
    let share = |i: usize| outcome.flows[i].delivered_bytes as f64;
    // The long flow passes two queues, so it gets twice as many marks as the other flows, and a
    // smaller share.
    assert!(share(0) < 0.7 * share(1) && share(0) < 0.7 * share(2));
    // The shares of the two flows on a link have the same sum on both links.
    let sums = (share(0) + share(1), share(0) + share(2));
    assert!((sums.0 / sums.1 - 1.0).abs() < 0.02, "{sums:?}");
}

#[test]
fn the_way_back_can_be_the_bottleneck() {
    let mut back = link(113_000, "fifo", &[("limit", Value::Packets(1000))]);
    back.name = "back".into();
    let mut f = flow("f", "reno", Time::from_ms(20), &[]);
    f.back = vec![1];
    // A larger receive window would let the congestion window grow until ACKs are lost.
    f.tcp.rwnd = Bytes(100 * 1448);
    f.tcp.quickack = false;
    let mut p = plan(
        Time::from_secs(60),
        vec![link(10_000_000, "fifo", &[]), back],
        vec![f],
    );
    p.warmup = Time::from_secs(10);
    let outcome = run(network(&p));
    // The receiver sends at most one ACK of 66 bytes per two segments.
    let acks = 113_000.0 / (66.0 * 8.0) * 50.0;
    let segments = outcome.flows[0].delivered_bytes as f64 / 1448.0;
    assert!(
        (segments / (2.0 * acks) - 1.0).abs() < 0.01,
        "{segments} {acks}"
    );
    assert_eq!(outcome.flows[0].retransmits, 0);
    assert!(outcome.links[1].bytes as f64 > 0.999 * outcome.links[1].capacity_bytes);
}

#[test]
fn every_flow_has_its_own_rtt() {
    let flows = [10, 50, 130]
        .map(|ms| {
            let mut f = flow(&format!("f{ms}"), "reno", Time::from_ms(ms), &[]);
            f.bytes = Some(Bytes(300 * 1448));
            f.tcp.delack = Delack::OFF;
            f
        })
        .to_vec();
    let outcome = run(network(&plan(
        Time::from_secs(10),
        vec![link(FAST, "fifo", &[])],
        flows,
    )));
    for (f, ms) in outcome.flows.iter().zip([10.0, 50.0, 130.0]) {
        // A burst of 150 packets takes 18 us to transmit.
        let above = f.rtt.mean().expect("samples") / 1e6 - ms;
        assert!((0.0..0.02).contains(&above), "{ms} ms + {above}");
    }
}

#[test]
fn host_jitter_keeps_the_order() {
    let mut f = flow("f", "reno", Time::from_ms(20), &[]);
    f.tcp.rwnd = Bytes(200 * 1448);
    let mut p = plan(
        Time::from_secs(20),
        vec![link(1_000_000_000, "fifo", &[])],
        vec![f],
    );
    // The jitter is forty packet times.
    p.host_jitter = Time::from_us(500);
    let outcome = run(network(&p));
    assert!(outcome.flows[0].packets > 100_000);
    assert_eq!(outcome.flows[0].retransmits, 0);
    // Each host adds 0 to 0.5 ms of delay, and more if packets of the host wait for each other.
    let rtt = outcome.flows[0].rtt.mean().expect("samples") / 1e6;
    assert!((20.5..21.5).contains(&rtt), "{rtt} ms");
}

#[test]
fn a_stopped_flow_sends_nothing_new() {
    let mut f = flow("f", "reno", Time::from_ms(20), &[]);
    f.stop = Some(Time::from_secs(5));
    let l = link(10_000_000, "fifo", &[("limit", Value::Packets(40))]);
    let mut network = network(&plan(Time::from_secs(20), vec![l], vec![f]));
    while network.now() < Time::from_secs(5) {
        network.advance(1);
    }
    let at_stop = network.sender(0).flight().nxt;
    assert!(at_stop > 3_000);
    while network.advance(1 << 20) {}
    assert_eq!(network.sender(0).flight().nxt, at_stop);
    assert!(network.sender(0).is_done());
    let outcome = network.finish();
    assert_eq!(outcome.flows[0].to_ns, 5_000_000_000);
    let rate = outcome.flows[0].delivered_bytes as f64 * 8.0 / 5.0;
    assert!((9.0e6..9.6e6).contains(&rate), "{rate}");
}

#[test]
fn a_flow_stopped_before_it_connects_sends_nothing() {
    let mut before = flow("before", "reno", Time::from_ms(20), &[]);
    before.start = Time::from_secs(2);
    before.stop = Some(Time::from_secs(1));
    let mut meanwhile = flow("meanwhile", "reno", Time::from_ms(20), &[]);
    meanwhile.stop = Some(Time::from_ms(10));
    let mut network = network(&plan(
        Time::from_secs(20),
        vec![link(10_000_000, "fifo", &[])],
        vec![before, meanwhile],
    ));
    while network.advance(1 << 20) {}
    // Only the SYN and the SYN-ACK have entered the network.
    assert_eq!(network.census().entered, 2);
    assert!(network.sender(0).is_done() && network.sender(1).is_done());
}

fn any_tcp() -> impl Strategy<Value = TcpPlan> {
    let segments = prop_oneof![1i64..=2, 1i64..=64];
    (any::<[bool; 3]>(), segments, 1u32..20, 1u64..200, 0u8..2).prop_map(
        |([timestamps, acks, quickack], segments, iw, rwnd, paced)| TcpPlan {
            delack: Plain::of(Value::Int(segments)).expect("a number of segments"),
            timestamps,
            quickack,
            initial_cwnd: iw,
            rwnd: Bytes(rwnd * 1448),
            growth: if acks { Growth::Acks } else { Growth::Segments },
            pacing: if paced == 1 { Pacing::Fq } else { Pacing::Auto },
            ..TcpPlan::default()
        },
    )
}

fn any_flow(links: usize) -> impl Strategy<Value = FlowPlan> {
    let route = move || prop::collection::vec(0..links as u32, 1..4);
    (
        0..tailback_engine::cc::ENTRIES.len(),
        any::<bool>(),
        0u64..300_000,
        0u64..200,
        (route(), route()),
        any_tcp(),
    )
        .prop_map(|(cc, ecn, bytes, rtt, (route, back), tcp)| {
            let name = tailback_engine::cc::ENTRIES[cc].name;
            let mut f = flow("f", name, Time::from_ms(rtt), &[]);
            f.ecn |= ecn;
            f.bytes = Some(Bytes(bytes));
            (f.route, f.back, f.tcp) = (route, back, tcp);
            f
        })
}

fn any_link() -> impl Strategy<Value = LinkPlan> {
    (
        0..tailback_engine::aqm::ENTRIES.len(),
        0u8..4,
        100_000u64..100_000_000,
        0u64..50,
        0u64..3_000,
        prop_oneof![Just(0.0), 0.0..0.1],
        any::<[bool; 2]>(),
    )
        .prop_map(|(queue, kind, rate, delay, jitter, loss, [wire, count])| {
            let name = tailback_engine::aqm::ENTRIES[queue].name;
            let mut l = link(rate, name, &[]);
            l.rate = match kind {
                0 => RatePlan::Steps(vec![
                    (Time::ZERO, Rate(rate)),
                    (Time::from_ms(300), Rate(0)),
                    (Time::from_ms(1_500), Rate(rate / 7)),
                    (Time::from_secs(4), Rate(rate)),
                ]),
                1 => RatePlan::Trace([3, 3, 8, 40].map(Time::from_ms).into()),
                _ => RatePlan::Constant(Rate(rate)),
            };
            l.mode = if wire {
                LinkMode::Wire
            } else {
                LinkMode::Shaper
            };
            l.count_in_service = count;
            (l.delay, l.jitter, l.loss) = (Time::from_ms(delay), Time::from_us(jitter), loss);
            l
        })
}

/// A time that is longer than any transfer below. In the worst case, 208 segments are sent one by
/// one. With probability 1 - 0.9^6 = 0.47, a segment or its ACK is lost. This gives about 185
/// timeouts (standard deviation 19) of at most 120 s each. The constant allows 833 timeouts of 120
/// s. The constant is large enough, even if full queues drop further packets.
const HORIZON: Time = Time::from_secs(100_000);

/// The time at which traffic sources stop.
const TRAFFIC_END: Time = Time::from_secs(60);

/// Runs until every transfer has completed or the run ends. Once all transfers have completed, only
/// timers of idle queues remain. Checks at intervals that every packet is accounted for.
fn conserved(mut network: Network, flows: usize) -> Network {
    loop {
        let more = network.advance(499);
        let c = network.census();
        assert_eq!(c.entered, c.ended + c.inside + c.dropped);
        let done = (0..flows).all(|i| network.sender(i).is_done());
        if !more || (done && network.now() > TRAFFIC_END) {
            return network;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A transfer completes, whatever share of packets is lost in either direction.
    #[test]
    fn loss_delays_a_transfer_and_does_not_end_it(
        mut f in any_flow(1), seed in any::<u64>(), there in 0.0..0.1, back in 0.0..0.1,
    ) {
        let lossy = |name: &str, loss| {
            let mut l = link(10_000_000, "fifo", &[]);
            (l.name, l.loss) = (name.into(), loss);
            l
        };
        (f.route, f.back) = (vec![0], vec![1]);
        let mut p = plan(HORIZON, vec![lossy("there", there), lossy("back", back)], vec![f]);
        p.record.interval = Time::from_secs(1);
        let network = conserved(Network::new(&Arc::new(p.clone()), seed), 1);
        prop_assert!(network.sender(0).is_done(), "{:?}", network.sender(0).conn);
        let bytes = p.flows[0].bytes.unwrap().0;
        let outcome = network.finish();
        prop_assert_eq!(outcome.flows[0].delivered_bytes, bytes);
        prop_assert!(outcome.flows[0].completion_ns.is_some());
    }

    /// In random networks, every packet is accounted for, and every transfer completes.
    #[test]
    fn any_network_conserves_packets_and_completes(
        (links, flows) in (1usize..4).prop_flat_map(|n| (
            prop::collection::vec(any_link(), n),
            prop::collection::vec(any_flow(n), 1..4),
        )),
        seed in any::<u64>(), start_jitter in 0u64..100, host_jitter in 0u64..2_000,
        cbr_rate in 1_000u64..50_000,
    ) {
        let mut p = plan(HORIZON, links, flows);
        for (i, l) in p.links.iter_mut().enumerate() {
            l.name = format!("link{i}");
        }
        for (i, f) in p.flows.iter_mut().enumerate() {
            f.name = format!("f{i}");
        }
        (p.start_jitter, p.host_jitter) = (Time::from_ms(start_jitter), Time::from_us(host_jitter));
        p.record.interval = Time::from_secs(10);
        let mut source = cbr("c", cbr_rate, 500);
        source.stop = Some(TRAFFIC_END);
        p.traffic = vec![source];
        let network = conserved(Network::new(&Arc::new(p.clone()), seed), p.flows.len());
        for i in 0..p.flows.len() {
            prop_assert!(network.sender(i).is_done(), "flow {}: {:?}", i, network.sender(i).conn);
        }
        let outcome = network.finish();
        for (f, planned) in outcome.flows.iter().zip(&p.flows) {
            prop_assert_eq!(f.delivered_bytes, planned.bytes.unwrap().0);
        }
    }
}

/// The flow, the payload and the ECN field of each packet that arrived at a queue, in the order of
/// arrival.
type Seen = Arc<Mutex<Vec<(u32, u16, Ecn)>>>;

/// An unlimited FIFO that records which packets arrive.
struct Noting {
    packets: Packets,
    seen: Seen,
}

impl Queue for Noting {
    fn enqueue(&mut self, packet: &mut Packet, _now: Time, _sink: &mut Sink) {
        let row = (packet.flow, packet.payload, packet.ecn);
        self.seen.lock().expect("one thread").push(row);
        self.packets.push(*packet);
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut Sink, next: &mut Packet) -> Dequeue {
        self.packets.give(next)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

/// A schedule of marks and drops counts the data segments of all flows, in the order of their
/// arrival. The schedule counts neither ACKs nor packets of traffic sources. The queue of link 0
/// records the packets before the schedule of link 1, and the queue of link 1 records the packets
/// after it.
#[test]
fn exactly_the_scheduled_packets_are_marked_and_dropped() {
    let rates = [
        ("first", 20_000_000),
        ("second", 100_000_000),
        ("back", 20_000_000),
    ];
    let mut links = rates.map(|(name, rate)| LinkPlan {
        name: name.into(),
        ..link(rate, "fifo", &[])
    });
    let drops: Vec<u64> = vec![1, 2, 40, 41, 42, 777, 1500, 1_000_000];
    let marks: Vec<u64> = (100..=160).chain([500, 900, 901, 1499]).collect();
    links[1].schedule = Some(Schedule {
        marks: marks.clone(),
        drops: drops.clone(),
    });
    let over = |name: &str, cc: &str, ecn: bool| FlowPlan {
        ecn,
        route: vec![0, 1],
        ..flow(name, cc, Time::from_ms(10), &[])
    };
    let mut p = plan(
        Time::from_secs(2),
        links.into(),
        vec![
            over("ecn", "reno", true),
            over("no-ecn", "cubic", false),
            FlowPlan {
                route: vec![2],
                back: vec![0, 1],
                ..over("other way", "reno", false)
            },
        ],
    );
    p.traffic = vec![TrafficPlan {
        route: vec![0, 1],
        ..cbr("c", 1_000_000, 500)
    }];
    let mut network = network(&p);
    let [arriving, left] = [0, 1].map(|link| {
        let seen = Seen::default();
        let queue = Noting {
            packets: Packets::default(),
            seen: seen.clone(),
        };
        network.replace_queue(link, Box::new(queue));
        seen
    });
    while network.advance(1000) {
        let c = network.census();
        assert_eq!(c.entered, c.ended + c.inside + c.dropped);
    }
    let outcome = network.finish();

    let (mut number, mut dropped, mut marked) = (0, 0, 0);
    let mut expected = Vec::new();
    for (flow, payload, ecn) in arriving.lock().expect("one thread").iter().copied() {
        number += u64::from(payload > 0);
        let mark = payload > 0 && marks.contains(&number);
        if payload > 0 && drops.contains(&number) || mark && !ecn.is_capable() {
            dropped += 1;
        } else if mark {
            marked += 1;
            expected.push((flow, payload, Ecn::Ce));
        } else {
            expected.push((flow, payload, ecn));
        }
    }
    let left = left.lock().expect("one thread");
    // Packets that still wait at link 0 when the run ends have not reached link 1.
    let waiting = expected.len() - left.len();
    assert!(number > 2_000 && waiting < 300, "{number} {waiting}");
    assert!(left[..] == expected[..left.len()]);
    // The schedule marked or dropped packets of flows with and without ECN. Every entry of the
    // schedule had an effect, except one packet number that the run never reached.
    let counts = outcome.links[1].counts;
    assert_eq!(counts.get(Cause::Scheduled), dropped);
    assert_eq!(counts.get(Cause::ScheduledMark), marked);
    assert_eq!(dropped + marked, (drops.len() + marks.len() - 1) as u64);
    assert!(marked > 10 && dropped > drops.len() as u64, "{counts:?}");
    assert_eq!(outcome.flows[1].counts.marks(), 0);
    for other in [outcome.flows[2].counts, outcome.traffic[0].counts] {
        assert_eq!(other.get(Cause::Scheduled) + other.marks(), 0);
    }
}

/// Returns a plan with two responsive flows, a flow that starts late, and two sources. ACKs of a
/// flow in the other direction use the same link.
fn in_classes(statistics: Time) -> Plan {
    let of = |class: &str, flow: FlowPlan| FlowPlan {
        class: Some(class.to_owned()),
        ..flow
    };
    let tcp = |name: &str, cc: &str, ecn: bool| FlowPlan {
        ecn,
        ..flow(name, cc, Time::from_ms(10), &[])
    };
    let ecn = [("ecn", Value::Bool(true))];
    let mut p = plan(
        Time::from_ms(5_500),
        vec![LinkPlan {
            delay: Time::from_ms(3),
            ..link(20_000_000, "codel", &ecn)
        }],
        vec![
            of("C", tcp("classic", "cubic", false)),
            of("L", tcp("ecn", "reno", true)),
            FlowPlan {
                start: Time::from_ms(2_500),
                ..of("L", tcp("late", "reno", true))
            },
        ],
    );
    p.warmup = Time::from_ms(1_000);
    p.record.statistics = statistics;
    p.traffic = vec![
        TrafficPlan {
            class: Some("U".to_owned()),
            ..cbr("u", 3_000_000, 700)
        },
        TrafficPlan {
            class: Some("C".to_owned()),
            ..cbr("c", 500_000, 300)
        },
    ];
    p
}

#[test]
fn classes_divide_what_the_queue_has() {
    let outcome = run(network(&in_classes(Time::from_ms(500))));
    let (link, classes) = (&outcome.links[0], &outcome.classes);
    let names: Vec<&str> = classes.iter().map(|c| c.class.name.as_str()).collect();
    assert_eq!(names, ["C", "L", "U"]);
    let sum = |of: fn(&ClassOutcome) -> u64| classes.iter().map(of).sum::<u64>();
    assert_eq!(sum(|c| c.packets), link.packets);
    assert_eq!(sum(|c| c.bytes), link.bytes);
    assert_eq!(sum(|c| c.counts.drops()), link.counts.drops());
    assert_eq!(sum(|c| c.counts.marks()), link.counts.marks());
    assert!(link.counts.drops() > 0 && link.counts.marks() > 0);
    let mut delay = Histogram::new();
    classes.iter().for_each(|c| delay.merge(&c.delay));
    assert!(delay.buckets().eq(link.delay.buckets()));
    assert_eq!(
        (delay.sum(), delay.max()),
        (link.delay.sum(), link.delay.max())
    );

    // From 1 s on, nine intervals of 500 ms cover the whole measured time.
    let samples = link.samples.as_ref().expect("samples");
    assert_eq!(samples.bytes.len(), 9);
    assert_eq!(samples.bytes.iter().sum::<u64>(), link.bytes);
    assert_eq!(samples.capacity_bytes, [1_250_000.0; 9]);
    for class in classes {
        let sum = |of: fn(&Interval) -> u64| class.intervals.iter().map(of).sum::<u64>();
        assert_eq!(sum(|i| i.packets), class.packets);
        assert_eq!(sum(|i| i.bytes), class.bytes);
        assert_eq!(sum(|i| i.drops), class.counts.drops());
        assert_eq!(sum(|i| i.marks), class.counts.marks());
        assert_eq!(u128::from(sum(|i| i.delay_ns)), class.delay.sum());
    }
    let ecn = &classes[1];
    assert_eq!(ecn.flow_bytes.iter().flatten().sum::<u64>(), ecn.bytes);
    // The base RTT is the configured RTT plus the link's delay.
    assert_eq!(ecn.class.flows[0].base_rtt_ns, 13_000_000);

    let summary = Summary::new(&outcome, "", 1);
    let ecn = summary.classes[1].samples.as_ref().expect("samples");
    // The flow that starts late is included only in the intervals from 2.5 s on.
    assert_eq!((ecn.rate_mbit.n, ecn.window_bytes.n), (9 + 6, 9 + 6));
    assert_eq!(
        summary.classes[2]
            .samples
            .as_ref()
            .expect("samples")
            .rate_mbit
            .n,
        0
    );
}

#[test]
fn classes_change_nothing_else() {
    let with = run(network(&in_classes(Time::from_ms(500))));
    let mut plain = in_classes(Time::ZERO);
    plain.flows.iter_mut().for_each(|f| f.class = None);
    plain.traffic.iter_mut().for_each(|t| t.class = None);
    let plain = run(network(&plain));
    assert!(plain.classes.is_empty());
    assert_eq!(with.events, plain.events);
    let [with, plain] = [&with, &plain].map(|outcome| {
        let mut summary = Summary::new(outcome, "", 1);
        summary.queues[0].samples = None;
        (summary.flows, summary.traffic, summary.queues)
    });
    assert_eq!(with, plain);
}

/// With many flows, the simulator prefetches memory for packets. The prefetches must not change the
/// results.
#[test]
fn flows_that_begin_after_the_end_change_nothing_however_many() {
    for queue in ["fifo", "codel", "dualpi2", "fq_codel"] {
        let mut few = plan(
            Time::from_secs(2),
            vec![
                link(100_000_000, queue, &[]),
                LinkPlan {
                    name: "back".into(),
                    ..link(20_000_000, "fifo", &[])
                },
            ],
            (0..20)
                .map(|_| flow("f", "cubic", Time::from_ms(20), &[]))
                .collect(),
        );
        for flow in &mut few.flows[10..] {
            flow.back = vec![1];
        }
        let mut many = few.clone();
        many.flows.extend((0..4000).map(|_| FlowPlan {
            start: Time::from_secs(10),
            ..flow("later", "cubic", Time::from_ms(20), &[])
        }));
        let (few, many) = (run(network(&few)), run(network(&many)));
        assert!(few.data_packets > 15_000, "{queue}");
        assert_eq!(few.data_packets, many.data_packets, "{queue}");
        for (one, other) in few.flows.iter().zip(&many.flows) {
            assert_eq!(one.packets, other.packets, "{queue}");
            assert_eq!(one.retransmits, other.retransmits, "{queue}");
            assert_eq!(one.rtt.mean(), other.rtt.mean(), "{queue}");
        }
    }
}
