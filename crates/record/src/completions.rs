//! Records the durations of requests. A request is one connection of a source such as `web`, or a
//! chunk of a flow.

use serde::{Deserialize, Serialize};

use crate::{Series, SeriesId};

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// When the client received the last byte of the request's data, in ns since the start of the
    /// run.
    pub at_ns: u64,
    /// Payload, in bytes.
    pub bytes: u64,
    /// Time from the client's connect (or its request for a chunk) until the client received the
    /// last byte, in ns.
    pub took_ns: u64,
}

/// The requests that began after the warm-up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Completions {
    /// Number of requests that began.
    pub started: u64,
    /// Number of requests refused because of the limit on simultaneous connections.
    pub refused: u64,
    /// Nominal rate of the slowest link on the route, in bit/s.
    pub rate_bit: u64,
    /// Base round-trip time, including the delays of links, in ns.
    pub rtt_ns: u64,
    /// The largest possible payload of a request, in bytes.
    pub most_bytes: u64,
    /// Requests completed before the end of the run, in the order of completion.
    pub done: Vec<Completion>,
}

impl Completions {
    /// Appends two rows for each completed request, with the arrival time of the request's last
    /// byte: the duration (`completion_ns`) and the size (`completion_bytes`).
    pub fn rows(&self, source: &str, series: &mut Series) {
        let [took, bytes]: [SeriesId; 2] =
            ["completion_ns", "completion_bytes"].map(|q| series.id(Some(source), None, q));
        for one in &self.done {
            series.push(took, one.at_ns, one.took_ns as f64);
            series.push(bytes, one.at_ns, one.bytes as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_two_rows_at_its_last_byte() {
        let one = |at_ns, bytes, took_ns| Completion {
            at_ns,
            bytes,
            took_ns,
        };
        let requests = Completions {
            started: 3,
            done: vec![one(500, 1448, 400), one(900, 10, 20)],
            ..Completions::default()
        };
        let mut series = Series::default();
        requests.rows("web", &mut series);
        let names: Vec<_> = series.keys.iter().map(|k| &*k.quantity).collect();
        assert_eq!(names, ["completion_ns", "completion_bytes"]);
        assert!(series.keys.iter().all(|k| k.flow.as_deref() == Some("web")));
        let rows = series.rows().map(|row| (row.key, row.time_ns, row.value));
        let expected = [
            (0, 500, 400.0),
            (1, 500, 1448.0),
            (0, 900, 20.0),
            (1, 900, 10.0),
        ];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    }
}
