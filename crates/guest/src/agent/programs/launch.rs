//! Starts a program on its host: sets up namespaces, root folder and limits, then runs the program.

use std::io;
use std::path::Path;

use tailback_guest::job::{Job, Program, Side};

use super::kept::Kept;
use super::{bare, interop, root};
use crate::agent::io;
use crate::agent::sys::process::{self, Child};

/// The namespaces that tailback creates for each program. The list does not contain the network
/// namespace, because this namespace belongs to the program's host.
const NAMESPACES: [(libc::c_int, &str); 4] = [
    (libc::CLONE_NEWPID, "pid"),
    (libc::CLONE_NEWNS, "mnt"),
    (libc::CLONE_NEWUTS, "uts"),
    (libc::CLONE_NEWIPC, "ipc"),
];

/// Capabilities that servers need if they start as root: chown, dac_override, fowner, fsetid, kill,
/// setgid, setuid, setpcap, net_bind_service, sys_chroot. The program `ping` of busybox also needs
/// net_raw. The capability net_raw is harmless, because no device accepts packets with a foreign
/// source address (see [`tailback_guest::job::Gate`]).
const CAPABILITIES: [u32; 11] = [0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18];

/// Largest number of processes and threads per user.
const PROCESSES: u64 = 256;
/// Largest number of open files per process.
const OPEN_FILES: u64 = 4096;

/// Largest number of processes in a namespace. The limit is needed in addition to `PROCESSES`,
/// which does not limit the processes of root.
const PIDS: &str = "512";

/// Exit status if a program exists but cannot be run, as in a shell.
const CANNOT_RUN: i32 = 126;
/// Exit status if a program does not exist, as in a shell.
const NOT_FOUND: i32 = 127;
/// Exit status if the agent could not set up the host.
const NO_HOST: i32 = 125;

/// Returns an error if this kernel lacks features that programs need.
pub fn check() -> Result<(), String> {
    let lacks =
        |(_, name): &&(libc::c_int, &str)| !Path::new(&format!("/proc/self/ns/{name}")).exists();
    let missing: Vec<&str> = NAMESPACES
        .iter()
        .filter(lacks)
        .map(|(_, name)| *name)
        .collect();
    match missing.as_slice() {
        [] => Ok(()),
        missing => Err(format!(
            "this kernel cannot run programs: it does not have {} namespaces; `tailback kernel build` builds one that does",
            missing.join(", ")
        )),
    }
}

/// The agent's argument for a process that sets up a host.
pub const WORD: &str = "host";

/// Starts the program of one side of an entry in `[[programs]]`, in the current network namespace.
pub fn launch(number: usize, side: usize, output: &str) -> io::Result<(Child, [Kept; 2])> {
    let (out, out_end) = process::pipe()?;
    let (err, err_end) = process::pipe()?;
    let flags = NAMESPACES.iter().fold(0, |all, (flag, _)| all | flag);
    let numbers = [number, side].map(|number| number.to_string());
    let [number, side] = numbers;
    let words = [
        "agent".to_owned(),
        WORD.to_owned(),
        number,
        side,
        output.to_owned(),
    ];
    let child = Child::start(flags, &words, [&out_end, &err_end])?;
    Ok((child, [Kept::of(out), Kept::of(err)]))
}

/// Sets up the host of one side of an entry in `[[programs]]`, and runs this side's program. Only
/// the new process may call this function. Returns the exit status.
pub fn be_host(words: &[String]) -> i32 {
    let outcome = || -> Result<i32, String> {
        process::close_others().map_err(io("descriptors"))?;
        let job = crate::agent::job()?;
        let [which, side, output] = words else {
            return Err(format!("not the arguments of a host: {words:?}"));
        };
        let number = |word: &String| word.parse::<usize>().unwrap_or(usize::MAX);
        let (number, side) = (number(which), number(side));
        let program = job.programs.get(number);
        let found = program.and_then(|p| Some((p, p.sides.get(side)?.as_ref()?)));
        let (program, runs) = found.ok_or("no such program")?;
        let mut kept = None;
        if let Some(interop) = &program.interop {
            if side == 0 {
                interop::prepare(number, program, interop)?;
            }
            kept = Some(interop::listen()?);
        }
        host(&job, (number, side), runs, output)?;
        let status = process::first(|| run(program, runs)).map_err(io("process"));
        drop(kept);
        status
    };
    outcome().unwrap_or_else(|error| {
        eprintln!("tailback: {error}");
        NO_HOST
    })
}

fn host(job: &Job, which: (usize, usize), runs: &Side, output: &str) -> Result<(), String> {
    root::enter(job, which, runs, output)?;
    std::fs::write("/proc/sys/kernel/pid_max", PIDS).map_err(io("pid_max"))?;
    // Make /proc/sys read-only, as in a container.
    let again = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY;
    process::mount("/proc/sys", "/proc/sys", "", libc::MS_BIND, "")
        .and_then(|()| process::mount("", "/proc/sys", "", again, ""))
        .map_err(io("/proc/sys"))?;
    process::limit(libc::RLIMIT_NPROC, PROCESSES).map_err(io("limit of processes"))?;
    process::limit(libc::RLIMIT_NOFILE, OPEN_FILES).map_err(io("limit of files"))?;
    process::limit(libc::RLIMIT_CORE, 0).map_err(io("limit of cores"))?;
    process::keep_capabilities(&CAPABILITIES).map_err(io("capabilities"))
}

/// Executes the program. Returns an exit status only if the program cannot be run.
fn run(program: &Program, runs: &Side) -> i32 {
    let environment = environment(program, runs);
    let mut texts = environment.iter();
    let path = texts.find_map(|text| text.strip_prefix("PATH="));
    let word = runs.run.first().map_or("", String::as_str);
    let mut folders = match word.contains('/') {
        true => vec![""],
        false => path.unwrap_or_default().split(':').collect(),
    };
    let mut found = None;
    for folder in folders.drain(..) {
        let path = match folder {
            "" => word.to_owned(),
            folder => format!("{folder}/{word}"),
        };
        if !Path::new(&path).is_file() {
            continue;
        }
        let error = process::execute(&path, &runs.run, &environment);
        let error = match error.raw_os_error() {
            // The program's file exists, so this error means that its interpreter is missing.
            Some(libc::ENOENT) => "its interpreter or loader is not there".to_owned(),
            Some(libc::ENOEXEC) => "it is not a program".to_owned(),
            _ => error.to_string(),
        };
        found.get_or_insert(format!("{path}: {error}"));
    }
    match found {
        Some(error) => {
            eprintln!("tailback: {error}");
            CANNOT_RUN
        }
        None => {
            let place = match runs.root {
                None => "neither in the files nor in the packages of this entry",
                Some(_) => "neither in the files of this entry nor in its image",
            };
            eprintln!("tailback: {word} is {place}");
            NOT_FOUND
        }
    }
}

/// OpenSSL and its forks (BoringSSL, AWS-LC) also use the processor's random numbers, which do not
/// depend on the seed. The variable `OPENSSL_ia32cap` disables RDRAND (bit 30 of the upper half)
/// and RDSEED (bit 18 of the next word), see OPENSSL_ia32cap(3).
const OPENSSL: (&str, &str) = ("OPENSSL_ia32cap", "~0x4000000000000000:~0x40000");

fn environment(program: &Program, runs: &Side) -> Vec<String> {
    let mut path = Vec::new();
    if runs.root.is_none() || !program.files.is_empty() {
        path.push(root::FILES.to_owned());
    }
    let folders = program.files.iter().filter_map(|(name, _)| {
        let place = format!("{}/{name}", root::FILES);
        Path::new(&place).is_dir().then_some(place)
    });
    path.extend(folders);
    path.extend(["local/sbin", "local/bin", "sbin", "bin"].map(|name| format!("/usr/{name}")));
    // Programs from packages are in /usr. Programs from a container image get the usual PATH of
    // containers.
    if runs.root.is_some() {
        path.extend(["/sbin", "/bin"].map(str::to_owned));
    }
    let mut all = vec![
        ("PATH".to_owned(), path.join(":")),
        ("HOME".to_owned(), "/root".to_owned()),
        ("OUT".to_owned(), bare::OUT.to_owned()),
        (OPENSSL.0.to_owned(), OPENSSL.1.to_owned()),
    ];
    if runs.root.is_none() {
        all.insert(2, ("LANG".to_owned(), "C.UTF-8".to_owned()));
        all.insert(3, ("USER".to_owned(), "root".to_owned()));
    }
    for (name, value) in program.env.iter().chain(&runs.env) {
        all.retain(|(known, _)| known != name);
        all.push((name.clone(), value.clone()));
    }
    all.into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}
