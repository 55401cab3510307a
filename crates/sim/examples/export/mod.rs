//! Exports two C functions, for hosts without an operating system. `run` calls the example's
//! function `simulate` and returns the length of the results. `results` returns the address of the
//! results. `tests/test_sim_wasm.py` checks that the WebAssembly build and the native build return
//! the same bytes.

// The names of exported functions must be unique, and the compiler cannot check this uniqueness.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use super::simulate;

static RESULTS: OnceLock<String> = OnceLock::new();

/// Returns the results as JSON, or an error message. Only the first call runs the simulation.
pub fn json() -> &'static str {
    RESULTS.get_or_init(|| {
        simulate().map_or_else(|error| error.to_string(), |results| results.to_json())
    })
}

/// Runs the simulation. Returns the length of the results as JSON, in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn run() -> usize {
    json().len()
}

/// Returns the address of the results as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn results() -> *const u8 {
    json().as_ptr()
}
