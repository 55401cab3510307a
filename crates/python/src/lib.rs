//! The Python module `tailback._native`: the bindings with tailback's algorithms, without plugins.

use pyo3::prelude::*;

/// Fills the module `_native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tailback_binding::fill(module, &[])
}
