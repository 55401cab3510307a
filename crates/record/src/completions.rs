//! How long requests took. Each is one connection of a source such as `web`, or a chunk of a flow.

use serde::{Deserialize, Serialize};

use crate::{Series, SeriesId};

/// A completed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// When the client received the last byte, ns from the start of the run.
    pub at_ns: u64,
    /// Payload, bytes.
    pub bytes: u64,
    /// From the client's connect to its last byte, ns.
    pub took_ns: u64,
}

/// The requests that began after the warm-up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Completions {
    /// Connections begun.
    pub started: u64,
    /// Requests rejected because of the limit on simultaneous connections.
    pub refused: u64,
    /// Nominal rate of the slowest link of the route, bit/s.
    pub rate_bit: u64,
    /// Base round-trip time, delays of links included, ns.
    pub rtt_ns: u64,
    /// The largest possible size, bytes.
    pub most_bytes: u64,
    /// Connections completed before the end, in the order of completion.
    pub done: Vec<Completion>,
}

impl Completions {
    /// Appends two rows for each completed connection, at the time of its last byte: its duration
    /// (`completion_ns`) and its size (`completion_bytes`).
    pub fn rows(&self, source: &str, series: &mut Series) {
        let [took, bytes]: [SeriesId; 2] =
            ["completion_ns", "completion_bytes"].map(|q| series.id(Some(source), None, q));
        for one in &self.done {
            series.push(took, one.at_ns, one.took_ns as f64);
            series.push(bytes, one.at_ns, one.bytes as f64);
        }
    }
}
