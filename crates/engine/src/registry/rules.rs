//! Rules of an entry that involve more than its own options, such as the flow that uses the entry,
//! the link after a queue, or a sweep.

use super::options::Options;
use crate::units::{Bytes, Rate};

/// Rules of an entry, as functions of its options.
pub struct Rules {
    /// Finds errors and warnings in a flow that uses the entry.
    pub checks: fn(&Chosen<'_>) -> Vec<Finding>,
    /// Finds unusual settings of a queue for its link.
    pub at_link: fn(&Placed<'_>) -> Vec<Finding>,
    /// The entry's standard response to congestion, with which a sweep compares other responses.
    /// `None` if the entry has only one response.
    pub standard: Option<Standard>,
}

/// How to recognise a response other than the standard one, and how to restore the standard one.
#[derive(Clone, Copy)]
pub struct Standard {
    /// Returns whether these options change the response to congestion.
    pub departs: fn(&Options) -> bool,
    /// Removes the options that change or may change the response.
    pub restore: fn(&mut Options),
}

impl Rules {
    /// No rules, for an entry that works with every flow and has only the standard response.
    pub const NONE: Rules = Rules {
        checks: |_| Vec::new(),
        at_link: |_| Vec::new(),
        standard: None,
    };
}

/// An entry, and the flow that uses it.
pub struct Chosen<'a> {
    /// Name of the entry.
    pub name: &'static str,
    /// The complete options of the entry.
    pub options: &'a Options,
    /// Whether the flow negotiates ECN.
    pub ecn: bool,
}

/// A queue, and the link that uses it.
pub struct Placed<'a> {
    /// The complete options of the entry.
    pub options: &'a Options,
    /// The lowest rate of the link, ignoring outages (rate 0).
    pub rate: Rate,
    /// The longest frame on the link, bytes.
    pub frame: u32,
    /// The bytes that the link may send at once after it was idle.
    pub burst: Bytes,
    /// Whether any flow over the link negotiates ECN, and whether any flow sends ECT(1).
    pub ecn: [bool; 2],
}

/// An error or a warning about a flow or a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The key that the finding points at.
    pub at: At,
    /// Whether the finding is a warning, so that the scenario may still run.
    pub warning: bool,
    /// What is wrong or unusual.
    pub message: String,
    /// What is expected instead.
    pub expected: &'static str,
}

/// A key of a flow or queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The key `ecn`.
    Ecn,
    /// The key `cc`.
    Control,
    /// An option of the entry.
    Option(&'static str),
}
