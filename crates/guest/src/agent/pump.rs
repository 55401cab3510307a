//! Runs threads that only write to a socket, or only read from a socket, with blocking calls.
//!
//! The kernel wakes a thread that waits in a blocking call directly. Waking a thread that waits in
//! `epoll_wait` takes two more switches between the kernel and the agent's process. Because it is
//! cheap to wake the thread, each call may transfer a small amount of data, which stays in the
//! processor's cache.

use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use super::sys::Socket;
use super::tcp::{self, Slack, Zeros};
use tailback_guest::job::{Flow, Job};

/// Largest number of flows for which each flow gets two threads.
const MOST_FLOWS: usize = 2048;

/// Stack of a thread, in bytes. A thread needs little stack, because it mainly repeats one system
/// call.
const STACK: usize = 64 << 10;

/// The error that ended a thread.
pub type Failure = Arc<OnceLock<String>>;

/// Returns whether both ends of a flow get threads.
///
/// A flow that ends by itself gets no threads. The main loop must notice the end of a flow at once,
/// and a thread in a system call would delay this notice. Flows with segmentation offload get no
/// threads, because their segments leave in large bursts, for which more data must be ready. Flows
/// get no threads if every ACK is recorded, because each ACK then wakes the agent anyway. Threads
/// would therefore save nothing. If the job has programs, flows get no threads, because a process
/// that starts programs must have only one thread.
pub fn serves(flow: &Flow, job: &Job) -> bool {
    let limited = flow.application.is_some();
    let endless = flow.bytes.is_none() && flow.stop_ns.is_none() && !limited;
    let plain = !job.offloads && !job.record.acks && job.programs.is_empty();
    endless && plain && job.flows.len() <= MOST_FLOWS
}

/// Starts a thread that writes zeros as soon as the connection exists.
pub fn write(socket: Arc<Socket>, zeros: Arc<Zeros>, failure: Failure) -> io::Result<()> {
    start(socket, failure, "write", move |socket| {
        zeros.send_chunk(socket).map(drop)
    })
}

/// Starts a thread that reads and discards data.
pub fn read(flow: &Flow, slack: Slack, socket: Arc<Socket>, failure: Failure) -> io::Result<()> {
    let flow = flow.clone();
    let growing = tcp::unbounded(&flow);
    let mut read = 0;
    start(socket, failure, "read", move |socket| {
        let grew = read < growing;
        let n = match grew {
            // Returns when the kernel wakes the receiver, that is, after `SO_RCVLOWAT` bytes.
            true => socket.discard(1 << 30)?.unwrap_or(0),
            false => socket.discard_all(1 << 30)?,
        };
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read += n as u64;
        if grew && read < growing {
            tcp::wake_for(socket, tcp::growth_step(&flow, slack, read))?;
        } else if grew {
            tcp::bound_window(&flow, slack, socket, read)?;
        }
        Ok(())
    })
}

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
