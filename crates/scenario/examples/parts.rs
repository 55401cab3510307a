//! Runs the first sweep point of a scenario on one core and then on several. Prints how many
//! seconds each run takes. Also prints how far each part of the simulation may run ahead of the
//! other parts, in simulated time.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tailback_engine::network::Network;
use tailback_engine::network::parts::{Ended, Meeting, Split};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, cores] = &args[..] else {
        return Err("usage: parts FILE CORES".into());
    };
    let text = std::fs::read(file)?;
    let scenario = tailback_scenario::load(&text, file, &[], None)
        .map_err(|errors| errors.iter().map(|e| format!("{e}\n")).collect::<String>())?;
    let point = scenario.points.first().ok_or("no point")?;
    let (plan, seed) = (Arc::clone(&point.plan), point.seed);

    let start = Instant::now();
    let mut network = Network::new(&plan, seed);
    while network.advance(1 << 20) {}
    let packets = network.finish().data_packets;
    let whole = start.elapsed().as_secs_f64();

    let split = Split::of(&plan, cores.parse()?).ok_or("there is no way to cut it")?;
    let start = Instant::now();
    let meeting = Meeting::new(&split);
    let play = |own| split.play(&plan, seed, own, &meeting, &mut |_| true);
    let played: Vec<(Ended, Network)> = thread::scope(|scope| {
        let play = &play;
        let threads: Vec<_> = (1..split.parts())
            .map(|own| scope.spawn(move || play(own)))
            .collect();
        let mut played = vec![play(0)];
        played.extend(threads.into_iter().filter_map(|thread| thread.join().ok()));
        played
    });
    let (ended, mut networks): (Vec<_>, Vec<_>) = played.into_iter().unzip();
    if ended.iter().any(|ended| *ended != Ended::Done) {
        return Err(format!("ended {ended:?}").into());
    }
    let first = networks.remove(0);
    let joined = first.join(networks).finish();
    let parts = start.elapsed().as_secs_f64();
    if joined.data_packets != packets {
        return Err("the parts have sent something else".into());
    }
    println!("{whole:.3} {parts:.3} {} {packets}", split.window().ns());
    Ok(())
}
