//! Scenarios for Python.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailback_engine::crates::installed;
use tailback_engine::network::parts::Split;
use tailback_guest::map;
use tailback_record::foreign::shown;
use tailback_run::{Source, crates, guest::Numbers, guest::Ran, panics};
use tailback_scenario::{EngineKind, Override, Param};

use crate::diagnostic::Diagnostic;
use crate::run::{Control, Store, failed};
use crate::{EnginePanic, ScenarioError};
use crate::{guest, programs};

/// A scenario with all points of its sweep, as Python classes.
#[pyclass(frozen, module = "tailback._native")]
pub struct Scenario {
    inner: Arc<tailback_scenario::Scenario>,
    folder: PathBuf,
}

/// One point of a sweep: a value for each swept key, and a seed.
#[pyclass(frozen, module = "tailback._native")]
pub struct Point {
    scenario: Arc<tailback_scenario::Scenario>,
    index: usize,
}

/// An assertion of a scenario (`[[assert]]`).
#[pyclass(frozen, get_all, module = "tailback._native")]
pub struct Assert {
    metric: String,
    flow: Option<String>,
    link: Option<String>,
    class_name: Option<String>,
    without: Option<String>,
    min: Option<f64>,
    max: Option<f64>,
}

/// Reads and validates a scenario for an engine ("sim" or "kernel") and expands its sweep.
///
/// Relative paths in the scenario, such as those of traces, refer to `folder`. A run that would
/// need more than `memory` bytes is an error. Run ids depend on `engine_version` (default: the
/// simulator's version). `kit` lists the features of the guest's kernel, as JSON. Raises
/// `ScenarioError`, which lists all errors.
#[pyfunction]
#[pyo3(signature = (text, file, overrides = Vec::new(), seeds = None, *, folder = None, memory = None, engine = "sim", engine_version = None, kit = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn load(
    py: Python<'_>,
    text: &[u8],
    file: &str,
    overrides: Vec<(String, String)>,
    seeds: Option<u64>,
    folder: Option<PathBuf>,
    memory: Option<u64>,
    engine: &str,
    engine_version: Option<&str>,
    kit: Option<&str>,
) -> PyResult<Scenario> {
    let kit = kit.map(guest::kit).transpose()?;
    let engine = EngineKind::of(engine).ok_or_else(|| {
        PyValueError::new_err(format!(
            "no engine {engine:?}: expected \"sim\" or \"kernel\""
        ))
    })?;
    let overrides = sets(overrides);
    let folder = folder.unwrap_or_default();
    let source = Source {
        text,
        file,
        folder: &folder,
        overrides: &overrides,
        seeds,
        memory,
        engine,
        engine_version,
        kit: kit.as_ref(),
    };
    let loaded = py.detach(|| {
        let load = || tailback_run::load(&source).map(Arc::new);
        // Catch panics only if plugins are compiled in. Without plugins, a panic is a bug in
        // tailback.
        match installed() {
            [] => Ok(load()),
            _ => panics::caught(load),
        }
    });
    let loaded = loaded.map_err(|panic| EnginePanic::new_err((panic,)))?;
    loaded
        .map(|inner| Scenario { inner, folder })
        .map_err(|problems| {
            let diagnostics: Vec<Diagnostic> = problems.iter().map(Diagnostic::from).collect();
            ScenarioError::new_err((diagnostics,))
        })
}

/// Returns the plugin folders that a scenario names, each with an error message. The caller reports
/// this error if the folder does not exist. The arguments are those of `load`.
#[pyfunction]
pub fn named_plugins(
    text: &[u8],
    file: &str,
    overrides: Vec<(String, String)>,
) -> Vec<(String, Diagnostic)> {
    let named = tailback_scenario::named_plugins(text, file, &sets(overrides));
    let named = named.into_iter();
    named
        .map(|(name, place)| {
            let absent = Diagnostic::of(&place, format!("no folder '{}'", shown(&name)));
            (name, absent)
        })
        .collect()
}

fn sets(overrides: Vec<(String, String)>) -> Vec<Override> {
    let sets = overrides.into_iter();
    sets.map(|(key, value)| Override { key, value }).collect()
}

#[pymethods]
impl Scenario {
    /// Title of the scenario, or an empty string.
    #[getter]
    fn title(&self) -> &str {
        &self.inner.title
    }

    /// The engine for which the scenario was loaded: "sim" or "kernel".
    #[getter]
    fn engine(&self) -> &'static str {
        self.inner.engine.name()
    }

    /// Version of the engine. If sweep points use different engine versions, lists all versions.
    #[getter]
    fn engine_version(&self) -> &str {
        &self.inner.engine_version
    }

    /// Id of the sweep.
    #[getter]
    fn id(&self) -> &str {
        &self.inner.id
    }

    /// The swept keys of each axis, the slowest axis first. Keys of one axis change together.
    #[getter]
    fn axes(&self) -> Vec<Vec<String>> {
        self.inner
            .axes
            .iter()
            .map(|axis| axis.keys.clone())
            .collect()
    }

    /// Every point of the sweep with every seed.
    #[getter]
    fn points(&self) -> Vec<Point> {
        (0..self.inner.points.len())
            .map(|index| Point {
                scenario: Arc::clone(&self.inner),
                index,
            })
            .collect()
    }

    /// The assertions to check after the run.
    #[getter]
    fn asserts(&self) -> Vec<Assert> {
        self.inner
            .asserts
            .iter()
            .map(|a| Assert {
                metric: a.metric.clone(),
                flow: a.flow.clone(),
                link: a.link.clone(),
                class_name: a.class.clone(),
                without: a.without.clone(),
                min: a.min,
                max: a.max,
            })
            .collect()
    }

    /// Warnings about settings that are allowed but unusual.
    #[getter]
    fn warnings(&self) -> Vec<Diagnostic> {
        self.inner.warnings.iter().map(Diagnostic::from).collect()
    }

    /// The file name, as the caller gave it.
    #[getter]
    fn file(&self) -> &str {
        &self.inner.file
    }

    /// The file's content.
    #[getter]
    fn text(&self) -> &str {
        &self.inner.source.text
    }

    /// The overrides (`--set`), as pairs of a path and a value, in the order in which they apply.
    #[getter]
    fn overrides(&self) -> Vec<(String, String)> {
        let sets = self.inner.source.overrides.iter();
        sets.map(|set| (set.key.clone(), set.value.clone()))
            .collect()
    }

    /// The number of seeds, if the caller has set it.
    #[getter]
    fn seeds(&self) -> Option<u64> {
        self.inner.source.seeds
    }

    /// The folder to which relative paths in the scenario refer.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Paths of the traces that the scenario names, as written in the file.
    #[getter]
    fn files(&self) -> Vec<String> {
        self.inner.source.files.clone()
    }

    /// `[sweep]` with overrides applied, as JSON in the order of the file.
    #[getter]
    fn sweep(&self) -> &str {
        &self.inner.source.sweep
    }

    /// The swept keys that overrides replaced by one value: the index of the override, the key and
    /// the number of values in the sweep.
    #[getter]
    fn replaced(&self) -> Vec<(usize, String, usize)> {
        let replaced = self.inner.source.replaced.iter();
        replaced
            .map(|one| (one.set, one.key.clone(), one.values))
            .collect()
    }

    /// Whether any sweep point runs programs.
    #[getter]
    fn runs_programs(&self) -> bool {
        let mut points = self.inner.points.iter();
        points.any(|point| !point.plan.programs.is_empty())
    }

    /// Whether plugins are compiled in.
    #[getter]
    fn plugins(&self) -> bool {
        !installed().is_empty()
    }

    /// Returns the same scenario with other engine versions. `versions` maps each kernel that sweep
    /// points name to an engine version. `versions` maps `None` to the version for sweep points
    /// that name no kernel. Raises `ValueError` if a kernel is missing.
    fn versioned(&self, versions: HashMap<Option<String>, String>) -> PyResult<Scenario> {
        let versions: HashMap<_, Arc<str>> = versions
            .into_iter()
            .map(|(kernel, version)| (kernel, crates::versioned(&version).into()))
            .collect();
        let mut kernels = self.inner.points.iter().map(|point| &point.plan.kernel);
        if let Some(kernel) = kernels.find(|kernel| !versions.contains_key(*kernel)) {
            let message = format!("no version for kernel {kernel:?}");
            return Err(PyValueError::new_err(message));
        }
        let inner = tailback_scenario::Scenario::clone(&self.inner);
        let version_of = |kernel: Option<&str>| Arc::clone(&versions[&kernel.map(str::to_owned)]);
        Ok(Scenario {
            inner: Arc::new(inner.versioned(version_of)),
            folder: self.folder.clone(),
        })
    }

    /// Simulates a sweep point and stores the results in a run folder. Releases the GIL. Raises
    /// `ValueError` if the scenario was loaded for another engine, and `OSError` if the folder
    /// cannot be written. Raises `Cancelled` if `control` is cancelled, and `EnginePanic` if the
    /// engine panics.
    fn run(&self, py: Python<'_>, index: usize, store: &Store, control: &Control) -> PyResult<()> {
        let point =
            self.inner.points.get(index).ok_or_else(|| {
                PyIndexError::new_err(format!("no point {index} in this scenario"))
            })?;
        if self.inner.engine != EngineKind::Sim {
            return Err(PyValueError::new_err(
                "the scenario was loaded for the kernel engine",
            ));
        }
        py.detach(|| tailback_run::run(point, &store.inner, &control.inner))
            .map_err(failed)
    }

    /// Returns the instructions with which the guest of the kernel engine runs a sweep point, as
    /// JSON. `kit` (the features of the guest's kernel) and `places` (the paths of programs'
    /// packages and files) are JSON, too.
    #[pyo3(signature = (index, kit, places = "{}"))]
    fn guest_job(&self, index: usize, kit: &str, places: &str) -> PyResult<String> {
        guest::job(self.at(index)?, &guest::kit(kit)?, &guest::places(places)?)
    }

    /// Returns the `ip` and `tc` commands for a sweep point, for display.
    fn guest_script(&self, index: usize, kit: &str) -> PyResult<String> {
        guest::script(self.at(index)?, &guest::kit(kit)?)
    }

    /// Stores the results that the guest wrote to the folder `results`. `numbers` are the numbers
    /// from programs' output files, by program and name. Returns the guest's warnings.
    #[pyo3(signature = (index, store, results, *, environment, wall_s, cpu_s, memory_bytes, numbers = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn store_guest(
        &self,
        py: Python<'_>,
        index: usize,
        store: &Store,
        results: PathBuf,
        environment: &str,
        wall_s: f64,
        cpu_s: f64,
        memory_bytes: u64,
        numbers: Option<Numbers>,
    ) -> PyResult<Vec<String>> {
        let point = self.at(index)?;
        let ran = Ran {
            environment,
            wall_s,
            cpu_s,
            memory_bytes,
            numbers: numbers.unwrap_or_default(),
        };
        py.detach(|| tailback_run::guest::store(point, &store.inner, &results, &ran))
            .map_err(failed)
    }
}

impl Scenario {
    fn at(&self, index: usize) -> PyResult<&tailback_scenario::Point> {
        self.inner.points.get(index).ok_or_else(|| {
            pyo3::exceptions::PyIndexError::new_err(format!("no point {index} in this scenario"))
        })
    }
}

impl Point {
    fn point(&self) -> &tailback_scenario::Point {
        &self.scenario.points[self.index]
    }
}

#[pymethods]
impl Point {
    /// The swept keys with their values, as written in the file.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let labels = PyDict::new(py);
        let point = self.point();
        for ((path, _), label) in point.params.iter().zip(point.labels.iter()) {
            labels.set_item(path, label)?;
        }
        Ok(labels)
    }

    /// The swept keys with their values: numbers in base units, or names.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let params = PyDict::new(py);
        for (path, value) in self.point().params.iter() {
            match value {
                Param::Number(number) => params.set_item(path, number)?,
                Param::Name(name) => params.set_item(path, name)?,
            }
        }
        Ok(params)
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.point().seed
    }

    /// Id of the run: a hash of the canonical scenario, the seed and the engine version.
    #[getter]
    fn run_id(&self) -> &str {
        &self.point().run_id
    }

    /// Id of the run that is the baseline for gains of this run. In the baseline, which has the
    /// same seed, every flow has the standard response to marks. `None` if every flow of this run
    /// has the standard response, or if the sweep has no such run.
    #[getter]
    fn baseline(&self) -> Option<&str> {
        let points = &self.scenario.points;
        let baseline = points.get(self.point().baseline?)?;
        Some(&baseline.run_id)
    }

    /// The sweep point as JSON, in base units and with all defaults.
    #[getter]
    fn canonical(&self) -> &str {
        &self.point().canonical
    }

    /// Returns whether the network can be simulated in `cores` parts, each on its own core.
    fn splits(&self, cores: usize) -> bool {
        Split::of(&self.point().plan, cores).is_some()
    }

    /// The kernel that the sweep point names, or `None`.
    #[getter]
    fn kernel(&self) -> Option<&str> {
        self.point().plan.kernel.as_deref()
    }

    /// Names of the kernel modules that the sweep point needs.
    #[getter]
    fn modules(&self) -> Vec<&str> {
        map::modules(&self.point().plan).into_iter().collect()
    }

    /// The sweep point's `[[programs]]` entries. Each entry contains its name, kind, packages and
    /// files (absolute paths), and the programs on the sender's and on the receiver's host. It also
    /// contains the guest's date (seconds since 1970), and the numbers to read from output files.
    #[getter]
    fn programs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let programs = self.point().plan.programs.iter();
        programs
            .map(|program| programs::dict(py, program))
            .collect()
    }

    /// Length of the run, ns.
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.point().plan.duration.ns()
    }

    /// Estimated memory that the run needs, bytes.
    #[getter]
    fn memory(&self) -> u64 {
        tailback_scenario::estimate_memory(&self.point().plan)
    }

    /// Estimated number of packets that the links forward. A packet counts once for each link on
    /// its path.
    #[getter]
    fn packets(&self) -> u64 {
        tailback_scenario::estimate_packets(&self.point().plan)
    }

    /// Relative cost of the run, at least 1. tailback uses it to order runs and to estimate the
    /// remaining time.
    #[getter]
    fn cost(&self) -> f64 {
        1.0 + tailback_scenario::estimate_packets(&self.point().plan) as f64
    }
}
