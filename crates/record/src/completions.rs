//! How long requests took: one connection each, of a source such as `web`.

use serde::{Deserialize, Serialize};

use crate::{Series, SeriesId, Stat};

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

/// Upper bounds of the bins, bytes; a further one has what is larger.
pub const BINS: [u64; 8] = [
    1_000, 3_000, 9_000, 27_000, 81_000, 243_000, 729_000, 1_000_000,
];

/// Summary of the requests of a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompletionSummary {
    /// Connections begun after the warm-up.
    pub started: u64,
    /// Those of them that brought everything before the end.
    pub completed: u64,
    /// Requests beyond the limit of connections at a time.
    pub refused: u64,
    /// The completed ones by size.
    pub bins: Vec<CompletionBin>,
}

/// The connections whose size is above the bound of the bin before and not
/// above its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompletionBin {
    /// Largest size, bytes.
    pub upto_bytes: u64,
    /// Connections.
    pub n: u64,
    /// From the client's connect to its last byte, s.
    pub completion_s: Stat,
    /// (size / link rate + 2 RTT) / completion, at most 1: a shaper lets a packet go at the
    /// start of its slot, so that a single one may take less than that.
    pub normalised: Stat,
}

impl Completions {
    /// The time that a connection alone at the rate of the link would take, over what it took.
    fn normalised(&self, one: &Completion) -> f64 {
        let serialised = one.bytes as f64 * 8e9 / self.rate_bit.max(1) as f64;
        let least_ns = serialised + 2.0 * self.rtt_ns as f64;
        (least_ns / one.took_ns.max(1) as f64).min(1.0)
    }

    /// Sorts the completed ones into bins.
    pub fn summary(&self) -> CompletionSummary {
        let mut bounds = BINS.to_vec();
        if self.most_bytes > BINS[BINS.len() - 1] {
            bounds.push(self.most_bytes);
        }
        let mut values = vec![(Vec::new(), Vec::new()); bounds.len()];
        for one in &self.done {
            let bin = bounds.partition_point(|bound| *bound < one.bytes);
            let (times, shares) = &mut values[bin.min(bounds.len() - 1)];
            times.push(one.took_ns as f64 / 1e9);
            shares.push(self.normalised(one));
        }
        let bins = bounds.iter().zip(values);
        CompletionSummary {
            started: self.started,
            completed: self.done.len() as u64,
            refused: self.refused,
            bins: bins
                .map(|(upto_bytes, (times, shares))| CompletionBin {
                    upto_bytes: *upto_bytes,
                    n: times.len() as u64,
                    completion_s: Stat::of(times),
                    normalised: Stat::of(shares),
                })
                .collect(),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_and_normalised_times() {
        let one = |bytes, took_ms: u64| Completion {
            at_ns: 0,
            bytes,
            took_ns: took_ms * 1_000_000,
        };
        let mut completions = Completions {
            started: 6,
            refused: 1,
            rate_bit: 8_000_000,
            rtt_ns: 10_000_000,
            most_bytes: 1_000_000,
            done: vec![
                one(1_000, 42),
                one(1_001, 22),
                one(3_000, 46),
                one(1_000_000, 2_040),
                // Faster than the rule allows.
                one(1_000_000, 1_019),
            ],
        };
        let summary = completions.summary();
        assert_eq!(
            (summary.started, summary.completed, summary.refused),
            (6, 5, 1)
        );
        let bins = &summary.bins;
        let n: Vec<u64> = bins.iter().map(|bin| bin.n).collect();
        assert_eq!(n, [1, 2, 0, 0, 0, 0, 0, 2]);
        assert_eq!(bins[0].upto_bytes, 1_000);
        // 1 ms and two round-trip times of 10 ms, of 42 ms.
        assert_eq!(bins[0].normalised.mean, Some(0.5));
        assert_eq!(bins[0].completion_s.mean, Some(0.042));
        assert_eq!(bins[1].completion_s.max, Some(0.046));
        assert_eq!(bins[7].normalised.max, Some(1.0));
        assert_eq!(bins[7].normalised.p1, Some(0.5));
        assert_eq!(bins[3].completion_s.mean, None);

        completions.most_bytes = 5_000_000;
        completions.done.push(one(1_000_001, 2_000));
        let bins = completions.summary().bins;
        assert_eq!(
            (bins[8].upto_bytes, bins[8].n, bins[7].n),
            (5_000_000, 1, 2)
        );
    }
}
