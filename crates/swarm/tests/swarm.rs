//! Runs a fixed part of the swarm, scenarios that once failed, and the seeds of the fuzz targets.
//! All inputs of these tests are the same on every machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tailback_swarm::laws::{self, Law, Verdict};
use tailback_swarm::readers::READERS;
use tailback_swarm::swarm::{Plan, swarm};
use tailback_swarm::trial::{Limits, keep_panics, trial};
use tailback_swarm::{generate, heap};
use toml::{Table, Value};

#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

/// Number of scenarios. With this number, all tests together take a minute on one core.
const SEEDS: u64 = 2_000;

/// Returns the files of a folder, by name.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let read = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = read.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn nothing_is_found() {
    keep_panics();
    let plan = Plan {
        from: 0,
        seeds: SEEDS,
        time: None,
        jobs: 2,
    };
    let mut found = Vec::new();
    let tally = swarm(&plan, |_, seed, findings| {
        found.extend(findings.iter().map(|finding| (seed, finding.clone())));
    });
    assert!(
        found.is_empty(),
        "{found:#?}\nlook at one with: tailback-swarm reduce SEED"
    );
    // The simulator must accept and run most scenarios. If the simulator rejected many scenarios,
    // the swarm would test little.
    assert_eq!(tally.tried, SEEDS);
    assert!(tally.done > SEEDS * 3 / 4, "{tally:#?}");
    assert!(tally.refusals() < SEEDS / 50, "{tally:#?}");
}

/// Checks an invariant on `seeds` scenarios. No scenario may violate the invariant, and the
/// invariant must apply to more than the fraction `most` of the scenarios.
fn holds(name: &str, seeds: u64, most: f64) {
    keep_panics();
    let law = Law::named(name).expect("a law");
    let plan = Plan {
        from: 0,
        seeds,
        time: None,
        jobs: 1,
    };
    let mut found = Vec::new();
    let tally = laws::survey(law, &plan, |_, seed, verdict| {
        if let Verdict::Broken(finding) = verdict {
            found.push((seed, finding.clone()));
        }
    });
    assert!(
        found.is_empty(),
        "{found:#?}\nlook at one with: tailback-swarm law {name} reduce SEED"
    );
    assert_eq!(tally.tried, seeds);
    assert!(tally.held as f64 > seeds as f64 * most, "{tally:#?}");
}

#[test]
fn order_decides_nothing() {
    holds("permute", 300, 0.4);
}

#[test]
fn flows_alike_have_no_order() {
    holds("alike", 200, 0.9);
}

#[test]
fn names_change_names_only() {
    holds("rename", 150, 0.2);
}

#[test]
fn parts_of_a_sweep_are_the_whole() {
    holds("split", 300, 0.9);
}

#[test]
fn twice_the_rates_is_half_the_times() {
    holds("scale", 600, 0.9);
}

#[test]
fn idle_links_change_nothing() {
    holds("idle", 300, 0.6);
}

#[test]
fn other_words_name_the_same_runs() {
    holds("write", 1_000, 0.9);
}

#[test]
fn what_failed_once_fails_no_more() {
    keep_panics();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    for path in files(&folder) {
        let text = fs::read_to_string(&path).expect("a scenario");
        let report = trial(&text, &Limits::default());
        let name = path.display();
        assert!(report.findings.is_empty(), "{name}: {:#?}", report.findings);
    }
}

#[test]
fn every_reader_reads_its_seeds() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for reader in READERS {
        let files = files(&seeds.join(reader.name));
        assert!(!files.is_empty(), "no seeds for {}", reader.name);
        for path in files {
            (reader.read)(&fs::read(&path).expect("a seed"));
        }
    }
}

/// Every reader has a fuzz target, and every fuzz target belongs to a reader.
#[test]
fn every_reader_has_a_target() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/targets");
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let targets: BTreeSet<String> = files(&targets)
        .iter()
        .filter_map(|path| stem(path))
        .collect();
    let readers: BTreeSet<String> = READERS
        .iter()
        .map(|reader| reader.name.to_owned())
        .collect();
    assert_eq!(targets, readers);
}

/// Collects the keys of a scenario, and the words among the scenario's values.
fn words_of(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                words.insert(key.clone());
                words_of(value, words);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| words_of(item, words)),
        Value::String(word) => drop(words.insert(word.clone())),
        _ => {}
    }
}

/// Every key, option and enumerated value must occur in some generated scenario. If the generator
/// does not draw a new key or value automatically, add the key or value to `generate`.
#[test]
fn every_key_and_word_is_drawn() {
    /// The keys and values that the generator never writes. These keys and values belong to guest
    /// kernels, a metric of sweeps, plugins (which would have to be compiled), named paths, and the
    /// short form of `burst_loss`. Tests of the scenario crate compare named paths and short forms
    /// with the keys that they replace.
    const NOT_DRAWN: [&str; 8] = [
        "module",
        "args",
        "throughput_gain",
        "with",
        "profile",
        "gilbert",
        "good",
        "bad",
    ];
    /// Keys, kinds and options of programs, which only the kernel engine runs.
    const OF_PROGRAMS: [&str; 65] = [
        "programs",
        "sender",
        "receiver",
        "run",
        "ready",
        "files",
        "packages",
        "env",
        "expect",
        "date",
        "results",
        "file",
        "scale",
        "iperf3",
        "parallel",
        "seconds",
        "udp",
        "bitrate",
        "length",
        "backwards",
        "ipv6",
        "ping",
        "size",
        "requests",
        "aioquic",
        "control",
        "downloads",
        "ect",
        "flent",
        "gso",
        "http",
        "irtt",
        "newreno",
        "qlog",
        "quic-go",
        "bbr2",
        "quiche",
        "quinn",
        "rrul",
        "rrul_be",
        "s2n-quic",
        "tcp_bidirectional",
        "tcp_download",
        "tcp_ndown",
        "tcp_nup",
        "tcp_upload",
        "test",
        "threads",
        "tls",
        "voip",
        "root",
        "cwd",
        "interop",
        "testcase",
        "handshake",
        "transfer",
        "chacha20",
        "keyupdate",
        "retry",
        "resumption",
        "zerortt",
        "http3",
        "multiconnect",
        "v2",
        "connectionmigration",
    ];
    /// Largest number of scenarios to draw. The rarest value occurs in one of several thousand
    /// scenarios.
    const MOST: u64 = 20_000;
    // A summary has so many metrics that the generator cannot draw each metric. It is enough to
    // draw some metrics, because a test of the Python package covers all metrics.
    let metrics: BTreeSet<String> = (tailback_scenario::metrics().iter())
        .flat_map(|metric| [metric.path.clone(), metric.name.clone()])
        .collect();
    let words = generate::words().into_iter();
    let mut missing: BTreeSet<String> = words
        .map(|word| word.trim_matches('"').to_owned())
        .filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
        .filter(|word| !NOT_DRAWN.contains(&word.as_str()))
        .filter(|word| !OF_PROGRAMS.contains(&word.as_str()))
        .filter(|word| !tailback_engine::profiles::NAMES.contains(&word.as_str()))
        .filter(|word| !metrics.contains(word))
        .collect();
    let mut drawn_metrics = BTreeSet::new();
    for seed in 0..MOST {
        let mut drawn = BTreeSet::new();
        let table: Table = generate::scenario(seed);
        words_of(&Value::Table(table), &mut drawn);
        missing.retain(|word| !drawn.contains(word));
        drawn_metrics.extend(metrics.intersection(&drawn).cloned());
        if missing.is_empty() && drawn_metrics.len() > 100 {
            return;
        }
    }
    panic!("in no scenario: {missing:?}");
}

#[test]
fn a_seed_is_one_scenario() {
    assert_eq!(
        generate::scenario(7).to_string(),
        generate::scenario(7).to_string()
    );
    assert_ne!(
        generate::scenario(7).to_string(),
        generate::scenario(8).to_string()
    );
}
