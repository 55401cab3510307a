//! A simulation as a library with two C functions, for hosts without an operating system, such as
//! WebAssembly. `run` simulates and returns the length of the results; `results` returns their
//! address. `tests/test_sim_wasm.py` checks that the WebAssembly build and the native build return
//! the same bytes.

// The names of exported functions must be unique, which the compiler cannot check.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use tailback_sim::Simulation;

const SCENARIO: &str = r#"
duration = "20s"
warmup = "2s"
host_jitter = "100us"
[bottleneck]
rate = "20Mbit"
queue = "dualpi2"
loss = 0.0001
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
ecn = true
[[flows]]
cc = "prague"
[[flows]]
cc = "bbr3"
[[traffic]]
kind = "web"
"#;

static RESULTS: OnceLock<String> = OnceLock::new();

fn json() -> &'static str {
    RESULTS.get_or_init(|| {
        let run = Simulation::from_toml(SCENARIO).and_then(Simulation::run);
        run.map_or_else(|error| error.to_string(), |results| results.to_json())
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
