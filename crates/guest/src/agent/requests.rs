//! Runs sources that open TCP connections. For each request, a client connects, a server sends the
//! requested bytes, and the connection ends. Connections can also serve several requests, one after
//! the other ([`turns`]).
//!
//! The client knows how many bytes to expect, so the server does not have to send a FIN. The server
//! therefore sends only packets that it also sends in the simulator. Once a client has received all
//! bytes, it resets the connection. The RST is a short packet to the server. The simulator does not
//! send this packet. A connection that was reset leaves no state (such as TIME_WAIT) that would
//! block the port. A client reuses a port only after the server has received the RST. A new
//! connection uses the free port that has been free longest.

mod turns;

use std::collections::VecDeque;
use std::io;

use tailback_engine::traffic::{self, Step};
use tailback_engine::units::Time;
use tailback_guest::job::{Connections, Flow, Job, Source};
use tailback_record::{Completion, Completions, TrafficOutcome};

use super::setup::Namespaces;
use super::sys::{EDGE, Poll, READABLE, Socket, WRITABLE};
use super::tcp::{self, Info, Zeros};
pub use turns::Pool;
use turns::Turns;

/// If a reset has not reached the server after this time (in ns), it counts as lost.
const FORGOTTEN_NS: u64 = 5_000_000_000;

/// The tokens by which the main loop's poll identifies a source's sockets.
#[derive(Clone, Copy)]
pub struct Tokens {
    pub listener: u64,
    /// The token of the first client. The tokens of the other clients are the following numbers.
    pub clients: u64,
    /// The token of the first server. The tokens of the other servers are the following numbers.
    pub servers: u64,
}

/// A client port, and the connection that uses it.
struct Slot {
    /// The settings of the source and of this connection, stored as the settings of a flow.
    flow: Flow,
    client: Option<Socket>,
    server: Option<Socket>,
    written: u64,
    read: u64,
    /// The time at which the client finished, in ns. While the client has not finished, the time at
    /// which it connected.
    since_ns: u64,
    /// The last packet of a response may be shorter than a full packet. This field is the number of
    /// bytes that are missing in last packets, summed over all responses completed since the
    /// warm-up.
    short: u64,
    /// The requests of the connection, if the connection serves several requests.
    turns: Turns,
    /// Counters at the end of the warm-up: the number of segments that the server had sent, and the
    /// number that the client had received.
    base: [u32; 2],
}

/// A source of requests that is running.
pub struct Requests<'a> {
    source: &'a Source,
    connections: &'a Connections,
    traffic: Box<dyn traffic::Source>,
    listener: Socket,
    tokens: Tokens,
    slots: Vec<Slot>,
    /// Slots without a client. The slot that has been free longest comes first.
    free: VecDeque<usize>,
    /// Waiting requests and idle connections. `None` if each request has its own connection.
    pool: Option<Pool>,
    warmup_ns: u64,
    started: u64,
    refused: u64,
    failed: u64,
    done: Vec<Completion>,
    sent_segments: u64,
    received_segments: u64,
    received_bytes: u64,
}

impl<'a> Requests<'a> {
    /// Opens the listening socket of a source, without starting requests.
    pub fn open(
        source: &'a Source,
        connections: &'a Connections,
        (traffic, pool): (Box<dyn traffic::Source>, Option<Pool>),
        tokens: Tokens,
        (job, namespaces, poll): (&Job, &Namespaces, &Poll),
    ) -> Result<Requests<'a>, String> {
        let what = |e: io::Error| format!("source {}: {e}", source.name);
        namespaces.enter(source.sender)?;
        let listener =
            tcp::server(&connections.flow, i32::from(connections.limit)).map_err(what)?;
        poll.add(listener.fd(), READABLE, tokens.listener)
            .map_err(what)?;
        let slot = |index: u16| Slot {
            flow: Flow {
                port: connections.first_port + index,
                ..connections.flow.clone()
            },
            client: None,
            server: None,
            written: 0,
            read: 0,
            since_ns: 0,
            short: 0,
            turns: Turns::default(),
            base: [0; 2],
        };
        Ok(Requests {
            source,
            connections,
            traffic,
            listener,
            tokens,
            slots: (0..connections.limit).map(slot).collect(),
            free: (0..usize::from(connections.limit)).collect(),
            pool,
            warmup_ns: job.warmup_ns,
            started: 0,
            refused: 0,
            failed: 0,
            done: Vec::new(),
            sent_segments: 0,
            received_segments: 0,
            received_bytes: 0,
        })
    }

    /// Starts the requests that are due. Returns the time of the next call of this function.
    pub fn play(
        &mut self,
        now: u64,
        namespaces: &Namespaces,
        poll: &Poll,
    ) -> Result<Option<u64>, String> {
        let collects = self.collect(now, poll);
        loop {
            if self.source.stop_ns.is_some_and(|stop| now >= stop) {
                return Ok(collects);
            }
            let next = match self.traffic.next(Time(now)) {
                Step::Wait(until) => Some(until.ns()),
                Step::Open { bytes } => {
                    self.connect(Some(bytes), now, namespaces, poll)?;
                    continue;
                }
                Step::Request { bytes, idle } => {
                    self.request(bytes, idle.ns(), now, namespaces, poll)?;
                    continue;
                }
                _ => None,
            };
            return Ok([next, collects].into_iter().flatten().min());
        }
    }

    /// Opens a connection. Returns the connection's slot, or `None` if no slot is free.
    fn connect(
        &mut self,
        bytes: Option<u64>,
        now: u64,
        namespaces: &Namespaces,
        poll: &Poll,
    ) -> Result<Option<usize>, String> {
        let measured = u64::from(now >= self.warmup_ns);
        let slots = &self.slots;
        let usable = |index: &usize| {
            let slot = &slots[*index];
            slot.server.is_none() || slot.since_ns + FORGOTTEN_NS < now
        };
        let Some(position) = self.free.iter().position(usable) else {
            self.refused += measured;
            return Ok(None);
        };
        let Some(index) = self.free.remove(position) else {
            return Ok(None);
        };
        if self.slots[index].server.is_some() {
            self.forget_server(index, poll);
        }
        let what = |e: io::Error| format!("source {}: {e}", self.source.name);
        let slot = &mut self.slots[index];
        slot.flow.bytes = bytes;
        (slot.written, slot.read, slot.base) = (0, 0, [0; 2]);
        (slot.short, slot.turns) = (0, Turns::default());
        slot.since_ns = now;
        namespaces.enter(slot.flow.receiver)?;
        let client = tcp::client(&slot.flow).map_err(what)?;
        let server = self.connections.flow.port;
        client
            .connect(slot.flow.sender_address, server)
            .map_err(what)?;
        let token = self.tokens.clients + index as u64;
        // If a connection serves several requests, the client sends its request once the client is
        // connected.
        let events = if bytes.is_some() { READABLE } else { WRITABLE };
        poll.add(client.fd(), events, token).map_err(what)?;
        slot.client = Some(client);
        self.started += measured;
        Ok(Some(index))
    }

    pub fn accept(&mut self, now: u64, zeros: &Zeros, poll: &Poll) -> Result<(), String> {
        loop {
            let what = |e: io::Error| format!("source {}: accept: {e}", self.source.name);
            let server = match self.listener.accept() {
                Ok(server) => server,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.raw_os_error() == Some(libc::ECONNABORTED) => continue,
                Err(e) => return Err(what(e)),
            };
            let port = server.peer_port().map_err(what)?;
            let index = port
                .checked_sub(self.connections.first_port)
                .map(usize::from);
            let Some(index) = index.filter(|index| *index < self.slots.len()) else {
                continue;
            };
            let token = self.tokens.servers + index as u64;
            poll.add(server.fd(), WRITABLE | READABLE | EDGE, token)
                .map_err(what)?;
            self.slots[index].server = Some(server);
            self.serve(index, 0, now, zeros, poll);
        }
    }

    /// Sends data on a connection, or ends the connection. Call this function when the server's
    /// socket of the connection is readable or writable, or has received the reset.
    pub fn serve(&mut self, index: usize, events: u32, now: u64, zeros: &Zeros, poll: &Poll) {
        if self.pool.is_some() {
            return self.answer(index, now, zeros, poll);
        }
        let Some(slot) = self.slots.get_mut(index) else {
            return;
        };
        let Some(server) = &slot.server else {
            return;
        };
        let over = events & (libc::EPOLLERR | libc::EPOLLHUP) as u32 != 0;
        let all = slot.flow.bytes.unwrap_or(u64::MAX);
        match tcp::write(server, zeros, all, slot.written) {
            Ok(written) if !over => slot.written = written,
            _ => self.forget_server(index, poll),
        }
    }

    fn forget_server(&mut self, index: usize, poll: &Poll) {
        let slot = &mut self.slots[index];
        if let Some(server) = slot.server.take() {
            let _ = poll.remove(server.fd());
            let sent = tcp::info(&server).unwrap_or_default().data_segments;
            self.sent_segments += u64::from(sent.wrapping_sub(slot.base[0]));
            // The client may not have detected the error, so reset the client's end of the
            // connection.
            let _ = server.abort();
        }
    }

    /// Reads the data that a client has received by time `now`. Call this function when the
    /// client's socket is readable, or when the client has connected.
    pub fn read(&mut self, index: usize, now: u64, poll: &Poll) {
        if self.pool.is_some() {
            return self.turn(index, now, poll);
        }
        let Some(slot) = self.slots.get_mut(index) else {
            return;
        };
        let Some(client) = &slot.client else {
            return;
        };
        let bytes = slot.flow.bytes.unwrap_or_default();
        match tcp::read(&slot.flow, client, slot.read) {
            Ok(read) if read > slot.read || read >= bytes => slot.read = read,
            // The socket has neither data nor an error.
            Ok(_) if client.error().is_none() => return,
            _ => {
                self.failed += 1;
                slot.read = u64::MAX;
            }
        }
        if slot.read < bytes {
            return;
        }
        if slot.read < u64::MAX && slot.since_ns >= self.warmup_ns {
            self.done.push(Completion {
                at_ns: now,
                bytes,
                took_ns: now - slot.since_ns,
            });
        }
        slot.short = short(&slot.flow, bytes);
        self.forget_client(index, now, poll);
    }

    /// Closes a client. Resets the client's connection, unless the connection is already closed.
    fn forget_client(&mut self, index: usize, now: u64, poll: &Poll) {
        let slot = &mut self.slots[index];
        let Some(client) = slot.client.take() else {
            return;
        };
        let info = tcp::info(&client).unwrap_or_default();
        let counted = received(slot, &info);
        self.received_segments += counted.0;
        self.received_bytes += counted.1;
        slot.since_ns = now;
        let _ = poll.remove(client.fd());
        let _ = client.abort();
        self.free.push_back(index);
    }

    /// Restarts the counters of the source. Returns how many data packets were sent during the
    /// warm-up.
    pub fn end_warmup(&mut self) -> u64 {
        let before = self.sent_segments;
        (
            self.sent_segments,
            self.received_segments,
            self.received_bytes,
        ) = (0, 0, 0);
        let mut open = 0;
        for slot in &mut self.slots {
            let of = |socket: &Option<Socket>| {
                let info = socket.as_ref().and_then(|s| tcp::info(s).ok());
                info.unwrap_or_default()
            };
            let (server, client) = (of(&slot.server), of(&slot.client));
            slot.base = [server.data_segments, client.received_segments];
            slot.short = 0;
            open += u64::from(server.data_segments);
        }
        before + open
    }

    pub fn outcome(&self, job: &Job) -> TrafficOutcome {
        let (mut sent, mut segments) = (self.sent_segments, self.received_segments);
        let mut bytes = self.received_bytes;
        for slot in &self.slots {
            if let Some(info) = slot.server.as_ref().and_then(|s| tcp::info(s).ok()) {
                sent += u64::from(info.data_segments.wrapping_sub(slot.base[0]));
            }
            if let Some(info) = slot.client.as_ref().and_then(|s| tcp::info(s).ok()) {
                let counted = received(slot, &info);
                segments += counted.0;
                bytes += counted.1;
            }
        }
        let stop = self.source.stop_ns;
        TrafficOutcome {
            name: self.source.name.clone(),
            kind: self.source.kind.clone(),
            from_ns: self.source.start_ns.max(job.warmup_ns),
            to_ns: stop.map_or(job.duration_ns, |stop| stop.min(job.duration_ns)),
            sent_packets: sent,
            received_packets: segments,
            received_bytes: bytes,
            completions: Some(Completions {
                started: self.started,
                refused: self.refused,
                rate_bit: self.connections.rate_bit,
                rtt_ns: self.connections.rtt_ns,
                most_bytes: self.connections.most_bytes,
                done: self.done.clone(),
            }),
            ..TrafficOutcome::default()
        }
    }

    pub fn warning(&self) -> Option<String> {
        (self.failed > 0).then(|| {
            format!(
                "source {}: {} connections failed",
                self.source.name, self.failed
            )
        })
    }
}

/// Returns how many data packets a client has received since the warm-up, and the total length of
/// their frames in bytes. The last packet of a response may be short.
fn received(slot: &Slot, info: &Info) -> (u64, u64) {
    let flow = &slot.flow;
    let segments = u64::from(info.received_segments.wrapping_sub(slot.base[1]));
    let full = segments * (u64::from(flow.mss).max(1) + u64::from(flow.header));
    let short = if segments > 0 { slot.short } else { 0 };
    (segments, full.saturating_sub(short))
}

/// Returns the difference in bytes between a full packet and the last packet of a response of
/// `bytes` bytes.
fn short(flow: &Flow, bytes: u64) -> u64 {
    let mss = u64::from(flow.mss).max(1);
    bytes.div_ceil(mss) * mss - bytes
}
