//! Python classes and functions that read stored runs, protect files with hashes, and create
//! temporary folders.

use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::value::RawValue;
use tailback_record::stored::{self, Fault};
use tailback_record::{catalogue, scratch};

use crate::DamagedResults;
use crate::os_error::os_error;
use crate::shape::Shape;

fn raised(fault: Fault) -> PyErr {
    match fault {
        Fault::Absent(what) | Fault::Damaged(what) => DamagedResults::new_err((what,)),
        Fault::Io(error) => os_error(error),
    }
}

/// The folder of a run. Raises `DamagedResults` for a file that has changed since it was written,
/// and `OSError` for a file that cannot be read.
#[pyclass(frozen, module = "tailback._native")]
pub struct RunFolder {
    inner: stored::RunFolder,
    run_id: String,
    seed: u64,
}

#[pymethods]
impl RunFolder {
    /// Opens the folder, and reads and checks the manifest.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<RunFolder> {
        py.detach(|| RunFolder::open(&path)).map_err(raised)
    }

    /// Id of the run, according to its manifest.
    #[getter]
    fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Seed of the run according to its manifest.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// The manifest as JSON.
    #[getter]
    fn manifest(&self) -> &str {
        self.inner.manifest()
    }

    /// The sweep point in the manifest, as JSON.
    #[getter]
    fn canonical(&self) -> PyResult<&str> {
        #[derive(serde::Deserialize)]
        struct OfPoint<'a> {
            #[serde(borrow)]
            canonical: &'a RawValue,
        }
        let found: Result<OfPoint<'_>, _> = serde_json::from_str(self.inner.manifest());
        found
            .map(|found| found.canonical.get())
            .map_err(|_| DamagedResults::new_err(("not the manifest of a run",)))
    }

    /// Wall-clock and CPU time of the run, as JSON.
    #[getter]
    fn timing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.inner.timing()).map_err(raised)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns whether the run has a file with this name.
    fn has(&self, name: &str) -> bool {
        self.inner.has(name)
    }

    /// Returns the bytes of a file. Raises an error if reading a table would need too much memory.
    fn read<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.inner.read(name)).map_err(raised)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the JSON of the summary with at most `most` flows, and the number of omitted flows.
    fn brief<'py>(&self, py: Python<'py>, most: usize) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        let found = py.detach(|| self.inner.brief(most)).map_err(raised)?;
        Ok((PyBytes::new(py, &found.0), found.1))
    }

    /// Checks that a file has not changed, without reading it into memory as a whole.
    fn check(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        py.detach(|| self.inner.check_file(name)).map_err(raised)
    }
}

impl RunFolder {
    fn open(path: &Path) -> Result<RunFolder, Fault> {
        let inner = stored::RunFolder::open(path)?;
        let (run_id, seed) = of_run(inner.manifest().as_bytes()).unwrap_or_default();
        Ok(RunFolder {
            inner,
            run_id,
            seed,
        })
    }

    /// Returns whether the run's summary has this schema, and contains the id and the seed of this
    /// run.
    fn fits(&self, summary: &Shape) -> Result<bool, Fault> {
        let data = self.inner.read(stored::SUMMARY)?;
        let own = Some((self.run_id.clone(), self.seed));
        Ok(summary.fits(&data) && of_run(&data) == own)
    }
}

/// Returns the run id and the seed in a manifest or summary.
fn of_run(json: &[u8]) -> Option<(String, u64)> {
    #[derive(serde::Deserialize)]
    struct OfRun {
        run_id: String,
        seed: u64,
    }
    let found: OfRun = serde_json::from_slice(json).ok()?;
    Some((found.run_id, found.seed))
}

/// Returns whether a run folder is intact, and whether its summary has this schema. Python may
/// accept a folder that this function rejects.
fn is_held(path: &Path, summary: &Shape) -> bool {
    stored::check(path).is_ok()
        && RunFolder::open(path).is_ok_and(|run| run.fits(summary).is_ok_and(|fits| fits))
}

/// The run folders of a store that were already measured or verified. Unchanged folders are not read
/// again.
#[pyclass(frozen, module = "tailback._native")]
pub struct Catalogue {
    inner: catalogue::Catalogue,
    summary: Py<Shape>,
}

#[pymethods]
impl Catalogue {
    /// Opens the catalogue of a folder of results. `summary` is the schema of summaries.
    #[new]
    fn new(root: PathBuf, summary: Py<Shape>) -> Catalogue {
        Catalogue {
            inner: catalogue::Catalogue::new(&root.join("runs"), &summary.get().described),
            summary,
        }
    }

    /// Returns the size of each run's files, bytes. The size of a missing run is 0.
    fn sizes(&self, py: Python<'_>, run_ids: Vec<String>, threads: usize) -> PyResult<Vec<u64>> {
        py.detach(|| in_threads(&run_ids, threads, |run_id| self.inner.bytes(run_id)))
            .into_iter()
            .collect::<io::Result<_>>()
            .map_err(os_error)
    }

    /// Returns which of the runs are stored, have unchanged files, and have a summary with the
    /// expected keys and types.
    fn held(&self, py: Python<'_>, run_ids: Vec<String>, threads: usize) -> Vec<bool> {
        let summary = self.summary.get();
        let held = |run_id: &str| self.inner.is_intact(run_id, |path| is_held(path, summary));
        py.detach(|| in_threads(&run_ids, threads, held))
    }

    /// Removes deleted runs from the catalogue.
    fn forget(&self, py: Python<'_>, run_ids: Vec<String>) {
        py.detach(|| self.inner.forget(&run_ids));
    }

    /// Writes the catalogue, unless only a few of its entries are new. Ignores failures.
    fn save(&self, py: Python<'_>) {
        py.detach(|| self.inner.save());
    }
}

/// Returns `work(run_id)` for each run, in order, computed by several threads.
fn in_threads<T: Send>(
    run_ids: &[String],
    threads: usize,
    work: impl Fn(&str) -> T + Sync,
) -> Vec<T> {
    let share = run_ids.len().div_ceil(threads.max(1)).max(1);
    let work = &work;
    thread::scope(|scope| {
        let parts: Vec<_> = run_ids
            .chunks(share)
            .map(|ids| scope.spawn(move || ids.iter().map(|id| work(id)).collect::<Vec<T>>()))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// Checks every file of a run folder. Raises errors as `RunFolder` does.
#[pyfunction]
pub fn check_run(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| stored::check(&path)).map_err(raised)
}

/// Returns whether a text has the form of the id of a run, a sweep or a comparison: 20 digits of a
/// hash.
#[pyfunction]
pub fn is_id(name: &str) -> bool {
    stored::is_id(name)
}

/// Adds the SHA-256 hash of a JSON object to the object, and returns the text of the extended
/// object.
#[pyfunction]
pub fn seal<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &tailback_record::seal::seal(text))
}

/// Returns whether a file with a hash from `seal` is unchanged.
#[pyfunction]
pub fn is_whole(sealed: &[u8]) -> bool {
    tailback_record::seal::is_whole(sealed)
}

/// A temporary folder in `parent` for this process. Creating this folder removes the folders of
/// processes that have ended.
#[pyclass(frozen, module = "tailback._native")]
pub struct Scratch {
    inner: Mutex<Option<scratch::Scratch>>,
    path: PathBuf,
}

#[pymethods]
impl Scratch {
    #[new]
    fn new(parent: PathBuf) -> PyResult<Scratch> {
        let inner = scratch::Scratch::open(&parent).map_err(os_error)?;
        Ok(Scratch {
            path: inner.path().to_owned(),
            inner: Mutex::new(Some(inner)),
        })
    }

    /// Path of the folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Removes the folder and its content.
    fn close(&self) {
        self.inner.lock().map(|mut inner| inner.take()).ok();
    }
}
