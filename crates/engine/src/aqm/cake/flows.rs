//! The queues of a tin: an 8-way set-associative hash over flows and hosts,
//! and the lists of DRR++ that they wait in.
//!
//! A queue is sparse when it begins (served before the others), bulk once it
//! has used up its quantum, and decaying while it is empty but its AQM still
//! remembers something. Bulk queues are counted by host: what a queue gets in
//! a round is divided by the bulk queues of the busier of its hosts.

use std::collections::VecDeque;

use super::cobalt::{Cobalt, Fresh, Params};
use crate::packet::Packet;
use crate::rng::Stream;

/// Queues of a tin.
pub const QUEUES: usize = 1024;
/// Queues that a flow may fall into.
const WAYS: usize = 8;
/// No queue: the end of a list.
const NONE: u16 = u16::MAX;

/// What is kept apart (tc's `flowblind`, `triple-isolate`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// Every flow has its queue.
    pub flows: bool,
    /// Sources: queues of their own, or a share each if flows have queues.
    pub sources: bool,
    /// Destinations, likewise.
    pub destinations: bool,
}

impl Isolation {
    /// One queue for all.
    pub const fn blind(self) -> bool {
        !(self.flows || self.sources || self.destinations)
    }

    /// Bulk queues are counted by source.
    const fn counts_sources(self) -> bool {
        self.flows && self.sources
    }

    /// Bulk queues are counted by destination.
    const fn counts_destinations(self) -> bool {
        self.flows && self.destinations
    }

    /// What a packet is told apart by, out of the hashes of its flow and hosts.
    pub const fn tag(self, flow: u32, source: u32, destination: u32) -> u32 {
        if self.flows {
            return flow;
        }
        (if self.sources { source } else { 0 }) ^ (if self.destinations { destination } else { 0 })
    }
}

/// Hashes of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keys {
    /// What its queue is found by.
    pub tag: u32,
    /// Of its source.
    pub source: u32,
    /// Of its destination.
    pub destination: u32,
}

/// Where a queue stands in DRR++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Nowhere: empty and forgotten.
    None,
    /// Began a short time ago.
    Sparse,
    /// Found empty with its quantum used up: counted as sparse, but it waits
    /// among the bulk ones.
    SparseWait,
    /// Has used up a quantum.
    Bulk,
    /// Empty, with state that has yet to decay.
    Decaying,
}

/// A queue.
#[derive(Clone, Debug)]
pub struct Flow {
    /// What is queued, the oldest first.
    pub packets: VecDeque<Packet>,
    /// Its AQM.
    pub cobalt: Cobalt,
    /// Bytes it may still send in this round.
    pub deficit: i32,
    /// Where it stands.
    pub set: Set,
    next: u16,
    prev: u16,
    source: u16,
    destination: u16,
}

/// A place for a source and, independent of it, one for a destination.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: [u32; 2],
    bulk: [u16; 2],
}

/// Ends of a doubly linked list through [`Flow`].
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u16,
    last: u16,
}

/// The lists of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Sparse queues.
    New,
    /// Bulk queues.
    Old,
    /// Empty queues that remember.
    Decaying,
}

/// Queues by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Population {
    /// Sparse, waiting ones included.
    pub sparse: u16,
    /// Bulk.
    pub bulk: u16,
    /// Decaying.
    pub decaying: u16,
}

/// A tin's queues.
#[derive(Debug)]
pub struct Flows {
    isolation: Isolation,
    flows: Box<[Flow]>,
    tags: Box<[u32]>,
    /// Bytes of each queue, apart for the search of the longest.
    backlogs: Box<[u32]>,
    hosts: Box<[Host]>,
    lists: [Ends; 3],
    /// Queues by state.
    pub population: Population,
    /// Bytes of a round.
    pub quantum: u32,
}

impl Flows {
    /// Empty queues: one if nothing is told apart.
    pub fn new(isolation: Isolation, fresh: Fresh) -> Flows {
        let count = if isolation.blind() { 1 } else { QUEUES };
        let flow = Flow {
            packets: VecDeque::new(),
            cobalt: Cobalt::new(fresh),
            deficit: 0,
            set: Set::None,
            next: NONE,
            prev: NONE,
            source: 0,
            destination: 0,
        };
        let none = Ends {
            first: NONE,
            last: NONE,
        };
        Flows {
            isolation,
            flows: vec![flow; count].into(),
            tags: vec![0; count].into(),
            backlogs: vec![0; count].into(),
            hosts: vec![Host::default(); count].into(),
            lists: [none; 3],
            population: Population::default(),
            quantum: 1514,
        }
    }

    /// A queue.
    #[inline]
    pub fn get(&mut self, index: usize) -> &mut Flow {
        &mut self.flows[index]
    }

    /// A queue, to look at.
    pub fn peek(&self, index: usize) -> &Flow {
        &self.flows[index]
    }

    /// Finds the queue of a packet, or gives it one.
    #[inline]
    pub fn find(&mut self, keys: &Keys) -> usize {
        if self.flows.len() == 1 {
            return 0;
        }
        let home = keys.tag as usize % QUEUES;
        if self.tags[home] == keys.tag && self.flows[home].set != Set::None {
            return home;
        }
        self.find_in_set(home, keys)
    }

    /// The places of a set, from the home on.
    fn ways(home: usize) -> impl Iterator<Item = usize> + Clone {
        let base = home - home % WAYS;
        (0..WAYS).map(move |i| base + (home + i) % WAYS)
    }

    fn find_in_set(&mut self, home: usize, keys: &Keys) -> usize {
        // Its own queue, else an empty one, else with another flow in the home.
        let own = Self::ways(home).find(|&i| self.tags[i] == keys.tag);
        let (index, fresh) = match own {
            Some(index) => (index, self.flows[index].set == Set::None),
            None => {
                let empty = Self::ways(home).find(|&i| self.flows[i].set == Set::None);
                let index = empty.unwrap_or(home);
                // Who shares a queue takes it over: its hosts are now the last packet's.
                self.count_bulk(index, false);
                (index, true)
            }
        };
        self.tags[index] = keys.tag;
        if fresh {
            if self.isolation.counts_sources() {
                self.flows[index].source = self.host(keys.source, 0);
            }
            if self.isolation.counts_destinations() {
                self.flows[index].destination = self.host(keys.destination, 1);
            }
            self.count_bulk(index, true);
        }
        index
    }

    /// Finds the place of a host, side 0 for sources and 1 for destinations.
    fn host(&mut self, tag: u32, side: usize) -> u16 {
        let home = tag as usize % QUEUES;
        let own = Self::ways(home).find(|&i| self.hosts[i].tag[side] == tag);
        let index = own
            .or_else(|| Self::ways(home).find(|&i| self.hosts[i].bulk[side] == 0))
            .unwrap_or(home);
        self.hosts[index].tag[side] = tag;
        index as u16
    }

    /// If it is a bulk queue, it begins or ceases to count for its hosts.
    fn count_bulk(&mut self, index: usize, begins: bool) {
        if self.flows[index].set == Set::Bulk {
            self.count_for_hosts(index, begins);
        }
    }

    fn count_for_hosts(&mut self, index: usize, begins: bool) {
        let flow = &self.flows[index];
        let sides = [
            (self.isolation.counts_sources(), flow.source),
            (self.isolation.counts_destinations(), flow.destination),
        ];
        for (side, (counted, host)) in sides.into_iter().enumerate() {
            if counted {
                let bulk = &mut self.hosts[usize::from(host)].bulk[side];
                *bulk = if begins {
                    (*bulk + 1).min(QUEUES as u16)
                } else {
                    bulk.saturating_sub(1)
                };
            }
        }
    }

    /// Bytes a queue gets in a round: dithered, so that nothing is lost to rounding.
    #[inline]
    fn share(&self, index: usize, rng: &mut Stream) -> i32 {
        let flow = &self.flows[index];
        let mut load = 1;
        if self.isolation.counts_sources() {
            load = load.max(self.hosts[usize::from(flow.source)].bulk[0]);
        }
        if self.isolation.counts_destinations() {
            load = load.max(self.hosts[usize::from(flow.destination)].bulk[1]);
        }
        let part = u32::from(u16::MAX / load);
        ((self.quantum * part + (rng.bits() >> 48) as u32) >> 16) as i32
    }

    /// Appends a packet; its queue takes its place in the round.
    #[inline]
    pub fn push(&mut self, index: usize, packet: Packet, rng: &mut Stream) {
        self.backlogs[index] += u32::from(packet.len);
        self.flows[index].packets.push_back(packet);
        match self.flows[index].set {
            Set::Sparse | Set::Bulk => {}
            Set::SparseWait => {
                self.population.sparse -= 1;
                self.become_bulk(index);
            }
            set => {
                if set == Set::Decaying {
                    self.population.decaying -= 1;
                    self.unlink(index, List::Decaying);
                }
                self.link(index, List::New);
                self.population.sparse += 1;
                self.flows[index].set = Set::Sparse;
                self.flows[index].deficit = self.share(index, rng);
            }
        }
    }

    /// Takes the oldest packet of a queue.
    #[inline]
    pub fn pop(&mut self, index: usize) -> Option<Packet> {
        let packet = self.flows[index].packets.pop_front()?;
        self.backlogs[index] -= u32::from(packet.len);
        Some(packet)
    }

    /// Takes a packet out of the middle of a queue (ACK filter).
    pub fn remove(&mut self, index: usize, position: usize) -> Option<Packet> {
        let packet = self.flows[index].packets.remove(position)?;
        self.backlogs[index] -= u32::from(packet.len);
        Some(packet)
    }

    /// The longest queue in bytes, and how long.
    pub fn longest(&self) -> (usize, u32) {
        let mut longest = (0, 0);
        for (i, &bytes) in self.backlogs.iter().enumerate() {
            if bytes > longest.1 {
                longest = (i, bytes);
            }
        }
        longest
    }

    /// Whether a queue waits that may have packets.
    #[inline]
    pub fn active(&self) -> bool {
        self.population.sparse + self.population.bulk > 0
    }

    /// The queue whose turn it is and may send: one decaying queue first if
    /// `decaying`, then sparse, then bulk ones.
    #[inline]
    pub fn next(&mut self, mut decaying: bool, rng: &mut Stream) -> Option<(usize, List)> {
        loop {
            let order = if decaying {
                [List::Decaying, List::New, List::Old]
            } else {
                [List::New, List::Old, List::Decaying]
            };
            decaying = false;
            let list = order
                .into_iter()
                .find(|list| self.lists[*list as usize].first != NONE)?;
            let index = usize::from(self.lists[list as usize].first);
            if self.flows[index].deficit > 0 {
                return Some((index, list));
            }
            // Its round is over: to the end of the bulk queues.
            if self.flows[index].set == Set::Sparse {
                if self.flows[index].packets.is_empty() {
                    self.flows[index].set = Set::SparseWait;
                } else {
                    self.population.sparse -= 1;
                    self.become_bulk(index);
                }
            }
            self.flows[index].deficit += self.share(index, rng);
            self.relink(index, list, List::Old);
        }
    }

    fn become_bulk(&mut self, index: usize) {
        self.population.bulk += 1;
        self.flows[index].set = Set::Bulk;
        self.count_for_hosts(index, true);
    }

    /// The queue at the head of `list` was served and found empty.
    pub fn emptied(&mut self, index: usize, list: List, p: &Params, now: i64) {
        let flow = &mut self.flows[index];
        flow.cobalt.queue_empty(p, now);
        let remembers = flow.cobalt.remembers(now);
        match flow.set {
            Set::Bulk => {
                self.population.bulk -= 1;
                self.count_for_hosts(index, false);
            }
            Set::Sparse | Set::SparseWait => self.population.sparse -= 1,
            Set::Decaying => self.population.decaying -= 1,
            Set::None => {}
        }
        if remembers {
            self.population.decaying += 1;
            self.flows[index].set = Set::Decaying;
            self.relink(index, list, List::Decaying);
        } else {
            self.flows[index].set = Set::None;
            self.unlink(index, list);
        }
    }

    /// Bulk queues of each host of a side that has any.
    #[cfg(test)]
    pub fn host_loads(&self, side: usize) -> Vec<u16> {
        let mut loads: Vec<u16> = self.hosts.iter().map(|h| h.bulk[side]).collect();
        loads.retain(|n| *n > 0);
        loads.sort_unstable();
        loads
    }

    #[inline]
    fn relink(&mut self, index: usize, from: List, to: List) {
        let ends = self.lists[from as usize];
        if from == to && ends.last == index as u16 {
            return;
        }
        self.unlink(index, from);
        self.link(index, to);
    }

    fn link(&mut self, index: usize, list: List) {
        let ends = &mut self.lists[list as usize];
        let last = std::mem::replace(&mut ends.last, index as u16);
        if last == NONE {
            ends.first = index as u16;
        } else {
            self.flows[usize::from(last)].next = index as u16;
        }
        let flow = &mut self.flows[index];
        flow.prev = last;
        flow.next = NONE;
    }

    fn unlink(&mut self, index: usize, list: List) {
        let (prev, next) = (self.flows[index].prev, self.flows[index].next);
        if prev == NONE {
            self.lists[list as usize].first = next;
        } else {
            self.flows[usize::from(prev)].next = next;
        }
        if next == NONE {
            self.lists[list as usize].last = prev;
        } else {
            self.flows[usize::from(next)].prev = prev;
        }
    }
}
