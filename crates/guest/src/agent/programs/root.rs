//! Makes a program's root folder in memory. The folder contains packages or a container image, and
//! the files that the scenario gives to the program.

use std::fs;
use std::os::unix::fs::symlink;

use tailback_guest::job::{Job, Program, Side};

use super::bare::{self, at, bind, folder, own_folder};
use super::{image, interop};
use crate::agent::io;
use crate::agent::sys::process;

/// Folder with the files that the scenario gives to a program.
pub const FILES: &str = "/files";

pub const WORK: &str = "/work";

/// Users that packages expect to exist.
const USERS: [(&str, u32, &str); 4] = [
    ("root", 0, "/root"),
    ("daemon", 1, "/usr/sbin"),
    ("www-data", 33, "/var/www"),
    ("nobody", 65_534, "/"),
];

/// Makes the root folder of one side of an entry and enters this folder. The folder `output`
/// becomes `/out`.
pub fn enter(
    job: &Job,
    (number, side): (usize, usize),
    runs: &Side,
    output: &str,
) -> Result<(), String> {
    let program = &job.programs[number];
    bare::empty()?;
    match &runs.root {
        None => bare::packages(&program.root)?,
        Some(root) => image::show(root, bare::NEW)?,
    }
    bare::furnish(output)?;
    for (name, place) in &program.files {
        folder(&at("files"))?;
        folder(&at("work"))?;
        bind(place, &at(&format!("files/{name}")))?;
        let link = at(&format!("work/{name}"));
        symlink(format!("{FILES}/{name}"), link).map_err(io(name))?;
    }
    etc(job, program, side, runs.root.is_none())?;
    if program.interop.is_some() {
        interop::show(number, side, output)?;
    }
    process::change_root(bare::NEW).map_err(io("root"))?;
    let cwd = match (&runs.cwd, &runs.root) {
        (Some(cwd), _) => cwd,
        (None, Some(_)) => "/",
        (None, None) => WORK,
    };
    std::env::set_current_dir(cwd).map_err(io(cwd))
}

/// Writes the names of all hosts, and the name of this host. If the root folder has no list of
/// users, also writes such a list.
fn etc(job: &Job, program: &Program, side: usize, of_packages: bool) -> Result<(), String> {
    let users = USERS.map(|(name, id, home)| format!("{name}:x:{id}:{id}::{home}:/bin/sh\n"));
    let groups = USERS.map(|(name, id, _)| match id {
        65_534 => format!("nogroup:x:{id}:\n"),
        id => format!("{name}:x:{id}:\n"),
    });
    let host = host_name(program, side);
    own_folder(&at("etc"))?;
    for (name, text) in [
        ("hosts", hosts(job, program)),
        ("hostname", format!("{host}\n")),
        ("resolv.conf", String::new()),
        ("passwd", users.concat()),
        ("group", groups.concat()),
        (
            "nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\n".to_owned(),
        ),
    ] {
        let path = at(&format!("etc/{name}"));
        // As in a container, the agent writes the files that describe the network, but the list of
        // users comes from the image.
        let of_network = matches!(name, "hosts" | "hostname" | "resolv.conf");
        if !of_packages && !of_network && fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        // Remove the old file first. An old file from a package may be a symbolic link that leads
        // out of the root folder.
        let _ = fs::remove_file(&path);
        fs::write(&path, text).map_err(io(name))?;
    }
    process::set_host_name(host).map_err(io("host name"))
}

fn host_name(program: &Program, side: usize) -> &str {
    match &program.host_names {
        Some(names) => &names[side],
        None if program.interop.is_some() => interop::HOSTS[side],
        None => ["sender", "receiver"][side],
    }
}

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
    if program.interop.is_some() {
        text += &interop::hosts(pair(program));
    }
    text
}
