//! Chunks of a flow in the summary of a run.

use super::field::Weight::{Count, Requests};
use super::field::{fields, measured};
use crate::completions::Completions;
use crate::stat::Stat;

fields! {
    /// Summary of the chunks of a flow.
    pub struct ChunkSummary {
        /// Chunks that a flow's application wrote, or its receiver requested, after the warm-up.
        begun: u64 = measured("", Count).called("chunks");
        /// Of these chunks, those that arrived before the end.
        arrived: u64 = measured("", Count).called("chunks_arrived").more();
        /// Time from when a chunk was written, or requested, until its last byte arrived.
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
