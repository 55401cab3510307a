//! Receives every drop and every mark in chronological order, each with its cause.

use std::sync::Arc;

use tailback_record::{Cause, Effect, Meter, Seen};

use crate::capture::PacketEvent;
use crate::packet::{Ecn, Packet};
use crate::units::Time;

/// Receives every drop and mark with its cause, in chronological order. Passes drops and marks to
/// the link's [`Meter`] and to the capture of the link's packets.
pub struct Sink {
    /// The counters of the link.
    pub meter: Meter,
    /// When the backlog last changed, or the end of the warm-up, whichever is later.
    since: Time,
    /// The packet that the link is sending: its frame length, and the start and end of its
    /// transmission. Used for `count_in_service`.
    service: Option<(u16, Time, Time)>,
    capture: Option<Box<Capture>>,
    /// The first flow number whose dropped packets are recorded. From this number on, flow numbers
    /// belong to entries of `[[programs]]`, and then to connections.
    first_noted: u32,
    /// The first flow number of connections. Later connections reuse the flow numbers of earlier
    /// connections.
    first_slot: u32,
    /// The flow numbers of connections whose packets were dropped since the last
    /// [`Sink::take_gone`], one for each packet.
    gone: Vec<u32>,
    /// Packets of `[[programs]]` entries that were dropped since the last [`Sink::take_lost`].
    lost: Vec<Lost>,
    /// The link may split packets of joined segments (GSO). For each flow number: how many packets
    /// such splits have added since the last [`Sink::take_split`]. The list is empty if the link
    /// splits no packets.
    split: Vec<u64>,
}

/// A dropped packet of a `[[programs]]` entry.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// The packet.
    pub packet: Packet,
    /// Why it was dropped.
    pub cause: Cause,
    /// Time of the drop.
    pub at: Time,
}

/// A record of every packet at this link since the last [`Sink::take_packets`].
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
    /// Creates a sink whose counts begin at the end of the warm-up. `owners` contains the owner of
    /// each flow number ([`crate::plan::Plan::owners`]). An owner is a flow, or a connection of a
    /// traffic source.
    pub fn of(owners: Arc<[u32]>, warmup: Time) -> Sink {
        Sink {
            meter: Meter::new(owners, warmup.ns()),
            since: warmup,
            service: None,
            capture: None,
            first_noted: u32::MAX,
            first_slot: u32::MAX,
            gone: Vec::new(),
            lost: Vec::new(),
            split: Vec::new(),
        }
    }

    /// Creates a sink for this many flows.
    pub fn new(flows: usize, warmup: Time) -> Sink {
        Sink::of((0..flows as u32).collect(), warmup)
    }

    /// Starts to record dropped packets of `[[programs]]` entries ([`Sink::take_lost`]) and of
    /// connections ([`Sink::take_gone`]). The flow numbers of the entries begin at `first_program`,
    /// and those of the connections begin at `first_slot`.
    pub fn note_dropped(&mut self, first_program: u32, first_slot: u32) {
        self.first_noted = first_program;
        self.first_slot = first_slot;
    }

    /// Starts to count the packets that splitting adds. `flows` is the number of flow numbers.
    pub fn count_splits(&mut self, flows: usize) {
        self.split = vec![0; flows];
    }

    /// Counts the packets that splitting one packet of a flow has added.
    pub fn split(&mut self, flow: u32, more: u32) {
        self.split[flow as usize] += u64::from(more);
    }

    /// Returns and clears the number of packets that splitting has added to a flow.
    pub fn take_split(&mut self, flow: u32) -> u64 {
        self.split.get_mut(flow as usize).map_or(0, std::mem::take)
    }

    /// Returns the number of packets that splitting has added to all flows since
    /// [`Sink::take_split`] last cleared the numbers.
    pub fn packets_split(&self) -> u64 {
        self.split.iter().sum()
    }

    /// Returns and clears the records of dropped packets of `[[programs]]` entries.
    pub fn take_lost(&mut self) -> std::vec::Drain<'_, Lost> {
        self.lost.drain(..)
    }

    /// Returns the flow number of each connection's packet that was dropped since the last call,
    /// one entry for each packet. Clears the list.
    pub fn take_gone(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.gone)
    }

    /// Reuses the memory of a list that came from [`Sink::take_gone`], so that the next records
    /// need no allocation.
    pub fn reuse_gone(&mut self, mut gone: Vec<u32>) {
        gone.clear();
        self.gone = gone;
    }

    /// Starts to record every packet. `link` is the number that identifies this link in the
    /// records.
    pub fn record_packets(&mut self, link: u32) {
        let packets = Vec::new();
        self.capture = Some(Box::new(Capture { link, packets }));
    }

    /// Stops recording packets, and discards the records.
    pub fn stop_recording_packets(&mut self) {
        self.capture = None;
    }

    /// Appends the records of packets to `out`, and clears the records.
    pub fn take_packets(&mut self, out: &mut Vec<PacketEvent>) {
        if let Some(capture) = &mut self.capture {
            out.append(&mut capture.packets);
        }
    }

    /// Returns how many packets are recorded.
    pub fn recorded_packets(&self) -> usize {
        let capture = self.capture.as_ref();
        capture.map_or(0, |capture| capture.packets.len())
    }

    /// Reports that a packet is dropped. The packet was in the queue or has just been passed to
    /// `enqueue`.
    #[inline(never)] // so that a queue saves registers only when it drops
    pub fn drop(&mut self, packet: &Packet, cause: Cause, now: Time) {
        debug_assert!(cause.is_drop());
        self.note_backlog(now);
        let len = u32::from(packet.len);
        self.meter.drop(packet.flow, len, cause, now.ns());
        self.dropped(packet, cause, now);
    }

    /// Reports that a packet was lost after it had left the queue.
    pub fn lose(&mut self, packet: &Packet, cause: Cause, now: Time) {
        self.meter.count(packet.flow, cause, now.ns());
        self.dropped(packet, cause, now);
    }

    fn dropped(&mut self, packet: &Packet, cause: Cause, now: Time) {
        if packet.flow >= self.first_noted {
            self.note(packet, cause, now);
        }
        if let Some(capture) = &mut self.capture {
            capture.add(packet, Seen::Dropped(cause), now);
        }
    }

    fn note(&mut self, packet: &Packet, cause: Cause, at: Time) {
        if packet.flow >= self.first_slot {
            self.gone.push(packet.flow);
        } else {
            let packet = *packet;
            self.lost.push(Lost { packet, cause, at });
        }
    }

    /// Marks a packet with CE, or with ECT(1) if the cause is an SCE mark. Counts the mark.
    #[inline(never)] // as for `drop`
    pub fn mark(&mut self, packet: &mut Packet, cause: Cause, now: Time) {
        debug_assert!(!cause.is_drop() && packet.ecn.is_capable());
        packet.ecn = match cause.effect() {
            Effect::Sce => Ecn::Ect1,
            Effect::Ce | Effect::Drop => Ecn::Ce,
        };
        self.meter.count(packet.flow, cause, now.ns());
    }

    /// Counts an arriving packet. The link calls this function before `enqueue`.
    #[inline]
    pub fn arrive(&mut self, packet: &Packet, now: Time) {
        self.note_backlog(now);
        self.meter.arrive(u32::from(packet.len), now.ns());
        if let Some(capture) = &mut self.capture {
            capture.add(packet, Seen::Arrived, now);
        }
    }

    /// Counts a packet that leaves the queue. The link calls this function with each packet that
    /// `dequeue` has returned.
    #[inline(always)] // inline, because a link calls it once for every packet
    pub fn forward(&mut self, packet: &Packet, now: Time) {
        self.note_backlog(now);
        let len = u32::from(packet.len);
        self.meter
            .forward(packet.flow, len, packet.stamp.ns(), now.ns());
        if let Some(capture) = &mut self.capture {
            capture.add(packet, Seen::Left, now);
        }
    }

    /// Records the backlog for the time since its last change. If a packet is queued and dropped at
    /// the same time, it has no effect on this record.
    #[inline]
    fn note_backlog(&mut self, now: Time) {
        if now > self.since {
            self.meter.note_backlog(self.meter.backlog());
            self.since = now;
        }
    }

    /// For `count_in_service`: records when the link begins to send a packet and when it ends.
    pub fn occupy(&mut self, packet: &Packet, from: Time, to: Time) {
        self.end_service(Time::NEVER);
        self.service = Some((packet.len, from, to));
    }

    /// Changes the end of the transmission in progress, because the rate of the link has changed.
    pub fn change_end(&mut self, to: Time) {
        if let Some((_, _, end)) = &mut self.service {
            *end = to;
        }
    }

    /// Counts the packet in transmission as backlog until `now`. If the transmission ends before
    /// `now`, counts the packet only until the transmission ends.
    fn end_service(&mut self, now: Time) {
        if let Some((len, from, to)) = self.service.take() {
            let to = to.min(now).max(from);
            self.meter.hold(u32::from(len), from.ns(), to.ns());
        }
    }

    /// Ends the run and returns the counters.
    pub fn finish(mut self, end: Time) -> Meter {
        self.note_backlog(end);
        self.end_service(end);
        self.meter
    }
}
