//! Chunks of a flow in the summary of a run.

use super::field::Weight::{Count, Requests};
use super::field::{fields, measured};
use crate::completions::Completions;
use crate::stat::Stat;

fields! {
    /// Summary of the chunks of a flow.
    pub struct ChunkSummary {
        /// Number of chunks (`flows.chunks`) that were written or requested after the warm-up.
        begun: u64 = measured("", Count).called("chunks");
        /// Number of chunks that were written or requested after the warm-up and arrived before the
        /// end of the run.
        arrived: u64 = measured("", Count).called("chunks_arrived").more();
        /// Time from the write or request of a chunk until the arrival of the chunk's last byte.
        took_ms: Stat = measured("ms", Requests)
            .called("chunk_ms")
            .only(&["mean", "p50", "p99", "max"])
            .less();
    }
}

impl ChunkSummary {
    /// Summarises the chunks that arrived.
    pub fn new(chunks: &Completions) -> ChunkSummary {
        let took = chunks.done.iter().map(|one| one.took_ns as f64 / 1e6);
        ChunkSummary {
            begun: chunks.started,
            arrived: chunks.done.len() as u64,
            took_ms: Stat::of(took.collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completions::Completion;

    #[test]
    fn chunks_that_did_not_arrive_have_no_time() {
        let took = |took_ns| Completion {
            at_ns: 0,
            bytes: 1,
            took_ns,
        };
        let chunks = Completions {
            started: 5,
            done: vec![took(2_000_000), took(4_500_000)],
            ..Completions::default()
        };
        let summary = ChunkSummary::new(&chunks);
        assert_eq!((summary.begun, summary.arrived), (5, 2));
        let took = summary.took_ms;
        assert_eq!((took.n, took.mean, took.max), (2, Some(3.25), Some(4.5)));
        let none = ChunkSummary::new(&Completions::default());
        assert_eq!((none.arrived, none.took_ms.mean), (0, None));
    }
}
