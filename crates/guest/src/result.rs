//! The result of the guest, stored in one file in the postcard format.

use serde::{Deserialize, Serialize};
use tailback_record::Outcome;

/// Name of the file in the result folder.
pub const FILE: &str = "result.postcard";

/// A finished run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GuestResult {
    /// The measurements.
    pub outcome: Outcome,
    /// The environment of the run, for the manifest.
    pub environment: Environment,
    /// Warnings about programs, addressed to the authors of these programs.
    pub about_programs: Vec<String>,
}

/// The environment of the run in the guest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// `uname -r`.
    pub kernel: String,
    /// `tc -V`.
    pub iproute2: String,
    /// Every queue discipline as `tc -d qdisc show` prints it, by namespace.
    pub qdiscs: Vec<(String, String)>,
    /// Statistics of the queues under test at the end, `tc -s qdisc show`, by link.
    pub statistics: Vec<(String, String)>,
    /// TCP sysctls during the run, by namespace: path and value.
    pub sysctls: Vec<(String, String, String)>,
    /// Offload settings: each device, and which offloads are on.
    pub offloads: Vec<(String, String)>,
    /// Doubts about the run, e.g. memory pressure or a lost capture.
    pub warnings: Vec<String>,
    /// Captured packets, before and behind the queues.
    pub captured: u64,
    /// Packets that did not fit into the capture rings.
    pub capture_lost: u64,
}
