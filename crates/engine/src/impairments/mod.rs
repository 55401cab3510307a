//! Impairments: effects of a path on packets. The link's constant delay is not an impairment.
//!
//! Each impairment has one file here and one line in [`ENTRIES`]. A scenario lists the impairments
//! of a link in the order in which they affect packets:
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
//! - A packet that has left the queue is handled by the impairments of its link, one after the
//!   other. For each packet, [`Impairment::meet`] returns the packet's [`Fate`]. `meet` may also
//!   change the packet's ECN field, and the time at which the packet reaches the far end of the
//!   link ([`Way::due`]).
//! - If an impairment holds packets ([`Fate::Held`]), it releases them in [`Impairment::release`].
//!   The network calls `release` after every packet that the impairment has handled, and at
//!   [`Impairment::deadline`]. The remaining impairments then handle the released packets.
//! - Each impairment has its own random stream. As a result, adding an impairment does not change
//!   the random numbers of other impairments.
//! - After the last impairment, packets wait in a buffer. Packets leave this buffer in the order of
//!   their departure times, which may differ from the order of arrival (`network/impaired/pen.rs`).
//!   So every impairment may reorder packets. Impairments that can also keep packets in order have
//!   the option `keep_order`.
//! - A link without impairments costs almost no additional computation. For each packet of such a
//!   link, the simulator tests only one flag. This flag is also set if the link has a random
//!   `loss`.
//! - [`Build::netem`] returns the arguments for Linux, or the reason why Linux does not support the
//!   impairment. The guest creates one netem for each impairment, in the same order
//!   (`guest/src/map/impairments.rs`). If netem does not support an impairment, one of tailback's
//!   own queue disciplines replaces it ([`Discipline`]).
//!
//! In the simulator, the times of a scenario (`during`, steps) refer to when a packet leaves the
//! queue. On the kernel engine they refer to when the packet reaches netem. A packet reaches netem
//! one link delay after it has left the queue.
//!
//! The tests in `tests/impairments` compare the effect of each kind of impairment with a formula.
//! The randomised tests use every kind with all its options.

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

/// Returns the names of those options of an impairment that may change during a run.
pub fn changeable(kind: &str, options: &Options) -> &'static [&'static str] {
    let entry = find(ENTRIES, kind);
    let stream = Stream::new(0, kind, "impairment");
    entry.map_or(&[], |entry| {
        (entry.build.make)(options, stream).changeable()
    })
}
