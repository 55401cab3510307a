//! Progress and cancellation, with which a run and its caller communicate.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tailback_engine::crates::Whereabouts;

/// The progress of a run, and the request to stop the run. Threads share this value.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    /// The progress, as the bits of a float from 0 to 1.
    fraction: AtomicU64,
    /// Which hook of a plugin's congestion control is running. Set when the run begins.
    at_work: OnceLock<Whereabouts>,
    panics: bool,
    /// Number of cores. Both 0 and 1 mean one core.
    cores: usize,
}

impl Control {
    /// Makes the control of a run that panics halfway, so that tests can check that a panic affects
    /// only this run.
    pub fn of_a_panic() -> Control {
        Control {
            panics: true,
            ..Control::default()
        }
    }

    /// Makes the control of a run that may use this many cores.
    #[must_use]
    pub fn with_cores(self, cores: usize) -> Control {
        Control { cores, ..self }
    }

    /// Returns how many cores the run may use.
    pub fn cores(&self) -> usize {
        self.cores.max(1)
    }

    /// Asks the run to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether the caller has asked the run to stop.
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

    /// Notes that the run begins on this thread.
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
