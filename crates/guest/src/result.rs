//! The result of a run in the guest. The agent writes the result to one file in the postcard
//! format.

use serde::{Deserialize, Serialize};
use tailback_record::Outcome;

/// Name of the file in the result folder.
pub const FILE: &str = "result.postcard";

/// The data that the guest writes after a complete run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GuestResult {
    /// The measurements.
    pub outcome: Outcome,
    /// The environment of the run, for the manifest.
    pub environment: Environment,
    /// Warnings about the behaviour of programs, for the authors of the programs.
    pub about_programs: Vec<String>,
}

/// The environment of the run in the guest: kernel, tools and settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Output of `uname -r`.
    pub kernel: String,
    /// Output of `tc -V`.
    pub iproute2: String,
    /// The output of `tc -d qdisc show` for every queue discipline. Each item contains the
    /// namespace and the text.
    pub qdiscs: Vec<(String, String)>,
    /// Statistics of each link's queue at the end, from `tc -s qdisc show`.
    pub statistics: Vec<(String, String)>,
    /// TCP sysctls during the run: namespace, path and value.
    pub sysctls: Vec<(String, String, String)>,
    /// Offload settings: the device, and the state of its offloads.
    pub offloads: Vec<(String, String)>,
    /// Reasons to doubt the results of the run, such as memory pressure or missing packets in
    /// captures.
    pub warnings: Vec<String>,
    /// Number of captured packets, before and after the queues.
    pub captured: u64,
    /// Number of packets lost because the capture rings were full.
    pub capture_lost: u64,
    /// The guest's wall clock at time 0 of the run, in ns since 1970. The guest's wall clock at
    /// time 0 is later than the date in the scenario, because the guest prepares the run before
    /// time 0.
    pub clock_at_start_ns: u64,
}
