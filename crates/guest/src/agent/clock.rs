//! The time of a run.

use std::fs;

use super::sys;

/// Gives the time since the start of the run.
///
/// Reading a guest's clock advances its time a little, so an unnecessary read would change the run.
#[derive(Clone, Copy, Default)]
pub struct Clock {
    /// Start of the run on the monotonic clock, ns.
    pub origin_ns: u64,
    /// Whether the clock is virtual. A virtual clock stops while any process computes.
    pub virtual_time: bool,
}

impl Clock {
    /// Returns the clock of this guest before the run begins.
    pub fn new() -> Clock {
        let words = fs::read_to_string("/proc/cmdline").unwrap_or_default();
        Clock {
            origin_ns: 0,
            virtual_time: words.contains("time-travel="),
        }
    }

    /// Returns the current time, ns, when a timer that was set to `at_ns` has just expired. In
    /// virtual time, this is `at_ns`, so the clock is not read.
    pub fn after(self, at_ns: u64) -> u64 {
        if self.virtual_time { at_ns } else { self.now() }
    }

    /// Returns the current time, ns; 0 before the start.
    pub fn now(self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.origin_ns)
    }
}
