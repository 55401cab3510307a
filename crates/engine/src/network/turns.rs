//! What a connection that serves several requests knows of its requests, and what the connections
//! of a source share (`reuse`).

use std::collections::VecDeque;

use crate::units::Time;

/// The requests of a source that wait, and its connections without a request.
#[derive(Default)]
pub(super) struct Pool {
    pub waiting: VecDeque<Waiting>,
    /// Slots of the unused connections, and since when each is unused. The last one was used last.
    pub unused: Vec<(u32, Time)>,
    /// Number of requests so far.
    pub requests: u64,
}

/// A request that no connection serves yet.
pub(super) struct Waiting {
    pub number: u64,
    pub at: Time,
    pub bytes: u64,
}

/// The state of a connection that serves several requests.
pub(super) struct Turns {
    /// The number of the request for which the connection was opened.
    pub opened_for: u64,
    /// Whether the client has the answer to its SYN.
    pub is_connected: bool,
    /// How long the connection may be unused.
    pub idle: Time,
    /// The request that the connection serves.
    pub current: Option<Current>,
}

/// A request that a connection serves.
pub(super) struct Current {
    pub at: Time,
    pub bytes: u64,
    /// When it was last sent. `None` once the server has it.
    pub sent: Option<Time>,
    /// Whether it was sent with the third packet of the handshake.
    pub with_handshake: bool,
}

impl Pool {
    /// Takes the request with this number, or else the one that has waited for the longest time.
    pub fn take(&mut self, number: u64) -> Option<Waiting> {
        let own = self.waiting.iter().position(|w| w.number == number);
        self.waiting.remove(own.unwrap_or(0))
    }
}

impl Turns {
    pub fn begin(&mut self, request: &Waiting, now: Time, with_handshake: bool) {
        self.current = Some(Current {
            at: request.at,
            bytes: request.bytes,
            sent: Some(now),
            with_handshake,
        });
    }
}
