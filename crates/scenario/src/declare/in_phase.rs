//! Warns once for all points of a scenario if flows may stay in phase at a queue: their packets
//! would always arrive at the same offset from its departures.

use tailback_engine::units::Time;

use crate::read::{Problem, Span};

/// A queue in which flows may stay in phase, and the jitter that spreads their phases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InPhase {
    /// Position in the file of the first queue in which flows may stay in phase.
    pub queue: Span,
    /// The host jitter that spreads the phases. `None` if the links do not have a rate.
    pub jitter: Option<Time>,
}

impl InPhase {
    /// Combines the results of two points of a sweep: keeps the first queue, and a jitter that is
    /// right for both points.
    pub fn and(self, other: InPhase) -> InPhase {
        InPhase {
            queue: self.queue.min(other.queue),
            jitter: self.jitter.into_iter().chain(other.jitter).min(),
        }
    }

    /// Returns the warning.
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
