//! Records the sizes of run folders, and which run folders were verified. With this catalogue,
//! commands on a large store do not have to read every run again.
//!
//! For each run, the catalogue stores the size of the files and two fingerprints. A fingerprint is
//! a hash of the metadata of the folder and its files. The metadata is the inode, the size, and the
//! times of the last change of content and inode. Each command reads the metadata again, and uses
//! an entry of the catalogue only if the metadata is unchanged. No command relies on the catalogue
//! to find out which runs exist. Only the kernel sets the time of the last change of an inode, so
//! commands detect changed content even if the modification time was set back. Damage below the
//! file system, such as a defect of the disk, does not change these times. `tailback verify` finds
//! such damage, because it reads every file.
//!
//! If the catalogue is missing, damaged or outdated, commands take longer, but their results are
//! the same. Small stores have no catalogue.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::scratch::{Scratch, at};
use crate::stored::is_id;

/// Name of the catalogue in the folder `runs`.
const NAME: &str = ".catalogue";
const MAGIC: &[u8; 16] = b"tailback runs 1\n";
/// tailback writes the catalogue if it has at least this number of new entries.
const WORTH_WRITING: usize = 1000;
/// Minimum age of a folder in the catalogue, in ns. If two changes happen within this time, a file
/// system may record the same time for both changes.
const SETTLED_NS: i128 = 2_000_000_000;
/// Length of a stored entry, in bytes: id, size, and both fingerprints.
const ENTRY: usize = 10 + 8 + 8 + 16;

type Id = [u8; 10];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    /// Size of the files directly in the folder, in bytes.
    bytes: u64,
    /// Fingerprint of the folder without its files.
    folder: u64,
    /// Fingerprint of the folder with its files, at the time when the files were verified. 0 if the
    /// files were not verified.
    verified: u128,
}

#[derive(Debug, Default)]
struct Entries {
    of: BTreeMap<Id, Entry>,
    /// Number of entries that are not in the catalogue's file yet.
    unwritten: usize,
    /// Whether entries were removed.
    shrunk: bool,
}

/// The catalogue of a folder `runs`. The file of the catalogue is read when the catalogue is first
/// used.
#[derive(Debug)]
pub struct Catalogue {
    runs: PathBuf,
    /// Hash of the rules by which runs were verified. A catalogue that was written with other rules
    /// is ignored.
    rules: [u8; 32],
    entries: Mutex<Option<Entries>>,
    worth_writing: usize,
}

impl Catalogue {
    /// Returns the catalogue of the folder `runs`. `rules` identifies the rules by which runs are
    /// verified.
    pub fn new(runs: &Path, rules: &str) -> Catalogue {
        let rules = format!("{} {rules}", env!("CARGO_PKG_VERSION"));
        Catalogue {
            runs: runs.to_owned(),
            rules: Sha256::digest(rules.as_bytes()).into(),
            entries: Mutex::new(None),
            worth_writing: WORTH_WRITING,
        }
    }

    /// Returns the last measured size of the files directly in a run folder, in bytes, or 0 if the
    /// folder does not exist. If a file grows in place, the folder itself does not change. This
    /// function does not detect that a file has grown in place, because it does not look up files.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn bytes(&self, run_id: &str) -> io::Result<u64> {
        let path = self.runs.join(run_id);
        let Some(found) = state::folder(&path) else {
            return measured(&path);
        };
        let id = id_of(run_id);
        if let Some(known) = id.and_then(|id| self.get(&id))
            && known.folder == found.fingerprint
        {
            return Ok(known.bytes);
        }
        let bytes = measured(&path)?;
        if let Some(id) = id.filter(|_| found.changed_ns < settled()) {
            self.insert(id, |entry| {
                if entry.folder != found.fingerprint {
                    entry.verified = 0;
                }
                (entry.bytes, entry.folder) = (bytes, found.fingerprint);
            });
        }
        Ok(bytes)
    }

    /// Returns whether a run is intact. Calls `verify` only if the run has changed since it was
    /// last found to be intact.
    pub fn is_intact(&self, run_id: &str, verify: impl FnOnce(&Path) -> bool) -> bool {
        let path = self.runs.join(run_id);
        let Some(id) = id_of(run_id) else {
            return verify(&path);
        };
        let settled = settled();
        let Some((folder, whole)) = state::folder(&path).zip(state::whole(&path)) else {
            return verify(&path);
        };
        if self
            .get(&id)
            .is_some_and(|entry| entry.verified == whole.fingerprint && entry.verified != 0)
        {
            return true;
        }
        let intact = verify(&path);
        // The metadata was read before the verification, so a change during the verification is
        // detected later.
        if intact && whole.changed_ns < settled {
            self.insert(id, |entry| {
                *entry = Entry {
                    bytes: whole.bytes,
                    folder: folder.fingerprint,
                    verified: whole.fingerprint,
                };
            });
        }
        intact
    }

    /// Removes the entries of deleted runs.
    pub fn forget(&self, run_ids: &[String]) {
        self.with(|entries| {
            for id in run_ids.iter().filter_map(|run_id| id_of(run_id)) {
                entries.shrunk |= entries.of.remove(&id).is_some();
            }
        });
    }

    /// Writes the catalogue if it has enough new entries. Ignores failures, because the catalogue
    /// only saves time, and the store may be read-only.
    pub fn save(&self) {
        let mut guard = self.lock();
        let Some(entries) = guard.as_mut() else {
            return;
        };
        if entries.unwritten < self.worth_writing && !entries.shrunk {
            return;
        }
        let path = self.runs.join(NAME);
        if entries.of.is_empty() {
            let _ = fs::remove_file(path);
            return;
        }
        let written = Scratch::open(&self.runs).and_then(|scratch| {
            let part = scratch.path().join(NAME);
            fs::write(&part, encoded(&self.rules, &entries.of))?;
            fs::rename(&part, &path)
        });
        if written.is_ok() {
            (entries.unwritten, entries.shrunk) = (0, false);
        }
    }

    fn get(&self, id: &Id) -> Option<Entry> {
        self.with(|entries| entries.of.get(id).copied())
    }

    fn insert(&self, id: Id, change: impl FnOnce(&mut Entry)) {
        self.with(|entries| {
            change(entries.of.entry(id).or_default());
            entries.unwritten += 1;
        });
    }

    fn with<T>(&self, use_: impl FnOnce(&mut Entries) -> T) -> T {
        use_(self.lock().get_or_insert_with(|| Entries {
            of: self.read().unwrap_or_default(),
            ..Entries::default()
        }))
    }

    fn read(&self) -> Option<BTreeMap<Id, Entry>> {
        let path = self.runs.join(NAME);
        // Reject links and pipes.
        if !fs::symlink_metadata(&path).ok()?.is_file() {
            return None;
        }
        decoded(&self.rules, &fs::read(path).ok()?)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Entries>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the size of the files directly in a folder, in bytes, or 0 if the folder does not exist.
fn measured(path: &Path) -> io::Result<u64> {
    let entries = match fs::read_dir(path) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(0);
        }
        found => found.map_err(|e| at(path, e))?,
    };
    let mut bytes = 0;
    for entry in entries {
        bytes += entry
            .and_then(|entry| entry.metadata())
            .map_err(|e| at(path, e))?
            .len();
    }
    Ok(bytes)
}

/// Returns a time limit in ns since 1970. The catalogue stores only folders that have not changed
/// since this time.
fn settled() -> i128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(i128::MIN, |now| now.as_nanos() as i128 - SETTLED_NS)
}

fn id_of(run_id: &str) -> Option<Id> {
    if !is_id(run_id) {
        return None;
    }
    let mut id = Id::default();
    for (byte, digits) in id.iter_mut().zip(run_id.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(id)
}

fn encoded(rules: &[u8; 32], entries: &BTreeMap<Id, Entry>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY + 80);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(rules);
    for (id, entry) in entries {
        bytes.extend_from_slice(id);
        bytes.extend_from_slice(&entry.bytes.to_le_bytes());
        bytes.extend_from_slice(&entry.folder.to_le_bytes());
        bytes.extend_from_slice(&entry.verified.to_le_bytes());
    }
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
    bytes
}

/// Returns the entries of a catalogue file. Returns `None` if the file is damaged or was written
/// for other rules.
fn decoded(rules: &[u8; 32], bytes: &[u8]) -> Option<BTreeMap<Id, Entry>> {
    let (body, digest) = bytes.split_last_chunk::<32>()?;
    let entries = body.strip_prefix(MAGIC)?.strip_prefix(rules)?;
    if Sha256::digest(body).as_slice() != digest || entries.len() % ENTRY != 0 {
        return None;
    }
    let mut found = BTreeMap::new();
    for entry in entries.chunks_exact(ENTRY) {
        let (id, rest) = entry.split_first_chunk::<10>()?;
        let (size, rest) = rest.split_first_chunk::<8>()?;
        let (folder, rest) = rest.split_first_chunk::<8>()?;
        let verified = rest.first_chunk::<16>()?;
        let entry = Entry {
            bytes: u64::from_le_bytes(*size),
            folder: u64::from_le_bytes(*folder),
            verified: u128::from_le_bytes(*verified),
        };
        found.insert(*id, entry);
    }
    Some(found)
}

/// The metadata that the file system reports about a folder.
#[derive(Debug)]
struct State<T> {
    fingerprint: T,
    /// The time of the last change to the files and folders that the fingerprint covers, in ns
    /// since 1970.
    changed_ns: i128,
    /// Size of the files directly in the folder, in bytes.
    bytes: u64,
}

#[cfg(unix)]
mod state {
    use std::fs::{self, Metadata};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use sha2::{Digest, Sha256};

    use super::State;

    /// Returns the metadata of a folder without its files, or `None` if the path is not a folder.
    pub fn folder(path: &Path) -> Option<State<u64>> {
        let found = fs::symlink_metadata(path).ok().filter(Metadata::is_dir)?;
        let mut hash = Sha256::new();
        let changed_ns = add(&mut hash, &found);
        let digest = hash.finalize();
        let (fingerprint, _) = digest.split_first_chunk::<8>()?;
        Some(State {
            fingerprint: u64::from_le_bytes(*fingerprint),
            changed_ns,
            bytes: 0,
        })
    }

    /// Returns the metadata of a folder and all its content, or `None` if the metadata of any file
    /// is unavailable.
    pub fn whole(path: &Path) -> Option<State<u128>> {
        let mut found = State {
            fingerprint: 0,
            changed_ns: i128::MIN,
            bytes: 0,
        };
        let mut hash = Sha256::new();
        walk(path, &mut hash, &mut found, 0)?;
        let digest = hash.finalize();
        let (fingerprint, _) = digest.split_first_chunk::<16>()?;
        found.fingerprint = u128::from_le_bytes(*fingerprint);
        Some(found)
    }

    fn walk(path: &Path, hash: &mut Sha256, found: &mut State<u128>, depth: u32) -> Option<()> {
        let mut names: Vec<_> = fs::read_dir(path).ok()?.collect::<Result<_, _>>().ok()?;
        // Sort the entries, because the order of a folder's entries may differ between two
        // readings.
        names.sort_unstable_by_key(std::fs::DirEntry::file_name);
        for entry in names {
            let name = entry.file_name();
            let of = entry.metadata().ok()?;
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name.as_bytes());
            found.changed_ns = found.changed_ns.max(add(hash, &of));
            if of.is_dir() {
                hash.update(b"(");
                walk(&entry.path(), hash, found, depth + 1)?;
                hash.update(b")");
            }
            if depth == 0 {
                found.bytes += of.len();
            }
        }
        Some(())
    }

    /// Hashes the metadata of a file. Returns the time of its last change, in ns since 1970.
    fn add(hash: &mut Sha256, of: &Metadata) -> i128 {
        let numbers = [of.dev(), of.ino(), of.len(), u64::from(of.mode())];
        let times = [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()];
        for number in numbers {
            hash.update(number.to_le_bytes());
        }
        for time in times {
            hash.update(time.to_le_bytes());
        }
        let at = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        at(of.mtime(), of.mtime_nsec()).max(at(of.ctime(), of.ctime_nsec()))
    }
}

/// Systems other than Unix do not report when an inode changed, so the catalogue stays empty on
/// these systems.
#[cfg(not(unix))]
mod state {
    use std::path::Path;

    use super::State;

    pub fn folder(_path: &Path) -> Option<State<u64>> {
        None
    }

    pub fn whole(_path: &Path) -> Option<State<u128>> {
        None
    }
}

#[cfg(all(test, unix))]
mod tests;
