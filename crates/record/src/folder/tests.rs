use std::collections::BTreeMap;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::*;
use crate::stored::RunFolder;
use crate::{FlowOutcome, LinkOutcome};

const ID: &str = "0123456789abcdef0123";
const OTHER: &str = "ffffffffffffffffffff";

fn manifest(run_id: &str) -> Manifest<'_> {
    Manifest {
        run_id,
        engine: "sim",
        engine_version: "0.1.0+test",
        seed: 3,
        canonical: serde_json::json!({"duration": 1}),
        follows: vec![("aqm.fifo".to_owned(), "Linux".to_owned())],
        environment: None,
    }
}

fn outcome() -> Outcome {
    let mut outcome = Outcome {
        duration_ns: 1_000_000_000,
        ..Outcome::default()
    };
    let cwnd = outcome.series.id(Some("a"), None, "cwnd");
    let backlog = outcome.series.id(None, Some("l"), "backlog_bytes");
    for i in 0..20_000_u32 {
        outcome.series.push(backlog, u64::from(i), f64::from(i));
        outcome.series.push(cwnd, u64::from(i), f64::from(i) / 2.0);
    }
    let mut flow = FlowOutcome {
        name: "a".to_owned(),
        ..FlowOutcome::default()
    };
    flow.rtt.record(20_000_000);
    flow.rtt.record(20_000_001);
    outcome.flows.push(flow);
    outcome.links.push(LinkOutcome {
        name: "l".to_owned(),
        ..LinkOutcome::default()
    });
    outcome
}

fn rows(path: &Path) -> Vec<Vec<Field>> {
    let reader = SerializedFileReader::try_from(path).expect("a Parquet file");
    reader
        .get_row_iter(None)
        .expect("rows")
        .map(|row| row.expect("a row").into_columns())
        .map(|columns| columns.into_iter().map(|(_, field)| field).collect())
        .collect()
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| {
            let name = entry.file_name().into_string().expect("ASCII");
            (name, fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

#[test]
fn what_is_written_is_what_was_measured() {
    let root = tempfile::tempdir().expect("a folder");
    let store = Store::open(root.path()).expect("a store");
    let outcome = outcome();
    let stored = store.write(&manifest(ID), &outcome, &Timing::default());
    assert_eq!(stored.expect("written"), Stored::New);
    let text = |s: &str| Field::Str(s.to_owned());

    let series = rows(&store.path(ID).join("series.parquet"));
    assert_eq!(series.len(), 40_000);
    assert_eq!(
        series[19_999],
        [
            Field::Long(19_999),
            text("a"),
            Field::Null,
            text("cwnd"),
            Field::Double(9_999.5)
        ]
    );
    assert_eq!(
        series[20_003],
        [
            Field::Long(3),
            Field::Null,
            text("l"),
            text("backlog_bytes"),
            Field::Double(3.0)
        ]
    );
    // 20,000,000 ns lies in 2^24..2^25, whose buckets are 2^14 wide.
    let histograms = rows(&store.path(ID).join("histograms.parquet"));
    let lower = 20_000_000 >> 14 << 14;
    assert_eq!(
        histograms,
        [[
            text("a"),
            Field::Null,
            text("rtt_ns"),
            Field::Long(lower),
            Field::Long(1 << 14),
            Field::Long(2)
        ]]
    );
}

#[test]
fn the_same_run_has_the_same_bytes_and_the_first_one_stays() {
    let root = tempfile::tempdir().expect("a folder");
    let (one, two) = (
        Store::open(&root.path().join("1")).expect("a store"),
        Store::open(&root.path().join("2")).expect("a store"),
    );
    for store in [&one, &two] {
        let stored = store.write(&manifest(ID), &outcome(), &Timing::default());
        assert_eq!(stored.expect("written"), Stored::New);
    }
    let before = files(&one.path(ID));
    assert_eq!(before, files(&two.path(ID)));

    let slower = Timing {
        wall_s: 9.0,
        ..Timing::default()
    };
    let stored = one.write(&manifest(ID), &outcome(), &slower);
    assert_eq!(stored.expect("discarded"), Stored::Already);
    assert_eq!(before, files(&one.path(ID)));
}

#[test]
fn a_scratch_file_comes_into_the_folder_or_goes() {
    let root = tempfile::tempdir().expect("a folder");
    let store = Store::open(root.path()).expect("a store");
    let prepare = |run_id| {
        let path = store.scratch_file(run_id, "packets.pcapng");
        fs::write(path.expect("a path"), "packets").expect("a file");
    };
    prepare(ID);
    let outcome = Outcome {
        packets: Some(crate::PacketCount {
            recorded: 5,
            lost: 2,
        }),
        ..outcome()
    };
    let stored = store.write(&manifest(ID), &outcome, &Timing::default());
    assert_eq!(stored.expect("written"), Stored::New);
    let found = files(&store.path(ID));
    assert_eq!(found["packets.pcapng"], b"packets");
    let text = String::from_utf8_lossy(&found["manifest.json"]);
    assert!(text.contains("\"packets_recorded\": 5"), "{text}");
    assert!(text.contains("\"packets_lost\": 2"), "{text}");

    prepare(OTHER);
    store.discard(OTHER);
    assert_eq!(
        fs::read_dir(store.scratch.path())
            .expect("a folder")
            .count(),
        0
    );
}

#[test]
fn a_failed_write_leaves_nothing_and_names_the_file() {
    let root = tempfile::tempdir().expect("a folder");
    let store = Store::open(root.path()).expect("a store");
    let in_the_way = store.scratch_file(ID, stored::SUMMARY).expect("a path");
    fs::create_dir(in_the_way).expect("a folder");
    let error = store
        .write(&manifest(ID), &outcome(), &Timing::default())
        .expect_err("a folder is in the way");
    assert!(error.to_string().contains(ID), "{error}");
    assert_eq!(
        fs::read_dir(store.scratch.path())
            .expect("a folder")
            .count(),
        0
    );

    let file = root.path().join("file");
    fs::write(&file, "").expect("a file");
    let error = Store::open(&file).expect_err("not a folder");
    assert!(error.to_string().contains("file"), "{error}");
}

/// A store with a run.
fn with_run() -> (tempfile::TempDir, Store) {
    let root = tempfile::tempdir().expect("a folder");
    let store = Store::open(root.path()).expect("a store");
    let stored = store.write(&manifest(ID), &outcome(), &Timing::default());
    assert_eq!(stored.expect("written"), Stored::New);
    (root, store)
}

#[test]
fn what_was_written_can_be_read() {
    let (_root, store) = with_run();
    assert!(store.contains(ID).expect("readable"));
    assert!(!store.contains(OTHER).expect("readable"));
    let run = RunFolder::open(&store.path(ID)).expect("a run");
    let manifest: serde_json::Value = serde_json::from_str(run.manifest()).expect("JSON");
    assert_eq!(manifest["run_id"], ID);
    assert_eq!(manifest["files"]["series.parquet"]["rows"], 40_000);
    for name in [stored::SUMMARY, stored::SERIES, stored::HISTOGRAMS] {
        let bytes = run.read(name).expect("whole");
        assert_eq!(bytes, fs::read(store.path(ID).join(name)).expect("a file"));
    }
    assert!(run.timing().is_ok());
    assert!(!run.has(stored::PACKETS));
}

#[test]
fn no_flipped_bit_and_no_cut_is_read_without_a_word() {
    let (_root, store) = with_run();
    for (name, whole) in files(&store.path(ID)) {
        let path = store.path(ID).join(&name);
        let bits = whole.len() * 8;
        for at in (0..bits).step_by(bits / 97 + 1) {
            let mut bytes = whole.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            fs::write(&path, &bytes).expect("a file");
            assert!(!store.contains(ID).expect("readable"), "{name}, bit {at}");
            fs::write(&path, &whole[..at / 8]).expect("a file");
            assert!(!store.contains(ID).expect("readable"), "{name}, {at} bits");
        }
        fs::write(&path, &whole).expect("a file");
        assert!(store.contains(ID).expect("readable"));
    }
}

#[test]
fn a_damaged_run_is_moved_and_done_again() {
    let (_root, store) = with_run();
    assert_eq!(store.set_aside(ID, None).expect("readable"), None);
    for moved in [ID.to_owned(), format!("{ID}-2"), format!("{ID}-3")] {
        fs::remove_file(store.path(ID).join(stored::TIMING)).expect("a file");
        let said = store.set_aside(ID, None).expect("moved").expect("damaged");
        assert!(
            said.contains(stored::TIMING) && said.contains(&moved),
            "{said}"
        );
        assert!(!store.path(ID).exists());
        assert!(store.runs.join(DAMAGED).join(&moved).is_dir());
        let stored = store.write(&manifest(ID), &outcome(), &Timing::default());
        assert_eq!(stored.expect("written"), Stored::New);
    }
    // One that is damaged while the same run is under way.
    fs::write(store.path(ID).join(stored::SUMMARY), "{}").expect("a file");
    let stored = store.write(&manifest(ID), &outcome(), &Timing::default());
    assert_eq!(stored.expect("written"), Stored::New);
    assert!(store.contains(ID).expect("readable"));
}

#[test]
fn what_is_no_folder_of_this_run_is_not_taken_for_it() {
    let (root, store) = with_run();
    // Another run's folder, a link to the right one, a file.
    fs::rename(store.path(ID), store.path(OTHER)).expect("renamed");
    assert!(!store.contains(OTHER).expect("readable"));
    let elsewhere = root.path().join(ID);
    fs::rename(store.path(OTHER), &elsewhere).expect("renamed");
    std::os::unix::fs::symlink(&elsewhere, store.path(ID)).expect("a link");
    assert!(!store.contains(ID).expect("readable"));
    assert!(store.set_aside(ID, None).expect("moved").is_some());
    assert!(elsewhere.join(stored::MANIFEST).exists());
    fs::write(store.path(ID), "").expect("a file");
    assert!(!store.contains(ID).expect("readable"));
    // Links within.
    let summary = elsewhere.join(stored::SUMMARY);
    fs::rename(&summary, root.path().join("summary")).expect("renamed");
    std::os::unix::fs::symlink(root.path().join("summary"), &summary).expect("a link");
    assert!(matches!(stored::check(&elsewhere), Err(Fault::Damaged(_))));
}

/// Replaces a file of a run and makes its manifest say so: what somebody who
/// means it can do.
fn forge(folder: &Path, name: &str, bytes: &[u8], rows: Option<u64>) {
    fs::write(folder.join(name), bytes).expect("a file");
    let manifest = fs::read_to_string(folder.join(stored::MANIFEST)).expect("a file");
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let mark = Mark::of_bytes(bytes);
    manifest["files"][name] = entry_of(&mark, rows);
    manifest.as_object_mut().expect("a table").remove("sha256");
    let text = serde_json::to_string_pretty(&manifest).expect("JSON");
    fs::write(folder.join(stored::MANIFEST), seal::seal(&text)).expect("a file");
}

#[test]
fn a_table_of_other_columns_or_rows_is_refused_though_its_hash_is_right() {
    let (_root, store) = with_run();
    let folder = store.path(ID);
    let whole = fs::read(folder.join(stored::SERIES)).expect("a file");
    let histograms = fs::read(folder.join(stored::HISTOGRAMS)).expect("a file");
    for (bytes, rows, expected) in [
        (&whole, 40_001, "rows"),
        (&whole, u64::MAX, "rows"),
        (&histograms, 1, "columns"),
        (&b"PAR1PAR1".to_vec(), 1, "Parquet"),
        (&Vec::new(), 0, "Parquet"),
    ] {
        forge(&folder, stored::SERIES, bytes, Some(rows));
        let run = RunFolder::open(&folder).expect("a sealed manifest");
        match run.read(stored::SERIES) {
            Err(Fault::Damaged(what)) => assert!(what.contains(expected), "{what}"),
            other => panic!("{:?}", other.map(|bytes| bytes.len())),
        }
    }
    forge(&folder, stored::SERIES, &whole, Some(40_000));
    assert!(store.contains(ID).expect("readable"));
    // A footer that promises more than there is: every byte of it changed.
    for at in whole.len() - 600..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xFF;
        forge(&folder, stored::SERIES, &bytes, Some(40_000));
        let run = RunFolder::open(&folder).expect("a sealed manifest");
        let _ = run.read(stored::SERIES);
    }
}
