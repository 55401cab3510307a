//! Checks of an algorithm that need more than its own options. These checks also read the flow that
//! uses the algorithm, the link after a queue, or a sweep.

use super::options::Options;
use crate::units::{Bytes, Rate};

/// The checks of one algorithm.
pub struct Rules {
    /// Returns errors and warnings about a flow that uses this congestion control.
    pub checks: fn(&Chosen<'_>) -> Vec<Finding>,
    /// Returns warnings about settings of a queue that do not suit the link after the queue.
    pub at_link: fn(&Placed<'_>) -> Vec<Finding>,
    /// The standard response to congestion. A sweep compares other responses with this standard
    /// response. `None` if the algorithm has only one response.
    pub standard: Option<Standard>,
}

/// How to recognise options that change the response to congestion, and how to remove them.
#[derive(Clone, Copy)]
pub struct Standard {
    /// Returns whether these options change the response.
    pub departs: fn(&Options) -> bool,
    /// Removes the options that may change the response.
    pub restore: fn(&mut Options),
}

impl Rules {
    /// An algorithm that has no checks, and only one response to congestion.
    pub const NONE: Rules = Rules {
        checks: |_| Vec::new(),
        at_link: |_| Vec::new(),
        standard: None,
    };
}

/// A congestion control, with the flow that uses it.
pub struct Chosen<'a> {
    /// Name of the congestion control.
    pub name: &'static str,
    /// All options of the algorithm.
    pub options: &'a Options,
    /// Whether the flow negotiates ECN.
    pub ecn: bool,
}

/// A queue, with the link after it.
pub struct Placed<'a> {
    /// All options of the queue.
    pub options: &'a Options,
    /// The lowest rate of the link, apart from a rate of 0.
    pub rate: Rate,
    /// The longest frame on the link, in bytes.
    pub frame: u32,
    /// How many bytes the link may send at once after it was idle.
    pub burst: Bytes,
    /// Whether any flow over the link negotiates ECN, and whether any of these flows sends ECT(1).
    pub ecn: [bool; 2],
}

/// An error or a warning about a congestion control or a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The key that the message refers to.
    pub at: At,
    /// Whether the finding is a warning, so that the scenario may still run.
    pub warning: bool,
    /// What is wrong or unusual.
    pub message: String,
    /// What is expected instead.
    pub expected: &'static str,
}

/// The key that a [`Finding`] refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The key `ecn`.
    Ecn,
    /// The key `cc`.
    Control,
    /// An option of the algorithm.
    Option(&'static str),
}
