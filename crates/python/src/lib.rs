//! The Python module `tailback._native`, which is the binding with tailback's own algorithms.

use pyo3::prelude::*;

/// Fills the module `_native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tailback_binding::fill(module, &[])
}
