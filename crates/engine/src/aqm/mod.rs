//! Queue disciplines: the trait, and one file for each.

use tailback_record::{Cause, ClassRecorder, Counts, FlowCounts, Histogram, Series, SeriesId};

use crate::capture::{PacketEvent, Seen};
use crate::packet::{Ecn, Packet};
use crate::registry::kernel::{Kernel, Qdisc};
use crate::registry::{Entry, Options};
use crate::rng::Stream;
use crate::units::{Rate, Time};

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
pub mod step;
pub mod wred;

/// What a queue hands to its link.
#[derive(Clone, Copy, Debug)]
pub enum Dequeue {
    /// The next packet.
    Packet(Packet),
    /// Nothing is queued.
    Empty,
    /// The next packet, of a queue that keeps the link's rate itself: the link
    /// sends it at once and does not ask again before this time.
    Until(Packet, Time),
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
    /// Takes a packet.
    fn enqueue(&mut self, packet: Packet, now: Time, sink: &mut Sink);

    /// Gives the next packet.
    fn dequeue(&mut self, now: Time, sink: &mut Sink) -> Dequeue;

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

/// What a packet's flow says of it: hosts as numbers, the sender's and the
/// receiver's of data, and the DSCP of its packets in either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowInfo {
    /// Number of the host that sends data.
    pub source: u32,
    /// Number of the host that receives it.
    pub destination: u32,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
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

/// Every queue discipline: one line each.
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

/// The face of a queue discipline that tc calls by this name.
pub fn face(kind: &str) -> Option<&'static Qdisc> {
    let mut faces = ENTRIES.iter().filter_map(|entry| match entry.kernel {
        Kernel::Qdisc(face) => Some(face),
        _ => None,
    });
    faces.find(|face| face.kinds.contains(&kind))
}

/// Where every drop and mark goes, with its cause; it also keeps the backlog
/// and its integral, so that occupancy is the same measurement for every queue.
pub struct Sink {
    /// Counters for each flow and traffic source, since the warm-up.
    pub flows: Vec<FlowCounts>,
    /// Counters of all packets, since the warm-up.
    pub counts: Counts,
    /// Sojourn times of forwarded packets since the warm-up, ns.
    pub delay: Histogram,
    /// Forwarded since the warm-up.
    pub packets: u64,
    /// Forwarded since the warm-up, frame bytes.
    pub bytes: u64,
    /// Largest backlog since the warm-up, bytes.
    pub backlog_max: u64,
    backlog: u64,
    backlog_packets: u64,
    backlog_since: Time,
    backlog_byte_ns: u128,
    /// Frame length of the packet in transmission and its slot (`count_in_service`).
    service: Option<(u16, Time, Time)>,
    warmup: Time,
    events: Option<EventRows>,
    taps: Option<Box<Taps>>,
    /// Drops from the start of the run, by number in packets: where places of
    /// connections are used again.
    gone: Vec<u64>,
}

/// What few runs ask for, behind one test per packet.
#[derive(Default)]
struct Taps {
    capture: Option<Capture>,
    classes: Option<ClassRecorder>,
}

/// Every packet at this link since the records were last taken.
struct Capture {
    link: u32,
    packets: Vec<PacketEvent>,
}

impl Capture {
    #[cold]
    fn add(&mut self, packet: &Packet, seen: Seen, time: Time) {
        self.packets.push(PacketEvent {
            time,
            link: self.link,
            seen,
            packet: *packet,
        });
    }
}

impl Taps {
    #[inline(never)]
    fn forward(&mut self, packet: &Packet, now: Time) {
        if let Some(capture) = &mut self.capture {
            capture.add(packet, Seen::Left, now);
        }
        if let Some(classes) = &mut self.classes {
            let delay_ns = now.since(packet.stamp).ns();
            classes.forward(
                packet.flow as usize,
                u32::from(packet.len),
                delay_ns,
                now.ns(),
            );
        }
    }

    #[inline(never)]
    fn count(&mut self, packet: &Packet, cause: Cause, now: Time) {
        if let Some(capture) = &mut self.capture
            && cause.is_drop()
        {
            capture.add(packet, Seen::Dropped(cause), now);
        }
        if let Some(classes) = &mut self.classes {
            classes.count(packet.flow as usize, cause, now.ns());
        }
    }
}

/// Rows of the series file for each drop and mark.
struct EventRows {
    /// Series ids for each flow and cause.
    ids: Vec<[SeriesId; Cause::COUNT]>,
    rows: Series,
}

impl Sink {
    /// A sink for so many flows and sources that counts from `warmup` on.
    pub fn new(flows: usize, warmup: Time) -> Sink {
        Sink {
            flows: vec![FlowCounts::default(); flows],
            counts: Counts::default(),
            delay: Histogram::new(),
            packets: 0,
            bytes: 0,
            backlog_max: 0,
            backlog: 0,
            backlog_packets: 0,
            backlog_since: warmup,
            backlog_byte_ns: 0,
            service: None,
            warmup,
            events: None,
            taps: None,
            gone: Vec::new(),
        }
    }

    /// Packets bear numbers of places for connections too, each of which belongs to a
    /// source ([`crate::plan::Plan::owners`]). To be called after [`Sink::record_events`].
    pub fn add_places(&mut self, owners: &[u32]) {
        if owners.len() > self.flows.len() {
            self.gone = vec![0; owners.len()];
        }
        if let Some(events) = &mut self.events {
            let places = &owners[events.ids.len()..];
            let ids = places.iter().map(|owner| events.ids[*owner as usize]);
            let ids: Vec<_> = ids.collect();
            events.ids.extend(ids);
        }
        self.flows.resize(owners.len(), FlowCounts::default());
    }

    /// Packets with this number that were dropped since the start of the run.
    pub fn gone(&self, number: u32) -> u64 {
        self.gone.get(number as usize).copied().unwrap_or_default()
    }

    /// Records every drop and mark as a row of the series file: quantity
    /// `drop.<cause>` or `mark.<cause>`, value the backlog in bytes.
    pub fn record_events(&mut self, flows: &[&str], link: &str) {
        let mut rows = Series::default();
        let ids = flows
            .iter()
            .map(|flow| {
                Cause::ALL.map(|cause| {
                    let kind = if cause.is_drop() { "drop" } else { "mark" };
                    rows.id(Some(flow), Some(link), &format!("{kind}.{}", cause.name()))
                })
            })
            .collect();
        self.events = Some(EventRows { ids, rows });
    }

    /// Records every packet, as one of this link.
    pub fn record_packets(&mut self, link: u32) {
        let packets = Vec::new();
        self.taps().capture = Some(Capture { link, packets });
    }

    /// Counts by class of flow as well, if there is anything to count.
    pub fn record_classes(&mut self, classes: Option<ClassRecorder>) {
        if classes.is_some() {
            self.taps().classes = classes;
        }
    }

    /// Takes what was counted by class.
    pub fn take_classes(&mut self) -> Option<ClassRecorder> {
        self.taps.as_mut().and_then(|taps| taps.classes.take())
    }

    fn taps(&mut self) -> &mut Taps {
        self.taps.get_or_insert_default()
    }

    /// Moves what was recorded of packets to the end of `out`.
    pub fn take_packets(&mut self, out: &mut Vec<PacketEvent>) {
        if let Some(capture) = self.taps.as_mut().and_then(|taps| taps.capture.as_mut()) {
            out.append(&mut capture.packets);
        }
    }

    /// How many records of packets there are.
    pub fn recorded_packets(&self) -> usize {
        let capture = self.taps.as_ref().and_then(|taps| taps.capture.as_ref());
        capture.map_or(0, |capture| capture.packets.len())
    }

    /// Takes the recorded events.
    pub fn take_events(&mut self) -> Series {
        self.events.take().map_or_else(Series::default, |e| e.rows)
    }

    /// Reports that a packet, queued or just given to `enqueue`, is gone.
    #[inline]
    pub fn drop(&mut self, packet: &Packet, cause: Cause, now: Time) {
        debug_assert!(cause.is_drop());
        self.leave(packet, now);
        self.count(packet, cause, now);
    }

    /// Marks a packet CE, or ECT(1) for [`Cause::SceMark`], and counts it.
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet, cause: Cause, now: Time) {
        debug_assert!(!cause.is_drop() && packet.ecn.is_capable());
        packet.ecn = if cause == Cause::SceMark {
            Ecn::Ect1
        } else {
            Ecn::Ce
        };
        self.count(packet, cause, now);
    }

    /// Counts a drop or mark that does not concern the backlog (a loss behind the queue).
    pub fn count(&mut self, packet: &Packet, cause: Cause, now: Time) {
        if now >= self.warmup {
            self.counts.add(cause);
            self.flows[packet.flow as usize].counts.add(cause);
        }
        if cause.is_drop()
            && let Some(gone) = self.gone.get_mut(packet.flow as usize)
        {
            *gone += 1;
        }
        if let Some(events) = &mut self.events {
            let id = events.ids[packet.flow as usize][cause as usize];
            events.rows.push(id, now.ns(), self.backlog as f64);
        }
        if let Some(taps) = &mut self.taps {
            taps.count(packet, cause, now);
        }
    }

    /// The link calls this before `enqueue`.
    #[inline]
    pub fn arrive(&mut self, packet: &Packet, now: Time) {
        self.account(now);
        self.backlog += u64::from(packet.len);
        self.backlog_packets += 1;
        if let Some(taps) = &mut self.taps
            && let Some(capture) = &mut taps.capture
        {
            capture.add(packet, Seen::Arrived, now);
        }
        if now >= self.warmup {
            self.flows[packet.flow as usize].arrived += 1;
            // A packet that the queue takes only to drop is not backlog yet:
            // the maximum is noted when the next event finds it still there.
        }
    }

    /// The link calls this with each packet that `dequeue` returned.
    #[inline]
    pub fn forward(&mut self, packet: &Packet, now: Time) {
        self.leave(packet, now);
        if let Some(taps) = &mut self.taps {
            taps.forward(packet, now);
        }
        if now >= self.warmup {
            self.packets += 1;
            self.bytes += u64::from(packet.len);
            self.delay.record(now.since(packet.stamp).ns());
        }
    }

    #[inline]
    fn leave(&mut self, packet: &Packet, now: Time) {
        self.account(now);
        self.backlog -= u64::from(packet.len);
        self.backlog_packets -= 1;
    }

    /// Adds a packet in transmission to the occupancy (`count_in_service`).
    pub fn occupy(&mut self, packet: &Packet, from: Time, to: Time) {
        self.end_service(Time::NEVER);
        self.service = Some((packet.len, from, to));
    }

    /// Adds the slot of the last packet, as far as it lies before `now`.
    fn end_service(&mut self, now: Time) {
        if let Some((len, from, to)) = self.service.take() {
            let time = to.min(now).since(from.max(self.warmup)).ns();
            self.backlog_byte_ns += u128::from(len) * u128::from(time);
        }
    }

    /// The run is over: completes the integral of the backlog.
    pub fn finish(&mut self, end: Time) {
        self.account(end);
        self.end_service(end);
    }

    /// Adds the time since the last change to the integral.
    #[inline]
    pub fn account(&mut self, now: Time) {
        if now > self.backlog_since {
            let elapsed = (now - self.backlog_since).ns();
            self.backlog_byte_ns += u128::from(self.backlog) * u128::from(elapsed);
            self.backlog_max = self.backlog_max.max(self.backlog);
            self.backlog_since = now;
        }
    }

    /// Integral of the backlog since the warm-up up to the last change, byte x ns.
    pub fn backlog_byte_ns(&self) -> u128 {
        self.backlog_byte_ns
    }

    /// The backlog as the link sees it; equal to [`Queue::backlog`] between calls.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.backlog_packets,
            bytes: self.backlog,
        }
    }
}
