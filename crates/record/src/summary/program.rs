//! Programs in the summary of a run.

use std::net::{IpAddr, SocketAddr};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::field::Weight::{Bytes, Count, Once, Packets, Samples};
use super::field::{Field, Kind, Value, about, fields, measured};
use super::{Causes, mbit, ms, seconds};
use crate::program::{Ended, Measures, ProgramOutcome, TupleOutcome};
use crate::stat::Stat;

fields! {
    /// Summary of an entry of `[[programs]]`.
    pub struct ProgramSummary {
        /// Name of the entry.
        name: String = about();
        /// The entry's kind, if the scenario sets the kind.
        kind: Option<String> = about();
        /// Measurements of the packets of this entry of `[[programs]]`.
        inline measured: MeasuresSummary;
        /// Exit status of each side; null if the side's program was still running at the end, or if
        /// the side did not run a program.
        status: StatusSummary = about();
        /// When each side ended.
        exit_s: ExitSummary = about();
        /// Numbers from the program's output files, by name.
        results: Vec<(String, Option<f64>)> = about();
        /// The measurements of each 5-tuple.
        tuples: Vec<TupleSummary> = about();
    }
}

fields! {
    /// Exit status of each side.
    pub struct StatusSummary {
        /// Exit status of the sender's side.
        sender: Option<i32> = about();
        /// Exit status of the receiver's side.
        receiver: Option<i32> = about();
    }
}

fields! {
    /// When each side ended.
    pub struct ExitSummary {
        /// Time at which the program on the sender's host ended.
        sender: Option<f64> = measured("s", Once);
        /// Time at which the program on the receiver's host ended.
        receiver: Option<f64> = measured("s", Once);
    }
}

fields! {
    /// Summary of a 5-tuple of a program.
    pub struct TupleSummary {
        /// Name of the protocol, or its number; null if the item sums up several 5-tuples.
        protocol: Option<String> = about();
        /// Address and port at the sender's host.
        sender: Option<String> = about();
        /// Address and port at the receiver's host.
        receiver: Option<String> = about();
        /// Number of 5-tuples that the item sums up.
        tuples: u64 = about();
        /// The measurements.
        inline measured: MeasuresSummary;
    }
}

fields! {
    /// Measurements of a set of packets.
    pub struct MeasuresSummary {
        /// Payload that reached the receiver's host, divided by the measured time.
        throughput_mbit: Option<f64> = measured("Mbit/s", Bytes).more();
        /// Payload that reached the sender's host, divided by the measured time.
        back_mbit: Option<f64> = measured("Mbit/s", Bytes).more();
        /// Time from the first to the last packet with payload.
        completion_s: Option<f64> = measured("s", Once).less();
        /// Round-trip time, derived from the packets.
        rtt_ms: Stat = measured("ms", Samples).only(&["mean", "p50", "p99", "max"]).less();
        /// How the round-trip times are measured: `tcp` or `base and sojourn`.
        rtt_of: Option<&'static str> = about();
        /// Queue delay of the packets that the sender's host sent.
        delay_ms: Stat = measured("ms", Packets).only(&["mean", "p50", "p99", "max"]).less();
        /// Number of packets that the sender's host sent.
        packets: u64 = measured("packets", Count);
        /// Number of packets from the sender's host that arrived at the receiver's host.
        received_packets: u64 = measured("packets", Count);
        /// Number of drops of packets from both hosts, summed over all links.
        drops: Option<u64> = measured("packets", Count).less();
        /// Number of CE marks of packets from both hosts, summed over all links.
        marks: Option<u64> = measured("packets", Count);
        /// Number of SCE marks of packets from both hosts, summed over all links.
        sce_marks: Option<u64> = measured("packets", Count);
        /// Drops and marks by cause, without causes that did not occur.
        causes: Option<Causes> = about();
        /// Packets of the sender's host by ECN field.
        ecn_sent: EcnSummary = about();
        /// Payload that reached the receiver's host during the measured time.
        delivered_bytes: u64 = measured("byte", Bytes).more();
        /// Payload that reached the sender's host during the measured time.
        back_bytes: u64 = measured("byte", Bytes).more();
        /// Start of the measured time, s.
        from_s: f64 = about();
        /// End of the measured time, s.
        to_s: f64 = about();
    }
}

fields! {
    /// Packets of a program's sender by ECN field.
    pub struct EcnSummary {
        /// Number of packets sent as Not-ECT.
        not_ect: u64 = measured("packets", Count);
        /// Number of packets sent with ECT(1).
        ect1: u64 = measured("packets", Count);
        /// Number of packets sent with ECT(0).
        ect0: u64 = measured("packets", Count);
        /// Number of packets sent with CE.
        ce: u64 = measured("packets", Count);
    }
}

/// Named numbers, written as a table.
impl Value for Vec<(String, Option<f64>)> {
    const KIND: Kind = Kind::Numbers;

    fn write<M: SerializeMap>(&self, field: &Field, table: &mut M) -> Result<(), M::Error> {
        table.serialize_entry(field.name, &Named(self))
    }
}

struct Named<'a>(&'a [(String, Option<f64>)]);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, number)| (name, number)))
    }
}

impl ProgramSummary {
    /// Summarises a program. `watched` tells whether packets were captured.
    pub(super) fn new(program: &ProgramOutcome, watched: bool) -> ProgramSummary {
        let [sender, receiver] = program.ends;
        let at = |end: Option<Ended>| end.map(|end| seconds(end.at_ns));
        ProgramSummary {
            name: program.name.clone(),
            kind: Some(program.kind.clone()).filter(|kind| !kind.is_empty()),
            measured: MeasuresSummary::new(&program.measures, watched),
            status: StatusSummary {
                sender: sender.map(|end| end.status),
                receiver: receiver.map(|end| end.status),
            },
            exit_s: ExitSummary {
                sender: at(sender),
                receiver: at(receiver),
            },
            results: program.numbers.clone(),
            tuples: (program.tuples.iter())
                .map(|tuple| TupleSummary::new(tuple, watched))
                .collect(),
        }
    }
}

impl TupleSummary {
    fn new(tuple: &TupleOutcome, watched: bool) -> TupleSummary {
        let one = tuple.tuples == 1;
        let end = |(address, port)| one.then(|| named(tuple.protocol, address, port));
        TupleSummary {
            protocol: one.then(|| match tuple.protocol {
                1 => "icmp".to_owned(),
                6 => "tcp".to_owned(),
                17 => "udp".to_owned(),
                58 => "icmpv6".to_owned(),
                number => number.to_string(),
            }),
            sender: end(tuple.sender),
            receiver: end(tuple.receiver),
            tuples: tuple.tuples,
            measured: MeasuresSummary::new(&tuple.measures, watched),
        }
    }
}

/// Formats address and port. Formats only the address for protocols without ports.
fn named(protocol: u8, address: IpAddr, port: u16) -> String {
    if [6, 17].contains(&protocol) {
        SocketAddr::new(address, port).to_string()
    } else {
        address.to_string()
    }
}

impl MeasuresSummary {
    fn new(of: &Measures, watched: bool) -> MeasuresSummary {
        let counts = watched.then_some(of.counts);
        let [not_ect, ect1, ect0, ce] = of.ecn_sent;
        let rtt_of = match of.rtt_estimated {
            true => "base and sojourn",
            false => "tcp",
        };
        MeasuresSummary {
            throughput_mbit: mbit(of.delivered_bytes, of.from_ns, of.to_ns),
            back_mbit: mbit(of.back_bytes, of.from_ns, of.to_ns),
            completion_s: of.completion_ns.map(seconds),
            rtt_ms: Stat::of_histogram(&of.rtt).map(ms),
            rtt_of: (of.rtt.count() > 0).then_some(rtt_of),
            delay_ms: Stat::of_histogram(&of.delay).map(ms),
            packets: of.sent_packets,
            received_packets: of.received_packets,
            drops: counts.map(|c| c.drops()),
            marks: counts.map(|c| c.marks()),
            sce_marks: counts.map(|c| c.sce_marks()),
            causes: counts.map(Causes),
            ecn_sent: EcnSummary {
                not_ect,
                ect1,
                ect0,
                ce,
            },
            delivered_bytes: of.delivered_bytes,
            back_bytes: of.back_bytes,
            from_s: seconds(of.from_ns),
            to_s: seconds(of.to_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::{Cause, Outcome, Summary};

    #[test]
    fn a_program_in_the_summary() {
        let mut measures = Measures {
            from_ns: 2_000_000_000,
            to_ns: 12_000_000_000,
            sent_packets: 5,
            received_packets: 4,
            delivered_bytes: 12_500_000,
            back_bytes: 1_250_000,
            rtt_estimated: true,
            ecn_sent: [1, 0, 4, 0],
            completion_ns: Some(8_466_000_000),
            ..Measures::default()
        };
        measures.rtt.record(20_500_000);
        measures.delay.record(500_000);
        measures.counts.add(Cause::Aqm);
        measures.counts.add(Cause::Mark);
        let tuple = |tuples, protocol, ends: [IpAddr; 2], measures: &Measures| TupleOutcome {
            tuples,
            protocol,
            sender: (ends[0], 4433),
            receiver: (ends[1], 50_000),
            measures: measures.clone(),
        };
        let v4 = [[10, 3, 0, 1], [10, 4, 0, 1]].map(|a| IpAddr::from(Ipv4Addr::from(a)));
        let v6 = IpAddr::from(Ipv6Addr::new(0xfd00, 3, 0, 0, 0, 0, 0, 1));
        let mut twice = measures.clone();
        twice.merge(&measures);
        assert_eq!((twice.delivered_bytes, twice.rtt.count()), (25_000_000, 2));
        assert_eq!(twice.ecn_sent, [2, 0, 8, 0]);
        let program = ProgramOutcome {
            name: "quic".to_owned(),
            tuples: vec![
                tuple(1, 17, v4, &measures),
                tuple(1, 58, [v6, v6], &Measures::default()),
                tuple(7, 0, v4, &twice),
            ],
            measures,
            ends: [
                None,
                Some(Ended {
                    status: 0,
                    at_ns: 8_500_000_000,
                }),
            ],
            numbers: vec![
                ("goodput_mbit".to_owned(), Some(18.5)),
                ("loss".to_owned(), None),
            ],
            ..ProgramOutcome::default()
        };
        let outcome = Outcome {
            duration_ns: 12_000_000_000,
            programs: vec![program],
            ..Outcome::default()
        };
        let json = serde_json::to_value(Summary::new(&outcome, "", 0)).expect("plain data");
        let mut one = json["programs"][0].clone();
        let mut tuples = one["tuples"].take();
        assert_eq!(
            one,
            serde_json::json!({
                "name": "quic", "kind": null,
                "throughput_mbit": 10.0, "back_mbit": 1.0, "completion_s": 8.466,
                "rtt_ms": {"mean": 20.5, "p50": 20.5, "p99": 20.5, "max": 20.5},
                "rtt_of": "base and sojourn",
                "delay_ms": {"mean": 0.5, "p50": 0.5, "p99": 0.5, "max": 0.5},
                "packets": 5, "received_packets": 4, "drops": 1, "marks": 1, "sce_marks": 0,
                "causes": {"aqm": 1, "mark": 1},
                "ecn_sent": {"not_ect": 1, "ect1": 0, "ect0": 4, "ce": 0},
                "delivered_bytes": 12_500_000, "back_bytes": 1_250_000,
                "from_s": 2.0, "to_s": 12.0,
                "status": {"sender": null, "receiver": 0},
                "exit_s": {"sender": null, "receiver": 8.5},
                "results": {"goodput_mbit": 18.5, "loss": null},
                "tuples": null,
            })
        );
        assert_eq!(tuples[0]["protocol"], "udp");
        assert_eq!(tuples[0]["sender"], "10.3.0.1:4433");
        assert_eq!(tuples[1]["protocol"], "icmpv6");
        assert_eq!(tuples[1]["receiver"], "fd00:3::1");
        assert!(tuples[1]["rtt_of"].is_null());
        assert!(tuples[2]["sender"].is_null());
        assert_eq!(tuples[2]["tuples"].take(), 7);
        // Without programs, the summary has no key `programs`.
        let none = serde_json::to_value(Summary::new(&Outcome::default(), "", 0));
        assert!(none.expect("plain data").get("programs").is_none());
    }
}
