//! Where a queue reports to.

use std::sync::Arc;

use tailback_record::{Cause, Effect, Meter, Seen};

use crate::capture::PacketEvent;
use crate::packet::{Ecn, Packet};
use crate::units::Time;

/// Where every drop and mark goes, with its cause: a link's [`Meter`], told in
/// the order of time, and the capture of its packets.
pub struct Sink {
    /// What is counted.
    pub meter: Meter,
    /// When the backlog last changed, from the warm-up on.
    since: Time,
    /// Frame length of the packet in transmission and its slot (`count_in_service`).
    service: Option<(u16, Time, Time)>,
    capture: Option<Box<Capture>>,
    /// Numbers from which on those of connections are, which are used again.
    first_slot: u32,
    /// Each packet of such a connection that was dropped, until it is asked for.
    gone: Vec<u32>,
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

impl Sink {
    /// A sink for packets with these numbers, of flows and of connections of sources
    /// ([`crate::plan::Plan::owners`]), that counts from `warmup` on.
    pub fn of(owners: Arc<[u32]>, warmup: Time) -> Sink {
        Sink {
            meter: Meter::new(owners, warmup.ns()),
            since: warmup,
            service: None,
            capture: None,
            first_slot: u32::MAX,
            gone: Vec::new(),
        }
    }

    /// A sink for so many flows.
    pub fn new(flows: usize, warmup: Time) -> Sink {
        Sink::of((0..flows as u32).collect(), warmup)
    }

    /// Notes what is gone of these numbers and those after them ([`Sink::take_gone`]).
    pub fn note_gone(&mut self, first_slot: u32) {
        self.first_slot = first_slot;
    }

    /// The number of each such packet that was dropped since this was last asked.
    pub fn take_gone(&mut self) -> std::vec::Drain<'_, u32> {
        self.gone.drain(..)
    }

    /// Records every packet, as one of this link.
    pub fn record_packets(&mut self, link: u32) {
        let packets = Vec::new();
        self.capture = Some(Box::new(Capture { link, packets }));
    }

    /// Moves what was recorded of packets to the end of `out`.
    pub fn take_packets(&mut self, out: &mut Vec<PacketEvent>) {
        if let Some(capture) = &mut self.capture {
            out.append(&mut capture.packets);
        }
    }

    /// How many records of packets there are.
    pub fn recorded_packets(&self) -> usize {
        let capture = self.capture.as_ref();
        capture.map_or(0, |capture| capture.packets.len())
    }

    /// Reports that a packet, queued or just given to `enqueue`, is gone.
    #[inline(never)] // a queue that calls it saves registers only where it does
    pub fn drop(&mut self, packet: &Packet, cause: Cause, now: Time) {
        debug_assert!(cause.is_drop());
        self.note_backlog(now);
        let len = u32::from(packet.len);
        self.meter.drop(packet.flow, len, cause, now.ns());
        self.dropped(packet, cause, now);
    }

    /// Reports that a packet was lost behind the queue.
    pub fn lose(&mut self, packet: &Packet, cause: Cause, now: Time) {
        self.meter.count(packet.flow, cause, now.ns());
        self.dropped(packet, cause, now);
    }

    fn dropped(&mut self, packet: &Packet, cause: Cause, now: Time) {
        if packet.flow >= self.first_slot {
            self.gone.push(packet.flow);
        }
        if let Some(capture) = &mut self.capture {
            capture.add(packet, Seen::Dropped(cause), now);
        }
    }

    /// Marks a packet CE, or ECT(1) where the cause is one of SCE, and counts it.
    #[inline(never)] // as `drop`
    pub fn mark(&mut self, packet: &mut Packet, cause: Cause, now: Time) {
        debug_assert!(!cause.is_drop() && packet.ecn.is_capable());
        packet.ecn = match cause.effect() {
            Effect::Sce => Ecn::Ect1,
            Effect::Ce | Effect::Drop => Ecn::Ce,
        };
        self.meter.count(packet.flow, cause, now.ns());
    }

    /// The link calls this before `enqueue`.
    #[inline]
    pub fn arrive(&mut self, packet: &Packet, now: Time) {
        self.note_backlog(now);
        self.meter.arrive(u32::from(packet.len), now.ns());
        if let Some(capture) = &mut self.capture {
            capture.add(packet, Seen::Arrived, now);
        }
    }

    /// The link calls this with each packet that `dequeue` returned.
    #[inline(always)] // a link calls it at one place for every packet
    pub fn forward(&mut self, packet: &Packet, now: Time) {
        self.note_backlog(now);
        let len = u32::from(packet.len);
        self.meter
            .forward(packet.flow, len, packet.stamp.ns(), now.ns());
        if let Some(capture) = &mut self.capture {
            capture.add(packet, Seen::Left, now);
        }
    }

    /// Notes what was queued until now. A packet that the queue takes only to drop is
    /// not backlog: what counts is what some time has passed with.
    #[inline]
    fn note_backlog(&mut self, now: Time) {
        if now > self.since {
            self.meter.note_backlog(self.meter.backlog());
            self.since = now;
        }
    }

    /// Adds a packet in transmission to the occupancy (`count_in_service`).
    pub fn occupy(&mut self, packet: &Packet, from: Time, to: Time) {
        self.end_service(Time::NEVER);
        self.service = Some((packet.len, from, to));
    }

    /// Adds the slot of the last packet, as far as it lies before `now`.
    fn end_service(&mut self, now: Time) {
        if let Some((len, from, to)) = self.service.take() {
            let to = to.min(now).max(from);
            self.meter.hold(u32::from(len), from.ns(), to.ns());
        }
    }

    /// The run is over: what was counted.
    pub fn finish(mut self, end: Time) -> Meter {
        self.note_backlog(end);
        self.end_service(end);
        self.meter
    }
}
