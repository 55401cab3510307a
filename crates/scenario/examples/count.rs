//! Runs the first sweep point of a scenario file. `make bench` counts the instructions of this
//! program.

use tailback_engine::network::Network;
use tailback_scenario::Override;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("usage: count FILE [DURATION]")?;
    let duration = args.next().map(|value| Override {
        key: "duration".into(),
        value,
    });
    let overrides: Vec<Override> = duration.into_iter().collect();
    let text = std::fs::read(&file)?;
    let scenario = tailback_scenario::load(&text, &file, &overrides, None)
        .map_err(|errors| errors.iter().map(|e| format!("{e}\n")).collect::<String>())?;
    let point = scenario.points.first().ok_or("no point")?;
    let mut network = Network::new(&point.plan, point.seed);
    while network.advance(1 << 20) {}
    println!("{}", network.finish().data_packets);
    Ok(())
}
