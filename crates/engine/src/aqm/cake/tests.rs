//! Tests each part of Cake, and then Cake as a whole. The tests of the whole cover the shares of
//! flows and hosts, overflow, the ACK filter, and Cobalt over time.

use super::cobalt::Cobalt;
use super::flows::List;
use super::*;
use crate::packet::Sack;
use crate::registry::complete_defaults;

const MS: i64 = 1_000_000;
const MTU: u16 = 1514;

fn options(set: &[(&'static str, Value)]) -> Options {
    let mut options = complete_defaults(&ENTRY);
    for (name, value) in set {
        options.set(name, value.clone());
    }
    (ENTRY.finish)(&mut options).unwrap();
    options
}

fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
    (name, Value::Word(word))
}

/// Cake and a link. The link requests a packet as soon as Cake lets a packet leave.
struct Bench {
    cake: Cake,
    sink: Sink,
}

const FLOWS: usize = 64;

impl Bench {
    fn new(rate: u64, set: &[(&'static str, Value)]) -> Bench {
        let context = QueueContext {
            rate: Rate(rate),
            mtu: u32::from(MTU),
            rng: Stream::new(1, "link", "queue"),
        };
        Bench {
            cake: Cake::new(&options(set), context),
            sink: Sink::new(FLOWS, Time::ZERO),
        }
    }

    fn put(&mut self, ns: i64, mut packet: Packet) {
        packet.stamp = Time(ns as u64);
        self.sink.arrive(&packet, packet.stamp);
        let now = packet.stamp;
        self.cake.enqueue(&mut packet, now, &mut self.sink);
    }

    fn data(&mut self, ns: i64, flow: u32, len: u16, ecn: Ecn) {
        let mut packet = Packet::new(flow, len, ecn);
        packet.payload = len.saturating_sub(66);
        self.put(ns, packet);
    }

    /// Returns the packet that leaves now, and the time at which the next packet may leave.
    fn get(&mut self, ns: i64) -> Result<(Packet, i64), Dequeue> {
        let now = Time(ns as u64);
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        match self.cake.dequeue(now, &mut self.sink, &mut packet) {
            Dequeue::Until(next) => {
                self.sink.forward(&packet, now);
                Ok((packet, next.ns() as i64))
            }
            other => Err(other),
        }
    }

    /// Returns how many bytes of each flow leave in `ns` nanoseconds. Each flow always has 40
    /// packets in its queue. `lens` gives the packet length of each flow.
    fn shares(&mut self, lens: &[u16], ns: i64) -> Vec<u64> {
        let mut sent = vec![0; lens.len()];
        for (flow, len) in (0..).zip(lens) {
            for _ in 0..40 {
                self.data(0, flow, *len, Ecn::NotEct);
            }
        }
        let mut now = 0;
        while now < ns {
            let (packet, next) = self.get(now).unwrap();
            sent[packet.flow as usize] += u64::from(packet.len);
            self.data(now, packet.flow, packet.len, Ecn::NotEct);
            now = next;
        }
        sent
    }
}

#[test]
fn packets_are_spaced_by_their_length_at_the_rate() {
    // At 10 Mbit/s, the transmission of a byte takes 800 ns.
    let slot = 1514 * 800;
    let mut bench = Bench::new(10_000_000, &[word("tins", "besteffort")]);
    for _ in 0..6 {
        bench.data(5, 0, MTU, Ecn::NotEct);
    }
    let (_, next) = bench.get(5).unwrap();
    assert_eq!(next, 5 + slot);
    let early = bench.get(next - 1);
    assert!(matches!(early, Err(Dequeue::NotBefore(t)) if t.ns() as i64 == next));
    // If a packet leaves late, the packets after it are not delayed. The clock continues from its
    // old value.
    let (_, next) = bench.get(next + 3 * slot / 2).unwrap();
    assert_eq!(next, 5 + slot + 3 * slot / 2, "not before now");
    let (_, next) = bench.get(next).unwrap();
    assert_eq!(next, 5 + 3 * slot);
    for k in 4..=6 {
        let (_, next) = bench.get(5 + (k - 1) * slot).unwrap();
        assert_eq!(next, 5 + k * slot);
    }
    // In contrast, idle time does not allow a burst. The next packet must still wait until the
    // transmission time of the last packet has passed.
    assert!(matches!(bench.get(5 + 6 * slot), Err(Dequeue::Empty)));
    bench.data(6 * slot, 0, 100, Ecn::NotEct);
    assert!(matches!(bench.get(6 * slot), Err(Dequeue::NotBefore(_))));
    assert_eq!(bench.get(5 + 6 * slot).unwrap().1, 5 + 6 * slot + 80_000);
    bench.data(20 * slot, 0, MTU, Ecn::NotEct);
    assert_eq!(bench.get(20 * slot).unwrap().1, 21 * slot);
}

#[test]
fn a_rate_step_changes_the_next_slot_and_the_parameters() {
    let mut bench = Bench::new(10_000_000, &[word("tins", "besteffort")]);
    for _ in 0..3 {
        bench.data(0, 0, MTU, Ecn::NotEct);
    }
    let (_, next) = bench.get(0).unwrap();
    bench.cake.rate_changed(Rate(1_000_000), Time(7));
    assert_eq!(next, 1514 * 800, "what is sent stays charged as it was");
    let (_, next) = bench.get(next).unwrap();
    assert_eq!(next, 1514 * (800 + 8_000));
    assert_eq!(bench.cake.tins[0].params.target, 1514 * 8_000 * 3 / 2);
    // After an outage of a second, the link does not send faster to catch up.
    bench.cake.rate_changed(Rate(0), Time(next as u64));
    bench
        .cake
        .rate_changed(Rate(10_000_000), Time((next + 1_000 * MS) as u64));
    let (_, after) = bench.get(next + 1_000 * MS).unwrap();
    assert_eq!(after, next + 1_000 * MS + 1514 * 800);
}

#[test]
fn the_failsafe_clock_keeps_two_thirds_of_the_rate() {
    let mut shaper = Shaper::default();
    shaper.set_rate(PerByte::of(1_250_000));
    shaper.wake(0);
    // Ten packets are dropped at once, so the virtual clock is ten packet times ahead.
    for _ in 0..10 {
        shaper.charge(1_000, true);
    }
    assert_eq!(shaper.opens(), 0);
    let mut left = Vec::new();
    for _ in 0..12 {
        left.push(shaper.opens() / 800_000);
        shaper.charge(1_000, false);
    }
    // Until the virtual clock has caught up, the failsafe clock allows a packet every 1.5 packet
    // times.
    assert_eq!(left, [0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16]);
    shaper.wake(100_000_000);
    assert_eq!(shaper.opens(), 100_000_000);
}

#[test]
fn sizes_of_atm_ptm_overhead_and_mpu() {
    let sizes = |overhead, mpu, framing| Sizes {
        overhead,
        link: 0,
        mpu,
        framing,
        each: Framing::Plain,
    };
    let charged = |sizes: Sizes, len| sizes.charged(&Packet::new(0, len, Ecn::NotEct));
    // Without `overhead`, Cake charges the bytes of the frame itself. With `overhead`, Cake charges
    // the IP packet plus the overhead.
    assert_eq!(charged(sizes(None, 0, Framing::Plain), 1514), 1514);
    assert_eq!(charged(sizes(Some(0), 0, Framing::Plain), 1514), 1500);
    assert_eq!(charged(sizes(Some(18), 64, Framing::Plain), 54), 64);
    assert_eq!(charged(sizes(Some(-64), 0, Framing::Plain), 60), 0);
    // 1500 + 40 bytes need 33 ATM cells, each with 48 bytes of payload. 32 cells hold 1536 bytes,
    // so 1537 bytes need another cell.
    assert_eq!(charged(sizes(Some(40), 0, Framing::Atm), 1514), 33 * 53);
    assert_eq!(charged(sizes(Some(36), 0, Framing::Atm), 1514), 32 * 53);
    assert_eq!(charged(sizes(Some(37), 0, Framing::Atm), 1514), 33 * 53);
    // 1522 bytes need 24 blocks of 64 bytes (1522 / 64 = 23.8).
    assert_eq!(charged(sizes(Some(22), 0, Framing::Ptm), 1514), 1522 + 24);
    let link = Sizes {
        link: 4,
        ..sizes(None, 0, Framing::Plain)
    };
    assert_eq!(charged(link, 1514), 1518);
    // Cake charges each segment of a packet that combines three segments. Two segments need 33
    // cells each. The third segment has 41 bytes of payload and 66 bytes of headers, and needs 3
    // cells.
    let mut joined = sizes(Some(40), 0, Framing::Atm);
    joined.expect_joined();
    let mut packet = Packet::new(0, 2 * 1514 + 107, Ecn::NotEct);
    packet.payload = 2 * 1448 + 41;
    packet.join(3, 1448);
    assert_eq!(joined.charged(&packet), (2 * 33 + 3) * 53);
    assert_eq!(charged(joined, 1514), 33 * 53);
}

#[test]
fn times_per_byte_are_exact_for_round_rates_and_slow_enough_for_slow_ones() {
    for (rate, bytes, ns) in [
        (12_500_000, 1514, 121_120),
        (62_500, 1514, 24_224_000),
        (1_250_000_000, 1514, 1_211),
        (1, 64, 1_000_000_000),
    ] {
        let time = PerByte::of(rate).time(bytes);
        assert!((time - ns).abs() <= 1, "{rate}: {time}");
    }
}

#[test]
fn targets_and_intervals_by_rate() {
    // Each row has a rate in Mbit/s, and the target and the interval in ms at this rate. The values
    // are those of the SCE reference code.
    for (mbit, target, interval) in [
        (0.5, 36.34, 131.3),
        (1.0, 18.17, 113.2),
        (2.0, 9.08, 104.1),
        (5.0, 5.0, 100.0),
        (100.0, 5.0, 100.0),
    ] {
        let bench = Bench::new((mbit * 1e6) as u64, &[word("tins", "besteffort")]);
        let p = bench.cake.tins[0].params;
        assert!((p.target as f64 / 1e6 - target).abs() < 0.006, "{mbit}");
        assert!((p.interval as f64 / 1e6 - interval).abs() < 0.06, "{mbit}");
    }
    let bench = Bench::new(100_000_000, &[("rtt", Value::Time(Time::from_ms(10)))]);
    // The tin `best effort` gets the whole rate. The tin `bulk` gets a sixteenth of the rate, which
    // is 6.25 Mbit/s.
    let targets: Vec<i64> = bench.cake.tins.iter().map(|t| t.params.target).collect();
    assert_eq!(targets, [500_000, 1514 * 1_280 * 3 / 2, 1514 * 320 * 3 / 2]);
    let quanta: Vec<u32> = bench.cake.tins.iter().map(|t| t.flows.quantum).collect();
    assert_eq!(quanta, [1514, 300, 762]);
}

#[test]
fn tins_by_codepoint() {
    const EF: usize = 46;
    const VA: usize = 44;
    const CS: [usize; 8] = [0, 8, 16, 24, 32, 40, 48, 56];
    const AF41: usize = 34;
    let tin = |tins: Tins, codes: &[usize]| -> Vec<u8> {
        let index = tins.index();
        codes.iter().map(|c| index[*c]).collect()
    };
    let d3 = Tins::Diffserv3;
    assert_eq!(tin(d3, &CS), [0, 1, 0, 0, 0, 0, 2, 2]);
    assert_eq!(tin(d3, &[1, EF, VA, AF41, 4]), [1, 2, 2, 0, 2]);
    let d4 = Tins::Diffserv4;
    assert_eq!(tin(d4, &CS), [0, 1, 2, 2, 3, 3, 3, 3]);
    assert_eq!(tin(d4, &[1, EF, VA, AF41, 10]), [1, 3, 3, 2, 0]);
    let d8 = Tins::Diffserv8;
    assert_eq!(tin(d8, &CS), [2, 1, 5, 3, 6, 6, 7, 7]);
    assert_eq!(
        tin(d8, &[1, EF, AF41, 10, 18, 2, 63]),
        [0, 6, 3, 1, 4, 1, 2]
    );
    assert_eq!(tin(Tins::Precedence, &CS), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(tin(Tins::BestEffort, &CS), [0; 8]);
    assert_eq!(Tins::Diffserv8.rates(1 << 21)[2], (1 << 21) / 64 * 49);
}

/// Returns Cake with two flows. Flow 0 has this DSCP, and flow 1 has DSCP 0.
fn two_classes(rate: u64, tins: &'static str, dscp: u8) -> Bench {
    let mut bench = Bench::new(rate, &[word("tins", tins)]);
    let info = |n: u32, dscp| FlowInfo {
        source: 2 * n,
        destination: 2 * n + 1,
        dscp,
    };
    bench.cake.flows(&[info(0, dscp), info(1, 0)]);
    bench
}

#[test]
fn a_tin_gives_way_above_its_share() {
    // In competition with best effort, bulk gets 1/16 of the rate and voice 1/4. A class gets the
    // whole rate if no other class sends packets.
    for (dscp, part) in [(1, 1.0 / 16.0), (46, 0.25)] {
        let mut bench = two_classes(100_000_000, "diffserv3", dscp);
        let sent = bench.shares(&[MTU, MTU], 2_000 * MS);
        let share = sent[0] as f64 / (sent[0] + sent[1]) as f64;
        // The tolerance allows for one of about 16,000 packets, and for the packets that Cobalt
        // drops.
        assert!((share - part).abs() < 0.002, "dscp {dscp}: {share}");
        let mut bench = two_classes(100_000_000, "diffserv3", dscp);
        let sent = bench.shares(&[MTU], 1_000 * MS);
        assert_eq!(sent[0] / u64::from(MTU), 8257, "1 s at 100 Mbit/s");
    }
}

#[test]
fn washed_packets_are_best_effort_from_then_on() {
    let mut bench = two_classes(100_000_000, "diffserv3", 46);
    bench.cake.config.wash = true;
    bench.data(0, 0, MTU, Ecn::NotEct);
    assert!(bench.cake.tins[2].flows.active());
    let (packet, _) = bench.get(0).unwrap();
    bench.put(MS, packet);
    assert!(bench.cake.tins[0].flows.active());
}

#[test]
fn flows_share_by_bytes_whatever_their_packets() {
    let mut bench = Bench::new(10_000_000, &[word("flow", "flows")]);
    let sent = bench.shares(&[1514, 500, 64, 1000], 4_000 * MS);
    let mean = sent.iter().sum::<u64>() as f64 / 4.0;
    for (flow, bytes) in sent.iter().enumerate() {
        // A queue's share may be off by one quantum (305 bytes) and one packet (1514 bytes). Each
        // of these errors is below 0.3 % of 1.25 MB.
        let error = (*bytes as f64 / mean - 1.0).abs();
        assert!(error < 0.003, "flow {flow}: {sent:?}");
    }
}

/// Host 0 has one flow to host 10, and host 1 has seven flows to host 11. Returns the share of the
/// rate that host 0 gets.
fn one_against_seven(mode: &'static str, reverse: bool) -> f64 {
    let mut bench = Bench::new(50_000_000, &[word("flow", mode)]);
    let info: Vec<FlowInfo> = (0..8)
        .map(|flow| {
            let host = u32::from(flow > 0);
            // All flows have the same host on the side that is not compared.
            let (source, destination) = if reverse { (5, host) } else { (host, 5) };
            FlowInfo {
                source,
                destination,
                dscp: 0,
            }
        })
        .collect();
    bench.cake.flows(&info);
    let sent = bench.shares(&[MTU; 8], 3_000 * MS);
    sent[0] as f64 / sent.iter().sum::<u64>() as f64
}

#[test]
fn hosts_share_as_the_mode_says() {
    for (mode, reverse, share) in [
        ("flows", false, 0.125),
        ("dual-srchost", false, 0.5),
        ("dual-srchost", true, 0.125),
        ("dual-dsthost", true, 0.5),
        ("dual-dsthost", false, 0.125),
        // The share depends on the host with more bulk queues. In this test, that host is the
        // destination of all eight flows.
        ("triple-isolate", false, 0.125),
        ("srchost", false, 0.5),
        ("dsthost", true, 0.5),
        ("hosts", false, 0.5),
    ] {
        let found = one_against_seven(mode, reverse);
        assert!((found - share).abs() < 0.01, "{mode} {reverse}: {found}");
    }
}

#[test]
fn triple_isolation_of_two_pairs_of_hosts() {
    let mut bench = Bench::new(50_000_000, &[]);
    let info: Vec<FlowInfo> = (0..8u32)
        .map(|flow| FlowInfo {
            source: flow.min(1),
            destination: 10 + flow.min(1),
            dscp: 0,
        })
        .collect();
    bench.cake.flows(&info);
    let sent = bench.shares(&[MTU; 8], 3_000 * MS);
    let share = sent[0] as f64 / sent.iter().sum::<u64>() as f64;
    assert!((share - 0.5).abs() < 0.01, "{sent:?}");
    let bulk: Vec<u16> = bench.cake.tins[0].flows.host_loads(0);
    assert_eq!(bulk, [1, 7]);
}

/// Each host has more than 16 bulk queues, so queues get the bytes of several rounds in advance.
#[test]
fn forty_flows_of_a_host_share_among_themselves_and_with_another() {
    for (first, mode) in [(1, "triple-isolate"), (20, "dual-srchost")] {
        let mut bench = Bench::new(20_000_000, &[word("flow", mode)]);
        let info: Vec<FlowInfo> = (0..41u32)
            .map(|flow| FlowInfo {
                source: u32::from(flow >= first),
                destination: 10 + u32::from(flow >= first),
                dscp: 0,
            })
            .collect();
        bench.cake.flows(&info);
        let sent = bench.shares(&[MTU; 41], 12_000 * MS);
        let total = sent.iter().sum::<u64>() as f64;
        let of = |flows: &[u64]| flows.iter().sum::<u64>() as f64 / total;
        let share = of(&sent[..first as usize]);
        assert!((share - 0.5).abs() < 0.005, "{mode}: {share}");
        for (part, host) in [(0..first, first), (first..41, 41 - first)] {
            for flow in part {
                let fair = 0.5 / f64::from(host);
                let error = of(&sent[flow as usize..][..1]) / fair - 1.0;
                // Each queue sends at least 240 packets. The tolerance allows for two packets, and
                // for the packets that Cobalt drops.
                assert!(error.abs() < 0.02, "{mode} flow {flow}: {error}");
            }
        }
    }
}

#[test]
fn a_set_holds_eight_flows_and_then_they_collide() {
    let isolation = Isolation {
        flows: true,
        sources: true,
        destinations: true,
    };
    let mut flows = Flows::new(isolation, Fresh::Linux, 1);
    let keys = |n: u32| Keys {
        tag: 1024 * (n + 1) + 21,
        source: 7 + n,
        destination: 3,
    };
    let mut seen = Vec::new();
    for n in 0..8 {
        let index = flows.find(&keys(n));
        flows.push(index, Packet::new(n, MTU, Ecn::NotEct));
        seen.push(index);
    }
    // The search begins at the flow's home slot and wraps around in its set of eight slots.
    assert_eq!(seen, [21, 22, 23, 16, 17, 18, 19, 20]);
    for n in 0..8 {
        assert_eq!(flows.find(&keys(n)), seen[n as usize], "found again");
    }
    // The ninth flow takes over the queue in its home slot.
    assert_eq!(flows.find(&keys(8)), 21);
    assert_eq!(flows.find(&keys(8)), 21);
    assert_eq!(flows.find(&keys(0)), 21, "the first is now the guest");
    // Another set still has free queues.
    let other = Keys { tag: 24, ..keys(0) };
    assert_eq!(flows.find(&other), 24);
}

#[test]
fn a_sparse_flow_goes_first_and_a_bulk_one_waits_its_turn() {
    let mut bench = Bench::new(10_000_000, &[word("flow", "flows")]);
    for _ in 0..10 {
        bench.data(0, 0, MTU, Ecn::NotEct);
    }
    let mut now = 0;
    for _ in 0..4 {
        now = bench.get(now).unwrap().1;
    }
    bench.data(now, 1, 100, Ecn::NotEct);
    let (packet, next) = bench.get(now).unwrap();
    assert_eq!(packet.flow, 1);
    // The flow has not used up its quantum, so its next packet is served first again.
    bench.data(next, 1, 100, Ecn::NotEct);
    let (packet, next) = bench.get(next).unwrap();
    assert_eq!(packet.flow, 1);
    // A packet of 1514 bytes exceeds the quantum of 305 bytes. After this packet, the flow must
    // wait for its turn.
    let mut now = next;
    let mut order = Vec::new();
    for _ in 0..6 {
        bench.data(now, 1, MTU, Ecn::NotEct);
    }
    for _ in 0..9 {
        let (packet, next) = bench.get(now).unwrap();
        order.push(packet.flow);
        now = next;
    }
    assert_eq!(order[0], 1);
    let of_1 = order[1..].iter().filter(|flow| **flow == 1).count();
    assert!((3..=4).contains(&of_1), "{order:?}");
}

fn cobalt(fresh: Fresh) -> (Cobalt, Params, Stream) {
    let params = Params {
        target: 5 * MS,
        interval: 100 * MS,
        mtu_time: 121_120,
        fresh,
    };
    (Cobalt::new(fresh), params, Stream::new(1, "a", "b"))
}

/// Returns when packets are marked, in ms. From `from` to `to` (both in ms), one packet leaves
/// every millisecond. Each packet has the sojourn time `sojourn`.
fn marks(
    cobalt: &mut Cobalt,
    p: &Params,
    rng: &mut Stream,
    (from, to): (i64, i64),
    sojourn: i64,
) -> Vec<i64> {
    (from..to)
        .filter(|ms| {
            let v = cobalt.decide(p, ms * MS, sojourn, true, 0, rng);
            assert_eq!(v.drop, None);
            v.mark
        })
        .collect()
}

#[test]
fn a_fresh_queue_marks_the_second_packet_over_the_target() {
    let (mut c, p, mut rng) = cobalt(Fresh::Linux);
    let times = marks(&mut c, &p, &mut rng, (1_000, 1_400), 6 * MS);
    assert_eq!(times[..4], [1_001, 1_071, 1_129, 1_179]);
    let (mut c, p, mut rng) = cobalt(Fresh::Interval);
    let times = marks(&mut c, &p, &mut rng, (1_000, 1_400), 6 * MS);
    assert_eq!(times[..4], [1_100, 1_171, 1_229, 1_279]);
}

#[test]
fn a_queue_that_slept_marks_at_once_too_and_one_that_did_not_waits() {
    for (fresh, gap, first) in [
        (Fresh::Linux, 150, 1),
        (Fresh::Linux, 50, 100),
        (Fresh::Interval, 150, 100),
    ] {
        let (mut c, p, mut rng) = cobalt(fresh);
        // After marks and decay, 1/sqrt(count) no longer has its initial value of 0.
        marks(&mut c, &p, &mut rng, (0, 300), 6 * MS);
        marks(&mut c, &p, &mut rng, (300, 2_000), 0);
        assert_eq!(c.count, 0);
        let start = 1_999 + gap;
        let times = marks(&mut c, &p, &mut rng, (start, start + 200), 6 * MS);
        assert_eq!(times[0] - start, first, "{fresh:?} after {gap} ms");
    }
}

#[test]
fn the_count_grows_and_decays_by_one_clock() {
    let (mut c, p, mut rng) = cobalt(Fresh::Linux);
    marks(&mut c, &p, &mut rng, (0, 1_000), 6 * MS);
    let grown = c.count;
    let mut table = String::from("  ms  count  next_ms\n");
    for start in (1_000..2_400).step_by(100) {
        marks(&mut c, &p, &mut rng, (start, start + 100), MS);
        let next = c.drop_next as f64 / 1e6;
        table += &format!("{:>4} {:>6} {next:>8.2}\n", start + 100, c.count);
    }
    insta::assert_snapshot!(table);
    assert!(grown > 20 && c.count == 0, "{grown}");
}

#[test]
fn marks_need_four_packets_at_low_rates_and_the_share_of_an_ingress() {
    let (mut c, mut p, mut rng) = cobalt(Fresh::Linux);
    p.mtu_time = 2 * MS;
    assert!(!c.decide(&p, 0, 8 * MS, true, 0, &mut rng).over);
    assert!(c.decide(&p, 0, 8 * MS + 1, true, 0, &mut rng).over);
    // With `ingress`, a sojourn time of up to two packet times per bulk queue does not count as
    // above the target.
    assert!(!c.decide(&p, 0, 40 * MS, true, 10, &mut rng).over);
    assert!(c.decide(&p, 0, 40 * MS + 1, true, 10, &mut rng).over);
}

#[test]
fn blue_grows_with_overflows_and_shrinks_with_idleness() {
    let (mut c, p, mut rng) = cobalt(Fresh::Linux);
    // Cake's buffer overflows once per ms. BLUE's probability rises only every 6 ms, because the
    // last rise must be more than the target (5 ms) ago.
    for ms in 0..30 {
        c.queue_full(&p, ms * MS);
    }
    assert_eq!(c.gauges(), [1.0, 5.0 / 256.0]);
    let mut dropped = 0;
    for ms in 0..20_000 {
        let v = c.decide(&p, 1_000 * MS + ms, 0, true, 0, &mut rng);
        assert!(!v.mark, "BLUE never marks");
        dropped += u32::from(v.drop == Some(Cause::Blue));
    }
    // The expected number of drops is 390.6, with a standard deviation of 19.6.
    assert!((dropped as f64 - 390.6).abs() < 60.0, "{dropped}");
    for ms in 0..60 {
        c.queue_empty(&p, (2_000 + ms) * MS);
    }
    // In 60 ms, the probability falls by 10 steps of 1/4096.
    assert_eq!(c.gauges()[1], 5.0 / 256.0 - 10.0 / 4096.0);
}

#[test]
fn inverse_roots() {
    let (mut c, ..) = cobalt(Fresh::Linux);
    for count in 1..20_000u32 {
        c.count = count;
        c.update_root();
        let exact = 4_294_967_296.0 / libm::sqrt(f64::from(count));
        let error = (f64::from(c.rec_inv_sqrt) - exact).abs() / exact;
        // One Newton step from the previous value leaves a relative error of 3/8 of 1/count^2.
        // Squaring also loses one unit of 2^-32. This loss is a relative error of count/2^32.
        let n = f64::from(count);
        let step = if count < 16 { 0.0 } else { 1.0 / (n * n) };
        let allowed = step + (n + 4.0) / 4_294_967_296.0;
        assert!(error < allowed, "{count}: {error}");
    }
}

#[test]
fn ramp_of_sce() {
    let t = 5 * MS;
    let p = |ramp: Ramp, us: i64, over: bool| ramp.probability(t, us * 1_000, over);
    let on = Ramp::Knee(1.0);
    assert_eq!(p(on, 2_500, false), 0.0);
    assert_eq!(p(on, 3_000, false), 0.2);
    assert_eq!(p(on, 5_000, false), 1.0);
    assert_eq!(p(on, 7_500, true), 1.0);
    let n = Ramp::Knee(1.0 / 4.0);
    assert_eq!(p(n, 3_750, false), 0.125);
    assert_eq!(p(n, 5_000, false), 0.25);
    assert_eq!(p(n, 7_500, true), 0.625);
    assert_eq!(p(n, 10_000, true), 1.0);
    let halved = Ramp::Single(1.0);
    assert_eq!(p(halved, 5_000, false), 0.0);
    assert_eq!(p(halved, 6_000, true), 0.2);
    assert_eq!(p(halved, 10_000, true), 1.0);
    let kept = Ramp::Single(0.5);
    assert_eq!(p(kept, 6_000, true), 0.4);
    assert_eq!(p(kept, 7_500, true), 1.0);
    assert_eq!(p(Ramp::Off, 50_000, true), 0.0);
    // If Cake does not count the packet as above the target, this SCE ramp does not mark the
    // packet, even if the sojourn time is long. At low rates, Cake does not count packets as above
    // the target while fewer than four packets are queued.
    assert_eq!(p(halved, 20_000, false), 0.0);
}

#[test]
fn sce_marks_ect0_only_and_never_takes_ce_back() {
    for (ecn, expected) in [
        (Ecn::Ect0, Ecn::Ect1),
        (Ecn::Ect1, Ecn::Ect1),
        (Ecn::NotEct, Ecn::NotEct),
        (Ecn::Ce, Ecn::Ce),
    ] {
        let mut bench = Bench::new(10_000_000, &[word("sce", "on"), word("flow", "flowblind")]);
        bench.data(0, 0, MTU, ecn);
        bench.data(0, 0, MTU, ecn);
        // If the sojourn time equals the target, SCE marks every packet. Cobalt, however, does not
        // count such a packet as above the target.
        let (packet, _) = bench.get(5 * MS).unwrap();
        assert_eq!(packet.ecn, expected);
        let marked = u64::from(ecn == Ecn::Ect0);
        assert_eq!(bench.sink.meter.counts.sce_marks(), marked);
        assert_eq!(
            bench.sink.meter.counts.marks() + bench.sink.meter.counts.drops(),
            0
        );
    }
}

#[test]
fn a_share_of_packets_has_sce_by_the_ramp() {
    let mut bench = Bench::new(
        1_000_000_000,
        &[("sce", Value::Int(64)), word("flow", "flowblind")],
    );
    for n in 0..20_000 {
        let now = n * 13_000;
        bench.data(now, 0, MTU, Ecn::Ect0);
        bench.data(now, 0, 64, Ecn::Ect0);
        // At a sojourn time of 4 ms, the probability is (4 - 2.5) / 2.5 / 64.
        bench.get(now + 4 * MS).unwrap();
        bench.get(now + 4 * MS + 12_112).unwrap();
    }
    let expected = 40_000.0 * 0.6 / 64.0;
    let found = bench.sink.meter.counts.sce_marks() as f64;
    // The expected number of marks is 375, with a standard deviation of 19.3.
    assert!((found - expected).abs() < 60.0, "{found}");
}

#[test]
fn the_last_packet_of_a_queue_is_never_dropped() {
    let mut bench = Bench::new(10_000_000, &[word("flow", "flows")]);
    let mut now = 0;
    for _ in 0..200 {
        bench.data(now, 0, MTU, Ecn::NotEct);
        bench.get(now + 20 * MS).unwrap();
        now += 21 * MS;
    }
    assert_eq!(bench.sink.meter.counts.drops(), 0);
    assert!(bench.cake.tins[0].flows.get(0).packets.is_empty());
}

#[test]
fn overflow_drops_the_oldest_of_the_longest_queue() {
    let limit = ("memlimit", Value::Bytes(crate::units::Bytes(42 * 2_280)));
    let mut bench = Bench::new(10_000_000, &[word("flow", "flows"), limit]);
    for n in 0..10 {
        bench.data(0, 1, MTU, Ecn::NotEct);
        let mut packet = Packet::new(0, MTU, Ecn::NotEct);
        packet.payload = MTU - 66;
        packet.seq = n;
        bench.put(0, packet);
    }
    // A segment of 1448 bytes takes 2280 bytes of memory, so 42 of them fit into the limit.
    for n in 10..32 {
        let mut packet = Packet::new(0, MTU, Ecn::NotEct);
        packet.payload = MTU - 66;
        packet.seq = n;
        bench.put(0, packet);
    }
    assert_eq!(bench.cake.memory.0, 42 * 2_280);
    assert_eq!(bench.sink.meter.counts.drops(), 0);
    // When a packet of the short queue arrives, Cake drops a packet of the long queue.
    bench.data(0, 1, MTU, Ecn::NotEct);
    assert_eq!(bench.sink.meter.counts_of(0).get(Cause::Overflow), 1);
    assert_eq!(bench.sink.meter.counts_of(1).drops(), 0);
    let of_flow_0 = (0..4).find_map(|_| {
        let ns = bench.cake.shaper.opens();
        bench.get(ns).ok().filter(|(p, _)| p.flow == 0)
    });
    assert_eq!(of_flow_0.unwrap().0.seq, 1, "the head went");
    let used = bench.cake.memory.0;
    bench.put(20 * MS, ack(2, 1, &[]));
    assert_eq!(bench.cake.memory.0, used + 2);
}

#[test]
fn memory_limits() {
    // The limit is 4 MiB or four times rate x rtt, whichever is larger. The limit is at most the
    // memory of 10,240 packets.
    assert_eq!(memory::limit(None, 1_250_000, 100_000, 1514), 4 << 20);
    assert_eq!(memory::limit(None, 25_000_000, 100_000, 1514), 10_000_000);
    assert_eq!(memory::limit(None, 125_000_000, 100_000, 1514), 15_503_360);
    assert_eq!(memory::limit(Some(20_000_000), 1, 1, 1514), 20_000_000);
}

#[test]
fn ingress_charges_drops_to_the_shaper() {
    let run = |ingress: bool| {
        let mut bench = Bench::new(
            10_000_000,
            &[
                word("flow", "flowblind"),
                word("tins", "besteffort"),
                ("ingress", Value::Bool(ingress)),
            ],
        );
        let mut left = 0;
        let mut now = 0;
        for n in 0..4_000 {
            bench.data(n * MS / 2, 0, MTU, Ecn::NotEct);
            while now <= n * MS / 2 {
                match bench.get(now) {
                    Ok((_, next)) => {
                        left += 1;
                        now = next;
                    }
                    Err(Dequeue::NotBefore(next)) => now = next.ns() as i64,
                    Err(_) => break,
                }
            }
        }
        (left, bench.sink.meter.counts.drops())
    };
    let (left, _) = run(false);
    // The transmission of a packet takes 1211.2 us, so 1651 packets can leave in 2 s.
    assert!((1_650..=1_652).contains(&left), "{left}");
    // The flow does not respond to drops, so Cobalt drops more and more of its packets. In the end,
    // only the failsafe clock limits the flow. The failsafe clock limits the flow to two thirds of
    // the rate.
    let (left, dropped) = run(true);
    assert!(
        (1_101..1_250).contains(&left) && dropped > 500,
        "{left} {dropped}"
    );
}

fn ack(flow: u32, seq: u64, sack: &[(u32, u32)]) -> Packet {
    let mut packet = Packet::new(flow, 66, Ecn::NotEct);
    packet.flags = flags::ACK;
    packet.seq = seq;
    for (block, (offset, len)) in packet.sack.iter_mut().zip(sack) {
        *block = Sack {
            offset: *offset,
            len: *len,
        };
    }
    packet
}

/// All `acks` arrive at once. Returns the indices of the ACKs that the filter keeps.
fn filtered(filter: &'static str, acks: &[Packet]) -> Vec<usize> {
    let mut bench = Bench::new(1_000_000, &[word("ack_filter", filter)]);
    for (n, ack) in acks.iter().enumerate() {
        bench.put(
            0,
            Packet {
                hop: n as u8,
                ..*ack
            },
        );
    }
    let left = std::iter::from_fn(|| {
        let ns = bench.cake.shaper.opens();
        bench
            .get(ns)
            .ok()
            .map(|(packet, _)| usize::from(packet.hop))
    });
    left.collect()
}

#[test]
fn the_ack_filter_keeps_what_is_news() {
    let flagged = |seq, flag| {
        let mut packet = ack(0, seq, &[]);
        packet.flags |= flag;
        packet
    };
    let plain: Vec<Packet> = (1..=6).map(|n| ack(0, n, &[])).collect();
    assert_eq!(filtered("off", &plain), [0, 1, 2, 3, 4, 5]);
    // With `on`, one redundant ACK remains. With `aggressive`, all redundant ACKs are dropped.
    assert_eq!(filtered("on", &plain), [4, 5]);
    assert_eq!(filtered("aggressive", &plain), [5]);

    // When ECE changes, the filter keeps the last ACK before the change.
    let ece = [1, 2, 3, 4, 5, 6].map(|n| match n {
        3 | 4 => flagged(n, flags::ECE),
        _ => ack(0, n, &[]),
    });
    assert_eq!(filtered("aggressive", &ece), [1, 3, 5]);
    // The filter keeps all ACKs with ESCE (the former NS bit).
    let esce = [1, 2, 3, 4].map(|n| flagged(n, flags::ESCE));
    assert_eq!(filtered("aggressive", &esce), [0, 1, 2, 3]);

    // The filter keeps duplicate ACKs, unless the SACK blocks of a newer ACK cover the blocks of
    // the duplicate ACKs.
    let duplicates = [ack(0, 5, &[]), ack(0, 5, &[]), ack(0, 5, &[])];
    assert_eq!(filtered("aggressive", &duplicates), [0, 1, 2]);
    let growing = [
        ack(0, 5, &[(2, 1)]),
        ack(0, 5, &[(2, 2)]),
        ack(0, 5, &[(2, 3)]),
    ];
    assert_eq!(filtered("aggressive", &growing), [2]);
    let apart = [ack(0, 5, &[(2, 1)]), ack(0, 5, &[(4, 2)])];
    assert_eq!(filtered("aggressive", &apart), [0, 1]);
    let lost = [ack(0, 5, &[(2, 1)]), ack(0, 6, &[])];
    assert_eq!(filtered("aggressive", &lost), [0, 1]);
    // A D-SACK always contains new information.
    let dsack = [
        flagged_sack(5, flags::DSACK, (0u32.wrapping_sub(3), 1)),
        ack(0, 9, &[(1, 9)]),
    ];
    assert_eq!(filtered("aggressive", &dsack), [0, 1]);
    // A SYN-ACK, a datagram and ACKs of another flow do not make an ACK redundant.
    assert_eq!(
        filtered("aggressive", &[ack(1, 1, &[]), ack(0, 2, &[])]).len(),
        2
    );
    assert_eq!(
        filtered("aggressive", &[flagged(0, flags::SYN), ack(0, 2, &[])]).len(),
        2
    );
}

fn flagged_sack(seq: u64, flag: u16, block: (u32, u32)) -> Packet {
    let mut packet = ack(0, seq, &[block]);
    packet.flags |= flag;
    packet
}

#[test]
fn options_that_exclude_each_other() {
    let mut slope = complete_defaults(&ENTRY);
    slope.set("sce", Value::Int(8));
    slope.set("sce_single_slope", Value::Word("kept"));
    let errors = (ENTRY.finish)(&mut slope).unwrap_err();
    assert_eq!(errors[0].option, "sce_single_slope");
    let sce = ENTRY.options.iter().find(|o| o.name == "sce").unwrap();
    for (text, good) in [
        ("2", true),
        ("1024", true),
        ("single", true),
        ("1", false),
        ("1025", false),
        ("maybe", false),
    ] {
        assert_eq!(
            crate::registry::parse_word(sce.kind, text).is_ok(),
            good,
            "{text}"
        );
    }
}

/// Cake gives a queue in advance the bytes of as many rounds as the queue needs to send a packet,
/// but of at most 255 rounds.
#[test]
fn sixty_four_flows_of_a_host_share_by_bytes() {
    let mut bench = Bench::new(10_000_000, &[]);
    let one_host = FlowInfo {
        source: 1,
        destination: 2,
        dscp: 0,
    };
    bench.cake.flows(&[one_host; FLOWS]);
    // A queue gets 4.8 bytes per round. So the queue needs 318 rounds for a long packet, and 42
    // rounds for a short packet.
    let lens: Vec<u16> = (0..FLOWS)
        .map(|flow| if flow % 2 == 0 { MTU } else { 200 })
        .collect();
    let sent = bench.shares(&lens, 12_000 * MS);
    let total = sent.iter().sum::<u64>() as f64;
    for length in 0..2 {
        let part: u64 = sent.iter().skip(length).step_by(2).sum();
        let share = part as f64 / total;
        assert!((share - 0.5).abs() < 0.01, "{length}: {share}");
    }
}

/// Once the AQM state of an empty queue has decayed to 0, another flow can use the queue.
#[test]
fn an_empty_queue_without_a_memory_is_free_again() {
    let isolation = Isolation {
        flows: true,
        sources: false,
        destinations: false,
    };
    let (_, params, _) = cobalt(Fresh::Linux);
    let mut flows = Flows::new(isolation, Fresh::Linux, 1);
    let keys = |n: u32| Keys {
        tag: 1024 * (n + 1) + 21,
        source: 1,
        destination: 2,
    };
    let index = flows.find(&keys(0));
    assert_eq!(index, 21);
    flows.push(index, Packet::new(0, 60, Ecn::NotEct));
    let mut packet = Packet::new(0, 0, Ecn::NotEct);
    let (turn, list) = flows.next(false).expect("a queue with a packet");
    assert!(turn == index && matches!(list, List::New));
    assert!(flows.pop_to(index, &mut packet));
    flows.emptied(index, list, &params, 1_000 * MS);
    assert!(!flows.active());
    assert_eq!(flows.find(&keys(1)), 21);
}

/// A tin without sparse queues is still served while it has bulk queues.
#[test]
fn a_tin_is_active_while_any_queue_waits() {
    let isolation = Isolation {
        flows: true,
        sources: false,
        destinations: false,
    };
    let mut flows = Flows::new(isolation, Fresh::Linux, 1);
    for (sparse, bulk, active) in [(0, 0, false), (1, 0, true), (0, 2, true), (2, 2, true)] {
        (flows.population.sparse, flows.population.bulk) = (sparse, bulk);
        assert_eq!(flows.active(), active, "{sparse} sparse, {bulk} bulk");
    }
    (flows.population.bulk, flows.population.sparse) = (0, 0);
    flows.population.decaying = 1;
    assert!(!flows.active(), "a decaying queue is empty");
}

/// A flow that the scenario does not describe has its own hosts and queues in both directions.
#[test]
fn flows_without_a_description_share_nothing() {
    let mut cake = Bench::new(10_000_000, &[]).cake;
    let mut data = Packet::new(0, 100, Ecn::NotEct);
    let (mut tags, mut sources, mut destinations) = (Vec::new(), Vec::new(), Vec::new());
    for flow in 0..8 {
        data.flow = flow;
        for direction in [0, flags::ACK] {
            data.flags = direction;
            let keys = cake.known(&data).keys;
            tags.push(keys.tag);
            sources.push(keys.source);
            destinations.push(keys.destination);
        }
    }
    for mut keys in [tags, sources, destinations] {
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 16);
    }
}
