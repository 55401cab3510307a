//! s2n-quic is a QUIC stack in Rust. s2n-quic always paces packets, has no setting for ECN, and
//! does not write a qlog file.

use super::*;
use crate::programs::Build;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};

/// The registry entry of `s2n-quic`.
pub const ENTRY: Entry<Build> = Entry {
    name: "s2n-quic",
    doc: "Downloads data over QUIC. The server and the client use s2n-quic.",
    follows: "s2n-quic 1.91.0",
    options: &[
        Opt {
            name: "control",
            doc: "Congestion control that the program uses.",
            kind: Kind::Word(&["cubic", "bbr"]),
            default: Some("cubic"),
            tc: None,
        },
        BYTES,
        GSO,
        THREADS,
        IPV6,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        made: |options, _| made("s2n-quic", "--", &[], options),
    },
};
