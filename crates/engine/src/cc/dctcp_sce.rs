//! DCTCP-SCE: DCTCP that responds to marks of SCE (Some Congestion Experienced), as in the kernel
//! tree github.com/chromi/sce of June 2019 (`tcp_dctcp_sce.c`).
//!
//! DCTCP-SCE does not use alpha. ESCE is the TCP flag with which the receiver echoes a mark. Each
//! segment that is acknowledged with ESCE shrinks the window by half a segment. The comment at the
//! top of `cc/sce.rs` describes further details and the deviations.

use super::contract::Build;
use super::sce::{BETA, BETA_ECN, BETA_SCE, CWR_QUIRK, Response, SSTHRESH, Sce, UNIT_QUIRK};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, no_finish};

/// The registry entry of `dctcp-sce`.
pub const ENTRY: Entry<Build> = Entry {
    name: "dctcp-sce",
    doc: "Reduces the window by half a segment for each segment that is marked with SCE.",
    follows: "github.com/chromi/sce of June 2019, tcp_dctcp_sce.c",
    options: &[
        Opt {
            name: "response",
            doc: "Number of segments by which each segment acknowledged with ESCE shrinks the window.",
            kind: Kind::Float { min: 0.0, max: 4.0 },
            default: Some("0.5"),
            tc: None,
        },
        SSTHRESH,
        BETA,
        BETA_ECN,
        BETA_SCE,
        UNIT_QUIRK,
        CWR_QUIRK,
    ],
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: |options| {
        super::hook::made("dctcp-sce");
        Box::new(Sce::new(options, Window))
    },
};

/// The response to SCE is proportional to the window.
#[derive(Debug)]
struct Window;

impl Response for Window {
    fn of(&self, cwnd: u32) -> u64 {
        u64::from(cwnd)
    }
}
