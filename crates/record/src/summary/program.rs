//! Programs in the summary of a run.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Causes, mbit, ms, seconds};
use crate::program::{Ended, Measures, ProgramOutcome, TupleOutcome};
use crate::stat::Stat;

/// Summary of an entry of `[[programs]]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramSummary {
    /// Name of the entry.
    pub name: String,
    /// What was said as kind, if anything.
    pub kind: Option<String>,
    /// What its packets come to.
    #[serde(flatten)]
    pub measured: MeasuresSummary,
    /// Exit status of each side; `None`: still running at the end, or nothing ran there.
    pub status: Sides<i32>,
    /// When each side ended, s.
    pub exit_s: Sides<f64>,
    /// Numbers that its own files have, by name.
    #[serde(serialize_with = "by_name")]
    pub results: Vec<(String, Option<f64>)>,
    /// The same measures by 5-tuple.
    pub tuples: Vec<TupleSummary>,
}

/// Something of each side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sides<T> {
    /// Of the sender's.
    pub sender: Option<T>,
    /// Of the receiver's.
    pub receiver: Option<T>,
}

/// Summary of a 5-tuple of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TupleSummary {
    /// Name of the protocol, or its number; `None`: several tuples.
    pub protocol: Option<String>,
    /// Address and port at the sender's host.
    pub sender: Option<String>,
    /// Address and port at the receiver's.
    pub receiver: Option<String>,
    /// 5-tuples it stands for.
    pub tuples: u64,
    /// What was measured.
    #[serde(flatten)]
    pub measured: MeasuresSummary,
}

/// Summary of what packets come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuresSummary {
    /// Payload that arrived at the receiver's host over the measured time, Mbit/s.
    pub throughput_mbit: Option<f64>,
    /// Payload that arrived at the sender's, Mbit/s.
    pub back_mbit: Option<f64>,
    /// From the first to the last packet with payload, s.
    pub completion_s: Option<f64>,
    /// Round-trip times, ms.
    #[serde(serialize_with = "part")]
    pub rtt_ms: Stat,
    /// What they are: `tcp` or `base and sojourn`.
    pub rtt_of: Option<&'static str>,
    /// Enqueue to dequeue of the packets of the sender's host, ms.
    #[serde(serialize_with = "part")]
    pub delay_ms: Stat,
    /// Packets that the sender's host sent.
    pub packets: u64,
    /// Those of them that arrived.
    pub received_packets: u64,
    /// Drops of packets of both hosts at every link.
    pub drops: Option<u64>,
    /// CE marks of them.
    pub marks: Option<u64>,
    /// SCE marks of them.
    pub sce_marks: Option<u64>,
    /// Drops and marks by cause, those that happened.
    pub causes: Option<Causes>,
    /// Packets of the sender's host by ECN field.
    pub ecn_sent: EcnSummary,
    /// Payload that arrived at the receiver's host over the measured time, bytes.
    pub delivered_bytes: u64,
    /// The same of the sender's, bytes.
    pub back_bytes: u64,
    /// Start of the measured time, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
}

/// Packets by ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EcnSummary {
    /// Not capable of ECN.
    pub not_ect: u64,
    /// ECT(1).
    pub ect1: u64,
    /// ECT(0).
    pub ect0: u64,
    /// Congestion experienced.
    pub ce: u64,
}

fn part<S: Serializer>(stat: &Stat, serializer: S) -> Result<S::Ok, S::Error> {
    stat.only(&["mean", "p50", "p99", "max"], serializer)
}

fn by_name<S: Serializer>(
    numbers: &[(String, Option<f64>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(numbers.len()))?;
    for (name, number) in numbers {
        map.serialize_entry(name, number)?;
    }
    map.end()
}

impl ProgramSummary {
    /// Summarises a program. `watched`: packets were.
    pub(super) fn new(program: &ProgramOutcome, watched: bool) -> ProgramSummary {
        let [sender, receiver] = program.ends;
        let at = |end: Option<Ended>| end.map(|end| seconds(end.at_ns));
        ProgramSummary {
            name: program.name.clone(),
            kind: Some(program.kind.clone()).filter(|kind| !kind.is_empty()),
            measured: MeasuresSummary::new(&program.measures, watched),
            status: Sides {
                sender: sender.map(|end| end.status),
                receiver: receiver.map(|end| end.status),
            },
            exit_s: Sides {
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

/// Address and port; of protocols without ports the address alone.
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
        // Where there are none, nothing is said of any.
        let none = serde_json::to_value(Summary::new(&Outcome::default(), "", 0));
        assert!(none.expect("plain data").get("programs").is_none());
    }
}
