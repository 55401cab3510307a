//! Carries out a job.
//!
//! | file | content |
//! |---|---|
//! | `setup`, `ip` | set-up of file systems, modules, namespaces and devices; lines for `ip` and `tc` |
//! | `run` | a run: preparation (`open`), main loop in virtual time, measurements at the end (`results`) |
//! | `flow`, `datagrams`, `requests` | TCP flows; sources of datagrams; sources of connections |
//! | `pump` | threads for the ends of flows |
//! | `watch` | what a flow waited for, and why its window shrank |
//! | `link` | statistics of the queue of a link |
//! | `clock` | the clock of the run |
//! | `token` | identifies what a descriptor of the main loop belongs to |
//! | `programs` | the scenario's programs, which run on their own hosts |
//! | `tcp` | TCP sockets and their information |
//! | `diag`, `crowd` | socket information from the kernel, for one flow or for many flows together |
//! | `capture` | captures of packets before and after the queues, and the measurements derived from them |
//! | `ring`, `frame` | rings of captured packets; parsing of captured packets |
//! | `taps` | measurements of programs, from the packets at their hosts |
//! | `gates` | which frames from hosts of programs the kernel accepts |
//! | `wire` | packets that were lost on the wire after a link |
//! | `queue`, `rtt` | packets that enter and leave a queue, for the link's meter; round-trip times |
//! | `packets` | `packets.pcapng` |
//! | `qdisc`, `xstats` | statistics of queue disciplines, and their parsing |
//! | `sys` | system calls |

mod adapt;
mod application;
mod capture;
mod clock;
mod crowd;
mod datagrams;
mod diag;
mod flow;
mod frame;
mod gates;
mod ip;
mod link;
mod own_qdisc;
mod packets;
mod programs;
mod pump;
mod qdisc;
mod queue;
mod requests;
mod ring;
mod rtt;
mod run;
mod setup;
mod sys;
mod taps;
mod tcp;
mod token;
mod watch;
mod wire;
mod xstats;

use std::fs;

pub use programs::launch;
pub use sys::power_off;
use tailback_guest::job::{self, Job};
use tailback_guest::result;

const JOB: &str = "/job/job.json";
const RESULTS: &str = "/results";

/// Adds a description of the attempted action to a system error.
fn io(what: &str) -> impl Fn(std::io::Error) -> String {
    let what = what.to_owned();
    move |error| format!("{what}: {error}")
}

fn job() -> Result<Job, String> {
    let text = fs::read_to_string(JOB).map_err(|e| format!("{JOB}: {e}"))?;
    let job: Job = serde_json::from_str(&text).map_err(|e| format!("{JOB}: {e}"))?;
    if job.format != job::FORMAT {
        return Err(format!(
            "{JOB} has format {}, the agent {}",
            job.format,
            job::FORMAT
        ));
    }
    Ok(job)
}

/// Number of files that this process may open. The number is Linux's default upper limit
/// (`fs.nr_open`).
const OPEN_FILES: u64 = 1 << 20;

pub fn run() -> Result<(), String> {
    setup::file_systems()?;
    let job = job()?;
    // Each flow has two connected sockets and one listening socket. Programs have their own limit.
    sys::process::limit(libc::RLIMIT_NOFILE, OPEN_FILES).map_err(|e| format!("files: {e}"))?;
    let namespaces = setup::network(&job)?;
    let finished = run::run(&job, &namespaces)?;
    let bytes = postcard::to_stdvec(&finished).map_err(|e| format!("result: {e}"))?;
    // The host regards a file with the final name as complete, so write to another name first.
    let part = format!("{RESULTS}/.{}", result::FILE);
    let whole = format!("{RESULTS}/{}", result::FILE);
    fs::write(&part, bytes).map_err(|e| format!("{part}: {e}"))?;
    fs::rename(&part, &whole).map_err(|e| format!("{whole}: {e}"))?;
    // Check the kernel's taint flags. A flag shows that the kernel has printed a warning, even if
    // the message was lost.
    let tainted = fs::read_to_string("/proc/sys/kernel/tainted").unwrap_or_default();
    println!("tailback: tainted {}", tainted.trim());
    println!("tailback: done");
    Ok(())
}
