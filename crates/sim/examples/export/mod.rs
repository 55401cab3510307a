//! Exports two C functions, for hosts without an operating system. `run` calls `simulate` of the
//! example and returns the length of the results; `results` returns their address.
//! `tests/test_sim_wasm.py` checks that the WebAssembly build and the native build return the same
//! bytes.

// The names of exported functions must be unique. The compiler cannot check this.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use super::simulate;

static RESULTS: OnceLock<String> = OnceLock::new();

/// Returns the results as JSON, or an error message. Only the first call simulates.
pub fn json() -> &'static str {
    RESULTS.get_or_init(|| {
        simulate().map_or_else(|error| error.to_string(), |results| results.to_json())
    })
}

/// Simulates. Returns the length in bytes of the results as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn run() -> usize {
    json().len()
}

/// Returns the address of the results as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn results() -> *const u8 {
    json().as_ptr()
}
