//! Assertions, and the metrics they name.

use tailback_engine::keys;
use tailback_engine::keys::{NUMBER, TEXT};

keys! {
    /// What must hold at every point and seed.
    pub struct Assert as "[[assert]]" {
        /// What is measured; results.NAME: a number out of the files of a program.
        metric: String => TEXT.required();
        /// The flow or program, or the name of several ("cubic" for cubic/1, cubic/2); default: every
        /// one.
        flow: Option<String> => TEXT;
        /// The link, where there are several; default: the only one.
        link: Option<String> => TEXT;
        /// Smallest value that holds.
        min: Option<f64> = NUMBER;
        /// Largest value that holds.
        max: Option<f64> = NUMBER;
    }
}

/// What a metric is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A flow.
    Flow,
    /// A link and its queue.
    Link,
    /// Either.
    FlowOrLink,
    /// The whole run.
    Run,
}

/// Throughput over that with the standard backoff: a metric of several points.
pub(crate) const GAIN: &str = "throughput_gain";

/// The metrics an assertion may name, with what they are measured on: the
/// fields of the summary, inner ones with a dot.
pub const METRICS: &[(&str, Scope)] = &[
    ("throughput_mbit", Scope::Flow),
    (GAIN, Scope::Flow),
    ("rtt_ms.mean", Scope::Flow),
    ("rtt_ms.p50", Scope::Flow),
    ("rtt_ms.p99", Scope::Flow),
    ("srtt_ms_mean", Scope::Flow),
    ("retransmits", Scope::Flow),
    ("timeouts", Scope::Flow),
    ("completion_s", Scope::Flow),
    ("drops", Scope::FlowOrLink),
    ("marks", Scope::FlowOrLink),
    ("sce_marks", Scope::FlowOrLink),
    ("delay_ms.mean", Scope::Link),
    ("delay_ms.p1", Scope::Link),
    ("delay_ms.p25", Scope::Link),
    ("delay_ms.p50", Scope::Link),
    ("delay_ms.p75", Scope::Link),
    ("delay_ms.p99", Scope::Link),
    ("delay_ms.max", Scope::Link),
    ("packets", Scope::Link),
    ("utilisation", Scope::Link),
    ("occupancy_bytes_mean", Scope::Link),
    ("jain", Scope::Run),
    ("throughput_ratio", Scope::Run),
];
