//! Prints str0m's results on the paths of RFC 8867, as the table of
//! docs/evidence/str0m-on-rfc-8867.md.

use tailback_sim::{Simulation, Time};
use tailback_str0m::{Options, Str0m, receiver, sender};

const SEEDS: u64 = 5;

/// The phases of a path: the end of each phase (s), and its capacity (Mbit/s).
type Phases = &'static [(u64, f64)];

/// The name of each path, its number of calls, and its phases.
const PATHS: [(&str, usize, Phases); 3] = [
    (
        "media-variable",
        1,
        &[(40, 1.0), (60, 2.5), (80, 0.6), (100, 1.0)],
    ),
    (
        "media-two-flows",
        2,
        &[(25, 4.0), (50, 2.0), (75, 3.5), (100, 1.0), (125, 2.0)],
    ),
    (
        "media-two-way",
        1,
        &[(20, 2.0), (40, 1.0), (60, 0.5), (100, 2.0)],
    ),
];

/// Length of the measured part at the end of each phase, s.
const SETTLED: u64 = 10;

fn main() {
    println!("| path | phase, s | capacity, Mbit/s | sum of the estimates, Mbit/s | share |");
    println!("|---|---|---:|---:|---:|");
    let mut rest = Vec::new();
    for (path, calls, phases) in PATHS {
        let runs: Vec<_> = (1..=SEEDS)
            .map(|seed| run(path, calls, phases, seed))
            .collect();
        let mut from = 0;
        for (phase, (to, capacity)) in phases.iter().enumerate() {
            let sum = mean(runs.iter().map(|run| run.estimates[phase]));
            let share = 100.0 * sum / capacity;
            println!("| {path} | {from} to {to} | {capacity} | {sum:.2} | {share:.0} % |");
            from = *to;
        }
        let complete = 100.0 * mean(runs.iter().map(|run| run.complete));
        let delay = mean(runs.iter().map(|run| run.delay));
        let p95 = mean(runs.iter().map(|run| run.p95));
        let queue = mean(runs.iter().map(|run| run.queue));
        let drops = mean(runs.iter().map(|run| run.drops));
        rest.push(format!(
            "| {path} | {complete:.1} % | {delay:.0} | {p95:.0} | {queue:.0} | {drops:.0} |"
        ));
    }
    println!(
        "\n| path | complete frames | frame delay, mean, ms | 95th percentile, ms | queue delay, 95th percentile, ms | drops |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    rest.iter().for_each(|line| println!("{line}"));
}

struct Ran {
    /// For each phase, the sum of the calls' mean bandwidth estimates over the phase's last
    /// `SETTLED` seconds, Mbit/s.
    estimates: Vec<f64>,
    complete: f64,
    delay: f64,
    p95: f64,
    queue: f64,
    drops: f64,
}

fn run(path: &str, calls: usize, phases: Phases, seed: u64) -> Ran {
    let end = phases[phases.len() - 1].0;
    let mut text = format!("duration = \"{end}s\"\npath.profile = \"{path}\"\n");
    for call in 0..calls {
        text += &format!("[[programs]]\nname = \"call{call}\"\n");
    }
    let mut simulation = Simulation::from_toml(&text).expect("a scenario").seed(seed);
    let names: Vec<String> = (0..calls).map(|call| format!("call{call}")).collect();
    for (call, name) in names.iter().enumerate() {
        let options = Options {
            seed: seed * 10 + call as u64,
            ..Options::default()
        };
        simulation = simulation
            .attach(name, sender(&options), receiver(&options))
            .expect("an entry of this name");
    }
    let results = simulation.run().expect("a run");
    let estimates = phases.iter().map(|(to, _)| {
        let each = names.iter().map(|name| {
            let estimates = results.sender::<Str0m>(name).estimates();
            over(estimates, to - SETTLED, *to) / 1e6
        });
        each.sum()
    });
    let frames = names.iter().map(|name| {
        let sent = results.sender::<Str0m>(name).frames() as f64;
        results.receiver::<Str0m>(name).frames() as f64 / sent
    });
    let delays: Vec<_> = names
        .iter()
        .filter_map(|name| results.receiver::<Str0m>(name).frame_delay_ms())
        .collect();
    Ran {
        estimates: estimates.collect(),
        complete: mean(frames),
        delay: mean(delays.iter().map(|(delay, _)| *delay)),
        p95: mean(delays.iter().map(|(_, p95)| *p95)),
        queue: results.bottleneck().delay_ms.p95.expect("packets"),
        drops: names.iter().map(|name| results.drops(name) as f64).sum(),
    }
}

/// Returns the time-weighted mean of an estimate between the seconds `from` and `to`.
fn over(estimates: &[(Time, f64)], from: u64, to: u64) -> f64 {
    let (from, to) = (Time::from_secs(from), Time::from_secs(to));
    let mut sum = 0.0;
    for (i, (time, estimate)) in estimates.iter().enumerate() {
        let next = estimates.get(i + 1).map_or(to, |(next, _)| *next);
        let (begin, end) = ((*time).max(from), next.min(to));
        if end > begin {
            sum += estimate * end.since(begin).as_secs_f64();
        }
    }
    sum / to.since(from).as_secs_f64()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    sum / count
}
