//! Transport stacks of plugins, which the simulator runs in place of the programs of
//! `[[programs]]`.
//!
//! On the kernel engine, a kind is a program. In the simulator, it is a stack without I/O that
//! implements [`Endpoint`] and is compiled in from its own crate. The stack has the name of the
//! kind, so the same entry runs on both engines.

use crate::endpoint::Endpoint;
use crate::registry::{Options, Table};

/// How the two endpoints of an entry are made.
pub struct Build {
    /// Makes the sender's endpoint and the receiver's endpoint.
    pub ends: fn(&Options, &Setting) -> [Box<dyn Endpoint>; 2],
}

/// The inputs of an entry's endpoints other than the options.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setting {
    /// Seed for all random choices of both endpoints. It depends on the run's seed and on the
    /// entry's name.
    pub seed: u64,
}

impl Setting {
    /// Returns the inputs with this seed.
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
    /// What the stack is, for lists of programs.
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

/// Returns the stack for a kind, if tailback's repository has one.
pub fn adapter(kind: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.kind == kind)
}
