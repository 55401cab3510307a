//! What the programs of a run did, as the network saw it: an entry of `[[programs]]`
//! is a pair of hosts, and its packets are those between the two.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Counts, Histogram};

/// What the packets between two hosts come to, from the warm-up on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measures {
    /// Start of the measured time, ns.
    pub from_ns: u64,
    /// Its end, ns.
    pub to_ns: u64,
    /// Packets that the sender's host sent.
    pub sent_packets: u64,
    /// Those of them that reached the receiver's host.
    pub received_packets: u64,
    /// Payload that arrived at the receiver's host: of UDP and the others every byte,
    /// of TCP what came in order, as the receiver's ACKs say.
    pub delivered_bytes: u64,
    /// The same of the sender's host.
    pub back_bytes: u64,
    /// Round-trip times, ns: of TCP a sample for each ACK of data sent once, of the others
    /// what the queues make of the one without them.
    pub rtt: Histogram,
    /// Whether it holds any of the latter.
    pub rtt_estimated: bool,
    /// Enqueue to dequeue of the packets of the sender's host, at each link of its route, ns.
    pub delay: Histogram,
    /// Drops and marks of the packets of both hosts at every link.
    pub counts: Counts,
    /// Packets of the sender's host by their ECN field as they were sent: not capable, ECT(1), ECT(0), CE.
    pub ecn_sent: [u64; 4],
    /// From the first to the last packet with payload, the warm-up included, if it is
    /// known to be over, ns.
    pub completion_ns: Option<u64>,
}

impl Measures {
    /// Adds what another one counted; the measured time covers both.
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

/// What an entry of `[[programs]]` did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ProgramOutcome {
    /// Name of the entry.
    pub name: String,
    /// What was said as kind; empty: nothing.
    pub kind: String,
    /// What its packets come to.
    pub measures: Measures,
    /// The same by 5-tuple, in the order of their first packets; behind the first
    /// [`MAX_TUPLES`] one for all others.
    pub tuples: Vec<TupleOutcome>,
    /// How the sender's and the receiver's side ended; `None`: still running then, or
    /// nothing ran there.
    pub ends: [Option<Ended>; 2],
    /// Numbers that its own files have, by name; `None`: not found there.
    pub numbers: Vec<(String, Option<f64>)>,
}

/// 5-tuples of a program that are told apart in its results.
pub const MAX_TUPLES: usize = 1000;

/// What the packets of a 5-tuple come to, in both directions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TupleOutcome {
    /// 5-tuples it stands for: one, or what was too many.
    pub tuples: u64,
    /// The protocol's number.
    pub protocol: u8,
    /// Address and port at the sender's host; the port of ICMP is the identifier of an
    /// echo, and 0 where there is none.
    pub sender: (IpAddr, u16),
    /// At the receiver's host.
    pub receiver: (IpAddr, u16),
    /// What was measured.
    pub measures: Measures,
}

/// How a side of a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Exit status; 128 + n of a signal.
    pub status: i32,
    /// When, ns.
    pub at_ns: u64,
}
