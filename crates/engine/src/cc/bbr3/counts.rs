//! Counts of events. The counts are recorded only with the option `trace`.

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub idle_restarts: u32,
    /// How many recoveries have proved spurious.
    pub undone: u32,
}
