//! Measurements of the programs of a run, derived from the packets of the programs. An entry of
//! `[[programs]]` is a pair of hosts. The packets of an entry are all packets between its two
//! hosts.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Counts, Histogram};

/// The measurements of the packets between two hosts since the warm-up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measures {
    /// Start of the measured time, in ns.
    pub from_ns: u64,
    /// End of the measured time, in ns.
    pub to_ns: u64,
    /// Number of packets that the sender's host sent.
    pub sent_packets: u64,
    /// Number of packets from the sender's host that reached the receiver's host.
    pub received_packets: u64,
    /// Payload bytes that arrived at the receiver's host. For TCP, these are the bytes that arrived
    /// in order according to the receiver's ACKs. For other protocols, these are the payload bytes
    /// of all packets.
    pub delivered_bytes: u64,
    /// Payload bytes that arrived at the sender's host. These bytes are counted in the same way as
    /// `delivered_bytes`.
    pub back_bytes: u64,
    /// Round-trip times, in ns. For TCP, each ACK of data that was never retransmitted provides one
    /// RTT sample. For other protocols, each RTT is an estimate: the base RTT plus the measured
    /// queue delays.
    pub rtt: Histogram,
    /// Whether `rtt` contains estimates instead of samples.
    pub rtt_estimated: bool,
    /// Queue delay of packets from the sender's host at each link of the route, from enqueue to
    /// dequeue, in ns.
    pub delay: Histogram,
    /// Drops and marks of packets from both hosts at every link.
    pub counts: Counts,
    /// Number of packets from the sender's host by the ECN field with which they were sent:
    /// Not-ECT, ECT(1), ECT(0), CE.
    pub ecn_sent: [u64; 4],
    /// Time from the first to the last packet with payload, including the warm-up, in ns. `None` if
    /// the programs might have sent further packets after the run.
    pub completion_ns: Option<u64>,
}

impl Measures {
    /// Adds the measurements of other packets. Extends the measured time to cover both sets of
    /// packets.
    pub fn merge(&mut self, other: &Measures) {
        self.from_ns = self.from_ns.min(other.from_ns);
        self.to_ns = self.to_ns.max(other.to_ns);
        let mut add = |to: fn(&mut Measures) -> &mut u64, n: u64| {
            let to = to(self);
            *to = to.saturating_add(n);
        };
        add(|m| &mut m.sent_packets, other.sent_packets);
        add(|m| &mut m.received_packets, other.received_packets);
        add(|m| &mut m.delivered_bytes, other.delivered_bytes);
        add(|m| &mut m.back_bytes, other.back_bytes);
        self.rtt.merge(&other.rtt);
        self.rtt_estimated |= other.rtt_estimated;
        self.delay.merge(&other.delay);
        self.counts.merge(&other.counts);
        for (to, n) in self.ecn_sent.iter_mut().zip(other.ecn_sent) {
            *to = to.saturating_add(n);
        }
    }
}

/// The measurements and results of an entry of `[[programs]]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProgramOutcome {
    /// Name of the entry.
    pub name: String,
    /// The entry's `kind` in the scenario. Empty if the scenario does not set the `kind`.
    pub kind: String,
    /// Measurements of all packets of the entry.
    pub measures: Measures,
    /// Measurements of each 5-tuple, in the order of their first packets. If there are more than
    /// [`MAX_TUPLES`], the last entry sums up all other 5-tuples.
    pub tuples: Vec<TupleOutcome>,
    /// How the sender's program and the receiver's program ended. `None` if the program was still
    /// running, or if the host runs no program.
    pub ends: [Option<Ended>; 2],
    /// Numbers from the program's output files, by name. The scenario selects which numbers to
    /// read. `None` if a number was not found.
    pub numbers: Vec<(String, Option<f64>)>,
    /// Output files of the entry's transport stacks in the simulator. On the kernel engine, this
    /// list is empty, because the guest itself stores the files of programs.
    #[serde(skip)]
    pub files: Vec<LeftFile>,
}

/// An output file of a transport stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftFile {
    /// Path below the entry's folder, such as `sender/out/server-1.sqlog`.
    pub path: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

/// Largest number of 5-tuples that are measured separately.
pub const MAX_TUPLES: usize = 1000;

/// The measurements of the packets of a 5-tuple, in both directions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TupleOutcome {
    /// Number of 5-tuples whose measurements this entry sums up. This number is 1, except in the
    /// last entry.
    pub tuples: u64,
    /// The number of the protocol.
    pub protocol: u8,
    /// Address and port at the sender's host. For ICMP, the port is the identifier of an echo, or 0
    /// for other messages.
    pub sender: (IpAddr, u16),
    /// Address and port at the receiver's host.
    pub receiver: (IpAddr, u16),
    /// The measurements of the packets.
    pub measures: Measures,
}

/// How the program on one of the two hosts ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The exit status, or 128 + n if signal n ended the program.
    pub status: i32,
    /// When the program ended, in ns.
    pub at_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;

    #[test]
    fn merged_measurements_cover_both_times_and_sum_the_rest() {
        let of = |from_ns, to_ns, n: u64, estimated| {
            let mut measures = Measures {
                from_ns,
                to_ns,
                sent_packets: n,
                received_packets: 2 * n,
                delivered_bytes: 3 * n,
                back_bytes: 4 * n,
                rtt_estimated: estimated,
                ecn_sent: [n, 2 * n, 3 * n, 4 * n],
                ..Measures::default()
            };
            measures.rtt.record(n);
            measures.delay.record(2 * n);
            measures.counts.add(Cause::Aqm);
            measures
        };
        let mut both = of(20, 80, 10, false);
        both.merge(&of(10, 70, 1, true));
        assert_eq!((both.from_ns, both.to_ns), (10, 80));
        assert_eq!((both.sent_packets, both.received_packets), (11, 22));
        assert_eq!((both.delivered_bytes, both.back_bytes), (33, 44));
        assert_eq!((both.rtt.sum(), both.rtt.count()), (11, 2));
        assert_eq!((both.delay.sum(), both.delay.count()), (22, 2));
        assert_eq!((both.counts.drops(), both.rtt_estimated), (2, true));
        assert_eq!(both.ecn_sent, [11, 22, 33, 44]);

        both.merge(&of(90, 95, 1, false));
        assert_eq!((both.from_ns, both.to_ns), (10, 95));
        assert!(both.rtt_estimated, "some of them are");
        let mut neither = of(0, 1, 1, false);
        neither.merge(&of(0, 1, 1, false));
        assert!(!neither.rtt_estimated);
    }
}
