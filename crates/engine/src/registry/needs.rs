//! What an algorithm needs of the flow that uses it, and of a sweep around it.

use super::options::Options;

/// The needs of an entry, a function of its options.
pub struct Needs {
    /// What is wrong, or unusual, in a flow that uses it.
    pub checks: fn(&Chosen<'_>) -> Vec<Finding>,
    /// The standard response, over which gains are measured; `None`: it has no other.
    pub standard: Option<Standard>,
}

/// How the standard response is come back to.
#[derive(Clone, Copy)]
pub struct Standard {
    /// Whether these options respond otherwise.
    pub departs: fn(&Options) -> bool,
    /// Takes out what makes them, or could.
    pub restore: fn(&mut Options),
}

impl Needs {
    /// Goes with every flow, and has the standard response only.
    pub const NONE: Needs = Needs {
        checks: |_| Vec::new(),
        standard: None,
    };
}

/// An entry in a flow.
pub struct Chosen<'a> {
    /// Name of the entry.
    pub name: &'static str,
    /// Its options, complete.
    pub options: &'a Options,
    /// Whether the flow negotiates ECN.
    pub ecn: bool,
}

/// Something to say of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it points at.
    pub at: At,
    /// Whether the scenario may run nevertheless.
    pub warning: bool,
    /// What was found.
    pub message: String,
    /// What was expected.
    pub expected: &'static str,
}

/// A key of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// `ecn`.
    Ecn,
    /// `cc`.
    Control,
    /// An option of the congestion control.
    Option(&'static str),
}
