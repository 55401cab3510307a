//! The failures that a check reports.

use std::fmt::Display;

/// A violation of a rule that must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of failure, as a text that is the same for all failures of this kind.
    pub kind: String,
    /// The place of the failure, and its size.
    pub detail: String,
}

impl Finding {
    pub(crate) fn new(kind: impl Into<String>, detail: impl Display) -> Finding {
        Finding {
            kind: kind.into(),
            detail: detail.to_string(),
        }
    }
}
