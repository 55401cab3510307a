//! Transport stacks from plugins, which the simulator runs for entries of `[[programs]]`.
//!
//! On the kernel engine, the `kind` of such an entry selects a program. In the simulator, the
//! `kind` selects a stack that implements [`Endpoint`] and does no I/O. The stack is in a crate of
//! its own, which is compiled into the simulator. The program and the stack have the same name. So
//! the same entry runs on both engines.

use crate::endpoint::Endpoint;
use crate::registry::{Options, Table};

/// How the endpoints of a stack are created.
pub struct Build {
    /// Creates two endpoints, first that of the sender and then that of the receiver.
    pub ends: fn(&Options, &Setting) -> [Box<dyn Endpoint>; 2],
}

/// Data that a stack needs to create its endpoints, in addition to its options.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setting {
    /// The seed for all random choices of the two endpoints. This seed depends on the run's seed
    /// and on the entry's name.
    pub seed: u64,
}

impl Setting {
    /// Creates a setting from a seed.
    pub const fn of(seed: u64) -> Setting {
        Setting { seed }
    }
}

/// The transport stacks that are compiled into this program. Without plugins the table is empty.
pub static TABLE: Table<Build> = Table::of(&[]);

/// A transport stack whose crate is in the repository of tailback.
pub struct Adapter {
    /// The kind of `[[programs]]` for which the simulator runs the stack.
    pub kind: &'static str,
    /// A short description of the stack.
    pub doc: &'static str,
    /// The folder of the stack's crate in the repository.
    pub folder: &'static str,
}

/// The transport stacks in tailback's repository.
pub const ADAPTERS: &[Adapter] = &[
    Adapter {
        kind: "quinn",
        doc: "Downloads data over QUIC. Client and server are quinn-proto.",
        folder: "stacks/quinn",
    },
    Adapter {
        kind: "smoltcp",
        doc: "Uploads data over TCP. The sender and the receiver use smoltcp.",
        folder: "stacks/smoltcp",
    },
    Adapter {
        kind: "str0m",
        doc: "Sends video over WebRTC. The sender and the receiver use str0m.",
        folder: "stacks/str0m",
    },
];

/// If tailback's repository has a stack for a kind, returns this stack.
pub fn adapter(kind: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.kind == kind)
}
