//! Makes a root folder from a container image.
//!
//! In a container, programs can write to all files. In the guest, programs cannot write to all
//! files, because the folders of programs and libraries are mounted read-only. Other small files
//! and folders are copied to memory, where programs can change them. Large files and folders are
//! also mounted read-only, but programs can create files next to them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::Path;

use super::bare::bind;
use crate::agent::io;

/// Folders that hold the programs and libraries of a Linux distribution.
const CODE: [&str; 8] = [
    "bin", "lib", "lib32", "lib64", "libx32", "nix", "sbin", "usr",
];

/// Folders that the agent makes for every root. They replace the image's own folders with these
/// names.
const NEW: [&str; 3] = ["dev", "proc", "sys"];

/// Size above which a file is mounted instead of copied, in bytes.
const SMALL: u64 = 1 << 20;

/// Number of files and folders, at any depth, above which a folder is mounted instead of copied.
const MOST_ENTRIES: usize = 2000;

/// Size above which a folder is mounted instead of copied, in bytes.
const MOST_BYTES: u64 = 32 << 20;

/// If a folder is too large to copy, the agent handles its subfolders separately. The agent
/// descends at most this many levels.
const DEEP: usize = 2;

pub fn show(from: &str, to: &str) -> Result<(), String> {
    each(Path::new(from), Path::new(to), |name, from, to| {
        let plain = name.to_str().unwrap_or_default();
        let found = fs::symlink_metadata(from).map_err(io(plain))?;
        match found.is_dir() {
            true if NEW.contains(&plain) => Ok(()),
            true if CODE.contains(&plain) => shown(from, to),
            _ => entry(from, to, DEEP),
        }
    })
}

/// Calls a function for each entry of a folder, in the order of names. Skips devices, sockets and
/// pipes.
fn each(
    from: &Path,
    to: &Path,
    mut put: impl FnMut(&OsStr, &Path, &Path) -> Result<(), String>,
) -> Result<(), String> {
    let whole = from.display().to_string();
    let mut names = Vec::new();
    for one in fs::read_dir(from).map_err(io(&whole))? {
        let one = one.map_err(io(&whole))?;
        let kind = one.file_type().map_err(io(&whole))?;
        if kind.is_dir() || kind.is_file() || kind.is_symlink() {
            names.push(one.file_name());
        }
    }
    names.sort();
    for name in names {
        put(&name, &from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// Adds a file, link or folder to a folder. Symbolic links stay links, small files and folders are
/// copied, and large files and folders are mounted.
fn entry(from: &Path, to: &Path, deep: usize) -> Result<(), String> {
    let name = from.display().to_string();
    let found = fs::symlink_metadata(from).map_err(io(&name))?;
    if found.is_symlink() {
        let target = fs::read_link(from).map_err(io(&name))?;
        return symlink(target, to).map_err(io(&name));
    }
    if !found.is_dir() {
        if found.len() > SMALL {
            return shown(from, to);
        }
        fs::copy(from, to).map_err(io(&name))?;
        return Ok(());
    }
    let mut left = (MOST_ENTRIES, MOST_BYTES);
    let small = fits(from, &mut left);
    if !small && deep == 0 {
        return shown(from, to);
    }
    let mut builder = fs::DirBuilder::new();
    builder.mode(found.mode() & 0o7777);
    builder.create(to).map_err(io(&name))?;
    let deep = if small { usize::MAX } else { deep - 1 };
    each(from, to, |_, from, to| entry(from, to, deep))
}

/// Returns whether a folder can be copied within the limits `left`: number of entries, and bytes.
fn fits(folder: &Path, left: &mut (usize, u64)) -> bool {
    let Ok(names) = fs::read_dir(folder) else {
        return false;
    };
    for one in names.flatten() {
        let Some(entries) = left.0.checked_sub(1) else {
            return false;
        };
        left.0 = entries;
        let Ok(found) = one.metadata() else {
            return false;
        };
        if found.is_dir() {
            if !fits(&one.path(), left) {
                return false;
            }
        } else if found.is_file() && found.len() <= SMALL {
            let Some(bytes) = left.1.checked_sub(found.len()) else {
                return false;
            };
            left.1 = bytes;
        }
    }
    true
}

fn shown(from: &Path, to: &Path) -> Result<(), String> {
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| format!("{}: its name is not UTF-8", path.display()))
    };
    bind(&text(from)?, &text(to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_is_copied_with_its_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        for name in ["app/logs", "dev", "proc/1"] {
            fs::create_dir_all(from.join(name)).expect("a folder");
        }
        fs::create_dir(&to).expect("a folder");
        fs::write(from.join("app/run.sh"), "#!/bin/sh\n").expect("a file");
        symlink("/usr/bin", from.join("bin")).expect("a link");
        let text = |path: &Path| path.to_str().expect("text").to_owned();
        show(&text(&from), &text(&to)).expect("a root");
        let copied = fs::read_to_string(to.join("app/run.sh")).expect("a file");
        assert_eq!(copied, "#!/bin/sh\n");
        assert!(to.join("app/logs").is_dir() && !to.join("dev").exists());
        let link = fs::read_link(to.join("bin")).expect("a link");
        assert_eq!(link, Path::new("/usr/bin"));
    }

    #[test]
    fn a_folder_is_small_by_what_is_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("a")).expect("a folder");
        fs::write(folder.path().join("a/b"), [0; 100]).expect("a file");
        for (left, expected) in [((2, 100), true), ((1, 100), false), ((2, 99), false)] {
            assert_eq!(fits(folder.path(), &mut { left }), expected, "{left:?}");
        }
    }
}
