//! The Python binding, module `tailback._native`: as thin as it can be.
//! Everything a user touches is Python in `python/tailback`.

use pyo3::prelude::*;

mod guest;
mod registry;
mod run;
mod scenario;
mod stored;

pyo3::import_exception!(tailback.errors, Cancelled);
pyo3::import_exception!(tailback.errors, DamagedResults);
pyo3::import_exception!(tailback.errors, EnginePanic);
pyo3::import_exception!(tailback.errors, ScenarioError);

/// The module.
#[pymodule]
mod _native {
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::run::{Control, Store, keep_panics, kept_panic};
    #[pymodule_export]
    use crate::scenario::{Assert, Point, Scenario, load};
    #[pymodule_export]
    use crate::stored::{RunFolder, Scratch, check_run, is_id, is_whole, seal};

    /// Release and hash of the engine's sources.
    #[pyfunction]
    fn engine_version() -> &'static str {
        tailback_run::VERSION
    }

    /// Every congestion control, queue and traffic source with its options, as JSON.
    #[pyfunction]
    fn registry_json() -> String {
        crate::registry::json().to_string()
    }

    /// A queue of a canonical point as `tc qdisc show` prints it; from JSON.
    #[pyfunction]
    fn tc_line(queue: &str) -> PyResult<String> {
        let queue = serde_json::from_str(queue);
        let queue = queue.map_err(|e| PyValueError::new_err(format!("queue: {e}")))?;
        Ok(crate::registry::tc_line(&queue))
    }

    /// JSON Schema of scenario files.
    #[pyfunction]
    fn json_schema() -> String {
        tailback_scenario::json_schema().to_string()
    }

    /// Every key of scenario files by its path, as JSON: what a shell completes for `--set`.
    #[pyfunction]
    fn keys_json() -> String {
        let paths = tailback_scenario::key_paths();
        let paths = paths.iter().map(tailback_scenario::KeyPath::json);
        serde_json::Value::from_iter(paths).to_string()
    }

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        tailback_run::panics::keep_those_of_runs();
        Ok(())
    }
}
