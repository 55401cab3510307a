//! Reports the progress of a run to its caller, and lets the caller cancel the run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tailback_engine::crates::Whereabouts;

/// The progress of a run, and whether the run must stop. The caller and the run share this value
/// across threads.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    /// The progress from 0 to 1, stored as the bits of an `f64`.
    fraction: AtomicU64,
    /// The plugin hook that is running, if any. This field is set when the run begins.
    at_work: OnceLock<Whereabouts>,
    panics: bool,
    /// Number of cores; 0 means 1.
    cores: usize,
}

impl Control {
    /// Creates a control that makes its run panic halfway. Tests use this control to check that a
    /// panic affects only its own run.
    pub fn of_a_panic() -> Control {
        Control {
            panics: true,
            ..Control::default()
        }
    }

    /// Sets the number of cores that the run may use.
    #[must_use]
    pub fn with_cores(self, cores: usize) -> Control {
        Control { cores, ..self }
    }

    /// Returns how many cores the run may use.
    pub fn cores(&self) -> usize {
        self.cores.max(1)
    }

    /// Requests that the run stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether the caller has requested that the run stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Sets the progress of the run, from 0 to 1.
    pub fn progress(&self, fraction: f64) {
        self.fraction.store(fraction.to_bits(), Ordering::Relaxed);
    }

    /// Returns the progress of the run, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        f64::from_bits(self.fraction.load(Ordering::Relaxed))
    }

    /// Records that the run begins on this thread.
    pub(crate) fn begin(&self) {
        self.at_work.get_or_init(Whereabouts::begin);
    }

    /// Returns the plugin's congestion control that is running at this moment, and its hook.
    pub fn at_work(&self) -> Option<(&'static str, &'static str)> {
        self.at_work.get()?.hook()
    }

    pub(crate) fn panics(&self) -> bool {
        self.panics
    }
}
