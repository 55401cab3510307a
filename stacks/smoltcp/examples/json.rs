//! Prints the results of a run of smoltcp beside CUBIC as JSON. WebAssembly has no output. There, a host
//! calls the exported functions instead. `make test-wasm` checks that the native build and the
//! WebAssembly build return the same bytes.

#[path = "../../../crates/sim/examples/export/mod.rs"]
mod export;

use tailback_sim::{Error, Results, Simulation};
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

fn simulate() -> Result<Results, Error> {
    let options = Options::default();
    Simulation::from_toml(SCENARIO)?
        .attach("smoltcp", sender(&options, None), receiver(&options))?
        .run()
}

fn main() {
    print!("{}", export::json());
}
