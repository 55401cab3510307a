//! Sources of traffic: pure state machines, reused by the kernel engine's guest.

use crate::packet::Ecn;
use crate::registry::{Entry, Options};
use crate::rng::Stream;
use crate::units::Time;

pub mod cbr;
pub mod on_off;
pub mod web;

/// What a source does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a datagram now: frame length in bytes and ECN field.
    Send {
        /// Frame length, bytes.
        len: u16,
        /// ECN field.
        ecn: Ecn,
    },
    /// Open a TCP connection now that brings so many bytes of payload and is
    /// closed then. Only sources that are TCP do so ([`crate::plan::TrafficPlan::connections`]).
    Open {
        /// Payload, bytes.
        bytes: u64,
    },
    /// Ask again at this time.
    Wait(Time),
    /// Nothing more to come.
    Done,
}

/// A source of traffic.
pub trait Source: Send {
    /// What to do at `now`; called again after each `Send` and `Connect`, and
    /// at the end of each `Wait`.
    fn next(&mut self, now: Time) -> Step;
}

/// The constructor of a source: its options and its random stream.
pub type Build = fn(&Options, Stream) -> Box<dyn Source>;

/// Whether sources of this kind open TCP connections; the others send datagrams.
pub fn connects(kind: &str) -> bool {
    kind == web::ENTRY.name
}

/// Every traffic source: one line each.
pub const ENTRIES: &[&Entry<Build>] = &[&cbr::ENTRY, &on_off::ENTRY, &web::ENTRY];
