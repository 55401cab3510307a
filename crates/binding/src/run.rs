//! Classes and functions for Python about stores, controls and runs.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::thread;

use pyo3::prelude::*;
use tailback_run::{Failure, panics};

use crate::os_error::os_error;
use crate::shape::Shape;
use crate::stored::is_held;
use crate::{Cancelled, EnginePanic};

/// A folder of runs. Opening it removes the files that killed processes left behind.
#[pyclass(frozen, module = "tailback._native")]
pub struct Store {
    pub(crate) inner: tailback_record::folder::Store,
}

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, root: PathBuf) -> PyResult<Store> {
        py.detach(|| tailback_record::folder::Store::open(&root))
            .map(|inner| Store { inner })
            .map_err(os_error)
    }

    /// Returns whether a run is finished and all its files are unchanged since they were written.
    fn contains(&self, py: Python<'_>, run_id: &str) -> PyResult<bool> {
        py.detach(|| self.inner.contains(run_id)).map_err(os_error)
    }

    /// Syncs the finished runs to the disk. Call this after the last run.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.settle()).map_err(os_error)
    }

    /// Returns the runs that are finished, have unchanged files, and have a summary of the expected
    /// shape. Checks several runs in parallel.
    fn held(
        &self,
        py: Python<'_>,
        run_ids: Vec<String>,
        summary: &Shape,
        threads: usize,
    ) -> Vec<bool> {
        let share = run_ids.len().div_ceil(threads.max(1)).max(1);
        let each = |ids: &[String]| -> Vec<bool> {
            let held = |id: &String| is_held(&self.inner.path(id), summary);
            ids.iter().map(held).collect()
        };
        py.detach(|| {
            thread::scope(|scope| {
                let parts: Vec<_> = run_ids
                    .chunks(share)
                    .map(|ids| scope.spawn(move || each(ids)))
                    .collect();
                parts
                    .into_iter()
                    .flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)))
                    .collect()
            })
        })
    }

    /// Moves a damaged run to `runs/.damaged`. Returns a sentence with the damage and the run's new
    /// path, or `None` for an intact run. `found` is damage that the hashes do not show but the
    /// caller has found.
    #[pyo3(signature = (run_id, found = None))]
    fn set_aside(
        &self,
        py: Python<'_>,
        run_id: &str,
        found: Option<&str>,
    ) -> PyResult<Option<String>> {
        py.detach(|| self.inner.set_aside(run_id, found))
            .map_err(os_error)
    }

    /// Creates a folder for temporary files of a run. The caller must remove it. If the caller does
    /// not, a later process removes it after this process has ended.
    fn workplace(&self, run_id: &str) -> PyResult<PathBuf> {
        self.inner.workplace(run_id).map_err(os_error)
    }

    /// Returns the folder of a run, whether the run is finished or not.
    fn path(&self, run_id: &str) -> PathBuf {
        self.inner.path(run_id)
    }
}

/// Progress and cancellation of a run, shared between threads.
#[pyclass(frozen, module = "tailback._native")]
pub struct Control {
    pub(crate) inner: tailback_run::Control,
}

#[pymethods]
impl Control {
    /// Makes the control of a run that may use this many cores. With `fail`, the run panics
    /// halfway, so that tests can check that a panic affects only this run.
    #[new]
    #[pyo3(signature = (*, cores = 1, fail = false))]
    fn new(cores: usize, fail: bool) -> Control {
        let inner = match fail {
            true => tailback_run::Control::of_a_panic(),
            false => tailback_run::Control::default(),
        };
        Control {
            inner: inner.with_cores(cores),
        }
    }

    /// Asks the run to stop.
    fn cancel(&self) {
        self.inner.cancel();
    }

    /// Returns whether the caller has asked the run to stop.
    #[getter]
    fn cancelled(&self) -> bool {
        self.inner.is_cancelled()
    }

    /// Sets the progress of the run, from 0 to 1, for an engine that runs outside of this module.
    fn progress(&self, fraction: f64) {
        self.inner.progress(fraction);
    }

    /// Returns the plugin's congestion control that is running at this moment, and its hook.
    #[getter]
    fn at_work(&self) -> Option<(&'static str, &'static str)> {
        self.inner.at_work()
    }

    /// Returns the simulated part of the duration, from 0 to 1.
    #[getter]
    fn fraction(&self) -> f64 {
        self.inner.fraction()
    }
}

/// From now on, stores messages of panics outside runs instead of printing them. Programs that
/// report panics themselves call this.
#[pyfunction]
pub fn keep_panics() {
    panics::keep_all();
}

/// Returns the last stored panic message, with its position in the code.
#[pyfunction]
pub fn kept_panic() -> Option<String> {
    panics::kept()
}

/// Converts a failure to `Cancelled`, `EnginePanic`, or the error of a file.
pub fn failed(failure: Failure) -> PyErr {
    match failure {
        Failure::Cancelled => Cancelled::new_err(()),
        Failure::Panic(message) => EnginePanic::new_err((message,)),
        Failure::Io(error) => os_error(error),
    }
}
