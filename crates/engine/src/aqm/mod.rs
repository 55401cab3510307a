//! Queue disciplines: their trait, and one file for each discipline.

use crate::packet::{Ecn, FlowInfo, Packet};
use crate::registry::kernel::{Kernel, Qdisc};
use crate::registry::{Entry, Options, Table, find};
use crate::rng::Stream;
use crate::units::{Rate, Time};

mod backlogs;
pub mod cake;
pub mod codel;
pub mod dualpi2;
pub mod fair;
pub mod fifo;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod pi2;
pub mod pie;
pub mod red;
pub mod sce;
mod sink;
pub mod step;
pub mod wred;

pub use sink::{Lost, Sink};
pub use tailback_record::Cause;

/// Name of the queue option with which the link splits packets of joined segments (GSO) before it
/// passes them to the queue.
pub const SPLITS: &str = "split_gso";

/// The result of [`Queue::dequeue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeue {
    /// The queue has delivered the next packet.
    Packet,
    /// The queue is empty.
    Empty,
    /// The queue has delivered the next packet, and itself shapes traffic to the link's rate. The
    /// link sends the packet at once and does not request another packet before the time in this
    /// variant.
    Until(Time),
    /// Packets are queued, but the queue itself shapes traffic and lets no packet leave before the
    /// time in this variant.
    NotBefore(Time),
}

/// A queue discipline.
///
/// The link sets `packet.stamp` to the time of arrival before `enqueue`. A packet's sojourn time at
/// `now` is `now - stamp`. For every packet that `enqueue` receives, either `dequeue` returns the
/// packet once, or the queue reports it to `sink.drop` once. `sink.mark` marks a packet and counts
/// the mark.
pub trait Queue: Send {
    /// Queues or drops a packet. If the queue marks the packet, the mark must come before the queue
    /// copies the packet.
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink);

    /// Writes the next packet that may leave to `next`. The previous content of `next` does not
    /// matter. Because the queue writes to `next`, the packet is copied only once on its way from
    /// the queue to the link.
    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue;

    /// If a packet may leave, returns the next packet by value. Only tests call this function.
    fn take(&mut self, now: Time, sink: &mut Sink) -> Option<Packet> {
        let mut next = Packet::new(0, 0, Ecn::NotEct);
        match self.dequeue(now, sink, &mut next) {
            Dequeue::Packet | Dequeue::Until(_) => Some(next),
            Dequeue::Empty | Dequeue::NotBefore(_) => None,
        }
    }

    /// Returns the packets at these positions behind the head, the farthest first. Returns `None`
    /// if the queue cannot find these packets. The link uses these packets only to prefetch memory.
    fn ahead(&self, _places: [usize; 3]) -> Option<[&Packet; 3]> {
        None
    }

    /// Called at time 0, and then at each time that the previous call returned. A queue without a
    /// timer returns `None`.
    fn timer(&mut self, _now: Time, _sink: &mut Sink) -> Option<Time> {
        None
    }

    /// Called when the link's rate has changed, and once before the first packet.
    fn rate_changed(&mut self, _rate: Rate, _now: Time) {}

    /// Returns the names of the options that may change while the queue holds packets. A change
    /// must not change the unit of an option or the set of sampled values (gauges).
    fn changeable(&self) -> &'static [&'static str] {
        &[]
    }

    /// Changes options during a run, as `tc qdisc change` does. `options` holds every option. Only
    /// options that [`Queue::changeable`] returns may differ. Packets stay in the queue, unless a
    /// limit is lowered.
    fn change(&mut self, _options: &Options, _setting: &Setting, _sink: &mut Sink) {}

    /// Sets how many bytes the link adds to each frame. A queue that itself shapes to the link's
    /// rate needs this number. Called before the first packet.
    fn link_overhead(&mut self, _bytes: i32) {}

    /// Declares that packets may consist of joined segments (GSO, `path.offloads`), and that the
    /// link does not split these packets before the queue. A queue that computes lengths of frames
    /// needs this information. Called before the first packet.
    fn expect_joined(&mut self) {}

    /// Describes each flow and traffic source, in the order of their flow numbers. A queue that
    /// distinguishes hosts or classes needs these descriptions. Called before the first packet.
    fn flows(&mut self, _flows: &[FlowInfo]) {}

    /// Returns the number of packets and bytes queued.
    fn backlog(&self) -> Backlog;

    /// Appends internal values for the time series, such as a drop probability, in the order of
    /// [`Queue::gauge_names`].
    fn gauges(&self, _now: Time, _out: &mut Vec<f64>) {}

    /// Returns the names of the gauges (sampled internal values). Each name ends with the unit.
    fn gauge_names(&self) -> &'static [&'static str] {
        &[]
    }
}

/// How much data is in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Frame bytes.
    pub bytes: u64,
}

/// Data about the link, which a queue's constructor gets in addition to the options.
pub struct QueueContext {
    /// Nominal rate of the link.
    pub rate: Rate,
    /// Length of the largest frame in the scenario, in bytes (1514 by default).
    pub mtu: u32,
    /// The queue's random stream.
    pub rng: Stream,
}

/// Data about the link and the run, which a queue gets when its options change.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The current rate of the link.
    pub rate: Rate,
    /// Length of the largest frame in the scenario, in bytes.
    pub mtu: u32,
    /// The current time.
    pub now: Time,
}

/// Dequeues and drops packets while the queue is above its limit. Called after a limit has been
/// lowered. In Linux, disciplines that have a queue for each flow also drop packets by dequeuing
/// them. All other disciplines drop packets directly from the head ([`fifo::Packets::shrink`]).
fn shrink<Q: Queue>(queue: &mut Q, now: Time, sink: &mut Sink, above: impl Fn(&Q) -> bool) {
    let mut packet = Packet::new(0, 0, Ecn::NotEct);
    while above(queue) {
        match queue.dequeue(now, sink, &mut packet) {
            Dequeue::Packet | Dequeue::Until(_) => sink.drop(&packet, Cause::Overflow, now),
            Dequeue::Empty | Dequeue::NotBefore(_) => return,
        }
    }
}

/// The constructor of a queue. The options that it receives are complete and validated.
pub type Build = fn(&Options, QueueContext) -> Box<dyn Queue>;

/// The queue disciplines built into tailback. Add a line here for each new discipline.
pub const ENTRIES: &[&Entry<Build>] = &[
    &fifo::ENTRY,
    &red::ENTRY,
    &wred::ENTRY,
    &codel::ENTRY,
    &fq::ENTRY,
    &fq_codel::ENTRY,
    &pie::ENTRY,
    &fq_pie::ENTRY,
    &step::ENTRY,
    &cake::ENTRY,
    &dualpi2::ENTRY,
    &pi2::ENTRY,
];

/// Every queue discipline, including those of plugins.
pub static TABLE: Table<Build> = Table::of(ENTRIES);

/// Returns the names of the options that may change during a run, for a queue discipline with these
/// options.
pub fn changeable(name: &str, options: &Options) -> &'static [&'static str] {
    let Some(entry) = find(TABLE.entries(), name) else {
        return &[];
    };
    let context = QueueContext {
        rate: Rate(1_000_000),
        mtu: 1_514,
        rng: Stream::new(0, name, "queue"),
    };
    (entry.build)(options, context).changeable()
}

/// Returns how the kernel engine uses tc to configure the queue discipline with this name.
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
