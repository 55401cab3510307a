//! Counts that only `trace` records.

/// Counts for `trace`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Restarts from idle.
    pub idle_restarts: u32,
    /// Recoveries that proved spurious.
    pub undone: u32,
}
