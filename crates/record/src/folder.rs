//! The run folder: what stays of a run, written atomically.
//!
//! A run is written into a folder that only its process uses and is then
//! renamed to `runs/<run_id>`. A folder of that name is therefore complete,
//! whatever happened to the process; where two processes finish the same run,
//! the first one wins and the other discards its own copy. Every file, the
//! folder and the rename are synced: after a power failure a run is there whole
//! or not at all, or, where a file system does not keep its word, its hashes say so.
//!
//! | file | content |
//! |---|---|
//! | `manifest.json` | identity: engine and its version, seed, the canonical point, which RFC or kernel each algorithm follows, rows lost; size and SHA-256 of the files below, and its own ([`crate::seal`]) |
//! | `summary.json` | [`Summary`] |
//! | `series.parquet` | `time_ns`, `flow`, `link`, `quantity`, `value`; in the order of the series, then of time |
//! | `histograms.parquet` | `flow`, `link`, `quantity`, `lower`, `width`, `count` |
//! | `packets.pcapng` | headers of every packet at every link, if they were recorded ([`crate::pcapng`]) |
//! | `timing.json` | wall and CPU time, host: everything that differs when the same run is repeated; sealed by itself |
//!
//! What a folder says is believed only as far as it is what was written:
//! [`crate::stored`] reads and checks it. A damaged folder is moved to
//! `runs/.damaged`, never removed, and its run is done again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::scratch::Scratch;
pub use crate::scratch::at;
use crate::seal::{self, Hashing, Mark};
use crate::stored::{self, FORMAT, Fault};
use crate::{Outcome, summary::Summary, table};

/// What identifies a run; goes into `manifest.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest<'a> {
    /// Identity of the run: hash of canonical point, seed and engine version.
    pub run_id: &'a str,
    /// Engine, e.g. `sim`.
    pub engine: &'a str,
    /// Release and hash of its sources.
    pub engine_version: &'a str,
    /// Seed of the run.
    pub seed: u64,
    /// The point with every default filled in, in base units.
    pub canonical: serde_json::Value,
    /// For each algorithm of the run (e.g. `aqm.codel`) what it follows.
    pub follows: Vec<(String, String)>,
    /// What the run had around it, where that is more than the engine: kernel,
    /// modules, tools, settings.
    pub environment: Option<serde_json::Value>,
}

/// What differs when the same run is repeated; goes into `timing.json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timing {
    /// Wall time of the simulation, s.
    pub wall_s: f64,
    /// CPU time of the simulation, s.
    pub cpu_s: f64,
    /// Where it ran.
    pub host: String,
    /// Data packets TCP senders sent.
    pub data_packets: u64,
    /// Calendar events; packets captured by the kernel engine.
    pub events: u64,
    /// Most memory that the run's own process held, bytes; `None` where it has none.
    pub memory_bytes: Option<u64>,
}

/// Whether a run is new in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Its folder was written.
    New,
    /// Another process had finished it before.
    Already,
}

/// A folder of runs that this process may write to.
#[derive(Debug)]
pub struct Store {
    runs: PathBuf,
    scratch: Scratch,
}

/// Folder in `runs` for runs that are not what was written.
const DAMAGED: &str = ".damaged";

impl Store {
    /// Opens (and creates) `runs` in `root` and removes what killed processes
    /// left half-written there.
    pub fn open(root: &Path) -> io::Result<Store> {
        let runs = root.join("runs");
        fs::create_dir_all(&runs).map_err(|e| at(&runs, e))?;
        refuse_link(&runs)?;
        let scratch = Scratch::open(&runs)?;
        Ok(Store { runs, scratch })
    }

    /// Where the run of this identity is, or will be.
    pub fn path(&self, run_id: &str) -> PathBuf {
        self.runs.join(run_id)
    }

    /// Whether the run is finished, every file of it what was written.
    pub fn contains(&self, run_id: &str) -> io::Result<bool> {
        match stored::check(&self.path(run_id)) {
            Ok(()) => Ok(true),
            Err(Fault::Absent(_) | Fault::Damaged(_)) => Ok(false),
            Err(Fault::Io(e)) => Err(e),
        }
    }

    /// Moves a run that is not what was written out of the way, if it is one;
    /// says what is wrong with it and where it is now. `found` is what somebody
    /// else found wrong, who looked at more than hashes.
    pub fn set_aside(&self, run_id: &str, found: Option<&str>) -> io::Result<Option<String>> {
        let path = self.path(run_id);
        if found.is_none() && !matches!(stored::check(&path), Err(Fault::Damaged(_))) {
            return Ok(None);
        }
        let damaged = self.runs.join(DAMAGED);
        fs::create_dir_all(&damaged).map_err(|e| at(&damaged, e))?;
        refuse_link(&damaged)?;
        // Another process may be at the same: what it has put in place
        // meanwhile is not moved.
        let lock = File::open(&damaged).map_err(|e| at(&damaged, e))?;
        lock.lock().map_err(|e| at(&damaged, e))?;
        let what = match (stored::check(&path), found) {
            (Err(Fault::Damaged(what)), _) => what,
            (Err(Fault::Io(e)), _) => return Err(e),
            (Ok(()), Some(found)) => found.to_owned(),
            (Ok(()), None) | (Err(Fault::Absent(_)), _) => return Ok(None),
        };
        let mut to = damaged.join(run_id);
        for n in 2.. {
            if fs::symlink_metadata(&to).is_err() {
                break;
            }
            to = damaged.join(format!("{run_id}-{n}"));
        }
        fs::rename(&path, &to).map_err(|e| at(&path, e))?;
        Ok(Some(format!("{what}; moved to {}", to.display())))
    }

    /// Where a file of a run that is not finished yet is to be written: it
    /// goes into the run's folder with the rest. After this either
    /// [`Store::write`] or [`Store::discard`] ends the run.
    pub fn scratch_file(&self, run_id: &str, name: &str) -> io::Result<PathBuf> {
        let folder = self.scratch.path().join(run_id);
        fs::create_dir_all(&folder).map_err(|e| at(&folder, e))?;
        Ok(folder.join(name))
    }

    /// A new folder for whatever a run needs while it is under way and that is
    /// not part of its result. It goes with the store at the latest.
    pub fn workplace(&self, run_id: &str) -> io::Result<PathBuf> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let folder = self.scratch.path().join(format!("at-{run_id}-{serial}"));
        fs::create_dir(&folder).map_err(|e| at(&folder, e))?;
        Ok(folder)
    }

    /// Removes the scratch files of a run that will not be finished.
    pub fn discard(&self, run_id: &str) {
        self.scratch.discard(run_id);
    }

    /// Writes a finished run, with what was put into its scratch files. When
    /// this fails nothing of it is left.
    pub fn write(
        &self,
        manifest: &Manifest<'_>,
        outcome: &Outcome,
        timing: &Timing,
    ) -> io::Result<Stored> {
        let folder = self.scratch.path().join(manifest.run_id);
        let result = fs::create_dir_all(&folder)
            .map_err(|e| at(&folder, e))
            .and_then(|()| write_files(&folder, manifest, outcome, timing))
            .and_then(|()| sync_folder(&folder))
            .and_then(|()| self.put_in_place(&folder, manifest.run_id));
        if !matches!(result, Ok(Stored::New)) {
            self.discard(manifest.run_id);
        }
        result
    }

    fn put_in_place(&self, folder: &Path, run_id: &str) -> io::Result<Stored> {
        let target = self.path(run_id);
        let mut renamed = fs::rename(folder, &target);
        if renamed.is_err() {
            if self.contains(run_id)? {
                return Ok(Stored::Already);
            }
            self.set_aside(run_id, None)?;
            renamed = fs::rename(folder, &target);
        }
        renamed.map_err(|e| at(&target, e))?;
        // Makes the rename itself last. The run is complete either way.
        sync_folder(&self.runs).map(|()| Stored::New)
    }
}

/// Below the folder of results nothing is a link: it would lead out of it.
fn refuse_link(folder: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(folder)
        .map_err(|e| at(folder, e))?
        .file_type();
    if kind.is_dir() {
        return Ok(());
    }
    let what = "is not a folder (a link is not followed)";
    Err(at(
        folder,
        io::Error::new(io::ErrorKind::NotADirectory, what),
    ))
}

/// Makes the names in a folder last; some file systems refuse to sync one.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|file| file.sync_all()) {
        Err(e) if e.kind() != io::ErrorKind::InvalidInput => Err(at(folder, e)),
        _ => Ok(()),
    }
}

fn write_files(
    folder: &Path,
    manifest: &Manifest<'_>,
    outcome: &Outcome,
    timing: &Timing,
) -> io::Result<()> {
    // Those that were put there while the run was under way.
    let mut files = serde_json::Map::new();
    for entry in fs::read_dir(folder).map_err(|e| at(folder, e))? {
        let path = entry.map_err(|e| at(folder, e))?.path();
        let file = File::open(&path).map_err(|e| at(&path, e))?;
        let mark = Mark::of(&file).map_err(|e| at(&path, e))?;
        file.sync_all().map_err(|e| at(&path, e))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files.insert(name.into_owned(), entry_of(&mark, None));
    }
    let summary = Summary::new(outcome, manifest.run_id, manifest.seed);
    let mut text = serde_json::to_string_pretty(&summary).map_err(io::Error::from)?;
    text.push('\n');
    let (mark, ()) = written(&folder.join(stored::SUMMARY), |file| {
        file.write_all(text.as_bytes())
    })?;
    files.insert(stored::SUMMARY.to_owned(), entry_of(&mark, None));
    let (mark, rows) = written(&folder.join(stored::SERIES), |file| {
        table::write(file, table::SERIES, |to| {
            table::write_series(to, &outcome.series)
        })
    })?;
    files.insert(stored::SERIES.to_owned(), entry_of(&mark, Some(rows)));
    let (mark, rows) = written(&folder.join(stored::HISTOGRAMS), |file| {
        table::write(file, table::HISTOGRAMS, |to| {
            table::write_histograms(to, outcome)
        })
    })?;
    files.insert(stored::HISTOGRAMS.to_owned(), entry_of(&mark, Some(rows)));

    let timing = serde_json::to_value(timing).map_err(io::Error::from)?;
    for (name, object) in [
        (stored::TIMING, timing),
        (stored::MANIFEST, identity(manifest, outcome, files)),
    ] {
        let text = serde_json::to_string_pretty(&object).map_err(io::Error::from)?;
        written(&folder.join(name), |file| {
            file.write_all(&seal::seal(&text))
        })?;
    }
    Ok(())
}

fn entry_of(mark: &Mark, rows: Option<u64>) -> serde_json::Value {
    let mut entry = serde_json::json!({ "bytes": mark.bytes, "sha256": mark.sha256 });
    if let Some(rows) = rows {
        entry["rows"] = rows.into();
    }
    entry
}

/// The manifest as it is written, but for its seal.
fn identity(
    manifest: &Manifest<'_>,
    outcome: &Outcome,
    files: serde_json::Map<String, serde_json::Value>,
) -> serde_json::Value {
    let follows: serde_json::Map<String, serde_json::Value> = manifest
        .follows
        .iter()
        .map(|(name, what)| (name.clone(), what.as_str().into()))
        .collect();
    let mut identity = serde_json::json!({
        "format": FORMAT,
        "run_id": manifest.run_id,
        "engine": manifest.engine,
        "engine_version": manifest.engine_version,
        "seed": manifest.seed,
        "follows": follows,
        "series_rows": outcome.series.len(),
        "series_rows_lost": outcome.series.lost,
        "canonical": manifest.canonical,
        "files": files,
    });
    if let Some(packets) = outcome.packets {
        identity["packets_recorded"] = packets.recorded.into();
        identity["packets_lost"] = packets.lost.into();
    }
    if let Some(environment) = &manifest.environment {
        identity["environment"] = environment.clone();
    }
    identity
}

/// Writes a file and syncs it; gives its mark.
fn written<T>(
    path: &Path,
    write: impl FnOnce(&mut Hashing<&File>) -> io::Result<T>,
) -> io::Result<(Mark, T)> {
    let file = File::create(path).map_err(|e| at(path, e))?;
    let mut hashing = Hashing::new(&file);
    write(&mut hashing)
        .and_then(|result| {
            file.sync_all()?;
            Ok((hashing.mark(), result))
        })
        .map_err(|e| at(path, e))
}

#[cfg(test)]
mod tests {
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
}
