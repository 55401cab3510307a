//! Transport stacks of plugins, which the simulator runs in place of the programs of
//! `[[programs]]`.
//!
//! On the kernel engine a kind is a program. In the simulator it is a stack without I/O that
//! implements [`Endpoint`]. The stack has its own crate, which is compiled in. The stack of a kind
//! has the kind's name, so the same entry runs on both engines.

use crate::endpoint::Endpoint;
use crate::registry::{Options, Table};

/// How the two ends of an entry are made.
pub struct Build {
    /// The sender's side and the receiver's.
    pub ends: fn(&Options, &Setting) -> [Box<dyn Endpoint>; 2],
}

/// What the ends of an entry are made for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setting {
    /// Seed of all random choices of both ends. It depends on the seed of the run and on the name of
    /// the entry.
    pub seed: u64,
}

impl Setting {
    /// The setting of a seed.
    pub const fn of(seed: u64) -> Setting {
        Setting { seed }
    }
}

/// The stacks that are compiled in; tailback itself has none.
pub static TABLE: Table<Build> = Table::of(&[]);

/// A stack whose crate is in tailback's repository.
pub struct Adapter {
    /// The kind of `[[programs]]`.
    pub kind: &'static str,
    /// What it is, for lists of programs.
    pub doc: &'static str,
    /// The folder of its crate in the repository.
    pub folder: &'static str,
}

/// The stacks in tailback's repository.
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
];

/// The stack of a kind, if tailback's repository has one.
pub fn adapter(kind: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.kind == kind)
}
