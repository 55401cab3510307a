//! Carries out a job.
//!
//! | file | what |
//! |---|---|
//! | `setup`, `ip` | file systems, modules, namespaces, devices, `ip` and `tc`; what needs no `ip` |
//! | `run` | a run: what it needs (`open`), the main loop in virtual time, what was measured (`results`) |
//! | `flow`, `datagrams`, `requests` | a flow; a source of datagrams; a source whose connections come and go |
//! | `pump` | threads for the ends of flows |
//! | `watch` | what a flow waited for, and why its window shrank |
//! | `link` | what the queue of a link says of itself |
//! | `clock` | the time of the run |
//! | `token` | what the main loop's descriptors are for |
//! | `programs` | programs of the scenario's on hosts of their own |
//! | `tcp` | TCP sockets and what they say of themselves |
//! | `diag`, `crowd` | what the kernel says of sockets, of one or of many together; of many flows |
//! | `capture` | packets before and behind the queues, and what follows from them |
//! | `ring`, `frame` | captured packets, and what they say |
//! | `taps` | what programs do, as their hosts' packets show it |
//! | `gates` | which frames of programs' hosts were let in |
//! | `wire` | what a wire behind a link has lost |
//! | `queue`, `rtt` | what went in and came out, for a link's meter; round-trip times |
//! | `packets` | `packets.pcapng` |
//! | `qdisc`, `xstats` | statistics of queue disciplines, and how they are read |
//! | `sys` | system calls |

mod adapt;
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

/// Says what an error of the system is about.
fn io(what: &str) -> impl Fn(std::io::Error) -> String {
    let what = what.to_owned();
    move |error| format!("{what}: {error}")
}

/// The job.
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

/// What this process may open at once: Linux's own bound (`fs.nr_open`).
const OPEN_FILES: u64 = 1 << 20;

/// Runs the job and writes its result.
pub fn run() -> Result<(), String> {
    setup::file_systems()?;
    let job = job()?;
    // Two sockets for each flow, and one to listen. What programs may open is set for each.
    sys::process::limit(libc::RLIMIT_NOFILE, OPEN_FILES).map_err(|e| format!("files: {e}"))?;
    let namespaces = setup::network(&job)?;
    let finished = run::run(&job, &namespaces)?;
    let bytes = postcard::to_stdvec(&finished).map_err(|e| format!("result: {e}"))?;
    // The host takes a file of this name as complete.
    let part = format!("{RESULTS}/.{}", result::FILE);
    let whole = format!("{RESULTS}/{}", result::FILE);
    fs::write(&part, bytes).map_err(|e| format!("{part}: {e}"))?;
    fs::rename(&part, &whole).map_err(|e| format!("{whole}: {e}"))?;
    // What the kernel has against itself, also where its words were lost.
    let tainted = fs::read_to_string("/proc/sys/kernel/tainted").unwrap_or_default();
    println!("tailback: tainted {}", tainted.trim());
    println!("tailback: done");
    Ok(())
}
