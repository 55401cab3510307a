//! Traffic sources. They are pure state machines, which the kernel engine's guest uses, too.
//!
//! A source returns the next step and its time. A step is, for example, to send a datagram, or to
//! open a TCP connection that delivers a number of bytes. The engines carry out these steps.
//! Everything about a kind of traffic is in its entry, so each kind has one file and one line in
//! [`ENTRIES`].

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

/// What the engine must do next for a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a datagram now.
    Send {
        /// Frame length, bytes.
        len: u16,
        /// ECN field.
        ecn: Ecn,
    },
    /// Send a media frame now, in as many datagrams as it needs.
    Frame {
        /// Media bytes, without headers.
        bytes: u32,
        /// ECN field.
        ecn: Ecn,
    },
    /// Open a TCP connection now that delivers this many bytes and is then closed.
    Open {
        /// Payload, bytes.
        bytes: u64,
    },
    /// Request this many bytes now on an unused connection, or on a new connection that is then
    /// kept.
    Request {
        /// Payload of the answer, bytes.
        bytes: u64,
        /// When an answer is complete, connections that have been unused for this long are closed.
        idle: Time,
    },
    /// Open a TCP connection now that never ends.
    Load,
    /// Request this many bytes on a connection that never ends.
    Ask {
        /// Number of the connection among those opened with [`Step::Load`], from 0.
        load: u32,
        /// Payload of the answer, bytes.
        bytes: u64,
    },
    /// Call [`Source::count`] now.
    Count,
    /// Send no new data on the connections that never end.
    Stop,
    /// Call [`Source::next`] again at this time. [`Time::NEVER`] means that the source waits until
    /// a connection is complete.
    Wait(Time),
    /// The source has finished.
    Done,
}

/// A source of traffic.
pub trait Source: Send {
    /// Returns what to do at `now`. Called again after each `Send` and `Open`, and at the end of
    /// each `Wait`.
    fn next(&mut self, now: Time) -> Step;

    /// Notes that all bytes of a connection of this source have arrived. If this completes a load,
    /// such as a page, returns the duration of the load. The engine calls [`Source::next`]
    /// afterwards.
    fn complete(&mut self, _now: Time, _completion: &Completion) -> Option<Time> {
        None
    }

    /// Notes that the answer to [`Step::Ask`] has arrived, and how long after the request it came.
    fn answered(&mut self, _took: Time) {}

    /// Answers [`Step::Count`] with the payload that [`Step::Load`] connections have delivered.
    fn count(&mut self, _delivered: u64) {}

    /// Returns the responsiveness under working conditions, if the source measures it.
    fn responsiveness(&self) -> Option<ResponsivenessOutcome> {
        None
    }

    /// Notes that the engine did not open a connection, because too many are open.
    fn refused(&mut self, _now: Time) {}

    /// Gives the source a report from the receiving end. Only sources whose [`Role`] includes
    /// reports get them.
    fn hear(&mut self, _now: Time, _report: &Report) {}
}

/// What has reached the receiving end of a source since its last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of datagrams that should have arrived, according to their numbers.
    pub expected: u64,
    /// Number of datagrams that have arrived.
    pub received: u64,
    /// Rate at which the datagrams arrived, in frame bytes.
    pub rate: Rate,
    /// Smallest one-way delay of the interval, minus the smallest one-way delay of the whole run.
    pub queue_delay: Time,
}

/// How a source is built, and what carries its bytes.
pub struct Build {
    /// Builds the source from its options and its random stream.
    pub source: fn(&Options, Stream) -> Box<dyn Source>,
    /// What carries the bytes of the source.
    pub transport: Transport,
}

/// What carries the bytes of a source.
#[derive(Clone, Copy)]
pub enum Transport {
    /// Datagrams. The function returns their properties, such as their largest rate.
    Datagrams(fn(&Options) -> Datagrams),
    /// TCP connections. Such a kind has the options [`ECN`] and [`LIMIT`].
    Connections {
        /// Returns the largest payload of one connection, bytes.
        largest: fn(&Options) -> u64,
        /// Returns the mean time from one connection to the next.
        gap: fn(&Options) -> Time,
    },
}

/// Option of every kind that opens connections: whether ECN is negotiated.
pub const ECN: Opt = Opt {
    name: "ecn",
    doc: "Whether ECN is negotiated; default: true where the congestion control requires it.",
    kind: Kind::Bool,
    default: None,
    tc: None,
};

/// Option of every kind that opens connections: how many may be open at the same time.
pub const LIMIT: Opt = Opt {
    name: "limit",
    doc: "Largest number of connections at a time. The source does not open more: it discards the request and counts it as refused.",
    kind: Kind::Int {
        min: 1,
        max: 10_000,
    },
    default: Some("1000"),
    tc: None,
};

/// The traffic sources of tailback without plugins. Each has one line.
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

/// Returns what carries the bytes of sources of this kind, or `None` if the kind does not exist.
pub fn transport(kind: &str) -> Option<Transport> {
    find(TABLE.entries(), kind).map(|entry| entry.build.transport)
}

/// Returns whether sources of this kind open TCP connections. Other sources send datagrams.
pub fn connects(kind: &str) -> bool {
    matches!(transport(kind), Some(Transport::Connections { .. }))
}

/// Returns whether the receiving end of this kind of source may send datagrams back: echoes or
/// reports.
pub fn answers(kind: &str) -> bool {
    match find(TABLE.entries(), kind) {
        Some(entry) => match entry.build.transport {
            Transport::Datagrams(of) => of(&complete_defaults(entry)).role.answers(),
            Transport::Connections { .. } => false,
        },
        None => false,
    }
}

/// Returns whether sources of this kind support a key that only some kinds support.
pub fn takes(kind: &str, key: &str) -> bool {
    connects(kind) || (key == "back" && answers(kind))
}

/// Returns the largest payload of a source's connections, bytes. Returns 0 if the source opens no
/// connections.
pub fn largest(kind: &str, options: &Options) -> u64 {
    match transport(kind) {
        Some(Transport::Connections { largest, .. }) => largest(options),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that every kind that opens connections has the options `ecn` and `limit`, which
    /// engines read.
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
