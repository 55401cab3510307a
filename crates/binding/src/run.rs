//! Python classes and functions that run sweep points and store the results.

use std::path::PathBuf;

use pyo3::prelude::*;
use tailback_run::{Failure, panics};

use crate::os_error::os_error;
use crate::{Cancelled, EnginePanic};

/// A folder of runs. Opening the folder deletes the temporary files of processes that were killed.
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

    /// Returns whether a run is finished and its files have not changed since they were written.
    fn contains(&self, py: Python<'_>, run_id: &str) -> PyResult<bool> {
        py.detach(|| self.inner.contains(run_id)).map_err(os_error)
    }

    /// Syncs the finished runs to the disk. Call this after the last run.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.settle()).map_err(os_error)
    }

    /// Moves a damaged run to `runs/.damaged`. Returns a sentence that describes the damage and
    /// names the new path, or `None` if the run is intact. If the caller has found damage that the
    /// hashes do not show, `found` describes it.
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

    /// Creates a folder for temporary files of a run. The caller must remove the folder. If the
    /// caller does not remove the folder, another process removes it after this process has ended.
    fn workplace(&self, run_id: &str) -> PyResult<PathBuf> {
        self.inner.workplace(run_id).map_err(os_error)
    }

    /// Returns the folder of a run, whether the run is finished or not.
    fn path(&self, run_id: &str) -> PathBuf {
        self.inner.path(run_id)
    }
}

/// Reports the progress of a run, and can cancel the run. Several threads may use this object.
#[pyclass(frozen, module = "tailback._native")]
pub struct Control {
    pub(crate) inner: tailback_run::Control,
}

#[pymethods]
impl Control {
    /// Creates the control of a run on at most `cores` cores. If `fail` is true, the run panics
    /// halfway; tests use this.
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

    /// Sets the progress of a run, from 0 to 1. Called by engines other than the simulator.
    fn progress(&self, fraction: f64) {
        self.inner.progress(fraction);
    }

    /// Returns the plugin's congestion control that is executing at this moment, and the name of
    /// its hook.
    #[getter]
    fn at_work(&self) -> Option<(&'static str, &'static str)> {
        self.inner.at_work()
    }

    /// Returns the fraction of the run's duration that has been simulated, from 0 to 1.
    #[getter]
    fn fraction(&self) -> f64 {
        self.inner.fraction()
    }
}

/// Makes tailback store the message of a panic outside of a run, instead of printing it. Programs
/// that report panics themselves use this.
#[pyfunction]
pub fn keep_panics() {
    panics::keep_all();
}

/// Returns the message of the last stored panic, with its position in the source code.
#[pyfunction]
pub fn kept_panic() -> Option<String> {
    panics::kept()
}

/// Converts a failure to `Cancelled`, `EnginePanic` or a file error.
pub fn failed(failure: Failure) -> PyErr {
    match failure {
        Failure::Cancelled => Cancelled::new_err(()),
        Failure::Panic(message) => EnginePanic::new_err((message,)),
        Failure::Io(error) => os_error(error),
    }
}
