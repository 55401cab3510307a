//! Connections that serve several requests of a source, one after the other, as in HTTP/1.1.
//!
//! The code follows the transport of Go's `net/http`. A request uses an idle connection if there is
//! one. If no connection is idle, the request opens a new connection. The request is then served by
//! the first connection that is ready: either the new connection, or a connection that becomes idle
//! earlier. If a connection that became idle serves the request, the new connection serves the
//! oldest waiting request. If no request waits, the new connection stays idle. A connection keeps
//! its congestion control and its window from one request to the next.
//!
//! With an idle time of 0, the client acts as if it called `CloseIdleConnections` after each
//! response. Until the next request, the client also closes connections that become ready later.
//! Two deviations from Go: the number of idle connections is not limited to two, and connections
//! close without FINs.
//!
//! A lost request is repeated after one second. In contrast, Linux repeats a lost request after the
//! retransmission timeout.

use tailback_record::Completion;

use super::Network;
use super::connections::{Connection, End};
use super::pipe::Access;
use super::turns::{Turns, Waiting};
use crate::packet::{Packet, flags};
use crate::units::Time;

/// Time after which a request that has not arrived is sent again.
const AGAIN: Time = Time(1_000_000_000);

const REQUEST: u16 = 100;

impl Connection {
    /// Lets the server answer a request that has arrived. `with_handshake` is true if the request
    /// arrived with the last packet of the handshake.
    pub(super) fn answer(&mut self, with_handshake: bool, now: Time, port: &mut Access<'_>) {
        if let Some(turns) = &mut self.turns
            && let Some(current) = &mut turns.current
            && current.with_handshake == with_handshake
            && self.sender.is_established()
            && current.sent.take().is_some()
        {
            // A request is sent only after the previous answer is complete. So each answer begins
            // with a new segment.
            self.goal = self.sender.flight().nxt + current.bytes.div_ceil(self.mss);
            self.sender.write(current.bytes, now, port);
        }
    }

    /// Sends the current request in a packet of its own.
    fn send_request(&mut self, now: Time, port: &mut Access<'_>) {
        self.syn_due = now + AGAIN;
        self.receiver.ask(REQUEST, port);
    }

    /// Sends the current request again if it has not arrived. Returns false if the client is not
    /// connected yet. The client must then repeat its SYN instead.
    pub(super) fn repeats_request(&mut self, now: Time, port: &mut Access<'_>) -> bool {
        let Some(turns) = self.turns.as_mut().filter(|turns| turns.is_connected) else {
            return false;
        };
        let current = turns.current.as_mut();
        match current.and_then(|current| current.sent.as_mut()) {
            Some(sent) => {
                *sent = now;
                self.send_request(now, port);
            }
            None => self.syn_due = Time::NEVER,
        }
        true
    }
}

impl Network {
    /// Requests `bytes` bytes for a source on an idle or a new connection. When an answer is
    /// complete, closes all connections that have been idle for the time `idle`.
    pub(super) fn request(&mut self, index: usize, bytes: u64, idle: Time) {
        let now = self.now;
        let measured = u64::from(now >= self.plan.warmup);
        let Some(connections) = &mut self.traffic[index].connections else {
            return;
        };
        let number = connections.pool.requests;
        connections.pool.requests += 1;
        connections.pool.closes = false;
        let waiting = Waiting {
            number,
            at: now,
            bytes,
        };
        if let Some((slot, _)) = connections.pool.unused.pop() {
            connections.started += measured;
            return self.serve(slot, &waiting);
        }
        let Some(slot) = self.slot_or_refuse(index) else {
            return;
        };
        if let Some(connections) = &mut self.traffic[index].connections {
            connections.started += measured;
            connections.pool.waiting.push_back(waiting);
        }
        self.begin(index, slot, Some(0));
        if let Some(connection) = &mut self.ends[slot as usize].connection {
            connection.expect_writes(None);
            connection.turns = Some(Box::new(Turns {
                opened_for: number,
                is_connected: false,
                has_served: false,
                idle,
                current: None,
            }));
        }
    }

    fn serve(&mut self, slot: u32, waiting: &Waiting) {
        let now = self.now;
        let ends = &mut self.ends[slot as usize];
        let acting = ends.acting(End::Receiver, &mut self.pipes, now, &mut self.calendar);
        if let Some(mut end) = acting
            && let Some(turns) = &mut end.connection.turns
        {
            turns.begin(waiting, now, false);
            end.connection.send_request(now, &mut end.port);
            end.rearm_receiver();
        }
    }

    /// Updates the client of a connection after a packet has arrived. `completed` is true if the
    /// packet carried the last byte of an answer.
    pub(super) fn after_packet(&mut self, index: usize, packet: &Packet, completed: bool) {
        let (now, slot) = (self.now, packet.flow);
        let ends = &mut self.ends[slot as usize];
        let (Some(connection), Some(connections)) =
            (&mut ends.connection, &mut self.traffic[index].connections)
        else {
            return;
        };
        let Some(turns) = &mut connection.turns else {
            return;
        };
        if packet.has(flags::SYN) && !turns.is_connected {
            turns.is_connected = true;
            // The client has already sent the ACK of the SYN-ACK, and this ACK carries the request.
            match connections.pool.take(turns.opened_for) {
                Some(waiting) => turns.begin(&waiting, now, true),
                None if connections.pool.closes => {
                    connection.sender.close();
                    self.close_if_done(index, slot as usize);
                }
                None => connections.pool.unused.push((slot, now)),
            }
        } else if completed && let Some(current) = turns.current.take() {
            let idle = turns.idle;
            self.complete(
                index,
                current.at,
                &Completion {
                    at_ns: now.ns(),
                    bytes: current.bytes,
                    took_ns: now.since(current.at).ns(),
                },
            );
            self.next_turn(index, slot, idle);
        } else if let Some(current) = &turns.current
            && !current.with_handshake
            && let Some(sent) = current.sent
        {
            // The packet is a repeated SYN or belongs to the previous answer. So the packet does
            // not show that the current request has arrived.
            connection.syn_due = sent + AGAIN;
            let acting = ends.acting(End::Receiver, &mut self.pipes, now, &mut self.calendar);
            if let Some(end) = acting {
                end.rearm_receiver();
            }
        }
    }

    /// Lets a connection whose answer is complete serve the next waiting request. If no request
    /// waits, marks the connection as idle. Also closes connections that have been idle for too
    /// long.
    fn next_turn(&mut self, index: usize, slot: u32, idle: Time) {
        let now = self.now;
        let Some(connections) = &mut self.traffic[index].connections else {
            return;
        };
        let pool = &mut connections.pool;
        if let Some(waiting) = pool.waiting.pop_front() {
            self.serve(slot, &waiting);
        } else {
            pool.unused.push((slot, now));
        }
        let Some(connections) = &mut self.traffic[index].connections else {
            return;
        };
        connections.pool.closes = idle == Time::ZERO;
        let over = |(_, since): &mut (u32, Time)| now.since(*since) >= idle;
        let over: Vec<u32> = (connections.pool.unused.extract_if(.., over))
            .map(|(slot, _)| slot)
            .collect();
        for slot in over {
            if let Some(connection) = &mut self.ends[slot as usize].connection {
                connection.sender.close();
            }
            self.close_if_done(index, slot as usize);
        }
    }
}
