//! The time of a run.

use super::sys;

/// Tells the time from the start of the run.
///
/// A guest's time moves on a little with every look at its clock: one that nobody
/// needs would change the run.
#[derive(Clone, Copy, Default)]
pub struct Clock {
    /// Start of the run on the monotonic clock, ns.
    pub origin_ns: u64,
}

impl Clock {
    /// The time now, ns; 0 before the start.
    pub fn now(self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.origin_ns)
    }
}
