//! Prints the results of a run of quinn beside CUBIC as JSON. WebAssembly has no output. There, a host
//! calls the exported functions instead. `make test-wasm` checks that the native build and the
//! WebAssembly build return the same bytes.

#[path = "../../../crates/sim/examples/export/mod.rs"]
mod export;

use tailback_quinn::{Options, client, server};
use tailback_sim::{Error, Results, Simulation};

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

fn simulate() -> Result<Results, Error> {
    let options = Options::default();
    Simulation::from_toml(SCENARIO)?
        .attach("quinn", server(&options), client(&options, None))?
        .run()
}

fn main() {
    print!("{}", export::json());
}
