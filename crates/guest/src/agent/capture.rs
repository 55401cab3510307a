//! Captures packets before and after the queues, and at the senders. From these captures, the agent
//! computes sojourn times, drops, marks and round-trip times.

use std::collections::HashSet;
use std::io;
use std::net::IpAddr;

use tailback_engine::impairments::Discipline;
use tailback_guest::job::{Flow, Job, Link};
use tailback_record::{Cause, Ended, Histogram, Meter, PacketCount, ProgramOutcome, Series};

use super::frame::{self, Frame, flag};
use super::gates::Gates;
use super::packets::{Head, Packets};
use super::queue::{Packet, Queue};
use super::ring::{Captured, PROGRAM_SNAPLEN, Ring, SNAPLEN, Which};
use super::rtt::RttTracker;
use super::setup::Namespaces;
use super::sys;
use super::taps::{Owner, Taps};
use super::wire::{LossTap, OnWire, Wire};

/// Longest time between two reads of the captures, in ns.
const DRAIN_NS: u64 = 50_000_000;

/// Smallest and largest capacity of a ring, in packets. The smaller a ring is, the better it fits
/// into the processor's cache, and the fewer pages must be mapped.
const RING_PACKETS: [usize; 2] = [1 << 13, 1 << 16];

/// Mean frame size that is assumed to compute the capacity of rings, in bytes. The assumed size is
/// a sixth of the size of a full frame, so the rings have spare capacity for bursts.
const SMALL_FRAME: u64 = 256;

/// Returns how many packets can pass the fastest link within [`DRAIN_NS`]. The number is the sum
/// for both directions.
fn passing(job: &Job) -> u64 {
    let rates = job.links.iter().flat_map(|link| &link.rates);
    let fastest = rates.map(|&(_, rate)| rate).max().unwrap_or(u64::MAX);
    let bytes = (fastest / 8).saturating_mul(DRAIN_NS) / 1_000_000_000;
    2 * bytes / SMALL_FRAME
}

/// Returns the capacity of a ring: the number of packets that can pass the fastest link between two
/// reads. If the job has programs, returns the largest capacity, because the number of the
/// programs' packets is unknown.
fn ring_packets(job: &Job) -> usize {
    let [least, most] = RING_PACKETS;
    if !job.programs.is_empty() {
        return most;
    }
    (passing(job) as usize).clamp(least, most)
}

/// Returns the time between two reads of the captures, in ns. The result is [`DRAIN_NS`], or less
/// if a ring cannot hold the packets that arrive within that time.
pub fn drain_ns(job: &Job) -> u64 {
    let [_, most] = RING_PACKETS;
    match passing(job) {
        passing if passing <= most as u64 => DRAIN_NS,
        passing => (DRAIN_NS * most as u64 / passing).max(DRAIN_NS / 1000),
    }
}

struct LinkTap {
    ring: Ring,
    /// Interface index of the device after the queue.
    out: i32,
    /// The capture before the scheduled marks and drops of the link, if the link has any.
    schedule: Option<ScheduleTap>,
    /// Whether the queue splits packets that consist of joined segments.
    splits: bool,
    /// The capture on the wire after the queue. This capture is present only if the wire loses
    /// packets.
    loss: Option<LossTap>,
}

struct ScheduleTap {
    ring: Ring,
    schedule: Schedule,
}

/// The numbers of the data packets that a link's schedule marks or drops. Packets are counted as in
/// the kernel module.
struct Schedule {
    marks: HashSet<u64>,
    drops: HashSet<u64>,
    /// Number of data packets counted so far.
    seen: u64,
}

impl Schedule {
    /// Counts a packet. Returns whether the schedule marks or drops the packet. Returns `None` if
    /// the schedule does neither.
    fn cause(&mut self, frame: &Frame) -> Option<Cause> {
        // Like the simulator, the kernel module counts only TCP packets with payload.
        if !frame.is_tcp() || frame.payload == 0 {
            return None;
        }
        self.seen += 1;
        if self.drops.contains(&self.seen) {
            Some(Cause::Scheduled)
        } else if self.marks.contains(&self.seen) {
            Some(match frame.ecn {
                0 => Cause::Scheduled,
                _ => Cause::ScheduledMark,
            })
        } else {
            None
        }
    }
}

impl LinkTap {
    fn open(
        link: &Link,
        namespaces: &Namespaces,
        open_ring: impl Fn(Which) -> io::Result<Ring>,
    ) -> io::Result<Self> {
        let enter = |n: usize| namespaces.enter(n).map_err(io::Error::other);
        enter(link.namespace)?;
        let ring = open_ring(Which::Both)?;
        let out = sys::device_index(&link.device)?;
        let schedule = match link.schedule_namespace {
            None => None,
            Some(namespace) => {
                enter(namespace)?;
                Some(ScheduleTap {
                    ring: open_ring(Which::Incoming)?,
                    schedule: Schedule {
                        marks: link.scheduled_marks.iter().copied().collect(),
                        drops: link.scheduled_drops.iter().copied().collect(),
                        seen: 0,
                    },
                })
            }
        };
        let loss = match link.loss_namespace {
            None => None,
            Some(namespace) => {
                enter(namespace)?;
                let kind = link.loss_kind.as_deref();
                let discipline = kind.and_then(Discipline::named).unwrap_or_default();
                Some(LossTap {
                    ring: open_ring(Which::Both)?,
                    out: sys::device_index("out")?,
                    wire: Wire::new(discipline),
                })
            }
        };
        Ok(LinkTap {
            ring,
            out,
            schedule,
            splits: link.splits,
            loss,
        })
    }
}

fn queues_of(job: &Job) -> Vec<Queue> {
    let owners = job.owners();
    let queues = job.links.iter().map(|link| {
        let mut meter = Meter::new(owners.clone(), job.warmup_ns);
        if job.record.events {
            meter.record_events();
        }
        let (end_ns, interval_ns) = (job.duration_ns, job.record.statistics_ns);
        meter.record_classes(link.classes.clone(), end_ns, interval_ns);
        Queue::new(link, owners.len(), job.warmup_ns, meter)
    });
    queues.collect()
}

/// A flow's segments in flight and its RTT samples.
#[derive(Default)]
struct FlowTap {
    segments: RttTracker,
    rtt: Histogram,
}

/// All captures of a run.
pub struct Captures {
    links: Vec<LinkTap>,
    pub queues: Vec<Queue>,
    senders: Vec<Ring>,
    /// The namespace in which each ring of `senders` captures.
    sender_namespaces: Vec<usize>,
    flows: Vec<FlowTap>,
    taps: Option<Taps>,
    /// The rules by which the kernel accepts or drops frames from hosts of programs.
    gates: Gates,
    /// For each link, the namespaces of its schedule, its queue and its wire.
    places: Vec<[usize; 3]>,
    /// The port of the first flow. The following ports belong to the other flows, and then to the
    /// sources.
    first_port: u16,
    plan: Vec<Flow>,
    n_lanes: usize,
    /// For each port, whether the port belongs to a source's server.
    servers: Vec<bool>,
    /// Start of the run on the captures' clock, in ns.
    origin_ns: u64,
    warmup_ns: u64,
    end_ns: u64,
    /// Number of packets captured before and after the queues.
    pub captured: u64,
    room: usize,
    on: bool,
    /// Number of packets that the captures at the hosts of programs missed because a ring was full.
    lost_at_hosts: u64,
    packets: Option<Packets>,
    /// The error because of which the agent stopped writing the packet file, if any.
    broken: Option<io::Error>,
}

impl Captures {
    pub fn open(job: &Job, namespaces: &Namespaces) -> io::Result<Captures> {
        let mut captures = Captures {
            links: Vec::new(),
            queues: queues_of(job),
            senders: Vec::new(),
            sender_namespaces: Vec::new(),
            flows: job.flows.iter().map(|_| FlowTap::default()).collect(),
            taps: Taps::new(job),
            gates: Gates::of(job, namespaces).map_err(io::Error::other)?,
            places: (job.links.iter())
                .map(|link| {
                    let others = [link.schedule_namespace, link.loss_namespace];
                    let [schedule, wire] = others.map(|place| place.unwrap_or(usize::MAX));
                    [schedule, link.namespace, wire]
                })
                .collect(),
            first_port: job
                .flows
                .iter()
                .map(|f| f.port)
                .chain(job.sources.iter().map(|s| s.port))
                .min()
                .unwrap_or(0),
            plan: job.flows.clone(),
            n_lanes: job.owners().len(),
            servers: (job.flows.iter().map(|_| false))
                .chain(job.sources.iter().map(|s| s.connections.is_some()))
                .collect(),
            origin_ns: 0,
            warmup_ns: job.warmup_ns,
            end_ns: job.duration_ns,
            captured: 0,
            room: ring_packets(job),
            on: job.record.captures,
            lost_at_hosts: 0,
            packets: Packets::create(job)?,
            broken: None,
        };
        if captures.packets.is_some() {
            for queue in &mut captures.queues {
                queue.lost = Some(Vec::new());
            }
        }
        let mut snaplen = SNAPLEN;
        if let Some(taps) = &mut captures.taps {
            // Open the captures at hosts of programs even if queues are not captured. Programs are
            // measured only by these captures.
            taps.open(job, namespaces)?;
            snaplen = PROGRAM_SNAPLEN;
        }
        if !captures.on {
            return Ok(captures);
        }
        let room = captures.room;
        let open_ring = |which| Ring::new(which, room, snaplen, job.offloads);
        for link in &job.links {
            let tap = LinkTap::open(link, namespaces, open_ring)?;
            captures.links.push(tap);
        }
        captures.open_senders(job, namespaces, open_ring)?;
        Ok(captures)
    }

    fn open_senders(
        &mut self,
        job: &Job,
        namespaces: &Namespaces,
        open_ring: impl Fn(Which) -> io::Result<Ring>,
    ) -> io::Result<()> {
        let mut senders: Vec<usize> = job.flows.iter().map(|f| f.sender).collect();
        senders.sort_unstable();
        senders.dedup();
        for namespace in senders {
            namespaces.enter(namespace).map_err(io::Error::other)?;
            self.senders.push(open_ring(Which::Incoming)?);
            self.sender_namespaces.push(namespace);
        }
        Ok(())
    }

    pub fn begin(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
    }

    /// Returns the rings in the namespaces of senders. A packet in such a ring has arrived at a
    /// sender.
    pub fn sender_rings(&self) -> impl Iterator<Item = (usize, i32)> {
        self.sender_namespaces
            .iter()
            .copied()
            .zip(self.senders.iter().map(Ring::fd))
    }

    pub fn drain(&mut self, now_ns: u64) {
        let (links, queues, _, mut sorter) = self.sorter();
        for (index, (tap, queue)) in links.iter_mut().zip(queues).enumerate() {
            if let Some(tap) = &mut tap.schedule {
                sorter.drain_schedule(index, tap, queue);
            }
            sorter.drain_queue(index, tap, queue);
            if let Some(tap) = &mut tap.loss {
                sorter.drain_wire(index, tap, queue);
            }
            if let Some(taps) = sorter.taps {
                taps.note(index, &mut queue.notes);
            }
        }
        self.write_packets(now_ns);
        // Read the captures at the links before the captures at the senders. The captures at the
        // links show which segments were sent, and the ACKs at the senders refer to these segments.
        let (_, _, senders, mut sorter) = self.sorter();
        for ring in senders {
            sorter.drain_sender(ring);
        }
        if let Some(taps) = &mut self.taps {
            taps.drain(&self.gates, self.origin_ns, self.end_ns);
        }
    }

    /// Splits `self` into the links, their queues, the rings of senders, and a sorter for their
    /// frames.
    fn sorter(&mut self) -> (&mut [LinkTap], &mut [Queue], &mut [Ring], Sorter<'_>) {
        let sorter = Sorter {
            lanes: Lanes {
                first_port: self.first_port,
                count: self.n_lanes,
                servers: &self.servers,
                programs: self.taps.as_ref().map_or(0, Taps::len),
                origin_ns: self.origin_ns,
                end_ns: self.end_ns,
                plan: &self.plan,
            },
            warmup_ns: self.warmup_ns,
            gates: &self.gates,
            places: &self.places,
            flows: &mut self.flows,
            taps: &mut self.taps,
            packets: &mut self.packets,
            captured: &mut self.captured,
        };
        (&mut self.links, &mut self.queues, &mut self.senders, sorter)
    }

    /// Writes the recorded packets that are older than every packet in the queues.
    fn write_packets(&mut self, now_ns: u64) {
        let Some(packets) = &mut self.packets else {
            return;
        };
        let wires = (self.links.iter()).filter_map(|tap| tap.loss.as_ref()?.wire.oldest_ns());
        let queues = self.queues.iter().filter_map(Queue::oldest_ns);
        let oldest = queues.chain(wires).min();
        let horizon = oldest.map_or(now_ns, |oldest| oldest.min(now_ns));
        if let Err(error) = packets.write(horizon) {
            self.broken.get_or_insert(error);
            self.packets = None;
        }
    }

    /// Finds the packets that the wire after a link has lost by the end of the run. `queued` is the
    /// number of packets that the wire's netem still holds. Returns the number of lost packets, or
    /// `None` if the wire was not captured.
    pub fn finish_wire(&mut self, link: usize, queued: u64) -> Option<u64> {
        let wire = &mut self.links.get_mut(link)?.loss.as_mut()?.wire;
        let queue = &mut self.queues[link];
        let cause = wire.cause();
        for lost in wire.finish(queued) {
            lose((link, queue), &mut self.packets, lost, cause);
        }
        Some(wire.lost())
    }

    /// Completes the packet file. Call this function after all queues are finished. Returns how
    /// many packets the file contains, or `None` if there is no packet file.
    pub fn finish_packets(&mut self) -> io::Result<Option<PacketCount>> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        let Some(mut packets) = self.packets.take() else {
            return Ok(None);
        };
        for (index, queue) in self.queues.iter_mut().enumerate() {
            if let Some(lost) = &mut queue.lost {
                packets.lost(index, lost);
            }
        }
        packets.finish().map(Some)
    }

    /// Returns the meter of each link. Call this function after [`Captures::finish_packets`].
    pub fn take_meters(&mut self) -> impl Iterator<Item = Meter> {
        self.queues.drain(..).map(|queue| queue.meter)
    }

    pub fn take_rtt(&mut self, flow: usize) -> Histogram {
        std::mem::take(&mut self.flows[flow].rtt)
    }

    pub fn sample_programs(&mut self, now_ns: u64) {
        if let Some(taps) = &mut self.taps {
            taps.sample(now_ns);
        }
    }

    /// Returns the measurements of the programs. Call this function after all queues are finished.
    /// `ends` describes how both sides of each program ended.
    pub fn take_programs(
        &mut self,
        ends: &[[Option<Ended>; 2]],
        series: &mut Series,
    ) -> Vec<ProgramOutcome> {
        let Some(mut taps) = self.taps.take() else {
            return Vec::new();
        };
        for (index, queue) in self.queues.iter_mut().enumerate() {
            taps.note(index, &mut queue.notes);
        }
        self.lost_at_hosts = taps.lost();
        taps.finish(ends, self.end_ns, series)
    }

    /// Returns how many packets the captures missed because a ring was full. Call this function
    /// after [`Captures::take_programs`].
    pub fn lost(&self) -> u64 {
        let schedules = self
            .links
            .iter()
            .filter_map(|l| l.schedule.as_ref())
            .map(|s| &s.ring);
        let wires = self.links.iter().filter_map(|l| l.loss.as_ref());
        let rings = self
            .links
            .iter()
            .map(|l| &l.ring)
            .chain(schedules)
            .chain(wires.map(|w| &w.ring))
            .chain(&self.senders);
        rings.map(Ring::lost).sum::<u64>() + self.lost_at_hosts
    }

    /// Returns whether the rings might overflow. `packets` is the number of packets that may arrive
    /// in addition to the packets that pass the links.
    pub fn fills(&self, packets: u64) -> bool {
        self.watches() && packets as usize > self.room / 8
    }

    /// Returns whether the run captures packets at the links.
    pub fn on(&self) -> bool {
        self.on
    }

    /// Returns whether the run has rings that can overflow, at links or at hosts of programs.
    pub fn watches(&self) -> bool {
        self.on || self.taps.is_some()
    }
}

fn lose(
    (link, queue): (usize, &mut Queue),
    packets: &mut Option<Packets>,
    (packet, head): OnWire,
    cause: Cause,
) {
    queue.count(&packet, cause, packet.time_ns);
    if let (Some(packets), Some(head)) = (packets, head) {
        packets.lost_behind(link, head, cause, packet.time_ns);
    }
}

/// Returns the packets into which a queue splits a captured packet. If the packet is not TCP, or
/// offloads have not joined segments, returns the packet itself.
fn split<'a>(
    packet: Packet,
    captured: Captured<'a>,
    frame: Frame,
) -> impl Iterator<Item = (Packet, Captured<'a>, Frame)> {
    let size = if frame.is_tcp() { captured.segment } else { 0 };
    let whole = (size == 0).then_some((packet, captured, frame));
    let parts = (size > 0)
        .then(|| frame.segments(size))
        .into_iter()
        .flatten();
    let headers = captured.len.saturating_sub(frame.payload);
    let parts = parts.map(move |frame| {
        let len = headers + frame.payload;
        let key = match packet.tuple {
            Some(_) => frame.content_key(captured.bytes),
            None => frame.key,
        };
        let captured = Captured {
            len,
            segment: 0,
            ..captured
        };
        (Packet { key, len, ..packet }, captured, frame)
    });
    whole.into_iter().chain(parts)
}

/// Assigns captured frames to queues, flows, programs, and the packet file.
struct Sorter<'a> {
    lanes: Lanes<'a>,
    warmup_ns: u64,
    gates: &'a Gates,
    places: &'a [[usize; 3]],
    flows: &'a mut [FlowTap],
    taps: &'a mut Option<Taps>,
    packets: &'a mut Option<Packets>,
    captured: &'a mut u64,
}

impl Sorter<'_> {
    /// Reads the packets that arrive at a link's schedule, and finds the packets that the schedule
    /// marks or drops.
    fn drain_schedule(&mut self, link: usize, tap: &mut ScheduleTap, queue: &mut Queue) {
        let place = (self.places[link][0], self.gates);
        tap.ring.drain(|c| {
            let Some((packet, frame)) = self.lanes.packet(place, &c, self.taps) else {
                return;
            };
            self.lanes.note_sent(link, &packet, &frame, self.flows);
            if let Some(packets) = self.packets {
                packets.arrived(link, &packet, &c, &frame);
            }
            let Some(cause) = tap.schedule.cause(&frame) else {
                return;
            };
            if let Some(packets) = self.packets
                && cause.is_drop()
            {
                packets.dropped(link, &packet, &c, &frame);
            }
            queue.count(&packet, cause, packet.time_ns);
        });
    }

    /// Reads the packets that enter and leave a link's queue.
    fn drain_queue(&mut self, link: usize, tap: &mut LinkTap, queue: &mut Queue) {
        let place = (self.places[link][1], self.gates);
        let (scheduled, out, splits) = (tap.schedule.is_some(), tap.out, tap.splits);
        tap.ring.drain(|c| {
            *self.captured += 1;
            let Some((packet, frame)) = self.lanes.packet(place, &c, self.taps) else {
                return;
            };
            if c.outgoing {
                if c.device == out {
                    let slot = queue.leave(packet);
                    if let (Some(packets), Some(lost)) = (&mut *self.packets, &mut queue.lost) {
                        packets.lost(link, lost);
                        packets.left((link, slot), &packet, &c, &frame);
                    }
                }
            } else {
                if !scheduled {
                    self.lanes.note_sent(link, &packet, &frame, self.flows);
                }
                if let Some(packets) = self.packets {
                    if !scheduled {
                        packets.arrived(link, &packet, &c, &frame);
                    }
                    if !splits {
                        packets.entered(link, &packet, &c, &frame);
                    }
                }
                if !splits {
                    return queue.enter(packet);
                }
                for (packet, c, frame) in split(packet, c, frame) {
                    if let Some(packets) = self.packets {
                        packets.entered(link, &packet, &c, &frame);
                    }
                    queue.enter(packet);
                }
            }
        });
    }

    /// Reads the packets on the wire after a link, and finds the packets that the wire loses.
    fn drain_wire(&mut self, link: usize, tap: &mut LossTap, queue: &mut Queue) {
        let place = (self.places[link][2], self.gates);
        let LossTap { ring, out, wire } = tap;
        ring.drain(|c| {
            let Some((packet, frame)) = self.lanes.packet(place, &c, self.taps) else {
                return;
            };
            if !c.outgoing {
                let head = (self.packets.as_ref()).map(|_| Head::of(&packet, &c, &frame));
                wire.enter(packet, head);
            } else if c.device == *out {
                let cause = wire.cause();
                if wire.marked(&packet) {
                    queue.count(&packet, Cause::PolicedMark, packet.time_ns);
                }
                for lost in wire.leave(&packet) {
                    lose((link, queue), self.packets, lost, cause);
                }
            }
        });
    }

    /// Reads the ACKs that arrive at a sender, and measures round-trip times from these ACKs.
    fn drain_sender(&mut self, ring: &mut Ring) {
        let place = (usize::MAX, self.gates);
        ring.drain(|c| {
            let Some((packet, frame)) = self.lanes.packet(place, &c, self.taps) else {
                return;
            };
            if packet.lane & 1 == 0 || frame.flags & flag::ACK == 0 {
                return;
            }
            let Some(flow) = self.flows.get_mut(packet.lane / 2) else {
                return;
            };
            let rtt = flow
                .segments
                .acknowledged(frame.ack, &frame.sack, packet.time_ns);
            if let Some(rtt) = rtt.filter(|_| packet.time_ns >= self.warmup_ns) {
                flow.rtt.record(rtt);
            }
        });
    }
}

/// Finds the flow or program that a frame belongs to.
struct Lanes<'a> {
    first_port: u16,
    count: usize,
    servers: &'a [bool],
    programs: usize,
    origin_ns: u64,
    end_ns: u64,
    plan: &'a [Flow],
}

impl Lanes<'_> {
    /// Returns the packet in a frame. Returns `None` if the frame does not belong to the scenario,
    /// if the kernel rejected it, or if its time is outside the run.
    fn packet(
        &self,
        (namespace, gates): (usize, &Gates),
        captured: &Captured<'_>,
        taps: &mut Option<Taps>,
    ) -> Option<(Packet, Frame)> {
        let frame = frame::parse(captured.bytes)?;
        if !gates.admit(namespace, captured, &frame) {
            return None;
        }
        let time_ns = captured.time_ns.checked_sub(self.origin_ns)?;
        if time_ns >= self.end_ns {
            return None;
        }
        if let Some(taps) = taps {
            if let Some(of) = taps.owner(&frame) {
                return Some((self.of_program(time_ns, captured, &frame, of), frame));
            }
            if Taps::is_host(frame.source) {
                return None;
            }
        }
        if !frame.source.is_ipv4() || !(frame.is_tcp() || frame.is_udp()) {
            return None;
        }
        let to = usize::from(frame.port.checked_sub(self.first_port)?);
        // A server has many clients, so the client's port identifies the connection.
        let to_server = self.servers.get(to) == Some(&true);
        let flow = match to_server {
            true => usize::from(frame.source_port.checked_sub(self.first_port)?),
            false => to,
        };
        // A program is identified by its number, not by a port. Programs are numbered after sources
        // and before connections.
        let behind = flow >= self.servers.len();
        let flow = flow + if behind { self.programs } else { 0 };
        if flow >= self.count {
            return None;
        }
        let acks = self
            .plan
            .get(flow)
            .map_or(to_server, |f| IpAddr::V4(f.sender_address) != frame.source);
        let lane = 2 * flow + usize::from(acks);
        let packet = Packet {
            time_ns,
            lane,
            slot: lane,
            tuple: None,
            key: frame.key,
            len: captured.wire_len(frame.payload),
            ecn: frame.ecn,
        };
        Some((packet, frame))
    }

    fn of_program(
        &self,
        time_ns: u64,
        captured: &Captured<'_>,
        frame: &Frame,
        of: Owner,
    ) -> Packet {
        let number = self.servers.len() + of.program as usize;
        Packet {
            time_ns,
            lane: 2 * number + usize::from(of.back),
            slot: Packet::tuple_slot(2 * self.count, of.tuple, of.back, frame.ecn),
            tuple: Some(of.tuple),
            key: frame.content_key(captured.bytes),
            len: captured.wire_len(frame.payload),
            ecn: frame.ecn,
        }
    }

    /// Records a data segment that passes the first link of its route. The sender sent the segment
    /// one access delay before it reached this link.
    fn note_sent(&self, link: usize, packet: &Packet, frame: &Frame, flows: &mut [FlowTap]) {
        let index = packet.lane / 2;
        let Some(flow) = self.plan.get(index) else {
            return;
        };
        if packet.lane & 1 == 0
            && frame.payload > 0
            && frame.flags & flag::SYN == 0
            && flow.route.first() == Some(&link)
        {
            let sent = packet.time_ns.saturating_sub(flow.access_delay_ns);
            flows[index].segments.sent(frame.seq, frame.payload, sent);
        }
    }
}
