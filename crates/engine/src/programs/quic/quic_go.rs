//! quic-go is a QUIC stack in Go. quic-go always paces packets, and has no setting for the
//! congestion control.

use super::*;
use crate::programs::Build;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};

/// The registry entry of `quic-go`.
pub const ENTRY: Entry<Build> = Entry {
    name: "quic-go",
    doc: "Downloads data over QUIC. The server and the client use quic-go, whose congestion control is NewReno.",
    follows: "quic-go 0.65.0",
    options: &[BYTES, ECT, GSO, QLOG, IPV6],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        made: |options, _| made("quic-go", "-", &[], options),
    },
};
