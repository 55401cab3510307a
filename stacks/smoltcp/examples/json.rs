//! Prints the results of smoltcp beside CUBIC as JSON. In WebAssembly, which has no output, `run`
//! simulates and returns the length of the results, and `results` returns their address.
//! `make test-wasm` compares the results of both, byte by byte.

// The names of exported functions must be unique, which the compiler cannot check.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use tailback_sim::{Error, Simulation};
use tailback_smoltcp::{Options, receiver, sender};

const SCENARIO: &str = r#"
duration = "20s"
warmup = "2s"
[bottleneck]
rate = "20Mbit"
queue = "fq_codel"
loss = 0.0001
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
[[programs]]
name = "smoltcp"
"#;

static RESULTS: OnceLock<String> = OnceLock::new();

fn simulate() -> Result<String, Error> {
    let options = Options::default();
    let results = Simulation::from_toml(SCENARIO)?
        .attach("smoltcp", sender(&options, None), receiver(&options))?
        .run()?;
    Ok(results.to_json())
}

fn json() -> &'static str {
    RESULTS.get_or_init(|| simulate().unwrap_or_else(|error| error.to_string()))
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

fn main() {
    print!("{}", json());
}
