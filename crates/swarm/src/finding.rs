//! What a check reports.

use std::fmt::Display;

/// A violation of something that must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of failure: the same text for the same kind.
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
