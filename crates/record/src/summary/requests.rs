//! Requests of a source in the summary of a run.

use super::field::Weight::Count;
use super::field::{about, fields, measured};
use crate::completions::{Completion, Completions};
use crate::stat::Stat;

/// Name and upper bound (in bytes) of each size bin. Requests above the largest bound are in an
/// additional bin.
pub const BINS: [(&str, u64); 8] = [
    ("1kB", 1_000),
    ("3kB", 3_000),
    ("9kB", 9_000),
    ("27kB", 27_000),
    ("81kB", 81_000),
    ("243kB", 243_000),
    ("729kB", 729_000),
    ("1MB", 1_000_000),
];

fields! {
    /// Summary of the requests of a source.
    pub struct CompletionSummary {
        /// Number of requests that a source made after the warm-up and that were not refused.
        started: u64 = measured("", Count).called("requests");
        /// Number of requests made after the warm-up and completed before the end of the run.
        completed: u64 = measured("", Count).called("requests_completed").more();
        /// Number of requests that were refused because of the limit on simultaneous connections.
        refused: u64 = measured("", Count).called("requests_refused").less().added();
        /// The completed requests by size.
        bins: Vec<CompletionBin> = about();
    }
}

fields! {
    /// The requests whose size is above the bound of the previous bin, and not above the bound of
    /// this bin.
    pub struct CompletionBin {
        /// Largest size, bytes.
        upto_bytes: u64 = about();
        /// Number of requests.
        n: u64 = about();
        /// Time from the client's connect until the client received the last byte, s.
        completion_s: Stat = about();
        /// (size / link rate + 2 RTT) / completion, at most 1. A shaper sends a packet at the start
        /// of its slot. A request of a single packet may therefore complete sooner than size / link
        /// rate + 2 RTT.
        normalised: Stat = about();
    }
}

impl CompletionSummary {
    /// Sorts the completed connections into bins.
    pub fn new(requests: &Completions) -> CompletionSummary {
        let mut bounds = BINS.map(|(_, upto_bytes)| upto_bytes).to_vec();
        if bounds
            .last()
            .is_some_and(|last| requests.most_bytes > *last)
        {
            bounds.push(requests.most_bytes);
        }
        let mut values = vec![(Vec::new(), Vec::new()); bounds.len()];
        for one in &requests.done {
            let bin = bounds.partition_point(|bound| *bound < one.bytes);
            let (times, shares) = &mut values[bin.min(bounds.len() - 1)];
            times.push(one.took_ns as f64 / 1e9);
            shares.push(normalised(requests, one));
        }
        let bins = bounds.iter().zip(values);
        CompletionSummary {
            started: requests.started,
            completed: requests.done.len() as u64,
            refused: requests.refused,
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
}

/// Returns the time that the connection would take alone on the link, divided by the time that the
/// connection really took. The result is at most 1.
fn normalised(requests: &Completions, one: &Completion) -> f64 {
    let serialised = one.bytes as f64 * 8e9 / requests.rate_bit.max(1) as f64;
    let least_ns = serialised + 2.0 * requests.rtt_ns as f64;
    (least_ns / one.took_ns.max(1) as f64).min(1.0)
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
                // This connection finishes before the link could have carried the connection's
                // data.
                one(1_000_000, 1_019),
            ],
        };
        let summary = CompletionSummary::new(&completions);
        assert_eq!(
            (summary.started, summary.completed, summary.refused),
            (6, 5, 1)
        );
        let bins = &summary.bins;
        let n: Vec<u64> = bins.iter().map(|bin| bin.n).collect();
        assert_eq!(n, [1, 2, 0, 0, 0, 0, 0, 2]);
        assert_eq!(bins[0].upto_bytes, 1_000);
        // Alone on the link, the request would take 1 ms plus two round trips of 10 ms. The time
        // alone on the link is half of the 42 ms that the request really took.
        assert_eq!(bins[0].normalised.mean, Some(0.5));
        assert_eq!(bins[0].completion_s.mean, Some(0.042));
        assert_eq!(bins[1].completion_s.max, Some(0.046));
        assert_eq!(bins[7].normalised.max, Some(1.0));
        assert_eq!(bins[7].normalised.p1, Some(0.5));
        assert_eq!(bins[3].completion_s.mean, None);

        completions.most_bytes = 5_000_000;
        completions.done.push(one(1_000_001, 2_000));
        let bins = CompletionSummary::new(&completions).bins;
        assert_eq!(
            (bins[8].upto_bytes, bins[8].n, bins[7].n),
            (5_000_000, 1, 2)
        );
        // The last bin includes requests that are larger than any source can make.
        completions.done.push(one(5_000_001, 2_000));
        assert_eq!(CompletionSummary::new(&completions).bins[8].n, 2);
    }
}
