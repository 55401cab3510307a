//! Transport stacks from plugins, which the simulator runs for entries of `[[programs]]`.
//!
//! On the kernel engine, the `kind` of an entry selects a program. In the simulator, it selects a
//! stack without I/O that implements [`Endpoint`] and is compiled in from its own crate. The
//! program and the stack have the same name, so an entry runs on either engine.

use crate::endpoint::Endpoint;
use crate::registry::{Options, Table};

/// How to create the endpoints of a stack.
pub struct Build {
    /// Creates the sender's endpoint and the receiver's endpoint.
    pub ends: fn(&Options, &Setting) -> [Box<dyn Endpoint>; 2],
}

/// What a stack needs to create endpoints, besides its options.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setting {
    /// Seed for all random choices of both endpoints. It depends on the run's seed and on the
    /// entry's name.
    pub seed: u64,
}

impl Setting {
    /// Creates a setting from a seed.
    pub const fn of(seed: u64) -> Setting {
        Setting { seed }
    }
}

/// The transport stacks that are compiled in. Without plugins the table is empty.
pub static TABLE: Table<Build> = Table::of(&[]);

/// A transport stack whose crate is in tailback's repository.
pub struct Adapter {
    /// The kind of `[[programs]]` that the stack replaces.
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
        doc: "A download over QUIC by quinn.",
        folder: "stacks/quinn",
    },
    Adapter {
        kind: "smoltcp",
        doc: "An upload over TCP by smoltcp.",
        folder: "stacks/smoltcp",
    },
    Adapter {
        kind: "str0m",
        doc: "Video over WebRTC by str0m.",
        folder: "stacks/str0m",
    },
];

/// Returns the stack in tailback's repository for a kind, if there is one.
pub fn adapter(kind: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.kind == kind)
}
