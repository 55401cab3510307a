//! Syncs finished runs to disk in groups, at most a second after the first run of the group has
//! finished.
//!
//! On Linux, one call of `syncfs` writes all runs that finished within a second, so tailback does
//! not sync the runs one by one. On other systems, tailback syncs each file. On Linux, tailback
//! also syncs each file if the group has only a few runs and other programs have much unwritten
//! data. The reason is that `syncfs` would also wait for the data of the other programs.
//!
//! If a process is killed, its finished runs are not lost, because the kernel still writes their
//! files to the disk. After a power failure, the runs of the last second may be missing or damaged.
//! The hashes reveal the damage, and tailback repeats the damaged runs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::scratch::at;

/// How long a finished run may wait to be synced.
const WAIT: Duration = Duration::from_secs(1);
/// Largest number of runs in a group for which tailback may sync each file instead of the whole
/// file system. This rule applies only if all programs together have more than `MUCH_KIB` of
/// unwritten data.
const FEW: usize = 4;
/// Amount of unwritten data of all programs, in KiB. A disk writes this amount in about the time
/// that it takes to sync the files of a run one by one.
const MUCH_KIB: u64 = 16 << 10;

/// Finished runs that are not synced to disk yet.
#[derive(Debug)]
pub(crate) struct Pending {
    runs: PathBuf,
    waiting: Mutex<Waiting>,
    /// The lock that a thread holds while it syncs runs.
    syncing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    ids: Vec<String>,
    /// When the first run in `ids` finished.
    since: Option<Instant>,
}

impl Pending {
    /// Creates an empty list. `runs` is the folder that contains the run folders.
    pub fn new(runs: &Path) -> Pending {
        Pending {
            runs: runs.to_owned(),
            waiting: Mutex::default(),
            syncing: Mutex::default(),
        }
    }

    /// Adds a finished run. Syncs all listed runs if the first listed run has waited for `WAIT`.
    pub fn add(&self, run_id: &str) -> io::Result<()> {
        let mut waiting = self.waiting();
        waiting.ids.push(run_id.to_owned());
        let since = *waiting.since.get_or_insert_with(Instant::now);
        drop(waiting);
        if since.elapsed() < WAIT && cfg!(target_os = "linux") {
            return Ok(());
        }
        match self.syncing.try_lock() {
            Ok(_guard) => self.sync(),
            Err(TryLockError::Poisoned(_)) => self.sync(),
            // Another thread is syncing. Either the other thread or the next call of `add` or
            // `settle` syncs this run too.
            Err(TryLockError::WouldBlock) => Ok(()),
        }
    }

    /// Syncs all listed runs.
    pub fn settle(&self) -> io::Result<()> {
        let _guard = self.syncing.lock();
        self.sync()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync(&self) -> io::Result<()> {
        let ids = std::mem::take(&mut *self.waiting()).ids;
        if ids.is_empty() {
            return Ok(());
        }
        if (ids.len() > FEW || dirty_kib() <= MUCH_KIB) && sync_file_system(&self.runs)? {
            return Ok(());
        }
        for id in &ids {
            sync_tree(&self.runs.join(id))?;
        }
        sync_folder(&self.runs)
    }
}

/// Returns the amount of data of all programs that is not written to disks yet, in KiB. Returns
/// `u64::MAX` if the system does not report this amount.
fn dirty_kib() -> u64 {
    let found = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    dirty_in(&found).unwrap_or(u64::MAX)
}

/// Parses the text of `/proc/meminfo`. Returns the amount of data that is not written to disks yet.
fn dirty_in(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let amount = lines.find_map(|line| line.strip_prefix("Dirty:"))?;
    amount.trim().strip_suffix(" kB")?.parse().ok()
}

/// Syncs the file system that contains a folder. Returns false if the system or the file system
/// does not support `syncfs`.
#[cfg(target_os = "linux")]
fn sync_file_system(folder: &Path) -> io::Result<bool> {
    let file = File::open(folder).map_err(|e| at(folder, e))?;
    #[cfg(test)]
    tests::count();
    match rustix::fs::syncfs(&file) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL) => Ok(false),
        Err(e) => Err(at(folder, e.into())),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "the signature is that of Linux")]
fn sync_file_system(_folder: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Syncs every file and folder of a run. Does nothing if the folder no longer exists. A missing
/// folder belongs to a run that was deleted, or that was damaged and moved.
fn sync_tree(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|e| at(folder, e))?,
    };
    for entry in entries {
        let entry = entry.map_err(|e| at(folder, e))?;
        let path = entry.path();
        if entry.file_type().map_err(|e| at(&path, e))?.is_dir() {
            sync_tree(&path)?;
            continue;
        }
        // Windows syncs a file only if it was opened for writing.
        let mut options = File::options();
        match options.read(true).write(cfg!(windows)).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            file => file
                .and_then(|file| synced(&file))
                .map_err(|e| at(&path, e))?,
        }
    }
    sync_folder(folder)
}

fn synced(file: &File) -> io::Result<()> {
    #[cfg(test)]
    tests::count();
    file.sync_all()
}

/// Syncs the directory entries of a folder. Ignores the errors of file systems that cannot sync
/// folders. On Windows, does nothing.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    match File::open(folder).and_then(|file| synced(&file)) {
        Err(e) if e.kind() != io::ErrorKind::InvalidInput => Err(at(folder, e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Number of syncs that this test has caused.
        static SYNCS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        SYNCS.set(SYNCS.get() + 1);
    }

    fn waiting(pending: &Pending) -> usize {
        pending.waiting().ids.len()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn many_runs_share_one_sync() {
        let folder = tempfile::tempdir().expect("a folder");
        let pending = Pending::new(folder.path());
        SYNCS.set(0);
        for n in 0..50 {
            let run = folder.path().join(n.to_string());
            fs::create_dir(&run).expect("a run");
            for file in 0..6 {
                fs::write(run.join(file.to_string()), "1").expect("a file");
            }
            pending.add(&n.to_string()).expect("added");
        }
        // A group is synced after a second, so a slow machine may need several groups for the runs
        // of this test.
        pending.settle().expect("synced");
        let supported = sync_file_system(folder.path()).expect("synced");
        assert!(SYNCS.get() <= 50 || !supported, "{} syncs", SYNCS.get());
        SYNCS.set(0);
        pending.settle().expect("nothing to sync");
        assert_eq!(SYNCS.get(), 0);
    }

    #[test]
    fn the_amount_of_unwritten_data_is_read() {
        let text = "MemTotal:       24626176 kB\nDirty:              1692 kB\nWriteback: 8 kB\n";
        assert_eq!(dirty_in(text), Some(1692));
        for other in ["", "Dirty: \n", "Dirty: many kB\n", "Writeback: 8 kB\n"] {
            assert_eq!(dirty_in(other), None, "{other}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn runs_wait_for_each_other_until_they_are_settled() {
        for many in [FEW, FEW + 1] {
            let folder = tempfile::tempdir().expect("a folder");
            let pending = Pending::new(folder.path());
            for n in 0..many {
                let run = folder.path().join(n.to_string());
                fs::create_dir_all(run.join("programs")).expect("a run");
                fs::write(run.join("programs/log"), "1").expect("a file");
                pending.add(&n.to_string()).expect("added");
            }
            assert_eq!(waiting(&pending), many);
            pending.settle().expect("synced");
            assert_eq!(waiting(&pending), 0);
        }
    }

    #[test]
    fn the_first_run_waits_for_at_most_a_second() {
        let folder = tempfile::tempdir().expect("a folder");
        let pending = Pending::new(folder.path());
        pending.add("first").expect("added");
        pending.waiting().since = Instant::now().checked_sub(WAIT);
        pending.add("second").expect("added");
        assert_eq!(waiting(&pending), 0);
        pending.add("third").expect("added");
        assert_eq!(waiting(&pending), usize::from(cfg!(target_os = "linux")));
    }

    #[test]
    fn a_folder_that_is_not_there_cannot_be_synced() {
        let root = tempfile::tempdir().expect("a folder");
        assert!(sync_folder(root.path()).is_ok());
        let nowhere = root.path().join("nowhere");
        let error = sync_folder(&nowhere).expect_err("no folder");
        assert!(error.to_string().contains("nowhere"), "{error}");
        // The path in this test causes the same kind of error as a file system that cannot sync
        // folders. `sync_folder` must ignore the error.
        assert!(sync_folder(Path::new("no\0path")).is_ok());
        assert!(sync_tree(&nowhere).is_ok(), "a run that is gone");
    }
}
