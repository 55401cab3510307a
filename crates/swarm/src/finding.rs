//! What a check reports.

use std::fmt::Display;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is, the same words for the same kind of failure.
    pub kind: String,
    /// Where, and by how much.
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
