//! Measures a queue whose packets are captured before and after the queue. From the captured
//! packets, this module computes what a [`Meter`] counts.
//!
//! In the guest's virtual time, computation takes no time. The time between the two captures of a
//! packet is therefore exactly its sojourn time.
//!
//! Every queue discipline in the registry keeps the order of packets of a flow and direction. A
//! single queue keeps the order of all packets. A packet that a later packet overtakes must
//! therefore have been dropped. In a queue discipline outside the registry, such as netem, an
//! overtaken packet may still leave later. A packet in such a queue discipline therefore counts as
//! dropped only if it never leaves. RED may mark a packet that is then dropped because the buffer
//! is full. The captures do not show such a mark.

use std::collections::{HashMap, VecDeque};

use tailback_engine::aqm;
use tailback_record::{Cause, Meter};

use super::frame::{CE, ECT0, ECT1};
use tailback_guest::job::{DropsAt, Limit, Link};

/// A packet that enters or leaves the queue.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Capture time, in ns from the start of the run.
    pub time_ns: u64,
    /// Identifies the flow or program and the direction of the packet. The value is twice the
    /// number of the flow or program. For ACKs, and for packets that a program's receiver sends, 1
    /// is added.
    pub lane: usize,
    /// Queues keep the order of packets with the same slot. The slot is the lane or, for a
    /// program's packet, the result of [`Packet::tuple_slot`].
    pub slot: usize,
    /// The number of a program packet's 5-tuple in the captures. `None` for other packets.
    pub tuple: Option<u32>,
    /// Identifies the packet within its lane.
    pub key: u64,
    /// Frame length, in bytes.
    pub len: u32,
    pub ecn: u8,
}

impl Packet {
    pub fn number(&self) -> u32 {
        (self.lane / 2) as u32
    }

    /// Returns the slot for packets of a 5-tuple and direction. The slots of 5-tuples come after
    /// the slots of the `lanes` lanes. Queues keep the order of packets of a 5-tuple, but some
    /// queue disciplines have a separate queue for ECT(1) and CE. Packets with these two ECN fields
    /// therefore have a slot of their own.
    pub fn tuple_slot(lanes: usize, tuple: u32, back: bool, ecn: u8) -> usize {
        lanes + 4 * tuple as usize + 2 * usize::from(ecn & 1) + usize::from(back)
    }

    /// Returns the other slot of the packet's 5-tuple and direction. Each combination of 5-tuple
    /// and direction has two slots. If the queue has marked the packet, the packet was in the other
    /// slot when it entered the queue.
    fn other_slot(&self) -> Option<usize> {
        self.tuple?;
        Some(match self.ecn & 1 {
            1 => self.slot - 2,
            _ => self.slot + 2,
        })
    }
}

/// Returns a list's element at the given index. If the list is too short, extends it with default
/// values.
pub fn at<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    pub tuple: u32,
    /// Whether the packet came from the receiver's host.
    pub back: bool,
    /// Time of the event, in ns.
    pub at_ns: u64,
    pub what: Noted,
}

/// What happened to the packet at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// The packet left after this sojourn time, in ns.
    Passed(u64),
    Counted(Cause),
}

/// A packet that has entered the queue and, according to the captures, is still in the queue.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    /// Number of bytes that had left the queue when this packet entered.
    bytes_out: u64,
    packets_out: u64,
}

/// A packet that the queue has certainly dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Slot of the packet. If the queue keeps the order of packets, the dropped packet was the
    /// oldest packet of this slot.
    pub slot: usize,
    /// Identifies the packet within its lane.
    pub key: u64,
    pub at_ns: u64,
    pub cause: Cause,
}

/// A link's queue, as computed from the captures.
pub struct Queue {
    pub meter: Meter,
    /// Number of packets that were captured when they left, but not when they entered.
    pub strangers: u64,
    /// Number of drops in the whole run, including the warm-up.
    pub dropped: u64,
    /// Drops that [`super::packets`] has not read yet. `None` if the run does not write captured
    /// packets to a file.
    pub lost: Option<Vec<Lost>>,
    /// Events of programs' packets that have not been read yet.
    pub notes: Vec<Note>,
    warmup_ns: u64,
    limit: Limit,
    /// Changes of the queue's capacity, in the order of time. Each change has a time (ns) and the
    /// new capacity.
    limits: Vec<(u64, Limit)>,
    drops_at: DropsAt,
    /// Whether the queue drops only if the buffer is full.
    tail_drop: bool,
    /// Whether the queue keeps the order of all packets. If the queue keeps this order, all packets
    /// wait in the first of `slots`.
    in_order: bool,
    /// Packets that were overtaken, by lane and key. This map is used only if the queue may reorder
    /// packets of a slot.
    overtaken: Option<HashMap<(usize, u64), Waiting>>,
    slots: Vec<VecDeque<Waiting>>,
    /// Number of marks in the whole run, including the warm-up.
    marked: u64,
    overflowed: bool,
    /// Number of bytes that have left the queue or were dropped at its head.
    bytes_out: u64,
    /// Number of packets that have left the queue or were dropped at its head.
    packets_out: u64,
    /// The time at which the packet that left last had entered the queue, in ns.
    newest_out_ns: u64,
}

impl Queue {
    /// Creates an empty queue. `numbers` is the number of flows, connections and programs of the
    /// run.
    pub fn new(link: &Link, numbers: usize, warmup_ns: u64, meter: Meter) -> Queue {
        Queue {
            meter,
            strangers: 0,
            dropped: 0,
            lost: None,
            notes: Vec::new(),
            warmup_ns,
            limit: link.limit,
            limits: link.limits.clone(),
            drops_at: link.drops_at,
            tail_drop: aqm::face(&link.kind).is_some_and(|face| face.tail_drop),
            in_order: link.in_order,
            overtaken: (!link.keeps_order).then(HashMap::new),
            slots: vec![VecDeque::new(); if link.in_order { 1 } else { 2 * numbers }],
            marked: 0,
            overflowed: false,
            bytes_out: 0,
            packets_out: 0,
            newest_out_ns: 0,
        }
    }

    pub fn enter(&mut self, packet: Packet) {
        self.meter.arrive(packet.len, packet.time_ns);
        let slot = if self.in_order { 0 } else { packet.slot };
        let (bytes_out, packets_out) = (self.bytes_out, self.packets_out);
        at(&mut self.slots, slot).push_back(Waiting {
            packet,
            bytes_out,
            packets_out,
        });
    }

    /// Finds a waiting packet. Returns the packet's slot and the number of packets in front of the
    /// packet in this slot.
    fn find(&self, packet: &Packet) -> Option<(usize, usize)> {
        let is_it = |w: &Waiting| w.packet.key == packet.key && w.packet.lane == packet.lane;
        let within = |slot: usize| Some((slot, self.slots.get(slot)?.iter().position(is_it)?));
        if self.in_order {
            return within(0);
        }
        within(packet.slot).or_else(|| within(packet.other_slot()?))
    }

    /// Records that a packet left. Returns the packet's slot at entry, if the entry was captured.
    pub fn leave(&mut self, packet: Packet) -> Option<usize> {
        let late = (self.overtaken.as_mut())
            .and_then(|overtaken| overtaken.remove(&(packet.lane, packet.key)));
        let keeps_order = late.is_none();
        let waiting = match late {
            Some(waiting) => waiting,
            None => {
                let Some((slot, ahead)) = self.find(&packet) else {
                    self.strangers += 1;
                    return None;
                };
                for _ in 0..ahead {
                    if let Some(passed) = self.slots[slot].pop_front() {
                        self.pass_by(passed, packet.time_ns);
                    }
                }
                self.slots[slot].pop_front()?
            }
        };
        let slot = waiting.packet.slot;
        let (entered, len) = (waiting.packet.time_ns, waiting.packet.len);
        self.newest_out_ns = self.newest_out_ns.max(entered);
        // If the queue may reorder packets, it is unknown which packets were in front of the packet
        // that leaves.
        if entered >= self.warmup_ns && keeps_order {
            let before = self.bytes_out - waiting.bytes_out;
            self.meter.note_backlog(before + u64::from(len));
        }
        self.bytes_out += u64::from(len);
        self.packets_out += 1;
        let number = packet.number();
        self.meter.forward(number, len, entered, packet.time_ns);
        let sojourn_ns = packet.time_ns.saturating_sub(entered);
        self.note(&packet, packet.time_ns, Noted::Passed(sojourn_ns));
        if packet.ecn != waiting.packet.ecn {
            let cause = match packet.ecn {
                CE => Cause::Mark,
                ECT1 => Cause::SceMark,
                _ => return Some(slot),
            };
            self.marked += u64::from(cause == Cause::Mark);
            // The time of the mark is when the algorithm decided to mark.
            let at_ns = match self.drops_at {
                DropsAt::Enqueue => entered,
                DropsAt::Dequeue => packet.time_ns,
            };
            self.count(&packet, cause, at_ns);
        }
        Some(slot)
    }

    /// Counts a mark, or a drop of a packet that is not in the queue.
    pub fn count(&mut self, packet: &Packet, cause: Cause, at_ns: u64) {
        self.meter.count(packet.number(), cause, at_ns);
        self.note(packet, at_ns, Noted::Counted(cause));
    }

    #[inline]
    fn note(&mut self, packet: &Packet, at_ns: u64, what: Noted) {
        if let Some(tuple) = packet.tuple {
            self.notes.push(Note {
                tuple,
                back: packet.lane & 1 == 1,
                at_ns,
                what,
            });
        }
    }

    /// Handles a packet that a later packet of its slot has overtaken. The later packet left at
    /// `seen_ns`.
    fn pass_by(&mut self, passed: Waiting, seen_ns: u64) {
        let Some(overtaken) = &mut self.overtaken else {
            return self.lose(&passed, seen_ns);
        };
        let name = (passed.packet.lane, passed.packet.key);
        // Two overtaken packets with the same lane and key cannot be distinguished, so discard the
        // earlier packet.
        if let Some(other) = overtaken.insert(name, passed) {
            self.lose(&other, seen_ns);
        }
    }

    /// Counts a drop that the captures show at `seen_ns`.
    fn lose(&mut self, lost: &Waiting, seen_ns: u64) {
        self.dropped += 1;
        let packet = lost.packet;
        // Because the queue keeps the order, all packets that were in front of the dropped packet
        // have left by now. The bytes that have left since the dropped packet arrived are therefore
        // the queue length at its arrival.
        let limit = self.limits.iter().rfind(|limit| limit.0 <= packet.time_ns);
        let full = match limit.map_or(self.limit, |limit| limit.1) {
            Limit::Packets(n) => self.packets_out - lost.packets_out >= n,
            Limit::Bytes(n) => self.bytes_out - lost.bytes_out + u64::from(packet.len) > n,
            Limit::Unknown => false,
        };
        let full = full || self.tail_drop;
        self.overflowed |= full;
        let cause = if full { Cause::Overflow } else { Cause::Aqm };
        let at_ns = if full || self.drops_at == DropsAt::Enqueue {
            packet.time_ns
        } else {
            self.bytes_out += u64::from(packet.len);
            self.packets_out += 1;
            seen_ns
        };
        if let Some(log) = &mut self.lost {
            log.push(Lost {
                slot: packet.slot,
                key: packet.key,
                at_ns,
                cause,
            });
        }
        self.meter.drop(packet.number(), packet.len, cause, at_ns);
        self.note(&packet, at_ns, Noted::Counted(cause));
    }

    /// Returns when the oldest waiting packet entered, in ns. Ignores overtaken packets.
    pub fn oldest_ns(&self) -> Option<u64> {
        let fronts = self.slots.iter().filter_map(VecDeque::front);
        fronts.map(|w| w.packet.time_ns).min()
    }

    /// At the end of the run, decides what happened to packets whose exit was not captured. A
    /// packet whose exit was not captured is still in the queue, or was dropped without being
    /// overtaken by a later packet. `queued` is the number of packets in the queue, as the queue
    /// reports it. `dropped` and `marked` are the queue's own counts for the whole run.
    pub fn finish(&mut self, queued: Option<u64>, dropped: Option<u64>, marked: Option<u64>) {
        let overtaken = self.overtaken.take().unwrap_or_default();
        let waiting: u64 = self.slots.iter().map(|l| l.len() as u64).sum();
        let waiting = waiting + overtaken.len() as u64;
        let mut surplus = queued.map_or(0, |queued| waiting.saturating_sub(queued));
        // Sort by age. The newest packets are still in the queue.
        let mut rest: Vec<Waiting> = self
            .slots
            .iter_mut()
            .flat_map(|slot| slot.drain(..))
            .chain(overtaken.into_values())
            .collect();
        rest.sort_by_key(|w| (w.packet.time_ns, w.packet.lane, w.packet.key));
        let mut kept = Vec::new();
        for waiting in rest {
            if surplus > 0 && waiting.packet.time_ns <= self.newest_out_ns {
                surplus -= 1;
                self.lose(&waiting, waiting.packet.time_ns);
            } else {
                kept.push(waiting);
            }
        }
        // Only the queue's own count shows how many of the remaining packets were dropped on
        // arrival. The captures cannot show this number, because no packet that arrived after the
        // remaining packets has left.
        let missing = dropped.map_or(0, |d| d.saturating_sub(self.dropped));
        let unseen = marked.map_or(0, |m| m.saturating_sub(self.marked));
        for waiting in kept.iter().take(missing as usize) {
            self.lose(waiting, waiting.packet.time_ns);
        }
        // `unseen` is the number of waiting packets that were marked on arrival. Assume that the
        // marked packets are the newest packets, because the queue was longest when the newest
        // packets arrived. If the buffer was ever full, marked packets may have been dropped, so
        // the number of marked packets in the queue is unknown.
        let unseen = if self.overflowed { 0 } else { unseen };
        let waits = kept.iter().skip(missing as usize).rev();
        for waiting in waits
            .filter(|w| w.packet.ecn == ECT0 || w.packet.ecn == ECT1)
            .take(unseen as usize)
        {
            let packet = waiting.packet;
            self.count(&packet, Cause::Mark, packet.time_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_record::{ClassFlow, ClassOutcome, ClassPlan, Measured, Outcome};

    fn queue(limit: Limit, drops_at: DropsAt) -> Queue {
        let link = Link {
            name: "bottleneck".to_owned(),
            aqm: "codel".to_owned(),
            kind: "codel".to_owned(),
            namespace: 0,
            device: "out".to_owned(),
            rates: vec![(0, 8_000_000), (500, 16_000_000)],
            limit,
            limits: Vec::new(),
            drops_at,
            in_order: false,
            keeps_order: true,
            splits: false,
            loss_namespace: None,
            loss_kind: None,
            scheduled_marks: Vec::new(),
            scheduled_drops: Vec::new(),
            schedule_namespace: None,
            classes: vec![
                ClassPlan {
                    name: "L".to_owned(),
                    number: 0,
                    flows: vec![ClassFlow {
                        flow: 0,
                        base_rtt_ns: 400,
                    }],
                    sources: Vec::new(),
                },
                ClassPlan {
                    name: "U".to_owned(),
                    number: 1,
                    flows: Vec::new(),
                    sources: vec![1],
                },
            ],
        };
        let mut meter = Meter::new([0, 1].into(), 100);
        meter.record_classes(link.classes.clone(), 1_000, 300);
        Queue::new(&link, 2, 100, meter)
    }

    /// Returns the measurements after 1000 ns at a rate of 1 byte/ns.
    fn measured(queue: Queue) -> Outcome {
        let mut outcome = Outcome {
            duration_ns: 1_000,
            warmup_ns: 100,
            ..Outcome::default()
        };
        let link = Measured {
            name: "bottleneck".to_owned(),
            aqm: "codel".to_owned(),
            meter: queue.meter,
            capacity: |from, to| (to - from) as f64,
        };
        outcome.complete([link], false);
        outcome
    }

    fn packet(time_ns: u64, lane: usize, key: u64, ecn: u8) -> Packet {
        Packet {
            time_ns,
            lane,
            slot: lane,
            tuple: None,
            key,
            len: 1000,
            ecn,
        }
    }

    #[test]
    fn sojourn_marks_and_occupancy() {
        let mut queue = queue(Limit::Packets(10), DropsAt::Dequeue);
        queue.enter(packet(50, 0, 1, 2));
        queue.enter(packet(120, 2, 1, 2));
        queue.leave(packet(150, 0, 1, 2));
        queue.leave(packet(200, 2, 1, CE));
        queue.finish(Some(0), None, None);
        assert_eq!(queue.meter.counts_of(1).marks(), 1);
        let outcome = &measured(queue).links[0];
        assert_eq!((outcome.packets, outcome.bytes), (2, 2000));
        assert_eq!(outcome.delay.sum(), 100 + 80);
        assert_eq!(outcome.counts.marks(), 1);
        // The warm-up ends at 100 ns. After the warm-up, one packet of 1000 B waits until 150 ns,
        // and another packet waits from 120 ns to 200 ns.
        assert_eq!(outcome.backlog_byte_ns, 1000 * (50 + 80));
        assert_eq!(outcome.backlog_max_bytes, 2000);
    }

    #[test]
    fn what_is_overtaken_was_dropped_at_the_head() {
        let mut queue = queue(Limit::Packets(10), DropsAt::Dequeue);
        (0..4).for_each(|key| queue.enter(packet(200 + key, 0, key, 0)));
        queue.leave(packet(300, 0, 2, 0));
        queue.finish(Some(1), None, None);
        assert_eq!(queue.meter.counts.get(Cause::Aqm), 2);
        assert_eq!(queue.dropped, 2);
        let waited = (300 - 200) + (300 - 201) + (300 - 202) + (1000 - 203);
        assert_eq!(measured(queue).links[0].backlog_byte_ns, 1000 * waited);
    }

    #[test]
    fn a_full_buffer_is_told_from_the_algorithm() {
        let mut queue = queue(Limit::Packets(2), DropsAt::Enqueue);
        (0..3).for_each(|key| queue.enter(packet(200 + key, 0, key, 0)));
        queue.leave(packet(300, 0, 0, 0));
        queue.enter(packet(301, 0, 3, 0));
        queue.leave(packet(310, 0, 1, 0));
        queue.enter(packet(311, 0, 4, 0));
        queue.enter(packet(312, 0, 5, 0));
        queue.leave(packet(320, 0, 3, 0));
        // When packet 4 arrived, only one packet was waiting. The buffer was not full, so the
        // algorithm dropped packet 4.
        queue.leave(packet(330, 0, 5, 0));
        queue.finish(Some(0), None, None);
        assert_eq!(queue.meter.counts.get(Cause::Overflow), 1);
        assert_eq!(queue.meter.counts.get(Cause::Aqm), 1);
    }

    #[test]
    fn drops_that_nothing_follows_are_found_by_what_the_queue_holds() {
        let mut queue = queue(Limit::Unknown, DropsAt::Enqueue);
        queue.enter(packet(200, 0, 1, 0)); // dropped, as the last packet of its flow
        queue.enter(packet(210, 2, 1, 0));
        queue.leave(packet(400, 2, 1, 0));
        queue.enter(packet(500, 2, 2, 0)); // waiting
        queue.finish(Some(1), None, None);
        assert_eq!(queue.meter.counts.get(Cause::Aqm), 1);
        assert_eq!(queue.meter.counts_of(0).drops(), 1);
    }

    #[test]
    fn classes_divide_what_the_queue_has() {
        let mut queue = queue(Limit::Unknown, DropsAt::Dequeue);
        queue.enter(packet(50, 0, 1, 2));
        queue.enter(packet(110, 2, 1, 0));
        queue.enter(packet(120, 0, 2, 2));
        queue.enter(packet(130, 0, 3, 2)); // dropped, which is noticed at 450
        queue.enter(packet(140, 0, 4, 2));
        queue.leave(packet(90, 0, 1, CE));
        queue.leave(packet(150, 2, 1, 0));
        queue.leave(packet(200, 0, 2, CE));
        queue.leave(packet(450, 0, 4, 2));
        queue.finish(Some(0), None, None);
        let outcome = measured(queue);
        let (classes, outcome) = (&outcome.classes, &outcome.links[0]);
        let of = |class: &ClassOutcome| (class.packets, class.delay.sum());
        assert_eq!([of(&classes[0]), of(&classes[1])], [(2, 80 + 310), (1, 40)]);
        assert_eq!(outcome.packets, 3);
        assert_eq!(classes[0].counts, outcome.counts);
        assert_eq!((outcome.counts.drops(), outcome.counts.marks()), (1, 1));
        // The intervals are 100 to 400 ns, 400 to 700 ns, and 700 to 1000 ns.
        let drops: Vec<u64> = classes[0].intervals.iter().map(|i| i.drops).collect();
        assert_eq!(drops, [0, 1, 0]);
        assert_eq!(classes[0].flow_bytes, [[1000, 1000, 0]]);
        let samples = outcome.samples.as_ref().expect("samples");
        assert_eq!(samples.bytes, [2000, 1000, 0]);
        assert_eq!(samples.capacity_bytes, [300.0; 3]);
    }

    #[test]
    fn events_belong_to_the_moment_of_decision() {
        // The packet is marked on arrival during the warm-up, which ends at 100 ns. The packet
        // leaves after the warm-up.
        let mut red = queue(Limit::Unknown, DropsAt::Enqueue);
        red.enter(packet(90, 0, 1, 2));
        red.enter(packet(110, 0, 2, 2));
        red.leave(packet(120, 0, 1, CE));
        red.leave(packet(130, 0, 2, CE));
        // Two more packets are marked on arrival. One of these packets still waits at the end.
        red.enter(packet(900, 0, 3, 2));
        red.enter(packet(910, 2, 3, 2));
        red.leave(packet(990, 0, 3, CE));
        red.finish(Some(1), None, Some(4));
        assert_eq!(red.meter.counts_of(0).marks(), 2);
        assert_eq!(red.meter.counts_of(1).marks(), 1);
        assert_eq!(red.meter.counts.marks(), 3);
    }

    #[test]
    fn in_one_queue_any_flow_overtakes() {
        let mut codel = queue(Limit::Unknown, DropsAt::Dequeue);
        (codel.in_order, codel.slots) = (true, vec![VecDeque::new()]);
        codel.enter(packet(10, 0, 1, 0)); // dropped at the head at 90, before the warm-up
        codel.enter(packet(20, 2, 1, 0));
        codel.enter(packet(120, 0, 2, 0));
        codel.leave(packet(90, 2, 1, 0));
        codel.leave(packet(130, 0, 2, 0));
        codel.finish(Some(0), Some(1), Some(0));
        assert_eq!((codel.dropped, codel.meter.counts.drops()), (1, 0));
    }

    #[test]
    fn the_queue_counts_what_it_dropped_last() {
        let mut queue = queue(Limit::Unknown, DropsAt::Enqueue);
        queue.tail_drop = true;
        (0..4).for_each(|key| queue.enter(packet(200 + key, 0, key, 0)));
        queue.leave(packet(300, 0, 0, 0));
        queue.finish(Some(2), Some(1), None);
        assert_eq!(queue.meter.counts.get(Cause::Overflow), 1);
        assert_eq!(queue.dropped, 1);
    }

    #[test]
    fn where_packets_change_their_order_the_overtaken_are_not_dropped() {
        let mut netem = queue(Limit::Unknown, DropsAt::Enqueue);
        netem.overtaken = Some(HashMap::new());
        (0..6).for_each(|key| netem.enter(packet(200 + key, 0, key, 0)));
        // Packets 3 and 4 leave first, packet 1 never leaves, and packet 5 still waits at the end.
        let times = [(3, 210), (4, 211), (0, 300), (2, 302)];
        for (key, at) in times {
            assert_eq!(netem.leave(packet(at, 0, key, 0)), Some(0));
        }
        netem.finish(Some(1), Some(1), None);
        assert_eq!((netem.strangers, netem.dropped), (0, 1));
        let outcome = &measured(netem).links[0];
        assert_eq!((outcome.packets, outcome.counts.drops()), (4, 1));
        assert_eq!(outcome.delay.sum(), 7 + 7 + 100 + 100);
        // The queue dropped packet 1 on arrival, so packet 1 did not wait.
        let waited = 7 + 7 + 100 + 100 + (1000 - 205);
        assert_eq!(outcome.backlog_byte_ns, 1000 * waited);
    }

    /// Returns a packet of program 1. Slots of 5-tuples come after the slots of four lanes.
    fn of_program(time_ns: u64, tuple: u32, key: u64, ecn: u8) -> Packet {
        Packet {
            slot: Packet::tuple_slot(4, tuple, false, ecn),
            tuple: Some(tuple),
            ..packet(time_ns, 2, key, ecn)
        }
    }

    #[test]
    fn what_overtakes_another_5_tuple_has_dropped_nothing() {
        let mut queue = queue(Limit::Unknown, DropsAt::Dequeue);
        (0..3).for_each(|key| queue.enter(of_program(200 + key, 0, key, 2)));
        queue.enter(of_program(210, 1, 10, 2));
        assert_eq!(queue.leave(of_program(220, 1, 10, CE)), Some(8));
        assert_eq!(queue.leave(of_program(230, 0, 0, 2)), Some(4));
        // A later packet of the same 5-tuple overtakes packet 1.
        queue.leave(of_program(240, 0, 2, 2));
        queue.finish(Some(0), None, None);
        assert_eq!((queue.strangers, queue.dropped), (0, 1));
        assert_eq!(queue.meter.counts_of(1).marks(), 1);
        let note = |tuple, at_ns, what| Note {
            tuple,
            back: false,
            at_ns,
            what,
        };
        let expected = [
            note(1, 220, Noted::Passed(10)),
            note(1, 220, Noted::Counted(Cause::Mark)),
            note(0, 230, Noted::Passed(30)),
            note(0, 240, Noted::Counted(Cause::Aqm)),
            note(0, 240, Noted::Passed(38)),
        ];
        assert_eq!(queue.notes, expected);
    }

    #[test]
    fn a_queue_of_its_own_for_ect1_keeps_no_order_with_the_other() {
        let mut queue = queue(Limit::Unknown, DropsAt::Dequeue);
        queue.enter(of_program(200, 0, 1, ECT0));
        queue.enter(of_program(201, 0, 2, ECT1));
        queue.leave(of_program(210, 0, 2, CE));
        queue.leave(of_program(220, 0, 1, CE));
        queue.finish(Some(0), None, None);
        assert_eq!((queue.strangers, queue.dropped), (0, 0));
        assert_eq!(queue.meter.counts_of(1).marks(), 2);
    }
}
