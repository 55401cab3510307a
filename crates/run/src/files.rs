//! Files and folders that a scenario's programs need, by their content.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use tailback_record::foreign::shown;
use tailback_scenario::{Contents, Found};

/// The most that they may have, bytes.
const MAX_BYTES: u64 = 4 << 30;

/// The most entries of a folder.
const MAX_ENTRIES: usize = 20_000;

/// Read at once, bytes.
const BUFFER: usize = 1 << 20;

/// Finds a file or folder and hashes what it has.
///
/// # Errors
/// What is wrong with it.
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

struct Entry {
    executable: bool,
    len: u64,
    /// Of a link.
    target: Option<String>,
}

/// Notes what lies at a path and below it, by relative path.
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
}
