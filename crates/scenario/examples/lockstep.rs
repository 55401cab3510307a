//! What one run on two cores could gain at most: two halves of a network that share nothing run
//! side by side and wait for one another whenever the time a packet takes from one to the other
//! (the lookahead of a conservative parallel simulation) is over. The whole, on one core, is what
//! that is compared with. Prints seconds: whole, both halves one after the other, both at once.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tailback_engine::network::Network;
use tailback_engine::units::Time;

/// Events between two looks at the clock of a half.
const AT_ONCE: u64 = 16;

type Failure = Box<dyn std::error::Error>;

fn network(file: &str) -> Result<Network, Failure> {
    let text = std::fs::read(file)?;
    let scenario = tailback_scenario::load(&text, file, &[], None)
        .map_err(|errors| errors.iter().map(|e| format!("{e}\n")).collect::<String>())?;
    let point = scenario.points.first().ok_or("no point")?;
    Ok(Network::new(&point.plan, point.seed))
}

/// Runs a half; after each window it waits for the other one.
fn half(mut network: Network, window: Time, own: &AtomicU64, other: &AtomicU64) {
    let mut windows = 0;
    loop {
        let end = Time((windows + 1) * window.ns());
        let mut running = true;
        while running && network.now() < end {
            running = network.advance(AT_ONCE);
        }
        windows += 1;
        own.store(if running { windows } else { u64::MAX }, Ordering::Release);
        if !running {
            return;
        }
        while other.load(Ordering::Acquire) < windows {
            spin_loop();
        }
    }
}

fn alone(mut network: Network) -> f64 {
    let start = Instant::now();
    while network.advance(AT_ONCE) {}
    start.elapsed().as_secs_f64()
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [whole, first, second, window] = &args[..] else {
        return Err("usage: lockstep WHOLE HALF HALF WINDOW_NS".into());
    };
    let window = Time(window.parse()?);
    let whole = alone(network(whole)?);
    let apart = alone(network(first)?) + alone(network(second)?);
    let (one, two) = (network(first)?, network(second)?);
    let marks = [AtomicU64::new(0), AtomicU64::new(0)];
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| half(one, window, &marks[0], &marks[1]));
        half(two, window, &marks[1], &marks[0]);
    });
    let both = start.elapsed().as_secs_f64();
    println!("{whole:.3} {apart:.3} {both:.3}");
    Ok(())
}
