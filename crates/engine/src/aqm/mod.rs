//! Queue disciplines: the trait, and one file for each.

use crate::packet::{Ecn, FlowInfo, Packet};
use crate::registry::kernel::{Kernel, Qdisc};
use crate::registry::{Entry, Options, Table};
use crate::rng::Stream;
use crate::units::{Rate, Time};

mod backlogs;
pub mod cake;
pub mod codel;
pub mod dualpi2;
pub mod fair;
pub mod fifo;
pub mod fq_codel;
pub mod fq_pie;
pub mod pi2;
pub mod pie;
pub mod red;
pub mod sce;
mod sink;
pub mod step;
pub mod wred;

pub use sink::Sink;
pub use tailback_record::Cause;

/// What a queue says when its link asks for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeue {
    /// There is the next packet.
    Packet,
    /// Nothing is queued.
    Empty,
    /// There is the next packet, of a queue that keeps the link's rate itself: the link
    /// sends it at once and does not ask again before this time.
    Until(Time),
    /// Something is queued but must not leave before this time (a shaping queue).
    NotBefore(Time),
}

/// A queue discipline.
///
/// The link sets `packet.stamp` to the time of arrival before `enqueue`; a
/// packet's sojourn time at `now` is `now - stamp`. Every packet given to
/// `enqueue` comes out of `dequeue` once or is reported to `sink.drop` once;
/// a mark is made by `sink.mark`, which changes the packet and counts.
pub trait Queue: Send {
    /// Takes a packet: a copy, once it is marked if it is.
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink);

    /// Writes the next packet, if there is one that may leave, to `next`, which holds
    /// anything before: so a packet is copied once on its way from the queue to the link.
    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue;

    /// The next packet by value, if there is one that may leave: for tests.
    fn take(&mut self, now: Time, sink: &mut Sink) -> Option<Packet> {
        let mut next = Packet::new(0, 0, Ecn::NotEct);
        match self.dequeue(now, sink, &mut next) {
            Dequeue::Packet | Dequeue::Until(_) => Some(next),
            Dequeue::Empty | Dequeue::NotBefore(_) => None,
        }
    }

    /// Packets that leave after so many others each, the most first, as far as that is known:
    /// only to have memory near when they do.
    fn ahead(&self, _places: [usize; 3]) -> Option<[&Packet; 3]> {
        None
    }

    /// Called at time 0 and then whenever the time it last returned has come;
    /// `None` when it wants no timer.
    fn timer(&mut self, _now: Time, _sink: &mut Sink) -> Option<Time> {
        None
    }

    /// The link's rate has changed (also called once before the first packet).
    fn rate_changed(&mut self, _rate: Rate, _now: Time) {}

    /// Bytes the link adds to each frame: for a queue that keeps the link's
    /// rate itself (called before the first packet).
    fn link_overhead(&mut self, _bytes: i32) {}

    /// What is known of each flow and traffic source, by its number: for a queue
    /// that tells hosts or classes apart (called before the first packet).
    fn flows(&mut self, _flows: &[FlowInfo]) {}

    /// Packets and bytes queued.
    fn backlog(&self) -> Backlog;

    /// Internal state worth a time series, e.g. a drop probability; the names
    /// are those of [`Queue::gauge_names`], the order the same.
    fn gauges(&self, _now: Time, _out: &mut Vec<f64>) {}

    /// Names of the gauges, unit as suffix.
    fn gauge_names(&self) -> &'static [&'static str] {
        &[]
    }
}

/// What is queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Frame bytes.
    pub bytes: u64,
}

/// What a queue is built from, besides its options.
pub struct QueueContext {
    /// Nominal rate of the link.
    pub rate: Rate,
    /// Largest frame of the scenario, bytes (1514 by default).
    pub mtu: u32,
    /// Its random stream.
    pub rng: Stream,
}

/// The constructor of a queue; options are complete and validated.
pub type Build = fn(&Options, QueueContext) -> Box<dyn Queue>;

/// The queue disciplines of this tree: one line each.
pub const ENTRIES: &[&Entry<Build>] = &[
    &fifo::ENTRY,
    &red::ENTRY,
    &wred::ENTRY,
    &codel::ENTRY,
    &fq_codel::ENTRY,
    &pie::ENTRY,
    &fq_pie::ENTRY,
    &step::ENTRY,
    &cake::ENTRY,
    &dualpi2::ENTRY,
    &pi2::ENTRY,
];

/// Every queue discipline, those of plugins too.
pub static TABLE: Table<Build> = Table::of(ENTRIES);

/// The face of a queue discipline that tc calls by this name.
pub fn face(kind: &str) -> Option<&'static Qdisc> {
    let mut faces = TABLE
        .entries()
        .iter()
        .filter_map(|entry| match entry.kernel {
            Kernel::Qdisc(face) => Some(face),
            _ => None,
        });
    faces.find(|face| face.kinds.contains(&kind))
}
