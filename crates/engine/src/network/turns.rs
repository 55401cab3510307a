//! State of connections that serve several requests. The module `reuse` uses this state. Some of
//! the state belongs to a single connection, and some to all connections of a source.

use std::collections::VecDeque;

use crate::units::Time;

/// The waiting requests of a source, and its idle connections.
#[derive(Default)]
pub(super) struct Pool {
    pub waiting: VecDeque<Waiting>,
    /// The slot of each idle connection, and the time at which it became idle. The connection that
    /// became idle last is at the end.
    pub unused: Vec<(u32, Time)>,
    /// Number of requests so far. The next request gets this number.
    pub requests: u64,
    /// If true, a connection that becomes ready while no request waits is closed at once. With an
    /// idle time of 0, this is true from the end of a response until the next request.
    pub closes: bool,
}

pub(super) struct Waiting {
    pub number: u64,
    pub at: Time,
    pub bytes: u64,
}

pub(super) struct Turns {
    /// The number of the request for which the connection was opened.
    pub opened_for: u64,
    /// Whether the client has received the answer to its SYN.
    pub is_connected: bool,
    /// Whether the connection has served a request.
    pub has_served: bool,
    pub idle: Time,
    pub current: Option<Current>,
}

pub(super) struct Current {
    pub at: Time,
    pub bytes: u64,
    /// When the request was last sent. `None` once the server has received the request.
    pub sent: Option<Time>,
    /// Whether the request was sent with the third packet of the handshake.
    pub with_handshake: bool,
}

impl Pool {
    /// Removes and returns the waiting request with this number. If another connection serves this
    /// request, removes and returns the oldest waiting request instead.
    pub fn take(&mut self, number: u64) -> Option<Waiting> {
        let own = self.waiting.iter().position(|w| w.number == number);
        self.waiting.remove(own.unwrap_or(0))
    }
}

impl Turns {
    pub fn begin(&mut self, request: &Waiting, now: Time, with_handshake: bool) {
        self.has_served = true;
        self.current = Some(Current {
            at: request.at,
            bytes: request.bytes,
            sent: Some(now),
            with_handshake,
        });
    }
}
