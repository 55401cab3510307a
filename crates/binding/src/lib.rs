//! The Python bindings. Users call only the Python code in `python/tailback`.
//!
//! [`fill`] adds all functions and classes to a Python module. The module without plugins is
//! `tailback._native`. For each set of plugins, tailback builds a separate module, which contains
//! the engine and these plugins.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::wrap_pyfunction;
pub use tailback_engine::crates::Crate;

mod bottleneck;
mod diagnostic;
mod guest;
mod os_error;
mod programs;
mod run;
mod scenario;
mod shape;
mod stored;

pyo3::import_exception!(tailback.errors, Cancelled);
pyo3::import_exception!(tailback.errors, DamagedResults);
pyo3::import_exception!(tailback.errors, EnginePanic);
pyo3::import_exception!(tailback.errors, InputError);
pyo3::import_exception!(tailback.errors, ScenarioError);

/// Returns the engine's version: tailback's release, and a hash of the engine's sources with the
/// compiled-in plugins.
#[pyfunction]
fn engine_version() -> String {
    tailback_run::crates::versioned(tailback_run::VERSION)
}

/// Returns JSON that lists every congestion control, queue and traffic source, with its options.
#[pyfunction]
fn registry_json() -> String {
    tailback_scenario::registry::json().to_string()
}

/// Returns a description of the fields and metrics of a run's summary, as JSON.
#[pyfunction]
fn summary_json() -> String {
    tailback_scenario::registry::summary().to_string()
}

/// Converts the path of a metric in the summary to an identifier that ends with the unit:
/// `rtt_ms.p99` becomes `rtt_p99_ms`.
#[pyfunction]
fn identifier(path: &str) -> String {
    tailback_record::summary::metric::identifier(path)
}

/// Returns a queue in the format of `tc qdisc show`. `queue` is the queue with all defaults and in
/// base units, as JSON.
#[pyfunction]
fn tc_line(queue: &str) -> PyResult<String> {
    let queue = serde_json::from_str(queue);
    let queue = queue.map_err(|e| PyValueError::new_err(format!("queue: {e}")))?;
    Ok(tailback_scenario::registry::tc_line(&queue))
}

/// Returns the JSON Schema of scenario files.
#[pyfunction]
fn json_schema() -> String {
    tailback_scenario::json_schema().to_string()
}

/// Returns JSON that lists every key of scenario files with its path. For `--set`, shell completion
/// offers these paths.
#[pyfunction]
fn keys_json() -> String {
    let paths = tailback_scenario::key_paths();
    let paths = paths.iter().map(tailback_scenario::KeyPath::json);
    serde_json::Value::from_iter(paths).to_string()
}

/// Adds all functions and classes to a module, with these plugins compiled in.
///
/// # Errors
/// Raises `InputError` with all errors in the plugins' registrations.
pub fn fill(module: &Bound<'_, PyModule>, crates: &'static [Crate]) -> PyResult<()> {
    tailback_run::panics::keep_those_of_runs();
    tailback_run::crates::install(crates)
        .map_err(|problems| InputError::new_err((problems.join("\n"),)))?;
    module.add_class::<bottleneck::Bottleneck>()?;
    module.add_class::<bottleneck::Delivery>()?;
    module.add_class::<diagnostic::Diagnostic>()?;
    module.add_class::<run::Control>()?;
    module.add_class::<run::Store>()?;
    module.add_class::<scenario::Assert>()?;
    module.add_class::<scenario::Point>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<shape::Shape>()?;
    module.add_class::<stored::Catalogue>()?;
    module.add_class::<stored::RunFolder>()?;
    module.add_class::<stored::Scratch>()?;
    let functions = [
        wrap_pyfunction!(engine_version, module)?,
        wrap_pyfunction!(identifier, module)?,
        wrap_pyfunction!(json_schema, module)?,
        wrap_pyfunction!(keys_json, module)?,
        wrap_pyfunction!(registry_json, module)?,
        wrap_pyfunction!(summary_json, module)?,
        wrap_pyfunction!(tc_line, module)?,
        wrap_pyfunction!(run::keep_panics, module)?,
        wrap_pyfunction!(run::kept_panic, module)?,
        wrap_pyfunction!(scenario::load, module)?,
        wrap_pyfunction!(scenario::named_plugins, module)?,
        wrap_pyfunction!(stored::check_run, module)?,
        wrap_pyfunction!(stored::is_id, module)?,
        wrap_pyfunction!(stored::is_whole, module)?,
        wrap_pyfunction!(stored::seal, module)?,
    ];
    functions
        .into_iter()
        .try_for_each(|function| module.add_function(function))
}
