//! The measurements of a run, in the form in which its engine returns them.
//!
//! Every counter and histogram counts only events at or after the end of the warm-up.

pub mod account_file;
mod class_samples;

use serde::{Deserialize, Serialize};

use crate::account::{Account, QueueAccount};
use crate::{
    ClassOutcome, Completions, Counts, FrameOutcome, Histogram, LinkSamples, ProgramOutcome,
    ResponsivenessOutcome, Series,
};

/// All measurements of one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Length of the run, in ns.
    pub duration_ns: u64,
    /// Start of the measured time, in ns.
    pub warmup_ns: u64,
    /// The outcome of each flow, in file order.
    pub flows: Vec<FlowOutcome>,
    /// The outcome of each link, in file order. Links of the return path come after links of the
    /// forward path.
    pub links: Vec<LinkOutcome>,
    /// The outcome of each traffic source.
    pub traffic: Vec<TrafficOutcome>,
    /// The outcome of each entry of `[[programs]]`, in file order.
    pub programs: Vec<ProgramOutcome>,
    /// The outcome of each class of flows, in the order of the scenario.
    pub classes: Vec<ClassOutcome>,
    /// Samples and events over time.
    pub series: Series,
    /// Number of data packets that TCP senders sent in the whole run. tailback computes the
    /// engine's speed from this number.
    pub data_packets: u64,
    /// Number of calendar events processed.
    pub events: u64,
    /// Packet counts of the capture, if the run has a capture.
    pub packets: Option<PacketCount>,
    /// True if packets were not captured. Without captured packets, everything that is computed
    /// from packets is missing: RTTs, delays, backlogs, and the numbers of drops and marks for each
    /// flow and cause. Only [`LinkOutcome::totals`] then contains the drops and marks of links.
    pub unwatched: bool,
}

/// Packet counts of a capture, which show whether the capture is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCount {
    /// Number of packets in the capture. A packet counts once for every interface that captures the
    /// packet.
    pub recorded: u64,
    /// Number of packets that are missing from the capture because the capture reached its size
    /// limit.
    pub lost: u64,
}

/// The measurements of one TCP flow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlowOutcome {
    /// Name of the flow.
    pub name: String,
    /// Name of the congestion control.
    pub cc: String,
    /// Start of the measured time: max(start, warm-up), in ns.
    pub from_ns: u64,
    /// End of the measured time: min(stop, completion, duration), in ns.
    pub to_ns: u64,
    /// Payload bytes delivered in order in the measured time.
    pub delivered_bytes: u64,
    /// RTT samples, in ns. Each ACK of data that was never retransmitted provides one RTT sample.
    pub rtt: Histogram,
    /// Samples of the sender's state, one for each record interval.
    pub samples: SenderSamples,
    /// Number of data packets sent, including retransmissions.
    pub packets: u64,
    /// Number of data packets retransmitted.
    pub retransmits: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Drops and marks of the flow's packets (data and ACKs) at every link.
    pub counts: Counts,
    /// Time from the flow's start until every byte was delivered, in ns.
    pub completion_ns: Option<u64>,
    /// What the sender waited for, and why its window shrank.
    pub account: Box<Account>,
    /// Measurements of the chunks that the flow's application writes, if the application writes
    /// chunks.
    pub chunks: Option<Box<Completions>>,
}

/// Sums over a sender's samples. Sampling ends when all data of the sender has been delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderSamples {
    /// Number of samples.
    pub n: u64,
    /// Sum of the smoothed RTTs, in ns.
    pub srtt_ns: u128,
    /// Number of samples at which the receive window limited the sender.
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

/// The measurements of one link and its queue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LinkOutcome {
    /// Name of the link.
    pub name: String,
    /// Name of the queue discipline.
    pub aqm: String,
    /// Queue delay of every forwarded packet, in ns. The delay is the time from enqueue to dequeue,
    /// without the packet's own serialisation.
    pub delay: Histogram,
    /// Number of packets forwarded.
    pub packets: u64,
    /// Number of frame bytes forwarded.
    pub bytes: u64,
    /// Bytes that the link could have carried between warm-up and end.
    pub capacity_bytes: f64,
    /// Drops and marks by cause.
    pub counts: Counts,
    /// Integral of the backlog over time, in byte x ns.
    pub backlog_byte_ns: u128,
    /// Largest backlog, in bytes.
    pub backlog_max_bytes: u64,
    /// Total drops and marks according to the queue's own counters. `None` if packets were
    /// captured.
    pub totals: Option<Totals>,
    /// Samples over time, if the run took samples.
    pub samples: Option<LinkSamples>,
    /// Which flows filled the queue, and when the queue dropped and marked packets.
    pub account: QueueAccount,
}

/// Drops and marks of a queue, without their causes and flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Number of packets dropped.
    pub drops: u64,
    /// Number of packets marked CE. `None` if the queue does not count marks.
    pub marks: Option<u64>,
}

/// The measurements of one traffic source.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrafficOutcome {
    /// Name of the source.
    pub name: String,
    /// Kind of the source, such as `cbr`.
    pub kind: String,
    /// Start of the measured time, in ns.
    pub from_ns: u64,
    /// End of the measured time, in ns.
    pub to_ns: u64,
    /// Number of packets sent. For TCP, only data packets count.
    pub sent_packets: u64,
    /// Number of packets that arrived. For TCP, only data packets count.
    pub received_packets: u64,
    /// Frame bytes that arrived. For TCP, only the bytes of data packets count.
    pub received_bytes: u64,
    /// Drops and marks of the source's packets at every link.
    pub counts: Counts,
    /// One-way delay of datagrams from the source to the end of the route, in ns. The delay
    /// includes queueing, transmission and propagation.
    pub one_way: Histogram,
    /// Measurements of echoes, if the receiver echoes datagrams.
    pub echoes: Option<Box<EchoOutcome>>,
    /// The measurements of frames, if the source sends media.
    pub frames: Option<Box<FrameOutcome>>,
    /// Load times of items that need several connections, such as web pages, in ns.
    pub loads: Histogram,
    /// Results of the responsiveness test, if the source runs such a test.
    pub responsiveness: Option<Box<ResponsivenessOutcome>>,
    /// The measurements of requests, if the source makes requests.
    pub completions: Option<Completions>,
    /// What the source's senders waited for, and why their windows shrank.
    pub account: Option<Account>,
}

/// The measurements of a source whose receiver echoes datagrams.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EchoOutcome {
    /// Number of requests sent.
    pub sent: u64,
    /// Number of requests whose echo arrived.
    pub answered: u64,
    /// Number of lost requests. A request counts as lost if its echo does not arrive within 10 s,
    /// or if the echo of a later request arrives first.
    pub lost: u64,
    /// Time from request to echo, in ns.
    pub rtt: Histogram,
    /// One-way delay of echoes, in ns.
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
