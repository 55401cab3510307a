//! Threads that write to or read from a socket in an endless loop, and block inside the kernel.
//!
//! The kernel wakes such a thread directly. To wake a thread in `epoll_wait`, the processor would
//! switch to the agent's process and back twice. Because waking is cheap, little data of a flow
//! waits, and it stays in the processor's cache.

use std::fs::File;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use super::sys::Socket;
use super::tcp::{self, Slack};
use tailback_guest::job::{Flow, Job};

/// Largest number of flows for which each flow can have two threads.
const MOST_FLOWS: usize = 2048;

/// Stack of a thread, bytes. A thread does little more than one call.
const STACK: usize = 64 << 10;

/// The error that ended a thread.
pub type Failure = Arc<OnceLock<String>>;

/// Returns whether the two ends of a flow get threads.
///
/// A flow that ends gets no threads, because the main loop watches for its end, and a thread inside
/// a call would delay that. A flow with segmentation offload gets none, because its segments leave
/// in large bursts, for which more data must be ready. If every ACK is recorded, threads save
/// nothing, because each ACK wakes the agent anyway. A process that starts programs may have only
/// one thread.
pub fn serves(flow: &Flow, job: &Job) -> bool {
    let limited = flow.application.is_some();
    let endless = flow.bytes.is_none() && flow.stop_ns.is_none() && !limited;
    let plain = !job.offloads && !job.record.acks && job.programs.is_empty();
    endless && plain && job.flows.len() <= MOST_FLOWS
}

/// Starts a thread that writes as soon as the connection exists.
pub fn write(socket: Arc<Socket>, zeros: Arc<File>, failure: Failure) -> io::Result<()> {
    start(socket, failure, "write", move |socket| {
        socket.send_file(&zeros, tcp::ZEROS).map(drop)
    })
}

/// Starts a thread that reads.
pub fn read(flow: &Flow, slack: Slack, socket: Arc<Socket>, failure: Failure) -> io::Result<()> {
    let flow = flow.clone();
    let mut bounded = false;
    start(socket, failure, "read", move |socket| {
        let wanted = match bounded {
            true => 1 << 30,
            false => tcp::unbounded(&flow) as usize,
        };
        let read = socket.discard_all(wanted)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !bounded {
            tcp::bound_window(&flow, slack, socket, read as u64)?;
            bounded = true;
        }
        Ok(())
    })
}

/// Repeats a call until it fails.
fn start(
    socket: Arc<Socket>,
    failure: Failure,
    what: &'static str,
    mut call: impl FnMut(&Socket) -> io::Result<()> + Send + 'static,
) -> io::Result<()> {
    socket.block()?;
    Builder::new().stack_size(STACK).spawn(move || {
        loop {
            if let Err(e) = call(&socket) {
                failure.get_or_init(|| format!("{what}: {e}"));
                return;
            }
        }
    })?;
    Ok(())
}
