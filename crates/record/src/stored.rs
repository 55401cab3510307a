//! Reads run folders, and checks that each file is unchanged since it was written.
//!
//! Run folders are untrusted. Files must be regular files, not symbolic links, with the sizes and
//! hashes that the manifest lists. The manifest must be sealed, have the current format, and
//! contain the same run id as the folder's name. Tables must have the expected columns and numbers
//! of rows ([`crate::table::check`]).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::brief::brief;
use crate::scratch::at;
use crate::seal::{Mark, is_whole};
use crate::table;

/// The manifest, which identifies the run and lists the size and hash of each file.
pub const MANIFEST: &str = "manifest.json";
/// The summary.
pub const SUMMARY: &str = "summary.json";
/// Samples and events.
pub const SERIES: &str = "series.parquet";
/// File with the buckets of the histograms.
pub const HISTOGRAMS: &str = "histograms.parquet";
/// File with the account of the run ([`crate::account`]).
pub const ACCOUNT: &str = "account.json";
/// Headers of packets.
pub const PACKETS: &str = "packets.pcapng";
/// Wall time and CPU time of the run.
pub const TIMING: &str = "timing.json";

const MAX_JSON: u64 = 64 << 20;
/// Largest table to read, in bytes: twice the size of a table with the maximum number of rows.
const MAX_TABLE: u64 = 1 << 30;

/// Format version of a run folder.
pub const FORMAT: u32 = 2;

/// Why a run folder or one of its files cannot be used.
#[derive(Debug)]
pub enum Fault {
    /// The folder does not exist.
    Absent(String),
    /// The folder or file has changed since it was written. The text is a sentence that contains
    /// the path of the folder or file.
    Damaged(String),
    /// The folder or file cannot be read.
    Io(io::Error),
}

type Result<T> = std::result::Result<T, Fault>;

fn damaged<T>(path: &Path, what: &str) -> Result<T> {
    Err(Fault::Damaged(format!("{}: {what}", path.display())))
}

/// Returns whether a name is the id of a run, a sweep or a comparison: 20 hexadecimal digits of a
/// hash.
pub fn is_id(name: &str) -> bool {
    name.len() == 20
        && name
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// A run folder whose manifest is unchanged since it was written.
pub struct RunFolder {
    path: PathBuf,
    run_id: String,
    manifest: String,
    files: BTreeMap<String, (Mark, Option<u64>)>,
}

/// Checks every file of a run folder.
pub fn check(path: &Path) -> Result<()> {
    let run = RunFolder::open(path)?;
    run.timing()?;
    run.files
        .iter()
        .try_for_each(|(name, (_, rows))| match rows {
            Some(_) => run.read(name).map(drop),
            None => run.check_file(name),
        })
}

impl RunFolder {
    /// Opens a run folder after checking its manifest. Other files are checked when they are read.
    pub fn open(path: &Path) -> Result<RunFolder> {
        match fs::symlink_metadata(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Fault::Absent(format!("{}: no such run", path.display())));
            }
            Err(e) => return Err(Fault::Io(at(path, e))),
            Ok(found) if !found.is_dir() => {
                return damaged(path, "not a folder (a link is not followed)");
            }
            Ok(_) => {}
        }
        let file = path.join(MANIFEST);
        let bytes = read_whole(&file, MAX_JSON)?;
        let manifest: Option<Value> = serde_json::from_slice(&bytes).ok();
        let Some(manifest) = manifest else {
            return damaged(&file, "changed since it was written (not JSON)");
        };
        // Check the format before the seal, because manifests of earlier versions had no seal.
        if manifest["format"] != FORMAT {
            return damaged(&file, "written by another version of tailback, or damaged");
        }
        if !is_whole(&bytes) {
            return damaged(&file, NOT_WRITTEN);
        }
        // A path such as `.` has no file name, so use the absolute path.
        let own = std::path::absolute(path).map_err(|e| Fault::Io(at(path, e)))?;
        let name = own.file_name().and_then(|name| name.to_str());
        let run_id = manifest["run_id"].as_str();
        let Some(run_id) = run_id.filter(|id| is_id(id) && Some(*id) == name) else {
            return damaged(
                &file,
                "the manifest of a run other than the one in the name of its folder",
            );
        };
        let run_id = run_id.to_owned();
        let texts = ["engine", "engine_version"];
        let whole = texts.iter().all(|key| manifest[*key].is_string())
            && manifest["seed"].is_u64()
            && manifest["canonical"].is_object()
            && manifest["follows"]
                .as_object()
                .is_some_and(|all| all.values().all(Value::is_string));
        let Some(files) = files_of(&manifest["files"]).filter(|_| whole) else {
            return damaged(&file, "not the manifest of a run");
        };
        let Ok(manifest) = String::from_utf8(bytes) else {
            return damaged(&file, NOT_WRITTEN);
        };
        Ok(RunFolder {
            path: path.to_owned(),
            run_id,
            manifest,
            files,
        })
    }

    /// Returns the manifest's JSON.
    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    /// Returns wall and CPU time as JSON.
    pub fn timing(&self) -> Result<Vec<u8>> {
        let file = self.path.join(TIMING);
        let bytes = read_whole(&file, MAX_JSON)?;
        let timing: Option<Value> = serde_json::from_slice(&bytes).ok();
        let Some(timing) = timing.filter(|_| is_whole(&bytes)) else {
            return damaged(&file, NOT_WRITTEN);
        };
        // Earlier versions of tailback did not write the run's id into `timing.json`.
        if timing.get("run_id").is_some_and(|id| *id != self.run_id) {
            return damaged(&file, "that of another run");
        }
        Ok(bytes)
    }

    /// Returns whether the run contains a file with the given name.
    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Returns the bytes of a file. Checks that the bytes are unchanged since they were written.
    /// For a table, also checks the columns and the number of rows.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.path.join(name);
        let (mark, rows) = self.mark(name)?;
        let limit = if rows.is_some() { MAX_TABLE } else { MAX_JSON };
        if mark.bytes > limit {
            return damaged(&path, "larger than such a file of a run can be");
        }
        let bytes = read_whole(&path, mark.bytes)?;
        if Mark::of_bytes(&bytes) != *mark {
            return damaged(&path, NOT_WRITTEN);
        }
        let Some(rows) = rows else { return Ok(bytes) };
        let schema = match name {
            SERIES => table::SERIES,
            _ => table::HISTOGRAMS,
        };
        let bytes = bytes::Bytes::from(bytes);
        match table::check(bytes.clone(), schema, *rows) {
            Ok(()) => Ok(bytes.into()),
            Err(what) => damaged(&path, &what),
        }
    }

    /// Returns the JSON of the summary with at most `most` flows, and the number of omitted flows.
    pub fn brief(&self, most: usize) -> Result<(Vec<u8>, usize)> {
        let whole = self.read(SUMMARY)?;
        brief(&whole, most).or_else(|_| damaged(&self.path.join(SUMMARY), NOT_WRITTEN))
    }

    /// Checks a file without reading it into memory.
    pub fn check_file(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        let (mark, _) = self.mark(name)?;
        let file = open_regular(&path)?;
        let io = |e| Fault::Io(at(&path, e));
        if file.metadata().map_err(io)?.len() != mark.bytes {
            return damaged(&path, NOT_WRITTEN);
        }
        let found = Mark::of(file.take(mark.bytes)).map_err(io)?;
        if found == *mark {
            Ok(())
        } else {
            damaged(&path, NOT_WRITTEN)
        }
    }

    fn mark(&self, name: &str) -> Result<&(Mark, Option<u64>)> {
        match self.files.get(name) {
            Some(found) => Ok(found),
            None => damaged(&self.path.join(name), "the run has no such file"),
        }
    }
}

const NOT_WRITTEN: &str = "not what was written";

/// Subfolder for the files that programs wrote.
pub const PROGRAMS: &str = "programs";

/// Returns whether `path` is the path of a file that a program wrote.
fn is_of_program(name: &str) -> bool {
    let mut parts = name.split('/');
    let inside = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    parts.next() == Some(PROGRAMS) && parts.clone().count() > 1 && parts.all(inside)
}

/// Returns the files that a manifest lists. Returns `None` if no run can contain the listed files.
fn files_of(table: &Value) -> Option<BTreeMap<String, (Mark, Option<u64>)>> {
    let mut files = BTreeMap::new();
    for (name, entry) in table.as_object()? {
        let is_table = [SERIES, HISTOGRAMS].contains(&name.as_str());
        let known = [SUMMARY, ACCOUNT, PACKETS].contains(&name.as_str()) || is_of_program(name);
        if !is_table && !known {
            return None;
        }
        let mark = Mark {
            bytes: entry["bytes"].as_u64()?,
            sha256: entry["sha256"].as_str()?.to_owned(),
        };
        let rows = if is_table {
            Some(entry["rows"].as_u64()?)
        } else {
            None
        };
        files.insert(name.clone(), (mark, rows));
    }
    let needed = [SUMMARY, SERIES, HISTOGRAMS];
    needed
        .iter()
        .all(|name| files.contains_key(*name))
        .then_some(files)
}

fn open_regular(path: &Path) -> Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => File::open(path).map_err(|e| Fault::Io(at(path, e))),
        Ok(_) => damaged(path, "not a regular file"),
        Err(e) if e.kind() == io::ErrorKind::NotFound => damaged(path, "is missing"),
        Err(e) => Err(Fault::Io(at(path, e))),
    }
}

fn read_whole(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = open_regular(path)?;
    let io = |e| Fault::Io(at(path, e));
    let size = file.metadata().map_err(io)?.len();
    if size > limit {
        return damaged(path, "larger than such a file of a run can be");
    }
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(limit).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_of_programs_stay_in_their_folder() {
        for name in ["programs/a/b", "programs/a/b/c", "programs/a/..b"] {
            assert!(is_of_program(name), "{name}");
        }
        for name in [
            "programs",
            "programs/a",
            "programs//b",
            "programs/a/",
            "programs/./b",
            "programs/../b",
            "programs/a/..",
            "programs/a/b\0",
            "other/a/b",
            "/programs/a/b",
        ] {
            assert!(!is_of_program(name), "{name}");
        }
    }

    /// Tests which files a manifest must list: a summary and both tables. The manifest must state a
    /// number of rows for each table, but not for other files.
    #[test]
    fn the_files_of_a_manifest() {
        let mark = || json!({ "bytes": 3, "sha256": "ab" });
        let rows = || json!({ "bytes": 4, "sha256": "cd", "rows": 7 });
        let whole = || {
            json!({
                SUMMARY: mark(),
                SERIES: rows(),
                HISTOGRAMS: rows(),
                "programs/a/b": mark(),
            })
        };
        let files = files_of(&whole()).expect("those of a run");
        assert_eq!(files.len(), 4);
        assert_eq!((files[SERIES].0.bytes, files[SERIES].1), (4, Some(7)));
        assert_eq!((files[SUMMARY].0.bytes, files[SUMMARY].1), (3, None));
        for name in [SUMMARY, SERIES, HISTOGRAMS] {
            let mut without = whole();
            without.as_object_mut().expect("a table").remove(name);
            assert!(files_of(&without).is_none(), "without {name}");
        }
        for (name, entry) in [
            (SERIES, mark()),
            (ACCOUNT, json!({ "bytes": 3 })),
            (PACKETS, json!({ "sha256": "ab" })),
            ("other.json", mark()),
        ] {
            let mut wrong = whole();
            wrong[name] = entry;
            assert!(files_of(&wrong).is_none(), "{name}");
        }
        let mut more = whole();
        (more[ACCOUNT], more[PACKETS]) = (mark(), mark());
        assert_eq!(files_of(&more).map(|files| files.len()), Some(6));
        assert!(files_of(&json!([])).is_none());
    }
}
