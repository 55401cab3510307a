//! How long requests took: one connection each, of a source such as `web`.

use serde::{Deserialize, Serialize};

use crate::{Series, SeriesId};

/// A connection that has brought everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// When the client had the last byte, ns from the start of the run.
    pub at_ns: u64,
    /// Payload, bytes.
    pub bytes: u64,
    /// From the client's connect to its last byte, ns.
    pub took_ns: u64,
}

/// What became of the requests that began after the warm-up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Completions {
    /// Connections begun.
    pub started: u64,
    /// Requests beyond the limit of connections at a time.
    pub refused: u64,
    /// Nominal rate of the slowest link of the route, bit/s.
    pub rate_bit: u64,
    /// Base round-trip time, delays of links included, ns.
    pub rtt_ns: u64,
    /// The largest size there is, bytes.
    pub most_bytes: u64,
    /// Those that were completed before the end, in the order in which they were.
    pub done: Vec<Completion>,
}

impl Completions {
    /// Appends two rows for each completed one, at the time of its last byte: what it
    /// took (`completion_ns`), and its size (`completion_bytes`).
    pub fn rows(&self, source: &str, series: &mut Series) {
        let [took, bytes]: [SeriesId; 2] =
            ["completion_ns", "completion_bytes"].map(|q| series.id(Some(source), None, q));
        for one in &self.done {
            series.push(took, one.at_ns, one.took_ns as f64);
            series.push(bytes, one.at_ns, one.bytes as f64);
        }
    }
}
