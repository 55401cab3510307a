//! quiche is a QUIC stack in Rust. quiche does not support ECN, GSO (several datagrams in one call
//! to the kernel) or multithreading. quiche paces packets only with BBR.

use super::*;
use crate::programs::Build;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};

/// The registry entry of `quiche`.
pub const ENTRY: Entry<Build> = Entry {
    name: "quiche",
    doc: "Downloads data over QUIC. The server and the client use quiche, which does not support ECN.",
    follows: "quiche 0.30.0",
    options: &[
        Opt {
            name: "control",
            doc: "Congestion control that the program uses.",
            kind: Kind::Word(&["cubic", "reno", "bbr2"]),
            default: Some("cubic"),
            tc: None,
        },
        BYTES,
        Opt {
            name: "pacing",
            doc: "Whether BBR may pace; the other congestion controls never pace.",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
        QLOG,
        IPV6,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        made: |options, _| made("quiche", "--", &[], options),
    },
};
