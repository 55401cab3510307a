//! Warns if flows may stay in phase at a queue. Flows are in phase if their packets always arrive
//! at the same time offset from the packets that leave the queue. A scenario gets at most one such
//! warning, even if it has many sweep points.

use tailback_engine::units::Time;

use crate::read::{Problem, Span};

/// A queue at which flows may stay in phase, and the jitter to suggest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InPhase {
    /// Position in the file of the first queue at which flows may stay in phase.
    pub queue: Span,
    /// The suggested host jitter. `None` if no link has a rate, because without a rate the jitter
    /// cannot be computed.
    pub jitter: Option<Time>,
}

impl InPhase {
    /// Combines the results of two points of a sweep. Keeps the queue that comes first in the file,
    /// and the smaller jitter.
    pub fn and(self, other: InPhase) -> InPhase {
        InPhase {
            queue: self.queue.min(other.queue),
            jitter: self.jitter.into_iter().chain(other.jitter).min(),
        }
    }

    /// Returns the warning that flows may stay in phase at the queue.
    pub fn problem(self) -> Problem {
        let jitter = self.jitter.unwrap_or(Time::from_us(100));
        Problem::new(
            self.queue,
            "several TCP flows share this FIFO and nothing varies when their packets arrive, so \
             phase effects may decide their rates",
        )
        .expected(format!(
            "host_jitter = \"{jitter}\", which spreads the phases"
        ))
        .help(format!(
            "add host_jitter = \"{jitter}\" above the first table, which spreads the phases"
        ))
    }
}
