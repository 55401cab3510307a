//! quinn is a QUIC stack in Rust. quinn always paces packets.

use super::*;
use crate::programs::Build;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};

/// The registry entry of `quinn`.
pub const ENTRY: Entry<Build> = Entry {
    name: "quinn",
    doc: "Downloads data over QUIC. The server and the client use quinn.",
    follows: "quinn 0.11.12",
    options: &[
        Opt {
            name: "control",
            doc: "Congestion control that the program uses.",
            kind: Kind::Word(&["cubic", "newreno", "bbr"]),
            default: Some("cubic"),
            tc: None,
        },
        BYTES,
        ECT,
        GSO,
        QLOG,
        THREADS,
        IPV6,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        made: |options, _| made("quinn", "--", &[], options),
    },
};
