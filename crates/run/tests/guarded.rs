//! Tests that the result files of a fixed set of scenarios have the hashes in
//! `tests/guarded/hashes.tsv`. `python tests/guard.py --update` rewrites `hashes.tsv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sha2::{Digest, Sha256};
use tailback_record::folder::Store;
use tailback_run::{Control, Source, load, run};
use tailback_scenario::{EngineKind, Point};
use tempfile::TempDir;
use toml::de::DeTable;

/// Result files that depend only on the scenario, not on the time or the host.
const FILES: [&str; 4] = [
    "summary.json",
    "series.parquet",
    "histograms.parquet",
    "packets.pcapng",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guarded")
}

/// Returns the scenarios as text. A scenario consists of the keys of the table `[base]` and the
/// keys of the scenario's own table. Keys that are set to "none" are omitted. The text of values is
/// copied verbatim, because the order of links matters.
fn scenarios() -> Vec<(String, String)> {
    let text = fs::read_to_string(folder().join("scenarios.toml")).unwrap();
    let tables = DeTable::parse(&text).unwrap().into_inner();
    let keys = |table: &str| -> BTreeMap<String, &str> {
        let table = tables[table].get_ref().as_table().unwrap();
        let values = table.iter();
        values
            .map(|(key, value)| (key.get_ref().to_string(), &text[value.span()]))
            .collect()
    };
    let written = |name: &str| {
        let mut all = keys("base");
        all.extend(keys(name));
        all.retain(|_, value| *value != "\"none\"");
        let lines = all.iter().map(|(key, value)| format!("{key} = {value}\n"));
        lines.collect()
    };
    let names = tables.keys().map(|name| name.get_ref().to_string());
    names
        .filter(|name| name != "base")
        .map(|name| (name.clone(), written(&name)))
        .collect()
}

/// Returns the sweep points of a scenario, each with its name in `hashes.tsv`. If a scenario has
/// several points, the names are numbered.
fn points(name: &str, text: &str) -> Vec<(String, Point)> {
    let loaded = load(&Source {
        text: text.as_bytes(),
        file: "guarded.toml",
        folder: &folder(),
        overrides: &[],
        seeds: None,
        memory: None,
        engine: EngineKind::Sim,
        engine_version: None,
        kit: None,
    })
    .unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
    let several = loaded.points.len() > 1;
    let label = |number| match several {
        true => format!("{name} {number}"),
        false => name.to_owned(),
    };
    let points = loaded.points.into_iter().enumerate();
    points
        .map(|(number, point)| (label(number), point))
        .collect()
}

/// Hashes a file without the run id, which changes with the engine's sources. Returns "-" if the
/// file does not exist.
fn hash(path: &Path, run_id: &str) -> String {
    let Ok(mut data) = fs::read(path) else {
        return "-".to_owned();
    };
    if path.extension().is_some_and(|kind| kind == "json") {
        data = String::from_utf8(data)
            .unwrap()
            .replace(run_id, "")
            .into_bytes();
    }
    let hash = Sha256::digest(&data);
    hash.iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn results_have_not_moved() {
    let points: Vec<_> = scenarios()
        .iter()
        .flat_map(|(name, text)| points(name, text))
        .collect();
    let into = TempDir::new().unwrap();
    let store = Store::open(into.path()).unwrap();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((label, point)) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = match run(point, &store, &Control::default()) {
                        Ok(()) => FILES
                            .map(|file| hash(&store.path(&point.run_id).join(file), &point.run_id))
                            .join("\t"),
                        Err(failure) => failure.to_string(),
                    };
                    found.lock().unwrap().insert(label.clone(), row);
                }
            });
        }
    });
    let table = fs::read_to_string(folder().join("hashes.tsv")).unwrap();
    let recorded: BTreeMap<String, String> = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once('\t'))
        .map(|(label, row)| (label.to_owned(), row.to_owned()))
        .collect();
    let found = found.into_inner().unwrap();
    let moved: Vec<_> = found
        .keys()
        .chain(recorded.keys())
        .filter(|label| found.get(*label) != recorded.get(*label))
        .collect();
    assert!(
        moved.is_empty(),
        "other results: {moved:?}\nlook at them with: python tests/guard.py"
    );
}
