//! The measurements of a run, as its engine returns them.
//!
//! Every counter and histogram counts events at or after the warm-up.

pub mod account_file;
mod class_samples;

use serde::{Deserialize, Serialize};

use crate::account::{Account, QueueAccount};
use crate::{
    ClassOutcome, Completions, Counts, FrameOutcome, Histogram, LinkSamples, ProgramOutcome,
    ResponsivenessOutcome, Series,
};

/// Everything one run measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Length of the run, ns.
    pub duration_ns: u64,
    /// Start of the measurement, ns.
    pub warmup_ns: u64,
    /// One for each flow, in file order.
    pub flows: Vec<FlowOutcome>,
    /// One for each link, in file order; links of the return path come after those of the forward
    /// path.
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
    /// Counts of the packet capture, if there is one.
    pub packets: Option<PacketCount>,
    /// True if packets were not observed. Then nothing that follows from packets is available
    /// (RTTs, delays, backlogs, drops and marks by flow and cause). Links only have
    /// [`LinkOutcome::totals`].
    pub unwatched: bool,
}

/// Completeness of a run's packet capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCount {
    /// Packets in the capture, counted at every interface.
    pub recorded: u64,
    /// Packets beyond the limit of a capture.
    pub lost: u64,
}

/// Measurements of one TCP flow.
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
    /// Samples of the sender's state, one at every record interval.
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
    /// What its sender waited for, and why its window shrank.
    pub account: Box<Account>,
    /// Its chunks, if its application writes in chunks.
    pub chunks: Option<Box<Completions>>,
}

/// Samples of a sender until it has delivered everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderSamples {
    /// Number of samples.
    pub n: u64,
    /// Sum of the smoothed RTTs, ns.
    pub srtt_ns: u128,
    /// Samples at which the receive window limited the sender.
    pub rwnd_limited: u64,
}

impl SenderSamples {
    /// Adds one sample.
    pub fn add(&mut self, srtt_ns: u64, rwnd_limited: bool) {
        self.n += 1;
        self.srtt_ns += u128::from(srtt_ns);
        self.rwnd_limited += u64::from(rwnd_limited);
    }
}

/// Measurements of one link and its queue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LinkOutcome {
    /// Name of the link.
    pub name: String,
    /// Name of the queue discipline.
    pub aqm: String,
    /// Enqueue to dequeue of every forwarded packet, without its own serialisation, ns.
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
    /// The queue's own counters, if packets were not observed.
    pub totals: Option<Totals>,
    /// Samples over time, if any were taken.
    pub samples: Option<LinkSamples>,
    /// Which flows filled the queue, and its drops and marks, over time.
    pub account: QueueAccount,
}

/// Counters of a queue, without cause and flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked CE; `None`: this queue does not count them.
    pub marks: Option<u64>,
}

/// Measurements of one source of traffic.
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
    /// Packets sent; for TCP, data packets.
    pub sent_packets: u64,
    /// Packets that arrived; for TCP, data packets.
    pub received_packets: u64,
    /// Frame bytes that arrived; for TCP, those of data packets.
    pub received_bytes: u64,
    /// Drops and marks of its packets at every link.
    pub counts: Counts,
    /// Of datagrams: from the source to the end of the route, queues, transmission and propagation
    /// included, ns.
    pub one_way: Histogram,
    /// Its echoes, if its datagrams are echoed.
    pub echoes: Option<Box<EchoOutcome>>,
    /// Its frames, if it sends media.
    pub frames: Option<Box<FrameOutcome>>,
    /// How long its loads of several connections took, such as pages, ns.
    pub loads: Histogram,
    /// Its responsiveness, if it measures it.
    pub responsiveness: Option<Box<ResponsivenessOutcome>>,
    /// Its requests, if it has any.
    pub completions: Option<Completions>,
    /// What their senders waited for, and why their windows shrank.
    pub account: Option<Account>,
}

/// Measurements of echoes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EchoOutcome {
    /// Requests sent.
    pub sent: u64,
    /// Those whose echo arrived.
    pub answered: u64,
    /// Those without an echo, although a later one was answered or 10 s have passed.
    pub lost: u64,
    /// From request to echo, ns.
    pub rtt: Histogram,
    /// The way back of echoes, ns.
    pub back: Histogram,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_sender_are_summed() {
        let mut samples = SenderSamples::default();
        for (srtt_ns, limited) in [(u64::MAX, true), (3, false), (4, true)] {
            samples.add(srtt_ns, limited);
        }
        let expected = SenderSamples {
            n: 3,
            srtt_ns: u128::from(u64::MAX) + 7,
            rwnd_limited: 2,
        };
        assert_eq!(samples, expected);
    }
}
