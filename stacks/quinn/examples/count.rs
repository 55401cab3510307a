//! Transfers the given number of bytes without competing traffic, and prints the number of data
//! packets. benches/stacks.py counts the instructions of this program.

use tailback_quinn::{Options, client, server};
use tailback_sim::Simulation;

const SCENARIO: &str = r#"
duration = "60s"
[bottleneck]
rate = "100Mbit"
queue = { aqm = "fq_codel", ecn = true }
[path]
rtt = "20ms"
[[programs]]
name = "program"
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bytes = std::env::args().nth(1).ok_or("usage: count BYTES")?;
    let options = Options::default();
    let results = Simulation::from_toml(SCENARIO)?
        .attach(
            "program",
            server(&options),
            client(&options, Some(bytes.parse()?)),
        )?
        .run()?;
    results
        .completion_s("program")
        .ok_or("the transfer did not finish")?;
    println!("{}", results.endpoints("program").measured.packets);
    Ok(())
}
