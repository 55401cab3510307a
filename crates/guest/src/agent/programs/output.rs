//! What a program leaves in files: in memory while it runs, then with the results.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Process;
use crate::agent::io;
use crate::agent::sys;

/// The most that is kept of its output folder.
const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: usize = 1000;

/// Where output folders are while programs run.
const HERE: &str = "/run/programs";

/// Where the host looks for them.
const RESULTS: &str = "/results/programs";

/// The output folder of a process, by its number.
pub fn place(index: usize) -> String {
    format!("{HERE}/{index}")
}

/// Makes it.
pub fn make(index: usize) -> Result<(), String> {
    let place = place(index);
    fs::create_dir_all(&place).map_err(io(&place))?;
    // More than is kept: a program that fills it hears of it.
    sys::mount("tmpfs", &place, "tmpfs", "mode=755,size=256m,nr_inodes=20k").map_err(io(&place))
}

/// Copies all that a process has left to the results; what is not all there.
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
    if let Some(downloads) = process.downloads.as_ref() {
        fs::create_dir_all(folder.join("out"))
            .and_then(|()| {
                fs::write(
                    folder.join("out/interop.json"),
                    downloads.report(process.began_ns),
                )
            })
            .map_err(io(name))?;
    }
    if copier.cut {
        warnings.push(format!(
            "of its output folder only {} MiB and {MOST_FILES} files at most are kept, and none whose name is no text",
            MOST_BYTES >> 20
        ));
    }
    Ok(warnings)
}

#[derive(Default)]
struct Copier {
    bytes: u64,
    files: usize,
    cut: bool,
}

impl Copier {
    /// Copies a folder in the order of names; what is neither file nor folder is left out.
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
                // The bytes alone: not who may read them.
                io::copy(&mut fs::File::open(&from)?, &mut fs::File::create(&to_one)?)?;
                self.files += 1;
                self.bytes += found.len();
            }
        }
        Ok(())
    }
}
