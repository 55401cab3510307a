//! What a program sees of files: a root in memory with the packages and files of its entry, and
//! nothing else.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;

use tailback_guest::job::{Job, Program};

use crate::agent::io;
use crate::agent::sys::process;

/// Where it is made; each process has file systems of its own, so all make theirs here.
const NEW: &str = "/tmp";

/// What it may write in memory, besides its output.
const OPTIONS: &str = "mode=755,size=256m,nr_inodes=100k";

/// Where a program finds its files.
pub const FILES: &str = "/files";

/// Where it leaves what is kept.
pub const OUT: &str = "/out";

/// Its working folder.
pub const WORK: &str = "/work";

/// Users that packages take for granted.
const USERS: [(&str, u32, &str); 4] = [
    ("root", 0, "/root"),
    ("daemon", 1, "/usr/sbin"),
    ("www-data", 33, "/var/www"),
    ("nobody", 65_534, "/"),
];

/// Makes the root and enters it; `output` becomes its `/out`.
pub fn enter(job: &Job, program: &Program, side: usize, output: &str) -> Result<(), String> {
    let private = libc::MS_REC | libc::MS_PRIVATE;
    process::mount("", "/", "", private, "").map_err(io("private mounts"))?;
    process::mount("tmpfs", NEW, "tmpfs", 0, OPTIONS).map_err(io("root"))?;
    for name in [
        "dev", "etc", "files", "out", "proc", "root", "run", "sys", "tmp", "usr", "var", "work",
    ] {
        folder(&at(name))?;
    }
    fs::set_permissions(at("tmp"), fs::Permissions::from_mode(0o1777)).map_err(io("/tmp"))?;
    packages(&program.root)?;
    devices()?;
    process::mount("proc", &at("proc"), "proc", NO_DEVICES, "").map_err(io("/proc"))?;
    let read_only = libc::MS_RDONLY | NO_DEVICES;
    process::mount("sysfs", &at("sys"), "sysfs", read_only, "").map_err(io("/sys"))?;
    for (name, place) in &program.files {
        let target = at(&format!("files/{name}"));
        bind(place, &target)?;
        let link = at(&format!("work/{name}"));
        symlink(format!("{FILES}/{name}"), link).map_err(io(name))?;
    }
    process::mount(output, &at("out"), "", libc::MS_BIND, "").map_err(io(OUT))?;
    etc(job, program, side)?;
    process::change_root(NEW).map_err(io("root"))?;
    std::env::set_current_dir(WORK).map_err(io(WORK))
}

const NO_DEVICES: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV;

fn at(name: &str) -> String {
    format!("{NEW}/{name}")
}

fn folder(path: &str) -> Result<(), String> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o755);
    builder.create(path).map_err(io(path))
}

/// Shows a file or folder of the guest's at another place, read-only.
fn bind(place: &str, target: &str) -> Result<(), String> {
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

/// The packages: their /usr as it is, /etc and /var as copies that can be written.
fn packages(root: &str) -> Result<(), String> {
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

/// Copies a folder with what is in it.
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
    // No terminals: the kit's kernel has none to give.
    let shared = at("dev/shm");
    folder(&shared)?;
    let options = "mode=1777,size=256m";
    process::mount("tmpfs", &shared, "tmpfs", NO_DEVICES, options).map_err(io("/dev/shm"))
}

/// Users, and the names of all hosts.
fn etc(job: &Job, program: &Program, side: usize) -> Result<(), String> {
    let users = USERS.map(|(name, id, home)| format!("{name}:x:{id}:{id}::{home}:/bin/sh\n"));
    let groups = USERS.map(|(name, id, _)| match id {
        65_534 => format!("nogroup:x:{id}:\n"),
        id => format!("{name}:x:{id}:\n"),
    });
    let host = host_name(program, side);
    for (name, text) in [
        ("passwd", users.concat()),
        ("group", groups.concat()),
        ("hosts", hosts(job, program)),
        ("hostname", format!("{host}\n")),
        ("resolv.conf", String::new()),
        (
            "nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\n".to_owned(),
        ),
    ] {
        let path = at(&format!("etc/{name}"));
        // A package may have a link there that leads out of the root.
        let _ = fs::remove_file(&path);
        fs::write(&path, text).map_err(io(name))?;
    }
    process::set_host_name(host).map_err(io("host name"))
}

/// The name of a host.
fn host_name(program: &Program, side: usize) -> &str {
    match &program.host_names {
        Some(names) => &names[side],
        None => ["sender", "receiver"][side],
    }
}

/// The lines of /etc/hosts.
fn hosts(job: &Job, program: &Program) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n".to_owned();
    let pair = |p: &Program| [p.sender_addresses, p.receiver_addresses];
    let mut add = |addresses: [_; 2], names: [String; 2]| {
        for ((four, six), names) in addresses.into_iter().zip(names) {
            text += &format!("{four} {names}\n{six} {names}\n");
        }
    };
    let mut own = ["sender", "receiver"].map(str::to_owned);
    if let Some(names) = &program.host_names {
        for (own, name) in own.iter_mut().zip(names) {
            *own = format!("{name} {own}");
        }
    }
    add(pair(program), own);
    for other in &job.programs {
        let names = ["sender", "receiver"].map(|side| format!("{}.{side}", other.name));
        add(pair(other), names);
    }
    text
}
