//! Prints a table of quinn's results over a bottleneck of 20 Mbit/s with an RTT of 20 ms, alone and
//! beside CUBIC: `cargo run --release --example table`.

use std::time::Instant;

use tailback_quinn::{Control, Options, client, server};
use tailback_sim::{Error, Results, Simulation};

fn run(
    queue: &str,
    rtt: &str,
    rest: &str,
    options: &Options,
    bytes: Option<u64>,
) -> Result<Results, Error> {
    let text = format!(
        "duration = \"30s\"\nwarmup = \"{}\"\n[bottleneck]\nrate = \"20Mbit\"\nqueue = {queue}\n\
         [path]\nrtt = \"{rtt}\"\n[[programs]]\nname = \"quic\"\n{rest}",
        if bytes.is_some() { "0s" } else { "5s" }
    );
    Simulation::from_toml(&text)?
        .attach("quic", server(options), client(options, bytes))?
        .run()
}

fn main() -> Result<(), Error> {
    const MARKING: &str = "{ aqm = \"fq_codel\", ecn = true }";
    println!("20 MB alone: seconds, marks, drops, wall seconds");
    let newreno = Options {
        control: Control::NewReno,
        ..Options::default()
    };
    let tokio = Options {
        timers: tailback_quinn::Timers::Tokio,
        ..Options::default()
    };
    for (name, rtt, options) in [
        ("cubic", "20ms", &Options::default()),
        ("newreno", "20ms", &newreno),
        ("cubic, 160 ms", "160ms", &Options::default()),
        ("cubic, 160 ms, timers of tokio", "160ms", &tokio),
    ] {
        let began = Instant::now();
        let results = run(MARKING, rtt, "", options, Some(20_000_000))?;
        let took = results.completion_s("quic").unwrap_or(f64::NAN);
        let (marks, drops) = (results.marks("quic"), results.drops("quic"));
        println!(
            "{name:<32} {took:>8.3} {marks:>4} {drops:>4} {:>6.3}",
            began.elapsed().as_secs_f64()
        );
    }
    println!(
        "beside CUBIC: Mbit/s of quinn and CUBIC, marks of both, queue delay mean and p99, ms"
    );
    let cubic = "[[flows]]\ncc = \"cubic\"\necn = true\n";
    for queue in [
        MARKING,
        "{ aqm = \"fifo\", limit = \"1bdp\" }",
        "\"dualpi2\"",
    ] {
        let results = run(queue, "20ms", cubic, &Options::default(), None)?;
        let delay = results.bottleneck().delay_ms;
        println!(
            "{queue:<36} {:>6.3} {:>6.3} {:>4} {:>4} {:>6.2} {:>6.2}",
            results.throughput_mbit("quic"),
            results.throughput_mbit("cubic"),
            results.marks("quic"),
            results.marks("cubic"),
            delay.mean.unwrap_or(f64::NAN),
            delay.p99.unwrap_or(f64::NAN),
        );
    }
    Ok(())
}
