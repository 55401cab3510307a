use std::net::{Ipv4Addr, Ipv6Addr};

use tailback_guest::job::{FORMAT, Ready, Record as What, Side};
use tailback_record::Cause;

use super::*;
use crate::agent::frame::{flag, parse, protocol};

const MS: u64 = 1_000_000;
const SENDER: usize = 3;
const RECEIVER: usize = 4;

fn job() -> Job {
    let side = |ready| {
        Some(Side {
            run: vec!["a".to_owned()],
            ready,
            root: None,
            cwd: None,
            env: Vec::new(),
        })
    };
    let program = |n: u8| Program {
        name: format!("p{n}"),
        kind: String::new(),
        sender: SENDER,
        receiver: RECEIVER,
        sender_addresses: (Ipv4Addr::new(10, 3, 0, n), v6(3, n)),
        receiver_addresses: (Ipv4Addr::new(10, 4, 0, n), v6(4, n)),
        sides: [side(Some(Ready::Udp(4433))), side(None)],
        env: Vec::new(),
        root: String::new(),
        files: Vec::new(),
        host_names: None,
        start_ns: 0,
        stop_ns: None,
        expect: 0,
        access_delay_ns: 10 * MS,
        base_rtt_ns: 20 * MS,
        route: vec![0],
        back: vec![1],
        dscp: 0,
        interop: None,
    };
    Job {
        format: FORMAT,
        duration_ns: 1000 * MS,
        warmup_ns: 100 * MS,
        seed: 1,
        record: What {
            interval_ns: 100 * MS,
            series: true,
            changes: false,
            acks: false,
            events: false,
            statistics_ns: 0,
            captures: true,
            packets: false,
        },
        modules: Vec::new(),
        sysctls: Vec::new(),
        namespaces: Vec::new(),
        veths: Vec::new(),
        offloads: false,
        setup: Vec::new(),
        changes: Vec::new(),
        flows: Vec::new(),
        sources: Vec::new(),
        links: Vec::new(),
        programs: vec![program(1), program(2)],
        gates: Vec::new(),
    }
}

fn v6(net: u16, n: u8) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, net, 0, 0, 0, 0, 0, u16::from(n))
}

fn ip(from: IpAddr, to: IpAddr, number: u8, ecn: u8, transport: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    let length = transport.len() as u16;
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            bytes.extend([8, 0, 0x45, ecn]);
            bytes.extend((length + 20).to_be_bytes());
            bytes.extend([0, 7, 0x40, 0, 64, number, 0, 0]);
            bytes.extend(from.octets());
            bytes.extend(to.octets());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            bytes.extend([0x86, 0xdd, 0x60, ecn << 4, 0, 0]);
            bytes.extend(length.to_be_bytes());
            bytes.extend([number, 64]);
            bytes.extend(from.octets());
            bytes.extend(to.octets());
        }
        _ => panic!("of one family"),
    }
    bytes.extend(transport);
    bytes
}

/// Returns the source and the destination of a packet between the hosts of the first program.
fn hosts(six: bool, back: bool) -> (IpAddr, IpAddr) {
    let (sender, receiver): (IpAddr, IpAddr) = match six {
        false => (
            Ipv4Addr::new(10, 3, 0, 1).into(),
            Ipv4Addr::new(10, 4, 0, 1).into(),
        ),
        true => (v6(3, 1).into(), v6(4, 1).into()),
    };
    if back {
        (receiver, sender)
    } else {
        (sender, receiver)
    }
}

fn udp(six: bool, back: bool, ports: [u16; 2], ecn: u8, payload: &[u8]) -> Vec<u8> {
    let (from, to) = hosts(six, back);
    let ports = if back { [ports[1], ports[0]] } else { ports };
    let mut transport = Vec::new();
    transport.extend(ports[0].to_be_bytes());
    transport.extend(ports[1].to_be_bytes());
    transport.extend((payload.len() as u16 + 8).to_be_bytes());
    transport.extend([0, 0]);
    transport.extend(payload);
    ip(from, to, protocol::UDP, ecn, &transport)
}

fn tcp(six: bool, back: bool, flags: u8, [seq, ack, stamp]: [u32; 3], bytes: usize) -> Vec<u8> {
    let (from, to) = hosts(six, back);
    let ports: [u16; 2] = if back { [5000, 80] } else { [80, 5000] };
    let mut transport = Vec::new();
    transport.extend(ports[0].to_be_bytes());
    transport.extend(ports[1].to_be_bytes());
    transport.extend(seq.to_be_bytes());
    transport.extend(ack.to_be_bytes());
    transport.extend([(32 / 4) << 4, flags, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
    transport.extend(stamp.to_be_bytes());
    transport.extend([0; 4]);
    transport.resize(32 + bytes, 0);
    ip(from, to, protocol::TCP, 2, &transport)
}

fn echo(six: bool, back: bool, identifier: u16, sequence: u16) -> Vec<u8> {
    let (from, to) = hosts(six, back);
    let (number, kind) = match (six, back) {
        (false, false) => (protocol::ICMP, 8),
        (false, true) => (protocol::ICMP, 0),
        (true, false) => (protocol::ICMPV6, 128),
        (true, true) => (protocol::ICMPV6, 129),
    };
    let mut transport = vec![kind, 0, 0, 0];
    transport.extend(identifier.to_be_bytes());
    transport.extend(sequence.to_be_bytes());
    transport.resize(8 + 56, 0);
    ip(from, to, number, 0, &transport)
}

fn frame(bytes: &[u8]) -> Frame {
    parse(bytes).expect("IP")
}

impl Taps {
    /// Captures a packet when it leaves its host, and when it reaches the other host.
    fn pass(&mut self, bytes: &[u8], left_ns: u64, arrived_ns: Option<u64>) -> Owner {
        let frame = frame(bytes);
        let of = self.owner(&frame).expect("a program's");
        let (from, to) = match of.back {
            false => (SENDER, RECEIVER),
            true => (RECEIVER, SENDER),
        };
        self.seen(from, true, left_ns, &frame, of);
        if let Some(at) = arrived_ns {
            self.seen(to, false, at, &frame, of);
        }
        of
    }

    fn noted(&mut self, link: usize, of: Owner, at_ns: u64, what: Noted) {
        let note = Note {
            tuple: of.tuple,
            back: of.back,
            at_ns,
            what,
        };
        self.note(link, &mut vec![note]);
    }
}

fn taps() -> Taps {
    Taps::new(&job()).expect("programs")
}

fn ended() -> [Option<Ended>; 2] {
    let end = Ended {
        status: 0,
        at_ns: 800 * MS,
    };
    [None, Some(end)]
}

#[test]
fn datagrams_of_both_families_are_counted_by_their_hosts() {
    for six in [false, true] {
        let mut taps = taps();
        let mut series = Series::default();
        let data = |ecn| udp(six, false, [4433, 9], ecn, &[7; 1200]);
        let answer = udp(six, true, [4433, 9], 0, &[8; 30]);
        // This packet is sent during the warm-up. The packet is therefore included only in the
        // series and the completion time.
        taps.pass(&data(2), 20 * MS, Some(40 * MS));
        let of = taps.pass(&data(2), 210 * MS, Some(230 * MS));
        taps.noted(0, of, 215 * MS, Noted::Passed(4 * MS));
        let lost = taps.pass(&data(1), 220 * MS, None);
        assert_eq!(lost, of);
        taps.noted(0, lost, 225 * MS, Noted::Counted(Cause::Aqm));
        let back = taps.pass(&answer, 240 * MS, Some(250 * MS));
        assert_eq!((back.tuple, back.back), (of.tuple, true));
        taps.noted(1, back, 245 * MS, Noted::Passed(MS));
        let last = taps.pass(&data(0), 310 * MS, Some(330 * MS));
        // This test adds the events of one link after the other, but the events must be applied in
        // order of time.
        taps.noted(0, last, 315 * MS, Noted::Passed(2 * MS));
        // The packet goes to a host that does not belong to a program.
        let other = ip(
            Ipv4Addr::new(10, 3, 0, 1).into(),
            Ipv4Addr::new(10, 4, 0, 2).into(),
            protocol::UDP,
            0,
            &[0; 8],
        );
        assert_eq!(taps.owner(&frame(&other)), None);
        assert!(Taps::is_host(frame(&other).source));

        let all = taps.finish(&[ended()], 1000 * MS, &mut series);
        let program = &all[0].measures;
        assert_eq!((program.sent_packets, program.received_packets), (3, 2));
        assert_eq!((program.delivered_bytes, program.back_bytes), (2400, 30));
        assert_eq!(program.ecn_sent, [1, 1, 1, 0]);
        // The program ends at 800 ms, but its last data arrives at 330 ms.
        assert_eq!((program.from_ns, program.to_ns), (100 * MS, 330 * MS));
        // The transfer lasts from 20 ms minus the host's delay to 330 ms.
        assert_eq!(program.completion_ns, Some(320 * MS));
        assert!(program.rtt_estimated);
        let (rtt, delay) = (&program.rtt, &program.delay);
        // The first round-trip time is 20 ms + 4 ms. The second round-trip time is 20 ms + 2 ms
        // forward + 1 ms back.
        assert_eq!((rtt.count(), rtt.sum()), (2, 47 * u128::from(MS)));
        assert_eq!((delay.count(), delay.sum()), (2, 6 * u128::from(MS)));
        let [tuple] = all[0].tuples.as_slice() else {
            panic!("{} tuples", all[0].tuples.len());
        };
        assert_eq!((tuple.protocol, tuple.tuples), (17, 1));
        assert_eq!(tuple.sender, (hosts(six, false).0, 4433));
        assert_eq!(tuple.receiver, (hosts(six, false).1, 9));
        assert_eq!(tuple.measures.counts.get(Cause::Aqm), 1);
        assert_eq!(program.counts.drops(), 0, "the links know");
        assert!(all[1].tuples.is_empty());
        assert_eq!(all[1].measures.completion_ns, None, "it is not over");

        let row = |name: &str, at| {
            let is_named = |key: u32| &*series.keys[key as usize].quantity == name;
            let mut rows = series.rows();
            let found = rows.find(|row| is_named(row.key) && row.time_ns == at);
            found.map(|row| row.value)
        };
        assert_eq!(row("delivered_bytes", 100 * MS), Some(1200.0));
        assert_eq!(row("delivered_bytes", 300 * MS), Some(2400.0));
        assert_eq!(row("delivered_bytes", 900 * MS), Some(3600.0));
        assert_eq!(row("delay_ns", 300 * MS), Some(4e6));
        assert_eq!(row("rtt_ns", 400 * MS), Some(23e6));
        assert_eq!(row("rtt_ns", 500 * MS), None);
    }
}

#[test]
fn tcp_is_what_is_acknowledged_in_order_whatever_wraps() {
    for six in [false, true] {
        let mut taps = taps();
        let first = u32::MAX - 1500; // the second segment wraps
        let segment = |flags, seq: u32, stamp, n| {
            tcp(six, false, flags, [first.wrapping_add(seq), 501, stamp], n)
        };
        let ack = |flags, n: u32| tcp(six, true, flags, [501, first.wrapping_add(n), 0], 0);
        let syn = tcp(six, true, flag::SYN, [500, 0, 0], 0);
        taps.pass(&syn, 110 * MS, Some(120 * MS));
        taps.pass(
            &segment(flag::SYN | flag::ACK, 0, 0, 0),
            130 * MS,
            Some(140 * MS),
        );
        taps.pass(&ack(flag::ACK, 1), 150 * MS, Some(160 * MS));
        taps.pass(&segment(flag::ACK, 1, 1, 1000), 210 * MS, Some(220 * MS));
        taps.pass(&ack(flag::ACK, 1001), 230 * MS, Some(240 * MS));
        // The next segment is lost, so the segment after it waits for the retransmission.
        taps.pass(&segment(flag::ACK, 1001, 2, 1000), 310 * MS, None);
        taps.pass(&segment(flag::ACK, 2001, 2, 1000), 311 * MS, Some(321 * MS));
        taps.pass(&ack(flag::ACK, 1001), 331 * MS, Some(341 * MS));
        taps.pass(&segment(flag::ACK, 1001, 3, 1000), 351 * MS, Some(361 * MS));
        taps.pass(&ack(flag::ACK, 3001), 371 * MS, Some(381 * MS));
        taps.pass(
            &segment(flag::ACK | flag::FIN, 3001, 4, 10),
            410 * MS,
            Some(420 * MS),
        );
        taps.pass(&ack(flag::ACK | flag::FIN, 3012), 430 * MS, Some(440 * MS));
        let all = taps.finish(&[], 1000 * MS, &mut Series::default());
        let program = &all[0].measures;
        assert_eq!((program.delivered_bytes, program.back_bytes), (3010, 0));
        assert_eq!((program.sent_packets, program.received_packets), (6, 5));
        assert!(!program.rtt_estimated);
        // The segment was sent 10 ms before it was captured. A retransmission provides no RTT
        // sample.
        assert_eq!(program.rtt.count(), 2);
        assert_eq!(program.rtt.sum(), 2 * 40 * u128::from(MS));
        let [tuple] = all[0].tuples.as_slice() else {
            panic!("{} tuples", all[0].tuples.len());
        };
        // The connection has ended, so the completion time is known, although the program still
        // runs.
        assert_eq!(tuple.measures.completion_ns, Some((420 - 200) * MS));
        assert_eq!(program.completion_ns, None);
    }
}

#[test]
fn ports_that_are_used_again_begin_anew() {
    let mut taps = taps();
    for (at, first) in [(200, 70_000_u32), (400, 5)] {
        let segment = |flags, seq, n| tcp(false, false, flags, [first + seq, 1, 0], n);
        let ack = |n| tcp(false, true, flag::ACK, [1, first + n, 0], 0);
        let pass =
            |taps: &mut Taps, bytes: &[u8], at| taps.pass(bytes, at * MS, Some((at + 5) * MS));
        pass(&mut taps, &segment(flag::SYN, 0, 0), at);
        pass(&mut taps, &segment(flag::ACK, 1, 700), at + 10);
        pass(&mut taps, &ack(701), at + 20);
        // If the same segment is sent again, it does not start a new connection.
        pass(&mut taps, &segment(flag::SYN, 0, 0), at + 25);
        pass(&mut taps, &ack(701), at + 30);
    }
    let all = taps.finish(&[], 1000 * MS, &mut Series::default());
    assert_eq!(all[0].measures.delivered_bytes, 1400);
    assert_eq!(all[0].tuples.len(), 1);
}

#[test]
fn an_echo_and_its_answer_are_of_one_5_tuple() {
    for six in [false, true] {
        let mut taps = taps();
        for sequence in 0..3 {
            let at = 200 * MS + u64::from(sequence) * 100 * MS;
            let there = taps.pass(&echo(six, false, 77, sequence), at, Some(at + 20 * MS));
            let back = taps.pass(
                &echo(six, true, 77, sequence),
                at + 30 * MS,
                Some(at + 40 * MS),
            );
            assert_eq!(there.tuple, back.tuple);
            taps.noted(0, there, at + 10 * MS, Noted::Passed(5 * MS));
        }
        let all = taps.finish(&[ended()], 1000 * MS, &mut Series::default());
        let tuple = &all[0].tuples[0];
        assert_eq!(tuple.protocol, if six { 58 } else { 1 });
        assert_eq!(
            (tuple.measures.rtt.count(), tuple.measures.back_bytes),
            (3, 3 * 56)
        );
        assert_eq!(tuple.measures.rtt.mean(), Some(25e6));
    }
}

#[test]
fn without_a_link_on_the_way_a_packet_passes_as_it_arrives() {
    let mut job = job();
    job.programs[0].route.clear();
    let mut taps = Taps::new(&job).expect("programs");
    let of = taps.pass(
        &udp(false, true, [1, 2], 0, &[0; 9]),
        200 * MS,
        Some(210 * MS),
    );
    taps.noted(1, of, 205 * MS, Noted::Passed(3 * MS));
    taps.settle();
    taps.pass(
        &udp(false, false, [1, 2], 0, &[0; 9]),
        220 * MS,
        Some(230 * MS),
    );
    let all = taps.finish(&[], 1000 * MS, &mut Series::default());
    assert_eq!(all[0].measures.rtt.sum(), 23 * u128::from(MS));
}

#[test]
fn what_is_too_much_is_added_up() {
    let mut taps = taps();
    for port in 0..1500 {
        taps.pass(
            &udp(false, false, [4433, port], 0, &[0; 10]),
            210 * MS,
            Some(220 * MS),
        );
    }
    let all = taps.finish(&[], 1000 * MS, &mut Series::default());
    let (tuples, program) = (&all[0].tuples, &all[0].measures);
    assert_eq!((tuples.len(), tuples[MAX_TUPLES].tuples), (1001, 500));
    assert_eq!(tuples[MAX_TUPLES].measures.delivered_bytes, 5000);
    assert_eq!(program.delivered_bytes, 15_000);
    assert_eq!(tuples[999].receiver.1, 999);
}

#[test]
fn the_key_of_a_program_is_of_its_payload() {
    let key = |bytes: &[u8]| frame(bytes).content_key(&bytes[..bytes.len().min(120)]);
    for six in [false, true] {
        let datagram = |at: usize, value: u8, ecn| {
            let mut payload = [3; 100];
            payload[at] = value;
            udp(six, false, [4433, 9], ecn, &payload)
        };
        let one = key(&datagram(0, 3, 2));
        assert_eq!(key(&datagram(0, 3, 3)), one, "a mark");
        assert_ne!(key(&datagram(21, 4, 2)), one);
        assert_ne!(key(&datagram(53, 4, 2)), one, "within the snap length");
        assert_ne!(key(&udp(six, false, [4433, 9], 2, &[])), one);
        let again = |stamp| tcp(six, false, flag::ACK, [1, 1, stamp], 100);
        assert_ne!(key(&again(1)), key(&again(2)), "sent again");
        let echoes = [1, 2].map(|n| key(&echo(six, false, 7, n)));
        assert_ne!(echoes[0], echoes[1]);
    }
}

#[test]
fn a_later_fragment_has_no_ports() {
    let mut bytes = udp(false, false, [4433, 9], 0, &[5; 40]);
    bytes[21] = 100; // an offset of 800 bytes
    let later = frame(&bytes);
    assert_eq!((later.port, later.source_port, later.payload), (0, 0, 48));
    assert!(later.fragment && !later.is_udp());
    // This IPv6 packet has a fragment header before the UDP header.
    let whole = udp(true, false, [4433, 9], 1, &[5; 40]);
    let mut bytes = whole[..54].to_vec();
    bytes[20] = 44;
    bytes[19] += 8;
    bytes.extend([protocol::UDP, 0, 0, 1, 0, 0, 0, 9]);
    bytes.extend(&whole[54..]);
    let first = frame(&bytes);
    assert_eq!((first.port, first.payload, first.ecn), (9, 40, 1));
    bytes[57] = 0x51;
    assert!(frame(&bytes).fragment);
}
