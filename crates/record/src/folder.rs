//! The run folder: what stays of a run, written atomically.
//!
//! A run is written into a folder that only its process uses and is then
//! renamed to `runs/<run_id>`. A folder of that name is therefore complete,
//! whatever happened to the process; where two processes finish the same run,
//! the first one wins and the other discards its own copy.
//!
//! | file | content |
//! |---|---|
//! | `manifest.json` | identity: engine and its version, seed, the canonical point, which RFC or kernel each algorithm follows, rows lost |
//! | `summary.json` | [`Summary`] |
//! | `series.parquet` | `time_ns`, `flow`, `link`, `quantity`, `value`; in the order of the series, then of time |
//! | `histograms.parquet` | `flow`, `link`, `quantity`, `lower`, `width`, `count` |
//! | `packets.pcapng` | headers of every packet at every link, if they were recorded ([`crate::pcapng`]) |
//! | `timing.json` | wall and CPU time, host: everything that differs when the same run is repeated |

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde::Serialize;

use crate::{Histogram, Outcome, Series, summary::Summary};

/// Version of the layout of a run folder.
pub const FORMAT: u32 = 1;

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
    scratch: PathBuf,
    lock_path: PathBuf,
    /// Held as long as this process writes: others take an unlocked scratch
    /// folder for a dead process's leftover.
    _lock: File,
}

const LOCK_SUFFIX: &str = ".lock";
const SCRATCH_PREFIX: &str = ".writing-";

impl Store {
    /// Opens (and creates) `runs` in `root` and removes what killed processes
    /// left half-written there.
    pub fn open(root: &Path) -> io::Result<Store> {
        let runs = root.join("runs");
        fs::create_dir_all(&runs).map_err(|e| at(&runs, e))?;
        remove_leftovers(&runs);
        // A name is not reused while its lock file exists, in this process or
        // another one of the same number on another host.
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let name = format!("{SCRATCH_PREFIX}{}-{serial}", std::process::id());
            let lock_path = runs.join(format!("{name}{LOCK_SUFFIX}"));
            let lock = match File::create_new(&lock_path) {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(at(&lock_path, e)),
            };
            match lock.try_lock() {
                // Between its creation and the lock another process may have
                // taken the file for a leftover and removed it.
                Ok(()) if lock_path.exists() => {}
                Ok(()) | Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(e)) => return Err(at(&lock_path, e)),
            }
            let scratch = runs.join(&name);
            if let Err(e) = fs::create_dir(&scratch) {
                let _ = fs::remove_file(&lock_path);
                return Err(at(&scratch, e));
            }
            return Ok(Store {
                runs,
                scratch,
                lock_path,
                _lock: lock,
            });
        }
    }

    /// Where the run of this identity is, or will be.
    pub fn path(&self, run_id: &str) -> PathBuf {
        self.runs.join(run_id)
    }

    /// Whether the run is finished.
    pub fn contains(&self, run_id: &str) -> bool {
        self.path(run_id).is_dir()
    }

    /// Where a file of a run that is not finished yet is to be written: it
    /// goes into the run's folder with the rest. After this either
    /// [`Store::write`] or [`Store::discard`] ends the run.
    pub fn scratch_file(&self, run_id: &str, name: &str) -> io::Result<PathBuf> {
        let folder = self.scratch.join(run_id);
        fs::create_dir_all(&folder).map_err(|e| at(&folder, e))?;
        Ok(folder.join(name))
    }

    /// A new folder for whatever a run needs while it is under way and that is
    /// not part of its result. It goes with the store at the latest.
    pub fn workplace(&self, run_id: &str) -> io::Result<PathBuf> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let folder = self.scratch.join(format!("at-{run_id}-{serial}"));
        fs::create_dir(&folder).map_err(|e| at(&folder, e))?;
        Ok(folder)
    }

    /// Removes the scratch files of a run that will not be finished.
    pub fn discard(&self, run_id: &str) {
        let _ = fs::remove_dir_all(self.scratch.join(run_id));
    }

    /// Writes a finished run, with what was put into its scratch files. When
    /// this fails nothing of it is left.
    pub fn write(
        &self,
        manifest: &Manifest<'_>,
        outcome: &Outcome,
        timing: &Timing,
    ) -> io::Result<Stored> {
        let target = self.path(manifest.run_id);
        let folder = self.scratch.join(manifest.run_id);
        let result = fs::create_dir_all(&folder)
            .map_err(|e| at(&folder, e))
            .and_then(|()| write_files(&folder, manifest, outcome, timing))
            .and_then(|()| match fs::rename(&folder, &target) {
                Ok(()) => Ok(Stored::New),
                Err(_) if target.is_dir() => Ok(Stored::Already),
                Err(e) => Err(at(&target, e)),
            });
        match result {
            Ok(Stored::New) => {
                // Makes the rename itself last; some file systems refuse to
                // sync a folder, and the run is complete either way.
                let _ = File::open(&self.runs).and_then(|d| d.sync_all());
            }
            _ => self.discard(manifest.run_id),
        }
        result
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.scratch);
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// Removes the scratch folders of dead processes: those whose lock can be had.
/// Failures are left for the next process: they harm nobody.
fn remove_leftovers(runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(scratch) = name
            .to_str()
            .filter(|n| n.starts_with(SCRATCH_PREFIX))
            .and_then(|n| n.strip_suffix(LOCK_SUFFIX))
        else {
            continue;
        };
        let lock_path = entry.path();
        if let Ok(file) = File::open(&lock_path)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(runs.join(scratch));
            let _ = fs::remove_file(&lock_path);
        }
    }
}

fn write_files(
    folder: &Path,
    manifest: &Manifest<'_>,
    outcome: &Outcome,
    timing: &Timing,
) -> io::Result<()> {
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
    });
    if let Some(packets) = outcome.packets {
        identity["packets_recorded"] = packets.recorded.into();
        identity["packets_lost"] = packets.lost.into();
    }
    if let Some(environment) = &manifest.environment {
        identity["environment"] = environment.clone();
    }
    json(&folder.join("manifest.json"), &identity)?;
    let summary = Summary::new(outcome, manifest.run_id, manifest.seed);
    json(&folder.join("summary.json"), &summary)?;
    json(&folder.join("timing.json"), timing)?;
    parquet(&folder.join("series.parquet"), SERIES, |file| {
        write_series(file, &outcome.series)
    })?;
    parquet(&folder.join("histograms.parquet"), HISTOGRAMS, |file| {
        write_histograms(file, outcome)
    })
}

fn json<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value).map_err(io::Error::from)?;
    text.push(b'\n');
    File::create(path)
        .and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        })
        .map_err(|e| at(path, e))
}

const SERIES: &str = "message series {
    required int64 time_ns;
    optional binary flow (string);
    optional binary link (string);
    required binary quantity (string);
    required double value;
}";

const HISTOGRAMS: &str = "message histograms {
    optional binary flow (string);
    optional binary link (string);
    required binary quantity (string);
    required int64 lower;
    required int64 width;
    required int64 count;
}";

/// Rows of a row group: bounds the memory of writer and reader.
const GROUP_ROWS: usize = 1 << 20;

fn parquet(
    path: &Path,
    schema: &str,
    write: impl FnOnce(&mut SerializedFileWriter<&File>) -> Result<(), ParquetError>,
) -> io::Result<()> {
    let file = File::create(path).map_err(|e| at(path, e))?;
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::SNAPPY)
        // Neither is of use in files of this size, and both cost space in
        // those of short runs.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_created_by("tailback".to_owned())
        .build();
    let result = parse_message_type(schema).and_then(|schema| {
        let mut writer = SerializedFileWriter::new(&file, Arc::new(schema), Arc::new(properties))?;
        write(&mut writer)?;
        writer.close()
    });
    result
        .map_err(|e| match e {
            // The cause (a full disk, say) is what the user needs to read.
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(io) => *io,
                Err(other) => io::Error::other(other),
            },
            other => io::Error::other(other),
        })
        .and_then(|_| file.sync_all())
        .map_err(|e| at(path, e))
}

/// Writes the series one after the other: within one, a row group's key
/// columns are a single run, and a reader that wants one finds it in one place.
fn write_series(
    writer: &mut SerializedFileWriter<&File>,
    series: &Series,
) -> Result<(), ParquetError> {
    let order = by_key(series);
    let text = |of: fn(&crate::series::SeriesKey) -> Option<&str>| -> Vec<Option<ByteArray>> {
        series.keys.iter().map(|key| of(key).map(bytes)).collect()
    };
    let flows = text(|k| k.flow.as_deref());
    let links = text(|k| k.link.as_deref());
    let quantities = text(|k| Some(&k.quantity));
    for rows in order.chunks(GROUP_ROWS) {
        let key = |row: &u32| series.key[*row as usize] as usize;
        let mut group = writer.next_row_group()?;
        column::<Int64Type, _>(&mut group, rows, |r| series.time_ns[*r as usize] as i64)?;
        optional(&mut group, rows, |r| flows[key(r)].as_ref())?;
        optional(&mut group, rows, |r| links[key(r)].as_ref())?;
        column::<ByteArrayType, _>(&mut group, rows, |r| {
            quantities[key(r)].clone().unwrap_or_default()
        })?;
        column::<DoubleType, _>(&mut group, rows, |r| series.value[*r as usize])?;
        group.close()?;
    }
    Ok(())
}

/// The rows in the order of their series, within a series as recorded
/// (a stable counting sort).
fn by_key(series: &Series) -> Vec<u32> {
    let mut next = vec![0_u32; series.keys.len() + 1];
    for &key in &series.key {
        next[key as usize + 1] += 1;
    }
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    let mut order = vec![0; series.len()];
    for (row, &key) in series.key.iter().enumerate() {
        let slot = &mut next[key as usize];
        order[*slot as usize] = row as u32;
        *slot += 1;
    }
    order
}

/// A bucket in use and what it belongs to.
struct Bucket<'a> {
    owner: &'a Owner,
    lower: u64,
    width: u64,
    count: u64,
}

struct Owner {
    flow: Option<ByteArray>,
    link: Option<ByteArray>,
    quantity: ByteArray,
}

fn write_histograms(
    writer: &mut SerializedFileWriter<&File>,
    outcome: &Outcome,
) -> Result<(), ParquetError> {
    let links = outcome.links.iter().map(|link| {
        let owner = Owner {
            flow: None,
            link: Some(bytes(&link.name)),
            quantity: bytes("delay_ns"),
        };
        (owner, &link.delay)
    });
    let classes = outcome.classes.iter().map(|class| {
        let link = outcome.links.get(class.link as usize);
        let owner = Owner {
            flow: None,
            link: link.map(|link| bytes(&link.name)),
            quantity: bytes(&format!("delay_ns.{}", class.class.name)),
        };
        (owner, &class.delay)
    });
    let flows = outcome.flows.iter().map(|flow| {
        let owner = Owner {
            flow: Some(bytes(&flow.name)),
            link: None,
            quantity: bytes("rtt_ns"),
        };
        (owner, &flow.rtt)
    });
    let owned: Vec<(Owner, &Histogram)> = links.chain(classes).chain(flows).collect();
    let buckets: Vec<Bucket<'_>> = owned
        .iter()
        .flat_map(|(owner, histogram)| {
            histogram
                .buckets()
                .map(move |(lower, width, count)| Bucket {
                    owner,
                    lower,
                    width,
                    count,
                })
        })
        .collect();
    for rows in buckets.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        optional(&mut group, rows, |b| b.owner.flow.as_ref())?;
        optional(&mut group, rows, |b| b.owner.link.as_ref())?;
        column::<ByteArrayType, _>(&mut group, rows, |b| b.owner.quantity.clone())?;
        column::<Int64Type, _>(&mut group, rows, |b| b.lower as i64)?;
        column::<Int64Type, _>(&mut group, rows, |b| b.width as i64)?;
        column::<Int64Type, _>(&mut group, rows, |b| b.count as i64)?;
        group.close()?;
    }
    Ok(())
}

fn bytes(text: &str) -> ByteArray {
    ByteArray::from(text.as_bytes().to_vec())
}

/// Rows handed to the column writer at a time.
const BATCH: usize = 8192;

/// Writes the next column, which has a value in every row.
fn column<T: DataType, R>(
    group: &mut SerializedRowGroupWriter<'_, &File>,
    rows: &[R],
    value: impl Fn(&R) -> T::T,
) -> Result<(), ParquetError> {
    next_column::<T>(group, |writer| {
        let mut values = Vec::with_capacity(BATCH.min(rows.len()));
        for batch in rows.chunks(BATCH) {
            values.clear();
            values.extend(batch.iter().map(&value));
            writer.write_batch(&values, None, None)?;
        }
        Ok(())
    })
}

/// Writes the next column, of text or null.
fn optional<'a, R>(
    group: &mut SerializedRowGroupWriter<'_, &File>,
    rows: &[R],
    value: impl Fn(&R) -> Option<&'a ByteArray>,
) -> Result<(), ParquetError> {
    next_column::<ByteArrayType>(group, |writer| {
        let mut values = Vec::with_capacity(BATCH.min(rows.len()));
        let mut present = Vec::with_capacity(BATCH.min(rows.len()));
        for batch in rows.chunks(BATCH) {
            values.clear();
            values.extend(batch.iter().filter_map(&value).cloned());
            present.clear();
            present.extend(batch.iter().map(|row| i16::from(value(row).is_some())));
            writer.write_batch(&values, Some(&present), None)?;
        }
        Ok(())
    })
}

fn next_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &File>,
    write: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("a column too many".to_owned()))?;
    write(column.typed::<T>())?;
    column.close()
}

/// Adds the path to an error of the file system.
pub fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::{FlowOutcome, LinkOutcome};

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
        let stored = store.write(&manifest("r1"), &outcome, &Timing::default());
        assert_eq!(stored.expect("written"), Stored::New);
        let text = |s: &str| Field::Str(s.to_owned());

        let series = rows(&store.path("r1").join("series.parquet"));
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
        let histograms = rows(&store.path("r1").join("histograms.parquet"));
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
            let stored = store.write(&manifest("r"), &outcome(), &Timing::default());
            assert_eq!(stored.expect("written"), Stored::New);
        }
        let before = files(&one.path("r"));
        assert_eq!(before, files(&two.path("r")));

        let slower = Timing {
            wall_s: 9.0,
            ..Timing::default()
        };
        let stored = one.write(&manifest("r"), &outcome(), &slower);
        assert_eq!(stored.expect("discarded"), Stored::Already);
        assert_eq!(before, files(&one.path("r")));
    }

    #[test]
    fn a_scratch_file_comes_into_the_folder_or_goes() {
        let root = tempfile::tempdir().expect("a folder");
        let store = Store::open(root.path()).expect("a store");
        let prepare = |run_id| {
            let path = store.scratch_file(run_id, "packets.pcapng");
            fs::write(path.expect("a path"), "packets").expect("a file");
        };
        prepare("r");
        let outcome = Outcome {
            packets: Some(crate::PacketCount {
                recorded: 5,
                lost: 2,
            }),
            ..outcome()
        };
        let stored = store.write(&manifest("r"), &outcome, &Timing::default());
        assert_eq!(stored.expect("written"), Stored::New);
        let found = files(&store.path("r"));
        assert_eq!(found["packets.pcapng"], b"packets");
        let text = String::from_utf8_lossy(&found["manifest.json"]);
        assert!(text.contains("\"packets_recorded\": 5"), "{text}");
        assert!(text.contains("\"packets_lost\": 2"), "{text}");

        prepare("given up");
        store.discard("given up");
        assert_eq!(fs::read_dir(&store.scratch).expect("a folder").count(), 0);
    }

    #[test]
    fn leftovers_of_the_dead_go_and_those_of_the_living_stay() {
        let root = tempfile::tempdir().expect("a folder");
        let living = Store::open(root.path()).expect("a store");
        // What SIGKILL leaves: a lock file that nobody holds, and its folder.
        let runs = root.path().join("runs");
        let dead = runs.join(".writing-1-0");
        fs::create_dir_all(dead.join("half")).expect("a folder");
        fs::write(runs.join(".writing-1-0.lock"), "").expect("a file");

        let other = Store::open(root.path()).expect("a store");
        assert!(!dead.exists());
        assert!(living.scratch.exists());
        drop(other);
        let stored = living.write(&manifest("r"), &outcome(), &Timing::default());
        assert_eq!(stored.expect("written"), Stored::New);
        drop(living);
        assert_eq!(fs::read_dir(&runs).expect("a folder").count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing_and_names_the_file() {
        let root = tempfile::tempdir().expect("a folder");
        let store = Store::open(root.path()).expect("a store");
        fs::write(store.path("r"), "in the way").expect("a file");
        let error = store
            .write(&manifest("r"), &outcome(), &Timing::default())
            .expect_err("a file is in the way");
        assert!(error.to_string().contains("runs/r"), "{error}");
        assert_eq!(fs::read_dir(&store.scratch).expect("a folder").count(), 0);

        let file = root.path().join("file");
        fs::write(&file, "").expect("a file");
        let error = Store::open(&file).expect_err("not a folder");
        assert!(error.to_string().contains("file"), "{error}");
    }
}
