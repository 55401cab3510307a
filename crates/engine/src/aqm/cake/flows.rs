//! The queues of a tin: an 8-way set-associative hash over flows and hosts,
//! and the lists of DRR++ that they wait in.
//!
//! A new queue is sparse (served before the others). It is bulk once it has used up its quantum,
//! and decaying while it is empty but its AQM still has state. Bulk queues are counted by host. The
//! share of a queue in a round is divided by the number of bulk queues of the busier of its hosts.
//!
//! Linux visits every bulk queue in every round. With a thousand queues of one host that is a
//! thousand visits for each packet, as each queue then gets a byte or two per round. Here a queue
//! of a host with many bulk queues gets the bytes of several rounds at once: of all rounds in which
//! it cannot send yet. It then waits for that many rounds.

use super::super::backlogs::Backlogs;
use super::cobalt::{Cobalt, Fresh, Params};
use crate::packet::Packet;
use crate::ring::Ring;

/// Queues of a tin.
pub const QUEUES: usize = 1024;
/// Candidate queues of a flow.
const WAYS: usize = 8;
/// Most rounds that a queue can wait for at once.
const ROUNDS: usize = 256;
/// Number of bulk queues of a host above which queues wait for several rounds at once.
const MANY: u16 = 16;
/// No queue: the end of a list.
const NONE: u16 = u16::MAX;

/// Which flows or hosts have separate queues or shares (tc's `flowblind`, `triple-isolate`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// Whether every flow has its own queue.
    pub flows: bool,
    /// Whether sources are separate: with queues of their own, or with a share each if flows have
    /// queues.
    pub sources: bool,
    /// Whether destinations are separate, in the same way.
    pub destinations: bool,
}

impl Isolation {
    /// Whether there is one queue for all.
    pub const fn blind(self) -> bool {
        !(self.flows || self.sources || self.destinations)
    }

    /// Whether bulk queues are counted by source.
    const fn counts_sources(self) -> bool {
        self.flows && self.sources
    }

    /// Whether bulk queues are counted by destination.
    const fn counts_destinations(self) -> bool {
        self.flows && self.destinations
    }

    /// The hash that selects a packet's queue, from the hashes of its flow and hosts.
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
    /// Selects the queue.
    pub tag: u32,
    /// Hash of the source.
    pub source: u32,
    /// Hash of the destination.
    pub destination: u32,
}

/// State of a queue in DRR++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Empty, without state.
    None,
    /// It became active a short time ago and has quantum left.
    Sparse,
    /// Found empty with its quantum used up. It counts as sparse, but waits among the bulk queues.
    SparseWait,
    /// Has used up a quantum.
    Bulk,
    /// Empty, with state that must still decay.
    Decaying,
}

/// A queue.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Queued packets, the oldest first.
    pub packets: Ring<Packet>,
    /// The AQM of the queue.
    pub cobalt: Cobalt,
    /// Bytes it may still send in this round.
    pub deficit: i32,
    /// State of the queue in DRR++.
    pub set: Set,
    next: u16,
    prev: u16,
    source: u16,
    destination: u16,
}

/// An entry for a source and, independent of it, one for a destination.
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
    /// Empty queues whose state decays.
    Decaying,
    /// Bulk queues of a round.
    Old(u8),
}

impl List {
    #[inline]
    fn index(self) -> usize {
        match self {
            List::New => 0,
            List::Decaying => 1,
            List::Old(round) => 2 + usize::from(round),
        }
    }
}

/// Queues by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Population {
    /// Number of sparse queues, including those that wait.
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
    /// Bytes of each queue.
    backlogs: Backlogs,
    hosts: Box<[Host]>,
    /// Sparse and decaying queues, then bulk queues by the round they wait for.
    lists: Box<[Ends; 2 + ROUNDS]>,
    /// Bit set of the rounds that some bulk queue waits for.
    waited_for: [u64; ROUNDS / 64],
    /// Number of waiting bulk queues.
    waiting: u16,
    /// The current round of the bulk queues.
    round: usize,
    /// State of the generator of dither.
    dither: u64,
    /// Queues by state.
    pub population: Population,
    /// Bytes of a round.
    pub quantum: u32,
}

impl Flows {
    /// Creates empty queues: a single one if nothing is separate.
    pub fn new(isolation: Isolation, fresh: Fresh, seed: u64) -> Flows {
        let count = if isolation.blind() { 1 } else { QUEUES };
        let flow = Flow {
            packets: Ring::default(),
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
            backlogs: Backlogs::new(count),
            hosts: vec![Host::default(); count].into(),
            lists: Box::new([none; 2 + ROUNDS]),
            waited_for: [0; ROUNDS / 64],
            waiting: 0,
            round: 0,
            dither: seed,
            population: Population::default(),
            quantum: 1514,
        }
    }

    /// A queue.
    #[inline]
    pub fn get(&mut self, index: usize) -> &mut Flow {
        &mut self.flows[index]
    }

    /// A queue, read-only.
    pub fn peek(&self, index: usize) -> &Flow {
        &self.flows[index]
    }

    /// Finds the queue of a packet, or assigns one.
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

    /// The entries of a set, starting with the home entry.
    fn ways(home: usize) -> impl Iterator<Item = usize> + Clone {
        let base = home - home % WAYS;
        (0..WAYS).map(move |i| base + (home + i) % WAYS)
    }

    fn find_in_set(&mut self, home: usize, keys: &Keys) -> usize {
        // The flow's own queue, else an empty one, else the home queue, shared with another flow.
        let own = Self::ways(home).find(|&i| self.tags[i] == keys.tag);
        let (index, fresh) = match own {
            Some(index) => (index, self.flows[index].set == Set::None),
            None => {
                let empty = Self::ways(home).find(|&i| self.flows[i].set == Set::None);
                let index = empty.unwrap_or(home);
                // A flow that shares a queue takes it over: the queue's hosts are now those of the
                // last packet.
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

    /// Finds the entry of a host. Side 0 is for sources, 1 for destinations.
    fn host(&mut self, tag: u32, side: usize) -> u16 {
        let home = tag as usize % QUEUES;
        let own = Self::ways(home).find(|&i| self.hosts[i].tag[side] == tag);
        let index = own
            .or_else(|| Self::ways(home).find(|&i| self.hosts[i].bulk[side] == 0))
            .unwrap_or(home);
        self.hosts[index].tag[side] = tag;
        index as u16
    }

    /// Starts or stops counting a queue for its hosts, if it is a bulk queue.
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

    /// 16 random bits. The numbers are used only for dither, so a multiplication is enough.
    #[inline]
    fn bits(&mut self) -> u32 {
        self.dither = self
            .dither
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        (self.dither >> 48) as u32
    }

    /// Number of bulk queues of the busier of a queue's hosts.
    #[inline]
    fn load(&self, index: usize) -> u16 {
        let flow = &self.flows[index];
        let mut load = 1;
        if self.isolation.counts_sources() {
            load = load.max(self.hosts[usize::from(flow.source)].bulk[0]);
        }
        if self.isolation.counts_destinations() {
            load = load.max(self.hosts[usize::from(flow.destination)].bulk[1]);
        }
        load
    }

    /// Bytes that a queue gets in a round, in units of 2^-16.
    #[inline]
    fn share(&self, load: u16) -> u32 {
        self.quantum * u32::from(u16::MAX / load)
    }

    /// Initial deficit of a queue. Dither prevents a loss by rounding.
    #[inline]
    fn first_share(&mut self, index: usize) -> i32 {
        ((self.share(self.load(index)) + self.bits()) >> 16) as i32
    }

    /// Appends a packet and puts its queue into the round.
    #[inline]
    pub fn push(&mut self, index: usize, packet: Packet) {
        self.backlogs.add(index, packet.len);
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
                self.flows[index].deficit = self.first_share(index);
            }
        }
    }

    /// Moves the oldest packet of a queue to `next`. Returns whether there was one.
    #[inline]
    pub fn pop_to(&mut self, index: usize, next: &mut Packet) -> bool {
        let any = self.flows[index].packets.pop_to(next);
        if any {
            self.backlogs.remove(index, next.len);
        }
        any
    }

    /// Removes a packet from the middle of a queue (ACK filter).
    pub fn remove(&mut self, index: usize, position: usize) -> Option<Packet> {
        let packet = self.flows[index].packets.remove(position)?;
        self.backlogs.remove(index, packet.len);
        Some(packet)
    }

    /// The longest queue in bytes, and its length.
    pub fn longest(&mut self) -> (usize, u64) {
        self.backlogs.longest()
    }

    /// Whether a waiting queue may have packets.
    #[inline]
    pub fn active(&self) -> bool {
        self.population.sparse + self.population.bulk > 0
    }

    /// The queue whose turn it is and that may send. Order: one decaying queue if `decaying`, then
    /// sparse queues, then bulk ones.
    #[inline]
    pub fn next(&mut self, mut decaying: bool) -> Option<(usize, List)> {
        loop {
            let list = self.first_list(decaying)?;
            decaying = false;
            let index = usize::from(self.lists[list.index()].first);
            if self.flows[index].deficit > 0 {
                return Some((index, list));
            }
            // The queue's turn is over, so it moves to the end of the bulk queues.
            if self.flows[index].set == Set::Sparse {
                if self.flows[index].packets.is_empty() {
                    self.flows[index].set = Set::SparseWait;
                } else {
                    self.population.sparse -= 1;
                    self.become_bulk(index);
                }
            }
            let rounds = self.refill(index);
            if self.waiting > 1 || matches!(list, List::New | List::Decaying) {
                self.unlink(index, list);
                self.wait(index, rounds);
            } else if self.flows[index].deficit > 0 {
                // It is the only waiting queue, so it is next in any case.
                return Some((index, list));
            }
        }
    }

    /// The list that is served next.
    #[inline]
    fn first_list(&mut self, decaying: bool) -> Option<List> {
        let filled = |flows: &Self, list: List| flows.lists[list.index()].first != NONE;
        if decaying && filled(self, List::Decaying) {
            return Some(List::Decaying);
        }
        if filled(self, List::New) {
            return Some(List::New);
        }
        let round = List::Old(self.round as u8);
        if filled(self, round) {
            return Some(round);
        }
        if let Some(round) = self.next_round() {
            self.round = round;
            return Some(List::Old(round as u8));
        }
        filled(self, List::Decaying).then_some(List::Decaying)
    }

    /// The next round that a bulk queue waits for.
    #[inline]
    fn next_round(&self) -> Option<usize> {
        const WORDS: usize = ROUNDS / 64;
        let at = self.round / 64;
        // The rest of this word, the other words, then the beginning of this word.
        let rest = self.waited_for[at] & (u64::MAX << (self.round % 64));
        if rest != 0 {
            return Some(at * 64 + rest.trailing_zeros() as usize);
        }
        (1..=WORDS).map(|i| (at + i) % WORDS).find_map(|i| {
            let word = self.waited_for[i];
            (word != 0).then(|| i * 64 + word.trailing_zeros() as usize)
        })
    }

    /// Gives a queue its share of one round, or of all the rounds that it must wait for anyway.
    /// Returns the number of rounds.
    #[inline]
    fn refill(&mut self, index: usize) -> usize {
        let load = self.load(index);
        let share = self.share(load);
        let bits = self.bits();
        let flow = &mut self.flows[index];
        let mut rounds = 1;
        if load > MANY {
            // No round brings more than this.
            let most = (share >> 16) + 1;
            let without = flow.deficit.unsigned_abs() / most;
            rounds = (without as usize + 1).min(ROUNDS - 1);
        }
        let got = (u64::from(share) * rounds as u64 + u64::from(bits)) >> 16;
        flow.deficit += got as i32;
        rounds
    }

    /// Puts a queue at the end of the queues that wait for this many rounds.
    #[inline]
    fn wait(&mut self, index: usize, rounds: usize) {
        let round = (self.round + rounds) % ROUNDS;
        self.waited_for[round / 64] |= 1 << (round % 64);
        self.waiting += 1;
        self.link(index, List::Old(round as u8));
    }

    fn become_bulk(&mut self, index: usize) {
        self.population.bulk += 1;
        self.flows[index].set = Set::Bulk;
        self.count_for_hosts(index, true);
    }

    /// Notes that the queue at the head of `list` was served and found empty.
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
            self.unlink(index, list);
            self.link(index, List::Decaying);
        } else {
            self.flows[index].set = Set::None;
            self.unlink(index, list);
        }
    }

    /// Number of bulk queues of each host of a side that has any.
    #[cfg(test)]
    pub fn host_loads(&self, side: usize) -> Vec<u16> {
        let mut loads: Vec<u16> = self.hosts.iter().map(|h| h.bulk[side]).collect();
        loads.retain(|n| *n > 0);
        loads.sort_unstable();
        loads
    }

    fn link(&mut self, index: usize, list: List) {
        let ends = &mut self.lists[list.index()];
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
        self.waiting -= u16::from(matches!(list, List::Old(_)));
        if prev == NONE {
            self.lists[list.index()].first = next;
            if let (NONE, List::Old(round)) = (next, list) {
                let round = usize::from(round);
                self.waited_for[round / 64] &= !(1 << (round % 64));
            }
        } else {
            self.flows[usize::from(prev)].next = next;
        }
        if next == NONE {
            self.lists[list.index()].last = prev;
        } else {
            self.flows[usize::from(next)].prev = prev;
        }
    }
}
