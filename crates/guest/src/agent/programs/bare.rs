//! Makes the part of a root folder that is common to all programs. This part is a tmpfs with
//! devices, /proc, /sys and the packages. Also mounts other files into a root folder.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;

use crate::agent::io;
use crate::agent::sys::process;

/// Path at which a program's root folder is made. Each process has its own mounts, so all processes
/// can use the same path.
pub const NEW: &str = "/tmp";

/// Limits for the files that a program may write in memory. The files in its output folder have a
/// separate limit.
const OPTIONS: &str = "mode=755,size=256m,nr_inodes=100k";

/// A program's output folder. The agent copies the files in this folder to the results.
pub const OUT: &str = "/out";

/// Makes a root folder that contains only packages, and enters it. Commands that prepare files for
/// a program run in this root.
pub fn enter_packages(root: &str, output: &str) -> Result<(), String> {
    empty()?;
    packages(root)?;
    furnish(output)?;
    process::change_root(NEW).map_err(io("root"))
}

pub fn empty() -> Result<(), String> {
    let private = libc::MS_REC | libc::MS_PRIVATE;
    process::mount("", "/", "", private, "").map_err(io("private mounts"))?;
    process::mount("tmpfs", NEW, "tmpfs", 0, OPTIONS).map_err(io("root"))
}

pub fn furnish(output: &str) -> Result<(), String> {
    for name in ["dev", "out", "proc", "root", "run", "sys", "tmp"] {
        own_folder(&at(name))?;
    }
    fs::set_permissions(at("tmp"), fs::Permissions::from_mode(0o1777)).map_err(io("/tmp"))?;
    devices()?;
    process::mount("proc", &at("proc"), "proc", NO_DEVICES, "").map_err(io("/proc"))?;
    let read_only = libc::MS_RDONLY | NO_DEVICES;
    process::mount("sysfs", &at("sys"), "sysfs", read_only, "").map_err(io("/sys"))?;
    process::mount(output, &at("out"), "", libc::MS_BIND, "").map_err(io(OUT))
}

const NO_DEVICES: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV;

/// Returns the path of a file in the new root, as seen before the process enters it.
pub fn at(name: &str) -> String {
    format!("{NEW}/{name}")
}

pub fn folder(path: &str) -> Result<(), String> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o755);
    builder.create(path).map_err(io(path))
}

/// Makes a folder in the root. First removes a symbolic link of this name, because it could lead
/// out of the new root.
pub fn own_folder(path: &str) -> Result<(), String> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir()) {
        fs::remove_file(path).map_err(io(path))?;
    }
    folder(path)
}

pub fn bind(place: &str, target: &str) -> Result<(), String> {
    let found = fs::metadata(place).map_err(io(place))?;
    if found.is_dir() {
        folder(target)?;
    } else {
        fs::write(target, "").map_err(io(target))?;
    }
    let again = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY | NO_DEVICES;
    process::mount(place, target, "", libc::MS_BIND, "")
        .and_then(|()| process::mount("", target, "", again, ""))
        .map_err(io(place))
}

/// Adds the packages. /usr is mounted read-only. /etc and /var are copied, so programs can change
/// them.
pub fn packages(root: &str) -> Result<(), String> {
    for name in ["etc", "files", "usr", "var", "work"] {
        folder(&at(name))?;
    }
    for name in ["bin", "sbin", "lib", "lib64"] {
        symlink(format!("usr/{name}"), at(name)).map_err(io(name))?;
    }
    if root.is_empty() {
        return Ok(());
    }
    bind(&format!("{root}/usr"), &at("usr"))?;
    for name in ["etc", "var"] {
        let from = format!("{root}/{name}");
        if Path::new(&from).is_dir() {
            copy(Path::new(&from), Path::new(&at(name))).map_err(io(&from))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(to)?;
    for one in fs::read_dir(from)? {
        let one = one?;
        let (kind, target) = (one.file_type()?, to.join(one.file_name()));
        if kind.is_dir() {
            copy(&one.path(), &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(one.path())?, target)?;
        } else if kind.is_file() {
            fs::copy(one.path(), target)?;
        }
    }
    Ok(())
}

fn devices() -> Result<(), String> {
    for (name, major, minor) in [
        ("null", 1, 3),
        ("zero", 1, 5),
        ("full", 1, 7),
        ("random", 1, 8),
        ("urandom", 1, 9),
        ("tty", 5, 0),
    ] {
        let path = at(&format!("dev/{name}"));
        process::device(&path, major, minor).map_err(io(name))?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        symlink(target, at(&format!("dev/{name}"))).map_err(io(name))?;
    }
    // Leave out /dev/pts, because the guest kernel has no pseudo-terminals.
    let shared = at("dev/shm");
    folder(&shared)?;
    let options = "mode=1777,size=256m";
    process::mount("tmpfs", &shared, "tmpfs", NO_DEVICES, options).map_err(io("/dev/shm"))
}
