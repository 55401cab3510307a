//! Finds the files and folders that a scenario's programs need, and hashes their content.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use tailback_record::foreign::shown;
use tailback_scenario::{Contents, Found};

/// Largest total size of a file or folder, bytes.
const MAX_BYTES: u64 = 4 << 30;

/// Largest number of files and subfolders in a folder, at any depth.
const MAX_ENTRIES: usize = 20_000;

/// Largest total size of a program's root folder, bytes.
const ROOT_BYTES: u64 = 16 << 30;
/// Largest number of files and folders in a program's root folder.
const ROOT_ENTRIES: usize = 500_000;

/// Number of bytes per read.
const BUFFER: usize = 1 << 20;

/// Finds a file or folder and hashes its content.
///
/// # Errors
/// Returns why the path cannot be used, as a sentence.
pub fn find(path: &Path) -> Result<Found, String> {
    let whole = path.canonicalize().map_err(|e| said(&e))?;
    let mut entries = BTreeMap::new();
    walk(&whole, "", &mut entries)?;
    let size: u64 = entries.values().map(|entry| entry.len).sum();
    if size > MAX_BYTES {
        return Err(format!("{} MiB, more than {}", size >> 20, MAX_BYTES >> 20));
    }
    let mut contents = Contents::default();
    for (name, entry) in &entries {
        if let Some(target) = &entry.target {
            contents.link(name, target);
            continue;
        }
        contents.file(name, entry.executable, entry.len);
        let file = if name.is_empty() {
            whole.clone()
        } else {
            whole.join(name)
        };
        let read =
            feed(&file, &mut contents).map_err(|e| format!("{}: {}", shown(name), said(&e)))?;
        if read != entry.len {
            return Err(format!("{} changes while it is read", shown(name)));
        }
    }
    let path = whole.to_str().ok_or("its path is not UTF-8")?.to_owned();
    Ok(Found {
        path,
        hash: contents.hash(),
    })
}

/// Finds the root folder for programs, and hashes its content. The hash includes folders and files
/// with their modes, and symbolic links with any target. The hash omits devices, sockets and pipes.
/// Only root can unpack these special files from an image, and the guest does not show them to
/// programs.
///
/// # Errors
/// Returns why the folder cannot be used, as a sentence. The sentence lists at most ten unreadable
/// files.
pub fn find_root(path: &Path) -> Result<Found, String> {
    let whole = path.canonicalize().map_err(|e| said(&e))?;
    if !whole.is_dir() {
        return Err("it is a file".to_owned());
    }
    if whole.join("rootfs").is_dir() && whole.join("config.json").is_file() {
        return Err("it is a bundle; use the folder rootfs in it".to_owned());
    }
    let mut found = Root::default();
    found.walk(&whole, "")?;
    if !found.unread.is_empty() {
        let most = found.unread.len().min(10);
        let listed: Vec<_> = found.unread[..most]
            .iter()
            .map(|name| shown(name))
            .collect();
        let more = if found.unread.len() > most {
            ", ..."
        } else {
            ""
        };
        return Err(format!(
            "{}{more} cannot be read; run chmod -R u+rwX on the folder",
            listed.join(", ")
        ));
    }
    if found.bytes > ROOT_BYTES {
        let mib = found.bytes >> 20;
        return Err(format!("{mib} MiB, more than {}", ROOT_BYTES >> 20));
    }
    let text = whole.to_str().ok_or("its path is not UTF-8")?.to_owned();
    let known = || HASHED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((entries, hash)) = known().get(&whole)
        && *entries == found.entries
    {
        let hash = hash.clone();
        return Ok(Found { path: text, hash });
    }
    let mut contents = Contents::default();
    for (name, (mode, entry)) in &found.entries {
        if let Some(target) = &entry.target {
            contents.link(name, target);
            continue;
        }
        contents.mode(*mode);
        if entry.folder {
            contents.folder(name);
            continue;
        }
        contents.file(name, entry.executable, entry.len);
        let read = feed(&whole.join(name), &mut contents)
            .map_err(|e| format!("{}: {}", shown(name), said(&e)))?;
        if read != entry.len {
            return Err(format!("{} changes while it is read", shown(name)));
        }
    }
    let hash = contents.hash();
    known().insert(whole, (found.entries, hash.clone()));
    Ok(Found { path: text, hash })
}

/// The mode and the content of each file, symbolic link and folder, by relative path.
type Entries = BTreeMap<String, (u32, Entry)>;

/// Hashes that this process has computed. The process stores the hashes because it reads a scenario
/// more than once, and a container image may contain gigabytes.
static HASHED: LazyLock<Mutex<BTreeMap<PathBuf, (Entries, String)>>> =
    LazyLock::new(Mutex::default);

#[derive(Default)]
struct Root {
    entries: Entries,
    bytes: u64,
    /// Paths that the process cannot read.
    unread: Vec<String>,
}

impl Root {
    fn walk(&mut self, path: &Path, name: &str) -> Result<(), String> {
        let failed = |e: io::Error| format!("{}: {}", shown(name), said(&e));
        let names = match fs::read_dir(path) {
            Ok(names) => names,
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                self.unread.push(name.to_owned());
                return Ok(());
            }
            Err(e) => return Err(failed(e)),
        };
        for one in names {
            let one = one.map_err(failed)?;
            let plain = one.file_name();
            let plain = plain.to_str().ok_or("a name in it is not UTF-8")?;
            let inner = match name {
                "" => plain.to_owned(),
                name => format!("{name}/{plain}"),
            };
            // Skip these folders, because the guest creates them itself.
            if matches!(&*inner, "dev" | "proc" | "sys") {
                continue;
            }
            let of = one.metadata().map_err(failed)?;
            let (folder, place) = (of.is_dir(), one.path());
            if !folder && !of.is_file() && !of.is_symlink() {
                continue;
            }
            if self.entries.len() >= ROOT_ENTRIES {
                return Err(format!("more than {ROOT_ENTRIES} files"));
            }
            let mut entry = Entry {
                executable: executable(&of),
                folder,
                stamp: stamp(&of),
                len: of.len(),
                target: None,
            };
            if of.is_symlink() {
                let target = fs::read_link(&place).map_err(failed)?;
                let target = target.to_str().ok_or("a link in it is not UTF-8")?;
                entry.target = Some(target.to_owned());
            } else if of.is_file() {
                self.bytes += of.len();
                if File::open(&place).is_err() {
                    self.unread.push(inner.clone());
                }
            }
            self.entries.insert(inner.clone(), (mode(&of), entry));
            if folder {
                self.walk(&place, &inner)?;
            }
        }
        Ok(())
    }
}

#[derive(PartialEq)]
struct Entry {
    executable: bool,
    folder: bool,
    /// Time of the last status change, and inode number. Both numbers are 0 in the entries of
    /// [`walk`], because [`HASHED`] does not store the hashes of these entries.
    stamp: [i64; 3],
    len: u64,
    /// Target of a symbolic link.
    target: Option<String>,
}

/// Adds the entry at a path, and all entries below this path, to `entries`, by relative path.
fn walk(path: &Path, name: &str, entries: &mut BTreeMap<String, Entry>) -> Result<(), String> {
    let failed = |e: io::Error| match name {
        "" => said(&e),
        name => format!("{}: {}", shown(name), said(&e)),
    };
    let found = fs::symlink_metadata(path).map_err(failed)?;
    if found.is_dir() {
        for one in fs::read_dir(path).map_err(failed)? {
            let one = one.map_err(failed)?.file_name();
            let one = one.to_str().ok_or("a name in it is not UTF-8")?;
            let inner = match name {
                "" => one.to_owned(),
                name => format!("{name}/{one}"),
            };
            walk(&path.join(one), &inner, entries)?;
        }
        return Ok(());
    }
    if entries.len() >= MAX_ENTRIES {
        return Err(format!("more than {MAX_ENTRIES} files"));
    }
    let target = match found.is_symlink() {
        true => {
            let target = fs::read_link(path).map_err(failed)?;
            Some(
                target
                    .to_str()
                    .ok_or("a link in it is not UTF-8")?
                    .to_owned(),
            )
        }
        false => None,
    };
    if target.is_none() && !found.is_file() {
        return Err(format!("{} is neither file nor folder", shown(name)));
    }
    let entry = Entry {
        executable: executable(&found),
        folder: false,
        stamp: [0; 3],
        len: found.len(),
        target,
    };
    entries.insert(name.to_owned(), entry);
    Ok(())
}

#[cfg(unix)]
fn executable(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o111 != 0
}

#[cfg(unix)]
fn mode(found: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o7777
}

/// Returns the time of the last status change (seconds, nanoseconds) and the inode number.
#[cfg(unix)]
fn stamp(found: &fs::Metadata) -> [i64; 3] {
    use std::os::unix::fs::MetadataExt;
    [found.ctime(), found.ctime_nsec(), found.ino().cast_signed()]
}

#[cfg(not(unix))]
fn stamp(_: &fs::Metadata) -> [i64; 3] {
    [0; 3]
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0
}

#[cfg(not(unix))]
fn executable(_: &fs::Metadata) -> bool {
    false
}

fn feed(path: &Path, contents: &mut Contents) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; BUFFER];
    let mut total = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(total),
            n => {
                contents.bytes(&buffer[..n]);
                total += n as u64;
            }
        }
    }
}

fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it is not there".to_owned(),
        io::ErrorKind::PermissionDenied => "it cannot be read".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_content_and_not_of_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        for place in [&a, &b] {
            fs::create_dir_all(place.join("inner")).expect("a folder");
            fs::write(place.join("inner/one"), "1").expect("a file");
            fs::write(place.join("two"), "2").expect("a file");
        }
        let hash = |path: &Path| find(path).expect("files").hash;
        let before = hash(&a);
        assert_eq!(before, hash(&b));
        fs::write(b.join("two"), "3").expect("a file");
        assert_ne!(before, hash(&b));
        fs::write(b.join("two"), "2").expect("a file");
        fs::rename(b.join("two"), b.join("three")).expect("a file");
        assert_ne!(before, hash(&b));
        assert_eq!(hash(&a.join("inner/one")), {
            fs::write(folder.path().join("other"), "1").expect("a file");
            hash(&folder.path().join("other"))
        });
        let missing = find(&folder.path().join("none"));
        assert_eq!(missing, Err("it is not there".to_owned()));
    }

    #[cfg(unix)]
    #[test]
    fn of_a_root_modes_links_and_empty_folders_count_and_devices_do_not() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().expect("a folder");
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        for place in [&a, &b] {
            fs::create_dir_all(place.join("usr/bin")).expect("a folder");
            fs::write(place.join("usr/bin/one"), "1").expect("a file");
            symlink("/usr/bin/one", place.join("two")).expect("a link");
        }
        let hash = |path: &Path| find_root(path).expect("a root").hash;
        let before = hash(&a);
        assert_eq!(before, hash(&b));
        fs::create_dir_all(b.join("dev")).expect("a folder");
        let _socket = UnixListener::bind(b.join("socket")).expect("a socket");
        assert_eq!(before, hash(&b));
        let mode = |mode| fs::Permissions::from_mode(mode);
        fs::set_permissions(b.join("usr/bin/one"), mode(0o600)).expect("a mode");
        assert_ne!(before, hash(&b));
        fs::set_permissions(b.join("usr/bin/one"), mode(0o644)).expect("a mode");
        fs::set_permissions(a.join("usr/bin/one"), mode(0o644)).expect("a mode");
        let before = hash(&a);
        assert_eq!(before, hash(&b));
        fs::create_dir(b.join("empty")).expect("a folder");
        assert_ne!(before, hash(&b));
        let file = find_root(&a.join("usr/bin/one"));
        assert_eq!(file, Err("it is a file".to_owned()));
        fs::write(folder.path().join("config.json"), "{}").expect("a file");
        fs::rename(&b, folder.path().join("rootfs")).expect("a folder");
        let bundle = find_root(folder.path()).expect_err("a bundle");
        assert!(bundle.contains("rootfs in it"), "{bundle}");
    }
}
