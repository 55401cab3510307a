//! Threads that write and read for ever, and wait inside the kernel.
//!
//! A thread that waits there is woken by another part of the kernel. For one that waits in
//! `epoll_wait` the processor goes over to the agent's process and back, twice. Since they may be
//! woken often, flows can hold little, which stays in the processor's cache.

use std::fs::File;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

use super::sys::Socket;
use super::tcp::{self, Slack};
use tailback_guest::job::{Flow, Job};

/// Flows of which each can have two threads.
const MOST_FLOWS: usize = 2048;

/// Of a thread, which does hardly more than one call.
const STACK: usize = 64 << 10;

/// What ended a thread.
pub type Failure = Arc<OnceLock<String>>;

/// Whether the two ends of a flow get threads. One that ends is watched by the main loop; a
/// thread in the midst of a call would keep it. Segments together leave in large bursts, for which
/// more has to be ready; who records every ACK is woken for each anyway; and what programs are
/// started from has one thread.
pub fn serves(flow: &Flow, job: &Job) -> bool {
    let endless = flow.bytes.is_none() && flow.stop_ns.is_none();
    let plain = !job.offloads && !job.record.acks && job.programs.is_empty();
    endless && plain && job.flows.len() <= MOST_FLOWS
}

/// Writes as soon as the connection is there.
pub fn write(socket: Arc<Socket>, zeros: Arc<File>, failure: Failure) -> io::Result<()> {
    start(socket, failure, "write", move |socket| {
        socket.send_file(&zeros, tcp::ZEROS).map(drop)
    })
}

/// Reads.
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

/// Calls again and again, until that fails.
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
