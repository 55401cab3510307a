//! Runs connections that serve several requests of a source, one after the other, as in HTTP/1.1.
//!
//! A request uses a connection according to the same rules as in the simulator
//! (`network/reuse.rs`). A request is a segment of [`REQUEST`] bytes. The guest sends the request
//! as a separate packet after the handshake. In the simulator, the last packet of the handshake
//! contains the request.
//!
//! A client closes an idle connection with a FIN, so that the server's host stores metrics of the
//! destination. Linux stores the metrics once the server has also sent its FIN and the client has
//! acknowledged this FIN. The client's host has no TIME_WAIT state, so the client's port is free at
//! once. The FINs are short packets. The simulator does not send FINs.

use std::collections::VecDeque;
use std::io;

use tailback_engine::traffic::web;
use tailback_engine::units::Time;
use tailback_record::Completion;

use super::{Requests, short};
use crate::agent::setup::Namespaces;
use crate::agent::sys::{Poll, READABLE};
use crate::agent::tcp::{self, Zeros};

/// Payload of a request, in bytes.
const REQUEST: usize = 100;

/// The waiting requests of a source, and its idle connections.
#[derive(Default)]
pub struct Pool {
    waiting: VecDeque<Waiting>,
    /// The slot of each idle connection, and when it became idle, in ns. The connection that became
    /// idle last is at the end.
    unused: Vec<(usize, u64)>,
    /// Number of requests so far. The next request gets this number.
    requests: u64,
    /// How long a connection may stay idle, in ns. Connections that have been idle for longer are
    /// closed when a response is complete.
    idle_ns: u64,
    /// Whether a connection is closed if it becomes ready while no request waits.
    closes: bool,
    /// The times at which the server will close connections, in ascending order. `None` if the
    /// server closes each connection as soon as the client has closed its end.
    collect: Option<VecDeque<Time>>,
}

impl Pool {
    /// Creates an empty pool. The server closes connections at the times in `collect`. If `collect`
    /// is `None`, the server closes each connection as soon as the client has closed its end.
    pub fn new(collect: Option<Vec<Time>>) -> Pool {
        Pool {
            collect: collect.map(VecDeque::from),
            ..Pool::default()
        }
    }

    /// Removes and returns the waiting request with the given number. If another connection already
    /// serves the request with this number, uses the oldest waiting request instead.
    fn take(&mut self, number: u64) -> Option<Waiting> {
        let own = self.waiting.iter().position(|w| w.number == number);
        self.waiting.remove(own.unwrap_or(0))
    }
}

/// A request that waits or is being served.
#[derive(Clone, Copy)]
pub struct Waiting {
    number: u64,
    at_ns: u64,
    bytes: u64,
}

/// The state of a connection that serves several requests.
#[derive(Default)]
pub struct Turns {
    /// The number of the request that opened the connection.
    opened_for: u64,
    is_connected: bool,
    current: Option<Waiting>,
    /// Payload, in bytes, of the requests that the client has sent.
    asked: u64,
    /// Payload, in bytes, of the requests that the server has received.
    heard: u64,
    /// Whether the client has sent its FIN.
    is_closing: bool,
    /// When the server received the client's FIN, in ns.
    peer_closed_ns: Option<u64>,
    /// Whether the server has sent its FIN.
    server_closing: bool,
}

impl Requests<'_> {
    /// Requests `bytes` bytes on an idle or a new connection.
    pub(super) fn request(
        &mut self,
        bytes: u64,
        idle_ns: u64,
        now: u64,
        namespaces: &Namespaces,
        poll: &Poll,
    ) -> Result<(), String> {
        let Some(pool) = &mut self.pool else {
            return Ok(());
        };
        let number = pool.requests;
        pool.requests += 1;
        (pool.idle_ns, pool.closes) = (idle_ns, false);
        let waiting = Waiting {
            number,
            at_ns: now,
            bytes,
        };
        if let Some((index, _)) = pool.unused.pop() {
            self.started += u64::from(now >= self.warmup_ns);
            self.begin(index, waiting, now, poll);
            return Ok(());
        }
        let opened = self.connect(None, now, namespaces, poll)?;
        if let (Some(index), Some(pool)) = (opened, &mut self.pool) {
            self.slots[index].turns.opened_for = number;
            pool.waiting.push_back(waiting);
        }
        Ok(())
    }

    /// Sends a request on a connection that serves no other request.
    fn begin(&mut self, index: usize, waiting: Waiting, now: u64, poll: &Poll) {
        let slot = &mut self.slots[index];
        let Some(client) = &slot.client else {
            return;
        };
        slot.flow.bytes = Some(slot.read + waiting.bytes);
        slot.turns.current = Some(waiting);
        slot.turns.asked += REQUEST as u64;
        // `tcp::read` also sets the number of bytes after which the kernel wakes the client.
        let sent = client.send(&[0; REQUEST]);
        let read = tcp::read(&slot.flow, client, slot.read);
        if sent.is_err() || read.is_err() {
            self.fail(index, now, poll);
        }
    }

    fn fail(&mut self, index: usize, now: u64, poll: &Poll) {
        self.failed += 1;
        if let Some(pool) = &mut self.pool {
            pool.unused.retain(|(other, _)| *other != index);
        }
        self.forget_client(index, now, poll);
    }

    /// Handles an event of a client. The client has connected, has received data, or is closed.
    pub(super) fn turn(&mut self, index: usize, now: u64, poll: &Poll) {
        let Some(slot) = self.slots.get_mut(index) else {
            return;
        };
        let (Some(client), Some(pool)) = (&slot.client, &mut self.pool) else {
            return;
        };
        if slot.turns.is_closing {
            return self.forget_client(index, now, poll);
        }
        if !slot.turns.is_connected {
            let token = self.tokens.clients + index as u64;
            let listens = |client: &super::Socket| -> io::Result<()> {
                poll.remove(client.fd())?;
                poll.add(client.fd(), READABLE, token)
            };
            if client.error().is_some() || listens(client).is_err() {
                return self.fail(index, now, poll);
            }
            slot.turns.is_connected = true;
            match pool.take(slot.turns.opened_for) {
                Some(waiting) => self.begin(index, waiting, now, poll),
                None if pool.closes => self.close(index, now, poll),
                None => pool.unused.push((index, now)),
            }
            return;
        }
        let whole = slot.flow.bytes.unwrap_or_default();
        match tcp::read(&slot.flow, client, slot.read) {
            Ok(read) if read > slot.read => slot.read = read,
            Ok(_) if client.error().is_none() => return,
            _ => return self.fail(index, now, poll),
        }
        if slot.read < whole {
            return;
        }
        let Some(current) = slot.turns.current.take() else {
            return;
        };
        if now >= self.warmup_ns {
            slot.short += short(&slot.flow, current.bytes);
        }
        if current.at_ns >= self.warmup_ns {
            self.done.push(Completion {
                at_ns: now,
                bytes: current.bytes,
                took_ns: now - current.at_ns,
            });
        }
        self.next_turn(index, now, poll);
    }

    /// Lets a connection whose response is complete serve the next waiting request. If no request
    /// waits, marks the connection as idle. Closes connections that have been idle for too long.
    fn next_turn(&mut self, index: usize, now: u64, poll: &Poll) {
        let Some(pool) = &mut self.pool else {
            return;
        };
        if let Some(waiting) = pool.waiting.pop_front() {
            self.begin(index, waiting, now, poll);
        } else {
            pool.unused.push((index, now));
        }
        let Some(pool) = &mut self.pool else {
            return;
        };
        let idle_ns = pool.idle_ns;
        pool.closes = idle_ns == 0;
        let over = |(_, since): &mut (usize, u64)| now - *since >= idle_ns;
        let over: Vec<_> = pool.unused.extract_if(.., over).collect();
        for (index, _) in over {
            self.close(index, now, poll);
        }
    }

    /// Closes an idle connection: the client sends its FIN.
    fn close(&mut self, index: usize, now: u64, poll: &Poll) {
        let slot = &mut self.slots[index];
        slot.turns.is_closing = true;
        if slot.client.as_ref().is_none_or(|c| c.finish().is_err()) {
            self.fail(index, now, poll);
        }
    }

    /// Handles an event of a server: a request has arrived, data can be sent, or the client has
    /// closed the connection.
    pub(super) fn answer(&mut self, index: usize, now: u64, zeros: &Zeros, poll: &Poll) {
        let at_once = self.pool.as_ref().is_some_and(|p| p.collect.is_none());
        let Some(slot) = self.slots.get_mut(index) else {
            return;
        };
        let Some(server) = &slot.server else {
            return;
        };
        if tcp::info(server).is_ok_and(|info| info.is_closed()) {
            return self.forget_server(index, poll);
        }
        let turns = &mut slot.turns;
        while turns.peer_closed_ns.is_none() {
            match server.discard(1 << 20) {
                Ok(Some(0)) => turns.peer_closed_ns = Some(now),
                Ok(Some(bytes)) => turns.heard += bytes as u64,
                Ok(None) => break,
                Err(_) => return self.forget_server(index, poll),
            }
        }
        if turns.peer_closed_ns.is_some() {
            // A server that has not received any request closes the connection at once.
            if (at_once || turns.heard == 0) && !turns.server_closing {
                turns.server_closing = true;
                let _ = server.finish();
            }
            return;
        }
        if turns.heard < turns.asked {
            return;
        }
        let whole = slot.flow.bytes.unwrap_or_default();
        match tcp::write(server, zeros, whole, slot.written) {
            Ok(written) => slot.written = written,
            Err(_) => self.forget_server(index, poll),
        }
    }

    /// If a client has closed its connection, closes the server's end at its scheduled time.
    /// Returns when to call this function again.
    pub(super) fn collect(&mut self, now: u64, poll: &Poll) -> Option<u64> {
        let times = self.pool.as_mut()?.collect.as_mut()?;
        let due = times.partition_point(|at| at.ns() <= now);
        times.drain(..due);
        let next = times.front().map(|at| at.ns());
        if due == 0 {
            return next;
        }
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            let turns = &mut slot.turns;
            let (Some(server), Some(closed)) = (&slot.server, turns.peer_closed_ns) else {
                continue;
            };
            if now - closed >= web::REMEMBERED.ns() {
                // The client's host has already discarded the state of the connection.
                self.forget_server(index, poll);
            } else if !turns.server_closing {
                turns.server_closing = true;
                let _ = server.finish();
            }
        }
        next
    }
}
