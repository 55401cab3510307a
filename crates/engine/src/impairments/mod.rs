//! Impairments: effects of a path on packets, other than a constant delay.
//!
//! Each impairment has one file here and one line in [`ENTRIES`]. A scenario lists the impairments
//! of a link in the order in which packets meet them:
//!
//! ```toml
//! [[bottleneck.impairments]]
//! kind = "burst_loss"
//! loss = 0.01
//! burst = 8
//! only = "acks"                  # a key of every kind
//! during = [["2s", "4s"]]        # a key of every kind
//! ```
//!
//! - A packet that has left the queue passes the impairments of its link one after the other.
//!   [`Impairment::meet`] returns its [`Fate`]. The function may also change the packet's ECN
//!   field, and the time at which the packet reaches the far end ([`Way::due`]).
//! - An impairment that holds packets ([`Fate::Held`]) releases them in [`Impairment::release`].
//!   The network calls this function after every packet that passed the impairment, and at
//!   [`Impairment::deadline`]. The released packets then pass the following impairments.
//! - Each impairment has its own random stream, so adding an impairment does not change the random
//!   numbers of the others.
//! - After the last impairment, packets wait in a buffer that is ordered by time, not by arrival
//!   (`network/impaired/pen.rs`). So any impairment may reorder. Impairments that do not need to
//!   reorder have the option `keep_order`.
//! - A link without impairments costs almost no time. For each packet, the simulator tests only one
//!   flag, which also covers the link's own `loss`.
//! - [`Build::netem`] returns the arguments for Linux, or why Linux does not support the
//!   impairment. The guest then has one netem for each impairment, in the same order
//!   (`guest/src/map/impairments.rs`). A [`Discipline`] of tailback's own replaces netem for an
//!   impairment that netem does not support.
//!
//! The times of a scenario (`during`, steps) apply when a packet leaves the queue. On the kernel
//! engine they apply when the packet reaches netem, which is after the link's own delay.
//!
//! `tests/impairments` checks each kind against its formula. The randomised tests use every kind
//! with all its options.

mod ack_batch;
mod burst_loss;
mod contract;
mod delay;
mod duplicate;
mod ecn;
mod jitter;
mod loss;
mod options;
mod police;
mod reorder;
mod tunnel;
mod two_paths;

pub use contract::{Build, Discipline, Fate, Impairment, LongRun, Netem, Way};

use crate::registry::{Entry, Options, find};
use crate::rng::Stream;

/// The impairments of tailback.
pub const ENTRIES: &[&Entry<Build>] = &[
    &loss::ENTRY,
    &burst_loss::ENTRY,
    &delay::ENTRY,
    &jitter::ENTRY,
    &reorder::ENTRY,
    &duplicate::ENTRY,
    &police::ENTRY,
    &ack_batch::ENTRY,
    &ecn::ENTRY,
    &tunnel::ENTRY,
    &two_paths::ENTRY,
];

/// Returns the names of the options that an impairment with these options may change during a run.
pub fn changeable(kind: &str, options: &Options) -> &'static [&'static str] {
    let entry = find(ENTRIES, kind);
    let stream = Stream::new(0, kind, "impairment");
    entry.map_or(&[], |entry| {
        (entry.build.make)(options, stream).changeable()
    })
}
