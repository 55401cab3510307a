//! Sources of traffic: pure state machines, reused by the kernel engine's guest.

use crate::packet::Ecn;
use crate::registry::{Entry, Options};
use crate::rng::Stream;
use crate::units::Time;

pub mod cbr;

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
    /// Ask again at this time.
    Wait(Time),
    /// Nothing more to come.
    Done,
}

/// A source of unresponsive traffic.
pub trait Source: Send {
    /// What to do at `now`; called again after each `Send` and at the end of
    /// each `Wait`.
    fn next(&mut self, now: Time) -> Step;
}

/// The constructor of a source: its options and its random stream.
pub type Build = fn(&Options, Stream) -> Box<dyn Source>;

/// Every traffic source: one line each.
pub const ENTRIES: &[&Entry<Build>] = &[&cbr::ENTRY];
