//! A simulation as a library that exports two C functions (see the module `export`), for hosts
//! without an operating system, such as WebAssembly.

mod export;

use tailback_sim::{Error, Results, Simulation};

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

fn simulate() -> Result<Results, Error> {
    Simulation::from_toml(SCENARIO)?.run()
}
