//! Rules of an entry beyond its own options: for the flow that uses it, for the link behind it, and
//! for a sweep around it.

use super::options::Options;
use crate::units::{Bytes, Rate};

/// Rules of an entry, functions of its options.
pub struct Rules {
    /// Errors and warnings about a flow that uses it.
    pub checks: fn(&Chosen<'_>) -> Vec<Finding>,
    /// What is unusual in a queue before its link.
    pub at_link: fn(&Placed<'_>) -> Vec<Finding>,
    /// The standard response, against which gains are measured; `None`: the entry has no other
    /// response.
    pub standard: Option<Standard>,
}

/// How options return to the standard response.
#[derive(Clone, Copy)]
pub struct Standard {
    /// Whether these options respond otherwise.
    pub departs: fn(&Options) -> bool,
    /// Removes the options that change the response, or could change it.
    pub restore: fn(&mut Options),
}

impl Rules {
    /// Rules of an entry that works with every flow and has only the standard response.
    pub const NONE: Rules = Rules {
        checks: |_| Vec::new(),
        at_link: |_| Vec::new(),
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

/// An entry before a link.
pub struct Placed<'a> {
    /// Its options, complete.
    pub options: &'a Options,
    /// The link's lowest rate.
    pub rate: Rate,
    /// The longest frame there, bytes.
    pub frame: u32,
    /// What the link may send at once after idling.
    pub burst: Bytes,
    /// ECN of the flows that pass a link: whether any negotiates it, and whether any sends ECT(1).
    pub ecn: [bool; 2],
}

/// Something to say of a flow or a queue.
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
    /// An option of the entry.
    Option(&'static str),
}
