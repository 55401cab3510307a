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
    // 20,000,000 ns is between 2^24 and 2^25. Between these two limits, buckets have a width of
    // 2^14.
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
    // If the stored run is damaged, `write` stores the run again.
    fs::write(store.path(ID).join(stored::SUMMARY), "{}").expect("a file");
    let stored = store.write(&manifest(ID), &outcome(), &Timing::default());
    assert_eq!(stored.expect("written"), Stored::New);
    assert!(store.contains(ID).expect("readable"));
}

#[test]
fn what_is_no_folder_of_this_run_is_not_taken_for_it() {
    let (root, store) = with_run();
    // The store rejects a folder of another run, a symbolic link to the right run, and a file.
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
    // A symbolic link inside the folder is rejected too.
    let summary = elsewhere.join(stored::SUMMARY);
    fs::rename(&summary, root.path().join("summary")).expect("renamed");
    std::os::unix::fs::symlink(root.path().join("summary"), &summary).expect("a link");
    assert!(matches!(stored::check(&elsewhere), Err(Fault::Damaged(_))));
}

/// Replaces a file of a run and updates the run's manifest, as a forger could.
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
    // Change each byte of the footer. A changed footer may claim that the file has more content
    // than it really has.
    for at in whole.len() - 600..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xFF;
        forge(&folder, stored::SERIES, &bytes, Some(40_000));
        let run = RunFolder::open(&folder).expect("a sealed manifest");
        let _ = run.read(stored::SERIES);
    }
}

/// Changes the manifest of a run and renews its seal.
fn forge_manifest(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let text = fs::read_to_string(folder.join(stored::MANIFEST)).expect("a file");
    let mut manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    manifest.as_object_mut().expect("a table").remove("sha256");
    change(&mut manifest);
    let text = serde_json::to_string_pretty(&manifest).expect("JSON");
    fs::write(folder.join(stored::MANIFEST), seal::seal(&text)).expect("a file");
}

fn damage<T>(result: Result<T, Fault>) -> String {
    match result {
        Err(Fault::Damaged(what)) => what,
        Err(other) => format!("{other:?}"),
        Ok(_) => "nothing".to_owned(),
    }
}

#[test]
fn a_manifest_that_lacks_something_is_refused_though_its_seal_is_right() {
    type Change = fn(&mut serde_json::Value);
    let cases: &[(Change, &str)] = &[
        (|m| m["format"] = 1.into(), "another version"),
        (|m| m["format"] = "2".into(), "another version"),
        (|m| m["run_id"] = OTHER.into(), "other than the one"),
        (|m| m["run_id"] = "abc".into(), "other than the one"),
        (|m| m["run_id"] = 7.into(), "other than the one"),
        (|m| m["engine"] = 7.into(), "not the manifest"),
        (
            |m| m["engine_version"] = serde_json::Value::Null,
            "not the manifest",
        ),
        (|m| m["seed"] = (-1).into(), "not the manifest"),
        (|m| m["canonical"] = "{}".into(), "not the manifest"),
        (|m| m["follows"] = "RFC".into(), "not the manifest"),
        (|m| m["follows"]["aqm.fifo"] = 7.into(), "not the manifest"),
        (|m| m["files"] = 7.into(), "not the manifest"),
        (
            |m| m["files"]["other.txt"] = m["files"][stored::SUMMARY].clone(),
            "not the manifest",
        ),
        (
            |m| m["files"]["programs/x"] = m["files"][stored::SUMMARY].clone(),
            "not the manifest",
        ),
        (
            |m| m["files"]["programs/a/../x"] = m["files"][stored::SUMMARY].clone(),
            "not the manifest",
        ),
        (
            |m| m["files"]["programs/a//x"] = m["files"][stored::SUMMARY].clone(),
            "not the manifest",
        ),
        (
            |m| m["files"]["programs/./x"] = m["files"][stored::SUMMARY].clone(),
            "not the manifest",
        ),
        (
            |m| m["files"]["programs/a/x\0"] = m["files"][stored::SUMMARY].clone(),
            "not the manifest",
        ),
        (
            |m| m["files"]["programs/a/x"] = m["files"][stored::SUMMARY].clone(),
            "is missing",
        ),
        (
            |m| m["files"][stored::PACKETS] = m["files"][stored::SUMMARY].clone(),
            "is missing",
        ),
        (
            |m| m["files"][stored::SUMMARY]["bytes"] = "1".into(),
            "not the manifest",
        ),
        (
            |m| m["files"][stored::SUMMARY]["sha256"] = 1.into(),
            "not the manifest",
        ),
        (
            |m| m["files"][stored::SERIES]["rows"] = "1".into(),
            "not the manifest",
        ),
        (
            |m| m["files"][stored::SUMMARY]["bytes"] = u64::MAX.into(),
            "not what was written",
        ),
        (
            |m| m["files"][stored::SERIES]["bytes"] = (2_u64 << 30).into(),
            "larger than",
        ),
        (
            |m| m["files"][stored::ACCOUNT]["bytes"] = 1.into(),
            "not what was written",
        ),
        (|_| {}, "nothing"),
    ];
    let (_root, store) = with_run();
    let folder = store.path(ID);
    let whole = fs::read(folder.join(stored::MANIFEST)).expect("a file");
    for (number, (change, expected)) in cases.iter().enumerate() {
        forge_manifest(&folder, change);
        let what = damage(stored::check(&folder));
        assert!(what.contains(expected), "case {number}: {what}");
        fs::write(folder.join(stored::MANIFEST), &whole).expect("a file");
    }
    for needed in [stored::SUMMARY, stored::SERIES, stored::HISTOGRAMS] {
        forge_manifest(&folder, |manifest| {
            let files = manifest["files"].as_object_mut().expect("a table");
            files.remove(needed).expect("a file of the run");
        });
        let what = damage(stored::check(&folder));
        assert!(
            what.contains("not the manifest"),
            "without {needed}: {what}"
        );
        fs::write(folder.join(stored::MANIFEST), &whole).expect("a file");
    }
    fs::write(folder.join(stored::MANIFEST), "no JSON").expect("a file");
    assert!(damage(stored::check(&folder)).contains("not JSON"));
}

#[test]
fn a_file_too_large_for_what_it_is_is_not_read() {
    let (_root, store) = with_run();
    for name in [stored::MANIFEST, stored::TIMING] {
        let path = store.path(ID).join(name);
        let whole = fs::read(&path).expect("a file");
        // Create a sparse file, because a sparse file uses no space on the disk.
        let file = File::create(&path).expect("a file");
        file.set_len((64 << 20) + 1).expect("a sparse file");
        let what = damage(stored::check(&store.path(ID)));
        assert!(
            what.contains("larger than") && what.contains(name),
            "{what}"
        );
        fs::write(&path, whole).expect("a file");
    }
    assert!(store.contains(ID).expect("readable"));
}

/// Creates a store with one run. The run has a capture, and a file that a program wrote.
fn with_more_files() -> (tempfile::TempDir, Store) {
    let root = tempfile::tempdir().expect("a folder");
    let store = Store::open(root.path()).expect("a store");
    let capture = store.scratch_file(ID, stored::PACKETS).expect("a path");
    fs::write(capture, "packets").expect("a file");
    let log = store
        .scratch_file(ID, "programs/p/log.txt")
        .expect("a path");
    fs::create_dir_all(log.parent().expect("a folder")).expect("a folder");
    fs::write(log, "what it said").expect("a file");
    let manifest = Manifest {
        environment: Some(serde_json::json!({"kernel": "7.3"})),
        ..manifest(ID)
    };
    let stored = store.write(&manifest, &outcome(), &Timing::default());
    assert_eq!(stored.expect("written"), Stored::New);
    (root, store)
}

#[test]
fn a_capture_and_what_programs_left_are_checked_too() {
    let (_root, store) = with_more_files();
    let run = RunFolder::open(&store.path(ID)).expect("a run");
    let manifest: serde_json::Value = serde_json::from_str(run.manifest()).expect("JSON");
    assert_eq!(manifest["environment"]["kernel"], "7.3");
    assert!(run.has("programs/p/log.txt"));
    assert_eq!(
        run.read("programs/p/log.txt").expect("whole"),
        b"what it said"
    );
    for name in [stored::PACKETS, "programs/p/log.txt"] {
        let path = store.path(ID).join(name);
        let whole = fs::read(&path).expect("a file");
        assert!(run.check_file(name).is_ok());
        // The check rejects a file of another length, a file with other bytes, a missing file and a
        // folder.
        fs::write(&path, "longer than it was").expect("a file");
        assert!(damage(run.check_file(name)).contains("not what was written"));
        let other: Vec<u8> = whole.iter().map(|byte| byte ^ 1).collect();
        fs::write(&path, other).expect("a file");
        assert!(damage(run.check_file(name)).contains("not what was written"));
        fs::remove_file(&path).expect("a file");
        assert!(damage(run.check_file(name)).contains("is missing"));
        fs::create_dir(&path).expect("a folder");
        assert!(damage(run.check_file(name)).contains("not a regular file"));
        fs::rename(&path, path.with_extension("aside")).expect("a folder");
        fs::write(&path, whole).expect("a file");
    }
    // The manifest's seal is valid, but the manifest lists an impossible file size.
    forge_manifest(&store.path(ID), |manifest| {
        manifest["files"][stored::PACKETS]["bytes"] = u64::MAX.into();
    });
    let forged = RunFolder::open(&store.path(ID)).expect("a sealed manifest");
    assert!(damage(forged.read(stored::PACKETS)).contains("larger than"));
    for result in [run.read("other.txt").map(drop), run.check_file("other.txt")] {
        assert!(damage(result).contains("no such file"));
    }
}

#[test]
fn a_link_among_what_a_run_leaves_is_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let store = Store::open(root.path()).expect("a store");
    let link = store.scratch_file(ID, "link").expect("a path");
    std::os::unix::fs::symlink("/etc/passwd", &link).expect("a link");
    let error = store
        .write(&manifest(ID), &outcome(), &Timing::default())
        .expect_err("a link");
    assert!(
        error.to_string().contains("link: not a regular file"),
        "{error}"
    );
    assert!(!store.path(ID).exists());
}

#[test]
fn a_summary_is_shortened_and_one_that_is_none_is_refused() {
    let (_root, store) = with_run();
    let run = RunFolder::open(&store.path(ID)).expect("a run");
    let (text, left_out) = run.brief(0).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!((summary["seed"].as_u64(), left_out), (Some(3), 1));
    assert_eq!(run.brief(5).expect("a summary").1, 0);
    forge(&store.path(ID), stored::SUMMARY, b"[]", None);
    let run = RunFolder::open(&store.path(ID)).expect("a run");
    assert!(damage(run.brief(5)).contains("not what was written"));
}

#[test]
fn what_somebody_else_found_wrong_moves_a_whole_run() {
    let (_root, store) = with_run();
    let what = store.set_aside(ID, Some("no such flow")).expect("moved");
    let what = what.expect("it was there");
    assert!(what.starts_with("no such flow; moved to "), "{what}");
    assert!(!store.path(ID).exists());
    // The damaged run was already moved, so nothing is left to move.
    assert_eq!(
        store.set_aside(ID, Some("no such flow")).expect("readable"),
        None
    );
    assert_eq!(store.set_aside(OTHER, None).expect("readable"), None);
}

#[test]
fn what_cannot_be_looked_at_is_an_error_and_no_damage() {
    let (_root, store) = with_run();
    // File systems reject such a long file name.
    let name = "a".repeat(300);
    assert!(matches!(
        RunFolder::open(&store.path(&name)),
        Err(Fault::Io(_))
    ));
    let error = store.contains(&name).expect_err("too long");
    assert!(error.to_string().contains(&name), "{error}");
    assert!(store.set_aside(&name, Some("damaged")).is_err());
    assert_eq!(store.set_aside(&name, None).expect("no damage"), None);
    let error = store.write(&manifest(&name), &outcome(), &Timing::default());
    assert!(error.expect_err("too long").to_string().contains(&name));
    assert!(store.scratch_file(&name, "x").is_err() && store.workplace(&name).is_err());
}

#[test]
fn a_link_in_place_of_a_folder_of_the_store_is_not_followed() {
    let root = tempfile::tempdir().expect("a folder");
    let victim = root.path().join("victim");
    fs::create_dir(&victim).expect("a folder");
    let other = root.path().join("store");
    fs::create_dir(&other).expect("a folder");
    std::os::unix::fs::symlink(&victim, other.join("runs")).expect("a link");
    let error = Store::open(&other).expect_err("a link");
    assert!(error.to_string().contains("is not a folder"), "{error}");

    let (_root, store) = with_run();
    std::os::unix::fs::symlink(&victim, store.runs.join(DAMAGED)).expect("a link");
    let error = store.set_aside(ID, Some("wrong")).expect_err("a link");
    assert!(error.to_string().contains("is not a folder"), "{error}");
    assert!(store.path(ID).exists());
    assert_eq!(fs::read_dir(&victim).expect("a folder").count(), 0);
}

#[test]
fn each_workplace_is_another_and_goes_with_the_store() {
    let (_root, store) = with_run();
    let places = [0, 1].map(|_| store.workplace(ID).expect("a folder"));
    assert_ne!(places[0], places[1]);
    assert!(places.iter().all(|place| place.is_dir()));
    drop(store);
    assert!(places.iter().all(|place| !place.exists()));
}

#[test]
fn delays_of_classes_and_programs_are_in_the_histograms() {
    let root = tempfile::tempdir().expect("a folder");
    let store = Store::open(root.path()).expect("a store");
    let mut outcome = outcome();
    let mut class = crate::ClassOutcome::default();
    class.class.name = "k".to_owned();
    class.delay.record(7);
    // The first class refers to the existing link. The second class refers to a link that does not
    // exist.
    outcome.classes = vec![class.clone(), crate::ClassOutcome { link: 9, ..class }];
    let mut program = crate::ProgramOutcome {
        name: "p".to_owned(),
        ..crate::ProgramOutcome::default()
    };
    program.measures.rtt.record(8);
    program.measures.delay.record(9);
    outcome.programs.push(program);
    let stored = store.write(&manifest(ID), &outcome, &Timing::default());
    assert_eq!(stored.expect("written"), Stored::New);
    let text = |s: &str| Field::Str(s.to_owned());
    let row = |flow, link, quantity, lower| {
        [
            flow,
            link,
            text(quantity),
            Field::Long(lower),
            Field::Long(1),
            Field::Long(1),
        ]
    };
    let rows = rows(&store.path(ID).join(stored::HISTOGRAMS));
    assert_eq!(rows[0], row(Field::Null, text("l"), "delay_ns.k", 7));
    assert_eq!(rows[1], row(Field::Null, Field::Null, "delay_ns.k", 7));
    assert_eq!(rows[3], row(text("p"), Field::Null, "rtt_ns", 8));
    assert_eq!(rows[4], row(text("p"), Field::Null, "delay_ns", 9));
    assert_eq!(rows.len(), 5);
}

/// A writer that fails after the given number of bytes, with the error for a full disk.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_what_the_error_of_a_table_says() {
    let outcome = outcome();
    for room in [0, 3, 100, 20_000] {
        let result = table::write(Full(room), table::SERIES, |to| {
            table::write_series(to, &outcome.series)
        });
        let error = result.expect_err("no room");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{room}: {error}");
    }
    // An error that is not an I/O error has the kind `Other`.
    let result = table::write(io::sink(), "no schema", |_| Ok(0));
    assert_eq!(result.expect_err("no schema").kind(), io::ErrorKind::Other);
}

#[test]
fn a_table_that_is_packed_otherwise_is_refused_though_its_hash_is_right() {
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    let (_root, store) = with_run();
    let folder = store.path(ID);
    let schema = parse_message_type(table::SERIES).expect("a schema");
    let plain = std::sync::Arc::new(WriterProperties::builder().build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema.into(), plain).expect("a writer");
    let rows = table::write_series(&mut writer, &outcome().series).expect("rows");
    writer.close().expect("a footer");
    forge(&folder, stored::SERIES, &bytes, Some(rows));
    let run = RunFolder::open(&folder).expect("a sealed manifest");
    let what = damage(run.read(stored::SERIES));
    assert!(
        what.contains("a column that tailback does not write"),
        "{what}"
    );
}

#[test]
fn the_times_of_another_run_are_refused() {
    let (_root, store) = with_run();
    let path = store.path(ID).join(stored::TIMING);
    let text = fs::read_to_string(&path).expect("a file");
    let timing: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let with = |run_id: Option<&str>| {
        let mut timing = timing.clone();
        let table = timing.as_object_mut().expect("a table");
        table.remove("sha256");
        match run_id {
            Some(id) => table.insert("run_id".to_owned(), id.into()),
            None => table.remove("run_id"),
        };
        let text = serde_json::to_string_pretty(&timing).expect("JSON");
        fs::write(&path, seal::seal(&text)).expect("a file");
        stored::check(&store.path(ID))
    };
    assert!(damage(with(Some(OTHER))).contains("that of another run"));
    // Files of earlier versions do not contain the run's id.
    assert!(with(None).is_ok());
    assert!(with(Some(ID)).is_ok());
}

#[test]
fn a_file_that_cannot_be_looked_at_is_an_error_and_no_damage() {
    let (_root, store) = with_run();
    fs::create_dir_all(store.path(ID).join("programs/p")).expect("a folder");
    // File systems reject such a long file name.
    let name = format!("programs/p/{}", "a".repeat(300));
    forge_manifest(&store.path(ID), |manifest| {
        manifest["files"][&name] = manifest["files"][stored::SUMMARY].clone();
    });
    match stored::check(&store.path(ID)) {
        Err(Fault::Io(error)) => assert!(error.to_string().contains("aaa"), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_identity_is_twenty_digits_of_a_hash() {
    for name in [ID, OTHER] {
        assert!(stored::is_id(name), "{name}");
    }
    for name in [
        "",
        "0123456789abcdef012",
        "0123456789abcdef01234",
        "0123456789abcdef012g",
        "0123456789ABCDEF0123",
        "../456789abcdef01234",
    ] {
        assert!(!stored::is_id(name), "{name}");
    }
}
