//! Computes the statistics of each class of flows. The statistics describe the traffic of the
//! class's flows and sources at the first link of their route. There are statistics for the whole
//! measured time and for each interval.
//!
//! A sample covers one interval. The first interval begins at the end of the warm-up. An incomplete
//! interval at the end has no sample.

mod recorder;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{Counts, Histogram, ratio};

pub(crate) use recorder::ClassRecorder;

/// A class of flows and sources that share their first link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassPlan {
    /// Name of the class.
    pub name: String,
    /// Position of the class among all classes of the scenario.
    pub number: u32,
    /// The TCP flows and the programs in the class.
    pub flows: Vec<ClassFlow>,
    /// Numbers of the unresponsive sources in the class. The numbers of sources follow the numbers
    /// of flows.
    pub sources: Vec<u32>,
}

/// A TCP flow of a class, or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassFlow {
    /// Number of the flow or program.
    pub flow: u32,
    /// Round-trip time if all queues are empty, including the propagation delays of links, in ns.
    pub base_rtt_ns: u64,
}

/// Measurements of the packets of a class at its link.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClassOutcome {
    /// The class.
    pub class: ClassPlan,
    /// Index of the class's link in [`crate::Outcome::links`].
    pub link: u32,
    /// Queue delay of every forwarded packet, in ns. The delay is the time from enqueue to dequeue.
    pub delay: Histogram,
    /// Number of packets forwarded.
    pub packets: u64,
    /// Number of frame bytes forwarded.
    pub bytes: u64,
    /// Drops and marks by cause.
    pub counts: Counts,
    /// Counters of each interval. Empty without samples.
    pub intervals: Vec<Interval>,
    /// Frame bytes forwarded in each interval, for each flow. Empty without samples.
    pub flow_bytes: Vec<Vec<u64>>,
}

/// The traffic of a class in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Number of packets forwarded.
    pub packets: u64,
    /// Number of frame bytes forwarded.
    pub bytes: u64,
    /// Number of packets that the queue dropped. Packets that are lost after the queue count as
    /// forwarded.
    pub drops: u64,
    /// Number of CE marks.
    pub marks: u64,
    /// Sum of the queue delays of forwarded packets, in ns.
    pub delay_ns: u64,
}

impl Interval {
    /// Returns the mean queue delay, in ns.
    pub fn mean_delay_ns(&self) -> Option<f64> {
        ratio(self.delay_ns as f64, self.packets as f64)
    }

    /// Returns the number of marks divided by the number of forwarded packets. Returns `None` if no
    /// packet was forwarded.
    pub fn mark_share(&self) -> Option<f64> {
        ratio(self.marks as f64, self.packets as f64)
    }

    /// Returns the number of drops divided by the number of packets forwarded or dropped. Returns
    /// `None` if no packet was forwarded or dropped.
    pub fn drop_share(&self) -> Option<f64> {
        ratio(self.drops as f64, (self.packets + self.drops) as f64)
    }
}

/// Samples of all traffic of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSamples {
    /// Length of an interval, in ns. The first interval begins at the end of the warm-up.
    pub interval_ns: u64,
    /// Frame bytes forwarded in each interval.
    pub bytes: Vec<u64>,
    /// Bytes that the link could have carried in each interval.
    pub capacity_bytes: Vec<f64>,
}

impl LinkSamples {
    /// Divides `bytes` by the link's capacity in an interval. Returns `None` if the capacity was 0.
    pub fn utilisation(&self, interval: usize, bytes: u64) -> Option<f64> {
        ratio(bytes as f64, *self.capacity_bytes.get(interval)?)
    }
}
