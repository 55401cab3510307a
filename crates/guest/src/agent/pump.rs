//! Threads that write or read without end, and wait inside the kernel.
//!
//! The kernel wakes such a thread directly. With a thread in `epoll_wait` the processor would
//! switch to the agent's process and back, twice. Since waking is cheap, flows keep little data
//! waiting, and it stays in the processor's cache.

use std::fs::File;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use super::sys::Socket;
use super::tcp::{self, Slack};
use tailback_guest::job::{Flow, Job};

/// Largest number of flows with which each flow can have two threads.
const MOST_FLOWS: usize = 2048;

/// Stack of a thread, bytes; it does little more than one call.
const STACK: usize = 64 << 10;

/// The error that ended a thread.
pub type Failure = Arc<OnceLock<String>>;

/// Whether the two ends of a flow get threads.
///
/// A flow that ends does not: the main loop watches it, and a thread inside a call would delay
/// that. With offloads, segments leave in large bursts, for which more data has to be ready.
/// Recording every ACK wakes the agent for each ACK anyway. And a process that starts programs may
/// have only one thread.
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
