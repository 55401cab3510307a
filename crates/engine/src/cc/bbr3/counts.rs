//! Counts of events, which are recorded only with the option `trace`.

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub idle_restarts: u32,
    /// Number of recoveries that proved spurious.
    pub undone: u32,
}
