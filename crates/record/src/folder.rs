//! Writes the results of a run to its run folder, atomically.
//!
//! A process writes a run into its own scratch folder, then renames this folder to `runs/<run_id>`.
//! A folder with the name `runs/<run_id>` is therefore always complete, even if a process is
//! killed. If two processes finish the same run, the first rename succeeds, and the second process
//! discards its copy. Finished runs are synced to disk within a second ([`crate::durable`]). If the
//! power fails before a run is synced, the run's hashes reveal the damage.
//!
//! | file | content |
//! |---|---|
//! | `manifest.json` | identity: engine and its version, seed, the canonical point, which RFC or kernel each algorithm follows, number of lost rows; size and SHA-256 of the files below, and the SHA-256 of the manifest itself ([`crate::seal`]) |
//! | `summary.json` | [`Summary`] |
//! | `account.json` | what each sender waited for, and which flows filled each queue ([`crate::account`]) |
//! | `series.parquet` | `time_ns`, `flow`, `link`, `quantity`, `value`; in the order of the series, then of time |
//! | `histograms.parquet` | `flow`, `link`, `quantity`, `lower`, `width`, `count` |
//! | `packets.pcapng` | headers of every packet at every link, if they were recorded ([`crate::pcapng`]) |
//! | `timing.json` | wall time, CPU time and host, which differ when the same run is repeated; this file has its own seal |
//!
//! A folder is used only if [`crate::stored`] finds that the folder is unchanged since it was
//! written. tailback never deletes a damaged folder. Instead, tailback moves a damaged folder to
//! `runs/.damaged` and repeats the run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::durable::Pending;
use crate::outcome::account_file;
use crate::scratch::Scratch;
pub use crate::scratch::at;
use crate::seal::{self, Hashing, Mark};
use crate::stored::{self, FORMAT, Fault};
use crate::{Outcome, summary::Summary, table};

/// The identity of a run, which is written to `manifest.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest<'a> {
    /// Id of the run: a hash of the canonical scenario, the seed and the engine version.
    pub run_id: &'a str,
    /// Name of the engine, such as `sim`.
    pub engine: &'a str,
    /// Release of the engine, and hash of its sources.
    pub engine_version: &'a str,
    /// Seed of the run.
    pub seed: u64,
    /// The scenario in base units, with all defaults, for one combination of sweep parameters.
    pub canonical: serde_json::Value,
    /// The specification of each algorithm of the run, such as an RFC or a kernel version. The key
    /// is the algorithm, such as `aqm.codel`.
    pub follows: Vec<(String, String)>,
    /// The environment of the run, if known: kernel, modules, tools and settings, but not the
    /// engine.
    pub environment: Option<serde_json::Value>,
}

/// Measurements that differ between repetitions of a run. tailback writes these measurements to
/// `timing.json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timing {
    /// Wall time of the simulation, in s.
    pub wall_s: f64,
    /// CPU time of the simulation, in s.
    pub cpu_s: f64,
    /// Name of the computer that ran the simulation.
    pub host: String,
    /// Number of data packets that TCP senders sent.
    pub data_packets: u64,
    /// Number of calendar events that the simulator processed. For the kernel engine, number of
    /// packets captured.
    pub events: u64,
    /// Largest memory of the run's process, in bytes. `None` if the run does not have its own
    /// process.
    pub memory_bytes: Option<u64>,
}

/// How [`Store::write`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The run was written.
    New,
    /// Another process had already written the same run.
    Already,
}

/// The folder `runs`, opened for writing.
#[derive(Debug)]
pub struct Store {
    runs: PathBuf,
    scratch: Scratch,
    pending: Pending,
}

/// Folder in `runs` for damaged runs.
const DAMAGED: &str = ".damaged";

impl Store {
    /// Opens `runs` in `root`, or creates it. Removes incomplete runs of killed processes.
    pub fn open(root: &Path) -> io::Result<Store> {
        let runs = root.join("runs");
        fs::create_dir_all(&runs).map_err(|e| at(&runs, e))?;
        refuse_link(&runs)?;
        let scratch = Scratch::open(&runs)?;
        let pending = Pending::new(&runs);
        Ok(Store {
            runs,
            scratch,
            pending,
        })
    }

    /// Returns the path of the folder of the run with the given id. The folder may not exist yet.
    pub fn path(&self, run_id: &str) -> PathBuf {
        self.runs.join(run_id)
    }

    /// Returns whether the run is finished and every file is unchanged since it was written.
    pub fn contains(&self, run_id: &str) -> io::Result<bool> {
        match stored::check(&self.path(run_id)) {
            Ok(()) => Ok(true),
            Err(Fault::Absent(_) | Fault::Damaged(_)) => Ok(false),
            Err(Fault::Io(e)) => Err(e),
        }
    }

    /// Moves a damaged run to `runs/.damaged`. Returns a description of the damage and the new
    /// path, or `None` if the run is intact. If the caller has found damage that the hashes do not
    /// reveal, `found` describes this damage.
    pub fn set_aside(&self, run_id: &str, found: Option<&str>) -> io::Result<Option<String>> {
        let path = self.path(run_id);
        if found.is_none() && !matches!(stored::check(&path), Err(Fault::Damaged(_))) {
            return Ok(None);
        }
        let damaged = self.runs.join(DAMAGED);
        fs::create_dir_all(&damaged).map_err(|e| at(&damaged, e))?;
        refuse_link(&damaged)?;
        // Since the check, another process may have moved the same damaged run, repeated the run
        // and stored the result. The repeated run must not be moved, so lock the folder and check
        // the run once more.
        let lock = lock_of(&damaged).map_err(|e| at(&damaged, e))?;
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

    /// Returns the path for a file of an unfinished run. [`Store::write`] moves the file to the
    /// run's folder. Call [`Store::write`] or [`Store::discard`] afterwards.
    pub fn scratch_file(&self, run_id: &str, name: &str) -> io::Result<PathBuf> {
        let folder = self.scratch.path().join(run_id);
        fs::create_dir_all(&folder).map_err(|e| at(&folder, e))?;
        Ok(folder.join(name))
    }

    /// Creates a folder for temporary files of a run, which are not part of the run's results. The
    /// folder is removed when the store is dropped, or earlier.
    pub fn workplace(&self, run_id: &str) -> io::Result<PathBuf> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let folder = self.scratch.path().join(format!("at-{run_id}-{serial}"));
        fs::create_dir(&folder).map_err(|e| at(&folder, e))?;
        Ok(folder)
    }

    /// Deletes the files of a run that failed or was cancelled.
    pub fn discard(&self, run_id: &str) {
        self.scratch.discard(run_id);
    }

    /// Writes a finished run, including the files from [`Store::scratch_file`]. If the write fails,
    /// removes all files of the run. The run may be synced to disk later ([`Store::settle`]).
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
        // The run is stored even if syncing fails.
        self.pending.add(run_id).map(|()| Stored::New)
    }

    /// Syncs all finished runs that are not synced yet. Call this function after the last run.
    pub fn settle(&self) -> io::Result<()> {
        self.pending.settle()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // A caller that wants to see errors must call `settle` before it drops the store.
        let _ = self.settle();
    }
}

/// Returns an error if `folder` is a symbolic link, which could point outside the folder of
/// results.
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

/// Opens the file that a process locks to get exclusive use of a folder. On Windows, which cannot
/// open folders, the process locks a file in the folder. On other systems, the process locks the
/// folder itself.
fn lock_of(folder: &Path) -> io::Result<File> {
    if cfg!(windows) {
        let mut options = File::options();
        return options.create(true).append(true).open(folder.join("lock"));
    }
    File::open(folder)
}

fn write_files(
    folder: &Path,
    manifest: &Manifest<'_>,
    outcome: &Outcome,
    timing: &Timing,
) -> io::Result<()> {
    // Compute size and hash of the files that are already in the folder.
    let mut files = serde_json::Map::new();
    mark_files(folder, "", &mut files)?;
    let summary = Summary::new(outcome, manifest.run_id, manifest.seed);
    let (mark, ()) = written(&folder.join(stored::SUMMARY), |file| {
        let mut file = BufWriter::new(file);
        serde_json::to_writer_pretty(&mut file, &summary)?;
        file.write_all(b"\n")?;
        file.flush()
    })?;
    drop(summary);
    files.insert(stored::SUMMARY.to_owned(), entry_of(&mark, None));
    let (mark, ()) = written(&folder.join(stored::ACCOUNT), |file| {
        let mut file = BufWriter::new(file);
        account_file::write(outcome, &mut file)?;
        file.flush()
    })?;
    files.insert(stored::ACCOUNT.to_owned(), entry_of(&mark, None));
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

    let mut timing = serde_json::to_value(timing).map_err(io::Error::from)?;
    // The manifest has no hash of `timing.json`, so `timing.json` itself states the id of its run.
    timing["run_id"] = manifest.run_id.into();
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

/// Adds the size and the hash of all files in a folder and its subfolders. The key of an entry is
/// the path relative to the run folder.
fn mark_files(
    folder: &Path,
    prefix: &str,
    files: &mut serde_json::Map<String, serde_json::Value>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder).map_err(|e| at(folder, e))? {
        let entry = entry.map_err(|e| at(folder, e))?;
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().map_err(|e| at(&path, e))?;
        if kind.is_dir() {
            mark_files(&path, &format!("{name}/"), files)?;
            continue;
        }
        if !kind.is_file() {
            // A symbolic link could point to a file that the run did not write.
            return Err(at(&path, io::Error::other("not a regular file")));
        }
        let file = File::open(&path).map_err(|e| at(&path, e))?;
        let mark = Mark::of(&file).map_err(|e| at(&path, e))?;
        files.insert(name, entry_of(&mark, None));
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

/// Returns the content of the manifest, without its seal.
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

fn written<T>(
    path: &Path,
    write: impl FnOnce(&mut Hashing<&File>) -> io::Result<T>,
) -> io::Result<(Mark, T)> {
    let file = File::create(path).map_err(|e| at(path, e))?;
    let mut hashing = Hashing::new(&file);
    let result = write(&mut hashing).map_err(|e| at(path, e))?;
    Ok((hashing.mark(), result))
}

#[cfg(test)]
mod tests;
