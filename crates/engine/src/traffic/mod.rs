//! Traffic sources. Sources are state machines without side effects, and the guest of the kernel
//! engine uses the same code.
//!
//! A source returns its next step, and the time of this step. A step is, for example, to send a
//! datagram, or to open a TCP connection that delivers a number of bytes. The engines carry out
//! these steps. The entry of a kind of traffic contains everything about this kind. So each kind
//! has one file and one line in [`ENTRIES`].

use tailback_record::{Completion, ResponsivenessOutcome};

use crate::packet::Ecn;
use crate::registry::{Entry, Kind, Opt, Options, Table, complete_defaults, find};
use crate::rng::Stream;
use crate::units::{Rate, Time};
pub use datagram::{Datagrams, Role};

pub mod application;
pub mod audio;
pub mod cbr;
pub mod datagram;
pub mod on_off;
pub mod page;
pub mod ping;
pub mod reports;
pub mod responsiveness;
mod sizes;
pub mod video;
pub mod web;

/// A source's next action, which the engine carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a datagram now.
    Send {
        /// Length of the frame, in bytes.
        len: u16,
        /// ECN field.
        ecn: Ecn,
    },
    /// Send a media frame now. The frame is split into as many datagrams as it needs.
    Frame {
        /// Media bytes of the frame, without headers.
        bytes: u32,
        /// ECN field.
        ecn: Ecn,
    },
    /// Open a TCP connection now. The connection delivers this many bytes and is then closed.
    Open {
        /// Payload, bytes.
        bytes: u64,
    },
    /// Request this many bytes now, on an idle connection. If all connections are busy, open
    /// another connection and keep it for later requests.
    Request {
        /// Payload of the answer, in bytes.
        bytes: u64,
        /// When an answer is complete, the engine closes connections that have been idle for this
        /// long.
        idle: Time,
    },
    /// Open a TCP connection now. The sender of this connection always has data to send.
    Load,
    /// Request this many bytes now on a connection that was opened with [`Step::Load`].
    Ask {
        /// Index of the connection among the connections that were opened with [`Step::Load`], from
        /// 0.
        load: u32,
        /// Payload of the answer, in bytes.
        bytes: u64,
    },
    /// Call [`Source::count`] now.
    Count,
    /// Stop sending new data on connections that were opened with [`Step::Load`].
    Stop,
    /// Call [`Source::next`] again at this time. [`Time::NEVER`] means that the source does nothing
    /// until a connection is complete.
    Wait(Time),
    /// The source has finished.
    Done,
}

/// A source of traffic.
pub trait Source: Send {
    /// Returns what the engine must do at `now`. The engine calls this function again after each
    /// step. After [`Step::Wait`], the engine calls this function at the given time.
    fn next(&mut self, now: Time) -> Step;

    /// Records that all bytes of one of the source's connections or requests have arrived. If a
    /// load (such as a page) is now complete, returns how long it has taken. The engine then calls
    /// [`Source::next`].
    fn complete(&mut self, _now: Time, _completion: &Completion) -> Option<Time> {
        None
    }

    /// Records that the answer to a [`Step::Ask`] has arrived. `took` is the time since the
    /// request.
    fn answered(&mut self, _took: Time) {}

    /// Receives the number of payload bytes that all connections of [`Step::Load`] have delivered.
    /// The engine calls this after [`Step::Count`].
    fn count(&mut self, _delivered: u64) {}

    /// If the source measures responsiveness under working conditions, returns the result.
    fn responsiveness(&self) -> Option<ResponsivenessOutcome> {
        None
    }

    /// Records that the engine has not opened a connection, because too many are open.
    fn refused(&mut self, _now: Time) {}

    /// Handles a report from the receiving end. The engine calls this only if the source's [`Role`]
    /// includes reports.
    fn hear(&mut self, _now: Time, _report: &Report) {}
}

/// What the receiving end of a source has received since its previous report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many datagrams the source has sent since the previous report, up to the newest datagram
    /// that has arrived. This number is computed from sequence numbers.
    pub expected: u64,
    /// How many of these datagrams have arrived.
    pub received: u64,
    /// The rate at which datagrams have arrived, in frame bytes.
    pub rate: Rate,
    /// The smallest one-way delay in the interval, minus the smallest one-way delay in the whole
    /// run.
    pub queue_delay: Time,
}

/// How to build a source, and whether it sends datagrams or opens connections.
pub struct Build {
    /// Builds the source from its options and its random stream.
    pub source: fn(&Options, Stream) -> Box<dyn Source>,
    /// Whether the source sends datagrams or opens connections.
    pub transport: Transport,
}

/// Whether a source sends datagrams or opens TCP connections.
#[derive(Clone, Copy)]
pub enum Transport {
    /// Datagrams. The source sends datagrams. The function returns the properties of the datagrams,
    /// such as the rate.
    Datagrams(fn(&Options) -> Datagrams),
    /// TCP connections. The source opens connections. Each such kind has the options [`ECN`] and
    /// [`LIMIT`].
    Connections {
        /// Returns the largest payload that a connection can have, in bytes.
        largest: fn(&Options) -> u64,
        /// Returns the mean time between the starts of two connections.
        gap: fn(&Options) -> Time,
    },
}

/// An option of every kind that opens connections: whether they negotiate ECN.
pub const ECN: Opt = Opt {
    name: "ecn",
    doc: "Whether ECN is negotiated. Default: true if the congestion control requires ECN.",
    kind: Kind::Bool,
    default: None,
    tc: None,
};

/// An option of every kind that opens connections: how many of them may be open at the same time.
pub const LIMIT: Opt = Opt {
    name: "limit",
    doc: "Largest number of simultaneous connections. If a request would exceed this limit, the source discards the request and counts it as refused.",
    kind: Kind::Int {
        min: 1,
        max: 10_000,
    },
    default: Some("1000"),
    tc: None,
};

/// The built-in traffic sources.
pub const ENTRIES: &[&Entry<Build>] = &[
    &cbr::ENTRY,
    &on_off::ENTRY,
    &web::ENTRY,
    &ping::ENTRY,
    &video::ENTRY,
    &audio::ENTRY,
    &page::ENTRY,
    &responsiveness::ENTRY,
];

/// Every traffic source, including those of plugins.
pub static TABLE: Table<Build> = Table::of(ENTRIES);

/// Returns whether sources of this kind send datagrams or open connections. Returns `None` if the
/// kind does not exist.
pub fn transport(kind: &str) -> Option<Transport> {
    find(TABLE.entries(), kind).map(|entry| entry.build.transport)
}

/// Returns whether sources of this kind open TCP connections. Other sources send datagrams.
pub fn connects(kind: &str) -> bool {
    matches!(transport(kind), Some(Transport::Connections { .. }))
}

/// Returns whether the receiving end of sources of this kind may send echoes or reports.
pub fn answers(kind: &str) -> bool {
    match find(TABLE.entries(), kind) {
        Some(entry) => match entry.build.transport {
            Transport::Datagrams(of) => of(&complete_defaults(entry)).role.answers(),
            Transport::Connections { .. } => false,
        },
        None => false,
    }
}

/// Returns whether sources of this kind support `key`, which is a key that not all kinds support.
pub fn takes(kind: &str, key: &str) -> bool {
    connects(kind) || (key == "back" && answers(kind))
}

/// Returns the largest payload that a source's connections can have, in bytes. Returns 0 if the
/// source opens no connections.
pub fn largest(kind: &str, options: &Options) -> u64 {
    match transport(kind) {
        Some(Transport::Connections { largest, .. }) => largest(options),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_open_connections_have_their_options() {
        for entry in ENTRIES.iter().filter(|entry| connects(entry.name)) {
            for expected in [ECN, LIMIT] {
                let has = entry.options.iter().any(|opt| opt.name == expected.name);
                assert!(has, "{} has no {}", entry.name, expected.name);
            }
        }
    }
}
