//! The clock of a run.

use std::fs;

use super::sys;

/// Measures the time since the start of the run.
///
/// In virtual time, each reading of the guest's clock advances the clock a little. An unnecessary
/// reading would therefore change the run.
#[derive(Clone, Copy, Default)]
pub struct Clock {
    /// Start of the run on the monotonic clock, in ns.
    pub origin_ns: u64,
    /// Whether time is virtual. Virtual time stops while any process computes.
    pub virtual_time: bool,
}

impl Clock {
    /// Returns the clock of this guest, with the start of the run not yet set.
    pub fn new() -> Clock {
        let words = fs::read_to_string("/proc/cmdline").unwrap_or_default();
        Clock {
            origin_ns: 0,
            virtual_time: words.contains("time-travel="),
        }
    }

    /// Returns the current time, in ns, just after a timer set to `at_ns` has expired. In virtual
    /// time, this is exactly `at_ns`, so the clock is not read.
    pub fn after(self, at_ns: u64) -> u64 {
        if self.virtual_time { at_ns } else { self.now() }
    }

    pub fn now(self) -> u64 {
        sys::monotonic_ns().saturating_sub(self.origin_ns)
    }
}
