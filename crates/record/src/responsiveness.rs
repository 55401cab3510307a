//! Results of a responsiveness test under working conditions. A traffic source measures how many
//! round trips per minute are possible while it loads the link.

use serde::{Deserialize, Serialize};

use crate::Histogram;

/// Confidence in the result of a responsiveness test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confidence {
    /// The test was so short that it has too few intervals for an average.
    #[default]
    Low,
    /// Goodput or responsiveness was not stable.
    Medium,
    /// Goodput and responsiveness were stable.
    High,
}

impl Confidence {
    /// Returns the name of the confidence in results.
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// Results of a responsiveness test. The results cover only the last intervals of the test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ResponsivenessOutcome {
    /// Durations of foreign probes, in ns. Each foreign probe opens a new connection. The duration
    /// of a foreign probe includes the handshake and the fetch.
    pub foreign: Histogram,
    /// Durations of probes on bulk connections, which load the link, in ns.
    pub loaded: Histogram,
    /// Round trips per minute of foreign probes.
    pub foreign_rpm: Option<f64>,
    /// Round trips per minute on bulk connections.
    pub loaded_rpm: Option<f64>,
    /// The mean of `foreign_rpm` and `loaded_rpm`.
    pub rpm: Option<f64>,
    /// How reliable the result is.
    pub confidence: Confidence,
    /// Number of complete intervals of the responsiveness test.
    pub intervals: u64,
    /// Number of bulk connections at the end of the responsiveness test.
    pub connections: u64,
    /// Mean goodput of the last intervals, in bit/s.
    pub goodput_bit: f64,
}
