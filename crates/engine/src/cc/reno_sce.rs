//! Reno-SCE: Reno with a response to SCE (Some Congestion Experienced), as in the kernel tree
//! github.com/chromi/sce of June 2019 (`tcp_reno_sce.c`). The response to a mark depends on the
//! square root of the window.
//!
//! ESCE is the TCP flag with which the receiver echoes a mark. If all ACKs of a window carry ESCE,
//! cwnd shrinks by sqrt(cwnd) segments. As in the SCE kernel tree, the square root is approximate.
//! The approximate root starts at 1, and a change of cwnd changes the root by at most one. So at
//! the end of slow start, the approximate square root is too small. The comment at the top of
//! `cc/sce.rs` describes further details and the deviations.

use super::contract::Build;
use super::sce::{BETA, BETA_ECN, BETA_SCE, CWR_QUIRK, Response, SSTHRESH, Sce, UNIT_QUIRK};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, no_finish};

/// The registry entry of `reno-sce`.
pub const ENTRY: Entry<Build> = Entry {
    name: "reno-sce",
    doc: "Reno that responds to SCE marks. If all segments of a window are marked, the window \
        shrinks by sqrt(cwnd) segments.",
    follows: "github.com/chromi/sce of June 2019, tcp_reno_sce.c",
    options: &[
        Opt {
            name: "response",
            doc: "Factor that multiplies the response to ESCE: 1, or 0.5 in a related version of the kernel tree.",
            kind: Kind::Float { min: 0.0, max: 4.0 },
            default: Some("1"),
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
        super::hook::made("reno-sce");
        Box::new(Sce::new(options, Root(1)))
    },
};

/// The approximate square root of the window. Each change of the window changes the root by at most
/// one.
#[derive(Debug)]
struct Root(u64);

impl Response for Root {
    fn of(&self, _cwnd: u32) -> u64 {
        self.0
    }

    fn grown(&mut self, cwnd: u32) {
        if self.0 * self.0 < u64::from(cwnd) {
            self.0 += 1;
        }
    }

    fn shrunk(&mut self, cwnd: u32) {
        if self.0 * self.0 >= u64::from(cwnd) {
            self.0 -= 1;
        }
    }

    fn reduced(&mut self, cwnd: u32) {
        while self.0 > 1 && self.0 * self.0 >= u64::from(cwnd) {
            self.0 -= 1;
        }
    }
}
