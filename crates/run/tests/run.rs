//! Tests which files exist after a run that ended, was cancelled, panicked, or could not be
//! written.

use std::path::Path;

use tailback_engine::network::Network;
use tailback_guest::result::{Environment, FILE, GuestResult};
use tailback_record::Outcome;
use tailback_record::folder::Store;
use tailback_run::guest::{self, Ran};
use tailback_run::{Control, Failure, Source, VERSION, capture, load, panics, run, simulate};
use tailback_scenario::{EngineKind, Point, Scenario};
use tempfile::TempDir;

const TEXT: &str = r#"
duration = "2s"
[bottleneck]
rate = "5Mbit"
queue = { aqm = "codel", ecn = true }
[[flows]]
cc = "cubic"
[[flows]]
cc = "reno"
ecn = true
[[traffic]]
kind = "cbr"
rate = "500kbit"
"#;

fn source(text: &str) -> Source<'_> {
    Source {
        text: text.as_bytes(),
        file: "f.toml",
        folder: Path::new("."),
        overrides: &[],
        seeds: None,
        memory: None,
        engine: EngineKind::Sim,
        engine_version: None,
        kit: None,
    }
}

fn loaded(text: &str) -> Scenario {
    load(&source(text)).unwrap_or_else(|wrong| panic!("{wrong:?}"))
}

fn point(record: &str) -> Point {
    loaded(&format!("{TEXT}[record]\n{record}\n")).points[0].clone()
}

fn store() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

/// Returns the names of all files below a folder, except lock files.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else if entry.path().extension().is_none_or(|e| e != "lock") {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_run_leaves_a_whole_folder_and_the_same_bytes_each_time() {
    let point = point("packets = true");
    let bytes = || {
        let (_folder, store) = store();
        let control = Control::default();
        run(&point, &store, &control).unwrap();
        assert!((control.fraction() - 1.0).abs() < 1e-12);
        assert!(store.contains(&point.run_id).unwrap());
        let run = store.path(&point.run_id);
        let manifest: serde_json::Value =
            serde_json::from_slice(&std::fs::read(run.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["engine"], "sim");
        assert_eq!(manifest["follows"].as_object().unwrap().len(), 4);
        [capture::FILE, "series.parquet", "summary.json"]
            .map(|name| std::fs::read(run.join(name)).unwrap())
    };
    let first = bytes();
    assert!(first == bytes());
    assert!(first[0].len() > 100_000, "{}", first[0].len());
}

#[test]
fn the_version_of_the_simulator_is_in_the_names_of_its_runs() {
    let ours = loaded(TEXT);
    assert_eq!(ours.engine_version, VERSION);
    let of = |version: &str| {
        let source = Source {
            engine_version: Some(version),
            ..source(TEXT)
        };
        load(&source).unwrap().points[0].run_id.clone()
    };
    assert_eq!(of(VERSION), ours.points[0].run_id);
    assert_ne!(of("0.1.0+0"), ours.points[0].run_id);
}

#[test]
fn a_cancelled_run_leaves_nothing() {
    let point = point("packets = true");
    let (folder, store) = store();
    let control = Control::default();
    control.cancel();
    let failure = run(&point, &store, &control).unwrap_err();
    assert!(matches!(failure, Failure::Cancelled), "{failure:?}");
    assert!(!store.contains(&point.run_id).unwrap());
    assert_eq!(files(folder.path()), [""; 0]);
}

#[test]
fn a_panic_is_the_error_of_its_run() {
    panics::keep_those_of_runs();
    let point = point("packets = true");
    let (folder, store) = store();
    let failure = run(&point, &store, &Control::of_a_panic()).unwrap_err();
    let Failure::Panic(message) = failure else {
        panic!("{failure:?}");
    };
    assert!(message.contains("this run was asked to panic"), "{message}");
    assert_eq!(files(folder.path()), [""; 0]);
    // After a failed run, another run on the same thread must succeed.
    run(&point, &store, &Control::default()).unwrap();
}

#[test]
fn slices_change_nothing() {
    let Point { plan, seed, .. } = point("");
    let mut whole = Network::new(&plan, seed);
    while whole.advance(7) {}
    let sliced = simulate(&plan, seed, &Control::default(), &mut |_| Ok(())).unwrap();
    let (sliced, whole) = (sliced.unwrap(), whole.finish());
    assert_eq!(sliced.events, whole.events);
    let delivered = |outcome: &Outcome| -> Vec<u64> {
        outcome.flows.iter().map(|f| f.delivered_bytes).collect()
    };
    assert_eq!(delivered(&sliced), delivered(&whole));
}

#[test]
fn what_a_recorder_cannot_write_ends_the_run() {
    let Point { plan, seed, .. } = point("packets = true");
    let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
    let result = simulate(&plan, seed, &Control::default(), &mut |_| Err(full()));
    assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn a_scenario_that_does_not_fit_into_memory_is_refused_at_its_place() {
    let text = format!("{TEXT}[[flows]]\ncc = \"reno\"\ncount = 100000\n");
    let wrong = load(&Source {
        memory: Some(64 << 20),
        ..source(&text)
    });
    let wrong = wrong.unwrap_err();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0].place.file, "f.toml");
    assert!(wrong[0].message.contains("MiB"), "{}", wrong[0].message);
}

#[test]
fn a_guests_result_is_stored_or_costs_its_run() {
    panics::keep_those_of_runs();
    let point = point("");
    let mut network = Network::new(&point.plan, point.seed);
    while network.advance(100_000) {}
    let good = network.finish();
    let mut contradictory = good.clone();
    // The row refers to a series that does not exist.
    let mut other = good.series.clone();
    let id = other.id(None, None, "more");
    contradictory.series.push(id, 0, 0.0);
    let results = TempDir::new().unwrap();
    let ran = Ran {
        numbers: Default::default(),
        environment: r#"{"kit": "mine"}"#,
        wall_s: 1.0,
        cpu_s: 1.0,
        memory_bytes: 1,
    };
    let stored = |bytes: &[u8]| {
        let (folder, store) = store();
        std::fs::write(results.path().join(FILE), bytes).unwrap();
        let result = guest::store(&point, &store, results.path(), &ran);
        (result, folder, store)
    };
    let result = |outcome: &Outcome| {
        let environment = Environment {
            warnings: vec!["a warning".to_owned()],
            ..Environment::default()
        };
        postcard::to_stdvec(&GuestResult {
            about_programs: vec!["about a program".to_owned()],
            outcome: outcome.clone(),
            environment,
        })
        .unwrap()
    };
    let (warnings, _folder, store) = stored(&result(&good));
    assert_eq!(warnings.unwrap(), ["about a program"]);
    assert!(store.contains(&point.run_id).unwrap());

    for bytes in [&result(&contradictory)[..], &result(&good)[..40], b""] {
        let (result, folder, _store) = stored(bytes);
        assert!(matches!(result, Err(Failure::Io(_))), "{result:?}");
        assert_eq!(files(folder.path()), [""; 0]);
    }
}
