//! Handles a program's output files. While the program runs, the files are in memory. Afterwards,
//! the agent copies the files to the results.

use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use super::Process;
use crate::agent::io;
use crate::agent::sys;

/// Largest number of bytes of an output folder that are stored.
const MOST_BYTES: u64 = 64 << 20;
/// Largest number of files of an output folder that are stored.
const MOST_FILES: usize = 1000;

/// Largest number of bytes that an error message quotes from the end of a log.
const TAIL: u64 = 4 << 10;
/// Largest number of lines that an error message quotes from the end of a log.
const LINES: usize = 10;

/// Parent of the output folders while programs run.
const HERE: &str = "/run/programs";

/// Folder in which the host expects the output files of programs.
const RESULTS: &str = "/results/programs";

pub fn place(index: usize) -> String {
    format!("{HERE}/{index}")
}

pub fn make(index: usize) -> Result<(), String> {
    let place = place(index);
    fs::create_dir_all(&place).map_err(io(&place))?;
    // The folder has space for more files than the agent stores. If the folder is full, the program
    // gets an error when it writes.
    sys::mount("tmpfs", &place, "tmpfs", "mode=755,size=256m,nr_inodes=20k").map_err(io(&place))
}

/// Copies the output of a process to the results. Returns warnings if not everything was copied.
pub fn keep(index: usize, process: &Process<'_>) -> Result<Vec<String>, String> {
    let name = &process.program.name;
    let folder = PathBuf::from(format!("{RESULTS}/{name}/{}", process.side_name()));
    fs::create_dir_all(&folder).map_err(io(name))?;
    let mut warnings = Vec::new();
    for (file, kept) in ["stdout.txt", "stderr.txt"].iter().zip(&process.kept) {
        fs::write(folder.join(file), &kept.bytes).map_err(io(name))?;
        if kept.cut {
            warnings.push(format!("{file} has only the first MiB"));
        }
    }
    let mut copier = Copier::default();
    copier
        .folder(Path::new(&place(index)), &folder.join("out"))
        .map_err(io(name))?;
    if let Some(downloads) = process.downloads.clone().or_else(|| process.downloads()) {
        let report = downloads.report(process.began_ns);
        let out = folder.join("out");
        fs::create_dir_all(&out)
            .and_then(|()| fs::write(out.join("interop.json"), report))
            .map_err(io(name))?;
    }
    if copier.cut {
        warnings.push(format!(
            "its output folder is incomplete: at most {} MiB and {MOST_FILES} files are kept, and only names in UTF-8",
            MOST_BYTES >> 20
        ));
    }
    Ok(warnings)
}

/// Returns the name and the end of the log that an endpoint of the interop runner wrote last.
pub fn last_log(index: usize) -> Option<(String, String)> {
    let folder = place(index);
    let mut logs = Vec::new();
    for one in fs::read_dir(&folder).ok()?.flatten() {
        let name = one.file_name().to_str()?.to_owned();
        let found = one.metadata().ok()?;
        // Skip TLS key logs, whose names begin with "key", because they contain no messages.
        if found.is_file() && found.len() > 0 && !name.starts_with("key") {
            logs.push((found.modified().ok()?, name));
        }
    }
    let (_, name) = logs.into_iter().max()?;
    let mut file = fs::File::open(format!("{folder}/{name}")).ok()?;
    let back = file.metadata().ok()?.len().min(TAIL);
    file.seek(io::SeekFrom::End(-back.cast_signed())).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
    Some((name, last))
}

#[derive(Default)]
struct Copier {
    bytes: u64,
    files: usize,
    cut: bool,
}

impl Copier {
    /// Copies a folder in the order of names. Skips all entries that are neither files nor folders.
    fn folder(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let mut names = Vec::new();
        for one in fs::read_dir(from)? {
            let name = one?.file_name();
            let fits = |name: &str| !name.contains(char::is_control);
            match name.to_str().filter(|name| fits(name)) {
                Some(name) => names.push(name.to_owned()),
                None => self.cut = true,
            }
        }
        names.sort();
        for name in names {
            let (from, to_one) = (from.join(&name), to.join(&name));
            let found = fs::symlink_metadata(&from)?;
            if found.is_dir() {
                self.folder(&from, &to_one)?;
            } else if found.is_file() {
                if self.files == MOST_FILES || self.bytes + found.len() > MOST_BYTES {
                    self.cut = true;
                    continue;
                }
                fs::create_dir_all(to)?;
                io::copy(&mut fs::File::open(&from)?, &mut fs::File::create(&to_one)?)?;
                self.files += 1;
                self.bytes += found.len();
            }
        }
        Ok(())
    }
}
