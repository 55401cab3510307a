//! Converts file errors to Python exceptions.

use std::io;

use pyo3::exceptions::{PyOSError, PyPermissionError};
use pyo3::prelude::*;

/// Converts an I/O error to `PermissionError` if writing is not permitted, and to `OSError`
/// otherwise.
pub fn os_error(error: io::Error) -> PyErr {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            PyPermissionError::new_err(error.to_string())
        }
        _ => PyOSError::new_err(error.to_string()),
    }
}
