//! Prints the results of quinn beside CUBIC as JSON. In WebAssembly, which has no output, `run`
//! simulates and returns the length of the results, and `results` returns their address.
//! `make test-wasm` compares the results of both, byte by byte.

// The names of exported functions must be unique, which the compiler cannot check.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use tailback_quinn::{Options, client, server};
use tailback_sim::{Error, Simulation};

const SCENARIO: &str = r#"
duration = "20s"
warmup = "2s"
[bottleneck]
rate = "20Mbit"
queue = { aqm = "fq_codel", ecn = true }
loss = 0.0001
[path]
rtt = "20ms"
[[flows]]
cc = "cubic"
ecn = true
[[programs]]
name = "quinn"
"#;

static RESULTS: OnceLock<String> = OnceLock::new();

fn simulate() -> Result<String, Error> {
    let options = Options::default();
    let results = Simulation::from_toml(SCENARIO)?
        .attach("quinn", server(&options), client(&options, None))?
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
