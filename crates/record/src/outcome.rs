//! What a run measured, as its engine hands it over.
//!
//! Every counter and histogram counts events at or after the warm-up.

#[cfg(feature = "folder")]
pub mod account_file;
mod class_samples;

use serde::{Deserialize, Serialize};

use crate::account::{Account, QueueAccount};
use crate::{ClassOutcome, Completions, Counts, Histogram, LinkSamples, ProgramOutcome, Series};

/// Everything one run measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Length of the run, ns.
    pub duration_ns: u64,
    /// Start of the measurement, ns.
    pub warmup_ns: u64,
    /// One for each flow, in file order.
    pub flows: Vec<FlowOutcome>,
    /// One for each link, in file order, the way back after the way there.
    pub links: Vec<LinkOutcome>,
    /// One for each traffic source.
    pub traffic: Vec<TrafficOutcome>,
    /// One for each entry of `[[programs]]`, in file order.
    pub programs: Vec<ProgramOutcome>,
    /// One for each class of flows, in the order of the scenario.
    pub classes: Vec<ClassOutcome>,
    /// Samples and events.
    pub series: Series,
    /// Data packets that TCP senders sent over the whole run, for speed figures.
    pub data_packets: u64,
    /// Calendar events processed.
    pub events: u64,
    /// Of the packet capture, if there is one.
    pub packets: Option<PacketCount>,
    /// Packets were not watched: what follows from them (RTTs, delays, backlogs,
    /// drops and marks by flow and cause) is not available. Of links there is
    /// what [`LinkOutcome::totals`] has.
    pub unwatched: bool,
}

/// How much of a run its packet capture holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCount {
    /// Packets in the capture, counted at every interface.
    pub recorded: u64,
    /// Packets beyond the limit of a capture.
    pub lost: u64,
}

/// What one TCP flow did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlowOutcome {
    /// Name of the flow.
    pub name: String,
    /// Name of its congestion control.
    pub cc: String,
    /// Start of its measurement: max(start, warm-up), ns.
    pub from_ns: u64,
    /// End of its measurement: min(stop, completion, duration), ns.
    pub to_ns: u64,
    /// Payload bytes delivered in order between the two.
    pub delivered_bytes: u64,
    /// One sample per ACK of unretransmitted data, ns.
    pub rtt: Histogram,
    /// What its sender was like at every record interval.
    pub samples: SenderSamples,
    /// Data packets sent, retransmissions included.
    pub packets: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Drops and marks of its packets (data and ACKs) at every link.
    pub counts: Counts,
    /// From the flow's start until every byte was delivered, ns.
    pub completion_ns: Option<u64>,
    /// What it waited for, and why its window shrank.
    pub account: Box<Account>,
}

/// Samples of a sender that has not brought everything yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderSamples {
    /// How many there are.
    pub n: u64,
    /// Sum of the smoothed RTTs, ns.
    pub srtt_ns: u128,
    /// Those at which the receive window held it back.
    pub rwnd_limited: u64,
}

impl SenderSamples {
    /// Adds one.
    pub fn add(&mut self, srtt_ns: u64, rwnd_limited: bool) {
        self.n += 1;
        self.srtt_ns += u128::from(srtt_ns);
        self.rwnd_limited += u64::from(rwnd_limited);
    }
}

/// What one link and its queue did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LinkOutcome {
    /// Name of the link.
    pub name: String,
    /// Name of the queue discipline.
    pub aqm: String,
    /// Enqueue to dequeue of every forwarded packet, own serialisation not
    /// included, ns.
    pub delay: Histogram,
    /// Packets forwarded.
    pub packets: u64,
    /// Frame bytes forwarded.
    pub bytes: u64,
    /// What the link could have carried between warm-up and end, bytes.
    pub capacity_bytes: f64,
    /// Drops and marks by cause.
    pub counts: Counts,
    /// Integral of the backlog over time, byte x ns.
    pub backlog_byte_ns: u128,
    /// Largest backlog, bytes.
    pub backlog_max_bytes: u64,
    /// What the queue itself has counted, where packets were not watched.
    pub totals: Option<Totals>,
    /// Samples over time, if any were taken.
    pub samples: Option<LinkSamples>,
    /// How the queue was filled and what it did, over time.
    pub account: QueueAccount,
}

/// What a queue counts, whatever the cause and the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked CE; `None`: this queue does not count them.
    pub marks: Option<u64>,
}

/// What one source of traffic did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrafficOutcome {
    /// Name of the source.
    pub name: String,
    /// Its kind, e.g. `cbr`.
    pub kind: String,
    /// Start of its measurement, ns.
    pub from_ns: u64,
    /// End of its measurement, ns.
    pub to_ns: u64,
    /// Packets sent; of TCP, of data.
    pub sent_packets: u64,
    /// Packets that arrived; of TCP, of data.
    pub received_packets: u64,
    /// Frame bytes that arrived; of TCP, of data.
    pub received_bytes: u64,
    /// Drops and marks of its packets at every link.
    pub counts: Counts,
    /// Its requests, if it has any.
    pub completions: Option<Completions>,
    /// What their senders waited for, and why their windows shrank.
    pub account: Option<Account>,
}
