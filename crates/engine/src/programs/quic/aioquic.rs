//! aioquic is a QUIC stack in Python. tailback uses Debian's package of aioquic.

use super::*;
use crate::programs::Build;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};

/// The registry entry of `aioquic`.
pub const ENTRY: Entry<Build> = Entry {
    name: "aioquic",
    doc: "Downloads data over QUIC. The server and the client use aioquic, which does not support ECN.",
    follows: "aioquic",
    options: &[
        Opt {
            name: "control",
            doc: "Congestion control that the program uses.",
            kind: Kind::Word(&["reno", "cubic"]),
            default: Some("reno"),
            tc: None,
        },
        BYTES,
        QLOG,
        IPV6,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        made: |options, _| made("aioquic", "--", &["python3-aioquic"], options),
    },
};
