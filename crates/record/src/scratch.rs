//! Manages scratch folders. A process writes files into its scratch folder, then moves the files to
//! their final folder. The scratch folder and the final folder have the same parent.
//!
//! Beside each scratch folder is a lock file, which the owning process keeps locked. If another
//! process can lock this lock file, the owner has ended. The next process that opens a scratch
//! folder with the same parent deletes the folders of owners that have ended.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const PREFIX: &str = ".tailback-";
const LOCK_SUFFIX: &str = ".lock";
/// If a scratch folder contains at least this many folders, several threads delete these folders.
const MANY: usize = 256;

/// A scratch folder of this process, deleted when this value is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    lock_path: PathBuf,
    /// The lock file, locked while this value exists.
    _lock: File,
}

impl Scratch {
    /// Creates a scratch folder in the existing folder `parent`, and removes the scratch folders of
    /// ended processes.
    pub fn open(parent: &Path) -> io::Result<Scratch> {
        remove_leftovers(parent);
        // Skip serial numbers that have a lock file. The lock file may belong to this process, or
        // to a process on another host that has the same process id.
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{}-{serial}", std::process::id());
            let lock_path = parent.join(format!("{name}{LOCK_SUFFIX}"));
            let lock = match File::create_new(&lock_path) {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(at(&lock_path, e)),
            };
            match lock.try_lock() {
                // Another process may have deleted the lock file as abandoned before this process
                // locked the file.
                Ok(()) if lock_path.exists() => {}
                Ok(()) | Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(e)) => {
                    let _ = fs::remove_file(&lock_path);
                    return Err(at(&lock_path, e));
                }
            }
            let folder = parent.join(&name);
            if let Err(e) = fs::create_dir(&folder) {
                let _ = fs::remove_file(&lock_path);
                return Err(at(&folder, e));
            }
            return Ok(Scratch {
                folder,
                lock_path,
                _lock: lock,
            });
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Removes a folder inside the scratch folder.
    pub fn discard(&self, name: &str) {
        remove(&self.folder.join(name));
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove_with_lock(&self.folder, &self.lock_path);
    }
}

/// Deletes the scratch folders of processes that have ended. Ignores failures, because a later
/// process tries again.
fn remove_leftovers(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(scratch) = name.to_str().and_then(|n| n.strip_suffix(LOCK_SUFFIX)) else {
            continue;
        };
        // Open only regular files, because a lock file is a regular file. Opening another kind of
        // file, such as a pipe, may block.
        if !is_name(scratch) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let lock_path = entry.path();
        if let Ok(file) = File::open(&lock_path)
            && file.try_lock().is_ok()
        {
            remove_with_lock(&parent.join(scratch), &lock_path);
        }
    }
}

/// Removes a folder, and then its lock file. If the folder cannot be deleted, keeps the lock file,
/// so that a later process tries again.
fn remove_with_lock(folder: &Path, lock_path: &Path) {
    remove(folder);
    if fs::symlink_metadata(folder).is_err() {
        let _ = fs::remove_file(lock_path);
    }
}

/// Returns whether `name` is the name of a scratch folder. The name of a scratch folder consists of
/// a prefix, a process id and a serial number.
fn is_name(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    name.strip_prefix(PREFIX)
        .and_then(|rest| rest.split_once('-'))
        .is_some_and(|(process, serial)| number(process) && number(serial))
}

/// Deletes a folder and its content, as far as possible. In tailback's Rust code, no other function
/// deletes folders. This function is called only for scratch folders. This function deletes
/// symbolic links, but not their targets.
fn remove(folder: &Path) {
    let inside = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let entries = fs::read_dir(folder).ok().filter(|_| inside);
    let paths: Vec<PathBuf> = (entries.into_iter().flatten().flatten())
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    if paths.len() >= MANY {
        // Use several threads, because the file system can delete files from different folders in
        // parallel.
        let threads = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MANY);
        thread::scope(|scope| {
            for part in paths.chunks(paths.len().div_ceil(threads)) {
                scope.spawn(move || part.iter().map(fs::remove_dir_all).for_each(drop));
            }
        });
    }
    let _ = fs::remove_dir_all(folder);
}

/// Adds the path to an error of the file system.
pub fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_the_dead_go_and_those_of_the_living_stay() {
        let root = tempfile::tempdir().expect("a folder");
        let living = Scratch::open(root.path()).expect("a folder");
        // Create what a killed process would leave: a folder, and a lock file that no process has
        // locked.
        let dead = root.path().join(".tailback-1-0");
        fs::create_dir_all(dead.join("half")).expect("a folder");
        fs::write(root.path().join(".tailback-1-0.lock"), "").expect("a file");
        // Create files that do not belong to tailback, with names similar to those of scratch
        // folders.
        for name in [".tailback-1", ".tailback-x-0", "tailback-1-0"] {
            fs::create_dir(root.path().join(name)).expect("a folder");
            fs::write(root.path().join(format!("{name}.lock")), "").expect("a file");
        }

        let other = Scratch::open(root.path()).expect("a folder");
        assert!(!dead.exists());
        assert!(living.path().exists() && other.path().exists());
        drop((living, other));
        assert_eq!(fs::read_dir(root.path()).expect("a folder").count(), 6);
    }

    #[test]
    fn a_link_goes_and_what_it_leads_to_stays() {
        let root = tempfile::tempdir().expect("a folder");
        let victim = root.path().join("victim");
        fs::create_dir_all(victim.join("kept")).expect("a folder");
        let place = root.path().join("place");
        fs::create_dir(&place).expect("a folder");
        std::os::unix::fs::symlink(&victim, place.join(".tailback-1-0")).expect("a link");
        fs::write(place.join(".tailback-1-0.lock"), "").expect("a file");
        let dead = place.join(".tailback-2-0");
        fs::create_dir(&dead).expect("a folder");
        std::os::unix::fs::symlink(&victim, dead.join("link")).expect("a link");
        fs::write(place.join(".tailback-2-0.lock"), "").expect("a file");

        drop(Scratch::open(&place).expect("a folder"));
        assert!(victim.join("kept").exists());
        assert_eq!(fs::read_dir(&place).expect("a folder").count(), 0);
    }

    #[test]
    fn many_folders_go_and_what_links_lead_to_stays() {
        let root = tempfile::tempdir().expect("a folder");
        let victim = root.path().join("victim");
        fs::create_dir_all(victim.join("kept")).expect("a folder");
        let scratch = Scratch::open(root.path()).expect("a folder");
        for number in 0..2 * MANY {
            let folder = scratch.path().join(number.to_string());
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join("file"), "").expect("a file");
            std::os::unix::fs::symlink(&victim, folder.join("link")).expect("a link");
        }
        std::os::unix::fs::symlink(&victim, scratch.path().join("link")).expect("a link");
        fs::write(scratch.path().join("file"), "").expect("a file");
        drop(scratch);
        assert!(victim.join("kept").exists());
        assert_eq!(fs::read_dir(root.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_place_that_is_not_there_is_named() {
        let root = tempfile::tempdir().expect("a folder");
        let nowhere = root.path().join("nowhere");
        let error = Scratch::open(&nowhere).expect_err("there is no such folder");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("nowhere"), "{error}");
    }

    #[test]
    fn a_name_in_use_is_passed_over() {
        let root = tempfile::tempdir().expect("a folder");
        let first = Scratch::open(root.path()).expect("a folder");
        let name = first.path().file_name().expect("a name").to_string_lossy();
        let (process, serial) = name.rsplit_once('-').expect("prefix, process, serial");
        // Other tests also use serial numbers, so lock the lock files of many following serial
        // numbers.
        let serial: u64 = serial.parse().expect("a number");
        let locks: Vec<File> = (serial + 1..serial + 40)
            .map(|serial| {
                let name = format!("{process}-{serial}{LOCK_SUFFIX}");
                let lock = File::create(root.path().join(name)).expect("a file");
                lock.lock().expect("a lock");
                lock
            })
            .collect();
        let second = Scratch::open(root.path()).expect("a folder");
        assert_ne!(first.path(), second.path());
        drop(locks);
        assert!(second.path().is_dir());
    }

    #[test]
    fn a_pipe_called_like_a_lock_is_not_opened() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join(".tailback-7-0.lock");
        fs::create_dir(&folder).expect("a folder in place of a lock");
        fs::create_dir(root.path().join(".tailback-7-0")).expect("a folder");
        drop(Scratch::open(root.path()).expect("a folder"));
        assert!(folder.is_dir() && root.path().join(".tailback-7-0").is_dir());
    }

    #[test]
    fn a_folder_in_the_way_is_named_and_stays() {
        let root = tempfile::tempdir().expect("a folder");
        let first = Scratch::open(root.path()).expect("a folder");
        let name = first.path().file_name().expect("a name").to_string_lossy();
        let (process, serial) = name.rsplit_once('-').expect("prefix, process, serial");
        let serial: u64 = serial.parse().expect("a number");
        // Other tests also use serial numbers, so create folders with many following serial
        // numbers.
        for serial in serial + 1..serial + 40 {
            fs::create_dir(root.path().join(format!("{process}-{serial}"))).expect("a folder");
        }
        let error = Scratch::open(root.path()).expect_err("a folder is in the way");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(error.to_string().contains(process), "{error}");
        // If a folder could not be created, its lock file is deleted. Only the lock file of the
        // first folder therefore remains.
        let names = fs::read_dir(root.path()).expect("a folder");
        let names = names.map(|entry| entry.expect("an entry").file_name());
        let names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
        let locks = names.iter().filter(|name| name.ends_with(LOCK_SUFFIX));
        assert_eq!(locks.count(), 1, "{names:?}");
        assert_eq!(names.len(), 39 + 2, "{names:?}");
    }

    #[test]
    fn a_lock_stays_as_long_as_what_it_is_for() {
        let root = tempfile::tempdir().expect("a folder");
        // A file with the name of a scratch folder is not a scratch folder, and must not be
        // deleted.
        let file = root.path().join(".tailback-1-0");
        let lock = root.path().join(".tailback-1-0.lock");
        fs::write(&file, "").expect("a file");
        fs::write(&lock, "").expect("a file");
        drop(Scratch::open(root.path()).expect("a folder"));
        assert!(file.exists() && lock.exists());
        fs::remove_file(&file).expect("a file");
        drop(Scratch::open(root.path()).expect("a folder"));
        assert!(!lock.exists());
    }

    #[test]
    fn a_scratch_folder_has_two_numbers() {
        for name in [".tailback-1-0", ".tailback-12-345"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            ".tailback-1",
            ".tailback--0",
            ".tailback-1-",
            ".tailback-1-x",
            ".tailback-x-1",
            ".tailback-1-0-0",
            "tailback-1-0",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_folder_in_scratch_can_be_discarded() {
        let root = tempfile::tempdir().expect("a folder");
        let scratch = Scratch::open(root.path()).expect("a folder");
        fs::create_dir_all(scratch.path().join("a/b")).expect("a folder");
        fs::create_dir(scratch.path().join("c")).expect("a folder");
        scratch.discard("a");
        assert!(!scratch.path().join("a").exists() && scratch.path().join("c").exists());
    }
}
