//! Tests that a capture contains every packet, and that ECN fields and times agree with the
//! results.

#[allow(dead_code, reason = "other tests use the rest")]
mod toy;

use std::collections::{BTreeMap, VecDeque};

use tailback_sim::{Bottleneck, Capture, Ecn, Results, Simulation, Time};
use toy::{Receiver, Sender};

/// A scenario with two links. The first link marks and drops packets.
const PATH: &str = r#"
duration = "5s"
[links.access]
rate = "8Mbit"
queue = { aqm = "fq_codel", ecn = true }
[links.core]
rate = "9Mbit"
queue = { aqm = "fifo", limit = "20p" }
loss = 0.001
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
ecn = true
route = ["access", "core"]
[[flows]]
cc = "reno"
route = ["access", "core"]
[[traffic]]
kind = "cbr"
rate = "1Mbit"
route = ["core"]
[[programs]]
name = "mine"
route = ["access", "core"]
"#;

fn run(capture: Option<Capture>) -> Results {
    let simulation = Simulation::from_toml(PATH).expect("a scenario");
    let simulation = match capture {
        Some(capture) => simulation.capture(capture).expect("known names"),
        None => simulation,
    };
    let sender = Sender::new(Ecn::Ect0, None);
    let attached = simulation.attach("mine", sender, Receiver::default());
    attached.and_then(Simulation::run).expect("a run")
}

/// A packet in a pcapng file.
#[derive(Clone)]
struct Packet {
    interface: String,
    time_ns: u64,
    /// Length of the packet on the wire.
    length: u32,
    bytes: Vec<u8>,
    comment: Option<String>,
}

impl Packet {
    fn ecn(&self) -> u8 {
        self.bytes[15] & 3
    }

    /// The protocol, addresses and ports of the packet.
    fn tuple(&self) -> Vec<u8> {
        [&self.bytes[23..24], &self.bytes[26..38]].concat()
    }

    fn is_udp(&self) -> bool {
        self.bytes[23] == 17
    }
}

const CE: u8 = 3;

/// Reads a pcapng file according to the pcapng draft.
fn read(mut file: &[u8]) -> Vec<Packet> {
    let word = |at: &[u8]| u32::from_le_bytes([at[0], at[1], at[2], at[3]]);
    let option = |mut options: &[u8], wanted: u16| loop {
        if options.len() < 4 {
            return None;
        }
        let code = u16::from_le_bytes([options[0], options[1]]);
        let len = usize::from(u16::from_le_bytes([options[2], options[3]]));
        if code == wanted {
            return Some(String::from_utf8(options[4..4 + len].to_vec()).expect("UTF-8"));
        }
        options = &options[4 + len.next_multiple_of(4)..];
    };
    let (mut interfaces, mut packets) = (Vec::new(), Vec::new());
    while !file.is_empty() {
        let length = word(&file[4..]) as usize;
        assert_eq!(word(&file[length - 4..]) as usize, length);
        let body = &file[8..length - 4];
        match word(file) {
            0x0A0D_0D0A => assert_eq!(word(body), 0x1A2B_3C4D),
            1 => interfaces.push(option(&body[8..], 2).expect("a name")),
            6 => {
                let kept = word(&body[12..]) as usize;
                packets.push(Packet {
                    interface: interfaces[word(body) as usize].clone(),
                    time_ns: u64::from(word(&body[4..])) << 32 | u64::from(word(&body[8..])),
                    length: word(&body[16..]),
                    bytes: body[20..20 + kept].to_vec(),
                    comment: option(&body[20 + kept.next_multiple_of(4)..], 1),
                });
            }
            other => panic!("a block of kind {other}"),
        }
        file = &file[length..];
    }
    packets
}

fn packets(results: &Results) -> Vec<Packet> {
    read(results.pcapng().expect("a capture"))
}

fn at<'p>(all: &'p [Packet], interface: &'p str) -> impl Iterator<Item = &'p Packet> {
    all.iter().filter(move |one| one.interface == interface)
}

#[test]
fn every_packet_is_captured_with_its_ecn_field_and_its_times() {
    let results = run(Some(Capture::all()));
    let all = packets(&results);
    let count = results.captured().expect("a capture");
    assert_eq!((count.recorded, count.lost), (all.len() as u64, 0));
    assert!(all.is_sorted_by_key(|one| one.time_ns));
    assert!(all.iter().all(|one| one.time_ns < 5_000_000_000));
    for link in ["access", "core"] {
        let counted = results.link(link);
        let [arrived, left, dropped] =
            ["in", "out", "drop"].map(|what| at(&all, &format!("{link}.{what}")).count() as u64);
        assert_eq!(left, counted.packets, "{link}");
        assert_eq!(Some(dropped), counted.drops, "{link}");
        // A packet that is lost after the queue counts twice: as departed and as dropped.
        let lost = at(&all, &format!("{link}.drop"))
            .filter(|one| one.comment.as_deref() == Some("loss"))
            .count() as u64;
        let queued = arrived + lost - left - dropped;
        assert!(queued < 200, "{queued} packets are in the queue of {link}");
        // The senders never send CE, so each packet that leaves with CE was marked at this link or
        // at an earlier link.
        let marked = |what: &str| {
            let name = format!("{link}.{what}");
            at(&all, &name).filter(|one| one.ecn() == CE).count() as u64
        };
        let arrived_marked = marked("in");
        assert_eq!(
            Some(marked("out") - arrived_marked),
            counted.marks,
            "{link}"
        );
    }
    let marks: u64 = ["cubic", "reno", "mine", "cbr"]
        .map(|name| results.marks(name))
        .iter()
        .sum();
    let marked = at(&all, "access.out").filter(|one| one.ecn() == CE).count() as u64;
    assert!(marks > 20);
    assert_eq!(marked, marks);
    // Packets with the same addresses and ports keep their order in a queue. The queue delays of
    // such packets can therefore be computed from the times in the capture.
    let mut waiting: BTreeMap<Vec<u8>, VecDeque<u64>> = BTreeMap::new();
    let mut delays = Vec::new();
    for one in all.iter().filter(|one| one.interface.starts_with("core")) {
        let queue = waiting.entry(one.tuple()).or_default();
        match one.interface.as_str() {
            "core.in" => queue.push_back(one.time_ns),
            "core.out" => {
                let arrived = queue.pop_front().expect("it arrived");
                delays.push((one.time_ns - arrived) as f64 / 1e6);
            }
            // A full FIFO drops the packet that arrives.
            _ if one.comment.as_deref() != Some("loss") => {
                queue.pop_back();
            }
            _ => {}
        }
    }
    let measured = results.link("core").delay_ms;
    assert_eq!(delays.len() as u64, measured.n);
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!(
        (mean - measured.mean.expect("packets")).abs() < 1e-6,
        "{mean} {measured:?}"
    );
    let longest = delays.iter().fold(0.0, |a: f64, b| a.max(*b));
    assert!((longest - measured.max.expect("packets")).abs() < 1e-6);
}

#[test]
fn a_filter_keeps_exactly_its_packets() {
    let all = packets(&run(Some(Capture::all())));
    let results = run(Some(Capture::all().at("access").of("mine").snap_length(34)));
    let some = packets(&results);
    let expected = all
        .iter()
        .filter(|one| one.interface.starts_with("access") && one.is_udp());
    let key = |one: &Packet| (one.time_ns, one.length, one.interface.clone(), one.ecn());
    let expected: Vec<_> = expected.map(key).collect();
    assert_eq!(some.iter().map(key).collect::<Vec<_>>(), expected);
    assert!(some.iter().all(|one| one.bytes.len() == 34));
    let sent = results.endpoints("mine").measured.ecn_sent.ect0;
    // At the end of the run, the last datagrams have not reached the link yet.
    let on_the_way = sent - at(&some, "access.in").count() as u64;
    assert!(on_the_way < 10, "{on_the_way} of {sent}");
    // Each datagram has 1200 bytes, and 42 bytes of headers.
    assert!(some.iter().all(|one| one.length == 1242));
}

#[test]
fn a_capture_changes_no_result_and_repeats_byte_by_byte() {
    let [one, again] = [(); 2].map(|()| run(Some(Capture::all())));
    assert_eq!(one.pcapng(), again.pcapng());
    let without = run(None);
    assert_eq!(one.to_json(), without.to_json());
    assert_eq!((without.pcapng(), without.captured()), (None, None));
    // The scenario's key `record.packets` has the same effect as the call of `capture`.
    let text = format!("{PATH}[record]\npackets = true\n");
    let simulation = Simulation::from_toml(&text).expect("a scenario");
    let sender = Sender::new(Ecn::Ect0, None);
    let attached = simulation.attach("mine", sender, Receiver::default());
    let by_key = attached.and_then(Simulation::run).expect("a run");
    assert_eq!(by_key.pcapng(), one.pcapng());
}

#[test]
fn unknown_names_are_errors() {
    let error = |capture| {
        let simulation = Simulation::from_toml(PATH).expect("a scenario");
        simulation
            .capture(capture)
            .err()
            .expect("an error")
            .to_string()
    };
    assert_eq!(
        error(Capture::all().at("acess")),
        "there is no \"acess\" to capture; use one of access, core"
    );
    assert_eq!(
        error(Capture::all().of("bbr")),
        "there is no \"bbr\" to capture; use one of cubic, reno, cbr, mine"
    );
}

#[test]
fn a_bottleneck_captures_while_it_runs() {
    let text = "duration = \"1s\"\n[bottleneck]\nrate = \"1Mbit\"\nqueue = \"fifo\"\n\
                [path]\nrtt = \"10ms\"\n[[programs]]\nname = \"mine\"\n[record]\npackets = true\n";
    let mut bottleneck = Bottleneck::from_toml(text).expect("a scenario");
    for handle in 0..3 {
        bottleneck.push(Time::ZERO, 1208, Ecn::Ect1, handle);
    }
    let seen = |bottleneck: &Bottleneck| read(bottleneck.pcapng().expect("a capture")).len();
    assert_eq!(seen(&bottleneck), 0);
    // The datagrams reach the link after 5 ms. The link then sends one datagram every 10 ms.
    let first = bottleneck.poll(Time::from_ms(6)).expect("a datagram");
    assert_eq!((first.handle, first.at), (0, Time::from_ms(5)));
    assert_eq!(seen(&bottleneck), 4);
    while let Some(time) = bottleneck.next() {
        while bottleneck.poll(time).is_some() {}
    }
    let live = bottleneck.pcapng().expect("a capture").to_vec();
    let results = bottleneck.finish(Time::from_ms(100));
    assert_eq!(results.pcapng(), Some(&live[..]));
    let all = packets(&results);
    let times = |what| {
        at(&all, what)
            .map(|one| one.time_ns / 1_000_000)
            .collect::<Vec<_>>()
    };
    assert_eq!(times("bottleneck.in"), [5, 5, 5]);
    assert_eq!(times("bottleneck.out"), [5, 15, 25]);
    assert!(all.iter().all(|one| one.ecn() == 1 && one.length == 1250));
}
