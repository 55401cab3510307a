//! The Python module `tailback._native`: the binding, with the algorithms of this tree.

use pyo3::prelude::*;

/// Fills the module `_native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    tailback_binding::fill(module, &[])
}
