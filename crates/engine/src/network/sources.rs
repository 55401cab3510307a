//! Traffic sources, which send datagrams or open connections.
//!
//! Each connection of a source uses a slot. The slot's number identifies the connection's packets,
//! as a port would. A new connection uses the slot that has been free for the longest time. Hosts
//! choose ports in the same way. As a result, a queue that hashes flows spreads the connections
//! over its buckets. A slot whose packets are still in the network is not used until the last of
//! these packets has left.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use tailback_record::account::Account;
use tailback_record::{Completion, Histogram};

use super::Network;
use super::connections::{Connection, End, Ends, Opener};
use super::datagrams::Far;
use super::turns::Pool;
use crate::calendar::Component;
use crate::cc;
use crate::crates;
use crate::packet::{Packet, flags};
use crate::registry::{Entry, Options};
use crate::rng::Stream;
use crate::tcp::sender::SenderStats;
use crate::traffic::{Source, Step};
use crate::units::Time;
use crate::wheel::WheelPhase;

/// A source and its counters since the warm-up.
pub(super) struct Traffic {
    pub source: Box<dyn Source>,
    /// The source's index in the table of endpoints. The source's packets carry this number.
    pub number: u32,
    pub start: Time,
    pub stop: Option<Time>,
    pub sent_packets: u64,
    pub received_packets: u64,
    pub received_bytes: u64,
    /// One-way delays of datagrams, in ns.
    pub one_way: Histogram,
    pub far: Far,
    /// Slots of the source's connections that never end (step `Load`).
    pub loads_at: Vec<u32>,
    /// Whether the source does nothing until a connection is complete.
    pub waits: bool,
    /// Durations of page loads, in ns. A page load uses several connections.
    pub loads: Histogram,
    /// Connections that the source opens. `None` if it sends datagrams.
    pub connections: Option<Connections>,
}

/// The connections that a source opens, with their settings and results.
pub(super) struct Connections {
    pub group: usize,
    pub places: Places,
    pub entry: &'static Entry<cc::Build>,
    pub options: Options,
    pub seeds: Stream,
    /// Waiting requests and idle connections, if connections serve several requests.
    pub pool: Pool,
    pub phases: [WheelPhase; 2],
    /// Closed connections. A new connection reuses the memory of a closed connection and continues
    /// its statistics. Connections are boxed, so that moving a connection from one list to another
    /// only moves a pointer.
    #[allow(clippy::vec_box)]
    pub spare: Vec<Box<Connection>>,
    pub started: u64,
    pub refused: u64,
    pub done: Vec<Completion>,
}

/// The slots of a source, and which of them are free.
pub(super) struct Places {
    pub slots: Range<u32>,
    /// A serial number that shows when each slot became free, or [`TAKEN`] while the slot has a
    /// connection.
    free: Vec<u64>,
    gone: Vec<u64>,
    /// Free slots whose packets have all left the network. Each entry holds the value from `free`
    /// and the slot's number.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    turn: u64,
}

const TAKEN: u64 = u64::MAX;

impl Places {
    /// Creates free slots, which are used in ascending order.
    pub fn new(slots: Range<u32>) -> Places {
        let turns = 0..slots.len() as u64;
        Places {
            free: turns.clone().collect(),
            gone: vec![0; slots.len()],
            ready: turns.clone().zip(slots.clone()).map(Reverse).collect(),
            turn: turns.end,
            slots,
        }
    }

    /// Among the free slots without packets in the network, takes the slot that has been free for
    /// the longest time.
    fn take(&mut self) -> Option<u32> {
        let Reverse((_, slot)) = self.ready.pop()?;
        self.free[(slot - self.slots.start) as usize] = TAKEN;
        Some(slot)
    }

    fn put(&mut self, slot: u32, ends: &Ends) {
        self.free[(slot - self.slots.start) as usize] = self.turn;
        self.turn += 1;
        self.look(slot, ends);
    }

    fn gone(&mut self, slot: u32, ends: &Ends) {
        self.gone[(slot - self.slots.start) as usize] += 1;
        self.look(slot, ends);
    }

    /// Adds a free slot to `ready` once none of its packets are in the network. A slot's packets
    /// have left the network when each of them has reached an end or was dropped.
    fn look(&mut self, slot: u32, ends: &Ends) {
        let place = (slot - self.slots.start) as usize;
        if self.free[place] != TAKEN && ends.entered == ends.ended + self.gone[place] {
            self.ready.push(Reverse((self.free[place], slot)));
        }
    }
}

impl Traffic {
    pub fn spare(&mut self) -> impl Iterator<Item = &mut Box<Connection>> {
        self.connections.iter_mut().flat_map(|c| &mut c.spare)
    }

    pub fn spare_stats(&mut self) -> impl Iterator<Item = &mut SenderStats> {
        self.spare().map(|connection| &mut connection.sender.stats)
    }
}

impl Network {
    /// Lets a source act until its next event is later than now.
    pub(super) fn run_source(&mut self, id: Component, index: usize) {
        let now = self.now;
        loop {
            let traffic = &mut self.traffic[index];
            if traffic.stop.is_some_and(|stop| now >= stop) {
                self.stop_loads(index);
                return self.calendar.cancel(id);
            }
            match traffic.source.next(now) {
                Step::Send { len, ecn } => {
                    let seq = traffic.far.capture(1, 0, now);
                    self.send_datagram(index, len, ecn, (seq, 0));
                }
                Step::Frame { bytes, ecn } => self.send_frame(index, bytes, ecn),
                Step::Open { bytes } => _ = self.open(index, Some(bytes)),
                Step::Request { bytes, idle } => self.request(index, bytes, idle),
                Step::Load => self.load(index),
                Step::Ask { load, bytes } => self.ask(index, load, bytes),
                Step::Count => self.count(index),
                Step::Stop => self.stop_loads(index),
                Step::Wait(Time::NEVER) => {
                    traffic.waits = true;
                    return self.calendar.cancel(id);
                }
                Step::Done => return self.calendar.cancel(id),
                Step::Wait(until) => return self.calendar.schedule(id, until),
            }
        }
    }

    /// Receives a packet of a source at the end of its route. `completed` is true if the packet
    /// carried the last byte of a connection or request.
    pub(super) fn received(&mut self, index: usize, packet: &Packet, completed: bool) {
        let traffic = &mut self.traffic[index];
        if self.now >= self.plan.warmup && !packet.has(flags::SYN) {
            traffic.received_packets += u64::from(packet.segments());
            traffic.received_bytes += u64::from(packet.len);
            if packet.has(flags::DATAGRAM) {
                traffic.one_way.record(self.now.since(packet.sent).ns());
            }
        }
        if traffic.far.acts() {
            return self.act_at_far_end(index, packet);
        }
        let Some(connection) = &mut self.ends[packet.flow as usize].connection else {
            return;
        };
        if connection.turns.is_some() {
            self.after_packet(index, packet, completed);
        } else if completed && let Some(asked) = connection.asked.take() {
            traffic.source.answered(asked.took.unwrap_or_default());
        } else if completed && traffic.connections.is_some() {
            let opened = connection.opened;
            let completion = Completion {
                at_ns: self.now.ns(),
                bytes: connection.delivered_bytes(),
                took_ns: self.now.since(opened).ns(),
            };
            self.complete(index, opened, &completion);
        }
    }

    /// Records that all bytes of a source's request have arrived, and notifies the source.
    pub(super) fn complete(&mut self, index: usize, begun: Time, completion: &Completion) {
        let traffic = &mut self.traffic[index];
        if let Some(connections) = &mut traffic.connections
            && begun >= self.plan.warmup
        {
            connections.done.push(*completion);
        }
        let took = traffic.source.complete(self.now, completion);
        if let Some(took) = took.filter(|took| self.now.since(*took) >= self.plan.warmup) {
            traffic.loads.record(took.ns());
        }
        if std::mem::take(&mut traffic.waits) {
            let id = self.ids.sources + index as u32;
            self.calendar.schedule(id, self.now);
        }
    }

    /// Opens a connection for a source, unless the source has reached its limit of connections.
    pub(super) fn open(&mut self, index: usize, bytes: Option<u64>) -> Option<u32> {
        let slot = self.slot_or_refuse(index)?;
        if bytes.is_some() {
            let connections = self.traffic[index].connections.as_mut()?;
            connections.started += u64::from(self.now >= self.plan.warmup);
        }
        self.begin(index, slot, bytes);
        Some(slot)
    }

    /// Takes a slot for a new connection. If no slot is free, counts a refused connection and
    /// notifies the source.
    pub(super) fn slot_or_refuse(&mut self, index: usize) -> Option<u32> {
        let slot = self.take_slot(index);
        if slot.is_none() {
            let connections = self.traffic[index].connections.as_mut()?;
            connections.refused += u64::from(self.now >= self.plan.warmup);
            self.traffic[index].source.refused(self.now);
        }
        slot
    }

    pub(super) fn begin(&mut self, index: usize, slot: u32, bytes: Option<u64>) {
        let source = self.traffic[index].number as usize;
        let Some(connections) = &mut self.traffic[index].connections else {
            return;
        };
        let Some(plan) = &self.plan.traffic[connections.group].connections else {
            return;
        };
        let mut control = crates::build(connections.entry, &connections.options);
        control.randomise(connections.seeds.fork());
        let mut fresh = Connection {
            client: End::Receiver,
            opened: self.now,
            ..Connection::unopened(
                slot,
                &plan.tcp,
                control,
                plan.ecn,
                bytes,
                self.first_segment,
                connections.phases,
            )
            .with_offloads(self.plan.offloads)
        };
        *fresh.sender.account = Account::counting();
        if let Some(memory) = &mut self.memory {
            memory.recall(source, &mut fresh.sender, self.now);
        }
        let connection = match connections.spare.pop() {
            Some(mut spare) => {
                fresh.sender.stats = std::mem::take(&mut spare.sender.stats);
                std::mem::swap(&mut fresh.sender.account, &mut spare.sender.account);
                *spare = fresh;
                spare
            }
            None => Box::new(fresh),
        };
        self.connections += 1;
        self.ends[slot as usize].due = [Time::ZERO; 2];
        self.ends[slot as usize].connection = Some(connection);
        self.connect_receiver(slot as usize);
    }

    /// Among the free slots without packets in the network, takes the slot that has been free for
    /// the longest time.
    fn take_slot(&mut self, index: usize) -> Option<u32> {
        let path = self.ends[self.traffic[index].number as usize].path.clone();
        for &link in path.route.iter().chain(path.back.iter()) {
            let gone = self.links[link as usize].sink.take_gone();
            for &slot in &gone {
                self.count_splits(slot as usize);
                let ends = &self.ends[slot as usize];
                let Opener::Traffic(owner) = ends.opener else {
                    continue;
                };
                if let Some(connections) = &mut self.traffic[owner as usize].connections {
                    connections.places.gone(slot, ends);
                }
            }
            self.links[link as usize].sink.reuse_gone(gone);
        }
        self.traffic[index].connections.as_mut()?.places.take()
    }

    /// Handles a packet that arrives at a slot whose connection is closed.
    #[cold]
    pub(super) fn left(&mut self, number: usize) {
        self.count_splits(number);
        let ends = &self.ends[number];
        if let Opener::Traffic(source) = ends.opener
            && let Some(connections) = &mut self.traffic[source as usize].connections
            && connections.places.slots.contains(&(number as u32))
        {
            connections.places.look(number as u32, ends);
        }
    }

    /// If all data of a connection was acknowledged, closes the connection and frees its slot.
    pub(super) fn close_if_done(&mut self, index: usize, number: usize) {
        let source = self.traffic[index].number as usize;
        let over = |connection: &mut Box<Connection>| connection.sender.is_done();
        if let Some(connection) = self.ends[number].connection.take_if(over)
            && let Some(connections) = &mut self.traffic[index].connections
        {
            self.connections -= 1;
            if let Some(memory) = &mut self.memory {
                let turns = connection.turns.as_ref();
                let has_served = turns.is_none_or(|turns| turns.has_served);
                memory.store(source, &connection.sender, has_served, self.now);
            }
            connections.spare.push(connection);
            self.count_splits(number);
            let ends = &self.ends[number];
            if let Some(connections) = &mut self.traffic[index].connections {
                connections.places.put(number as u32, ends);
            }
        }
    }

    /// Counts the packets that links have created by splitting a slot's packets. Such packets count
    /// as packets that have entered the network. Call this function before [`Places`] uses this
    /// count.
    fn count_splits(&mut self, slot: usize) {
        if !self.plan.offloads {
            return;
        }
        let Ends { path, entered, .. } = &mut self.ends[slot];
        for link in path.route.iter().chain(path.back.iter()) {
            let sink = &mut self.links[*link as usize].sink;
            *entered += sink.take_split(slot as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::connections::Path;

    /// Returns the two ends of a slot that has sent `entered` packets and received `ended` packets.
    fn ends(entered: u64, ended: u64) -> Ends {
        Ends {
            opener: Opener::Traffic(0),
            path: Path {
                route: [].into(),
                back: [].into(),
                pipes: [0; 2],
            },
            timers: [0; 2],
            armed: [Time::NEVER; 2],
            due: [Time::ZERO; 2],
            entered,
            ended,
            connection: None,
        }
    }

    #[test]
    fn the_slot_that_is_free_for_longest_comes_next_once_its_packets_are_out() {
        let mut places = Places::new(4..7);
        let all: Vec<_> = (0..4).map(|_| places.take()).collect();
        assert_eq!(all, [Some(4), Some(5), Some(6), None]);
        places.put(6, &ends(9, 8));
        places.put(5, &ends(2, 2));
        places.put(4, &ends(5, 3));
        assert_eq!((places.take(), places.take()), (Some(5), None));
        // Two packets of slot 4 are in the network. One of these packets is dropped, and the other
        // packet reaches its destination.
        places.gone(4, &ends(5, 3));
        assert_eq!(places.take(), None);
        places.look(4, &ends(5, 4));
        places.gone(6, &ends(9, 8));
        assert_eq!((places.take(), places.take()), (Some(6), Some(4)));
        assert_eq!(places.take(), None);
    }
}
