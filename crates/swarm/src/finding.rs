//! Describes the failures that a check reports.

use std::fmt::Display;

/// A violation of a rule that must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the failure. Failures of the same kind have the same text.
    pub kind: String,
    /// Where the failure occurred, and the values that show the failure.
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
