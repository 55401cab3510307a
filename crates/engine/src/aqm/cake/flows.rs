//! The queues of a tin. An 8-way set-associative hash over flows and hosts selects a packet's
//! queue. The queues wait for service in the lists of DRR++.
//!
//! A new queue is sparse: Cake serves sparse queues before bulk queues. A queue becomes a bulk
//! queue once it has used up its quantum. A queue is "decaying" if it is empty but the state of its
//! AQM has not yet decayed to 0. Cake counts the bulk queues of each host. A queue's quantum per
//! round is divided by the number of bulk queues of its source or of its destination. The larger of
//! the two numbers is used.
//!
//! Linux visits every bulk queue in every round. If a host has a thousand queues, each of them gets
//! only a byte or two per round. So Linux visits a queue about a thousand times for each packet. In
//! tailback, such a queue gets the bytes of several rounds in advance. It is skipped in these
//! rounds. It could not have sent a packet in them anyway.

use super::super::backlogs::Backlogs;
use super::cobalt::{Cobalt, Fresh, Params};
use crate::packet::Packet;
use crate::ring::Ring;

pub const QUEUES: usize = 1024;
/// Associativity of the hash table. The hash of a flow selects a set of this many queues.
const WAYS: usize = 8;
/// Upper limit of the number of rounds in which a queue is skipped.
const ROUNDS: usize = 256;
/// If a host has more bulk queues than this number, its queues get the bytes of several rounds in
/// advance.
const MANY: u16 = 16;
const NONE: u16 = u16::MAX;

/// Whether flows have separate queues, and whether hosts have separate shares (tc's `flowblind`,
/// `triple-isolate`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolation {
    pub flows: bool,
    /// Whether each source gets its own share of the rate. If `flows` is false, each source gets
    /// its own queue instead.
    pub sources: bool,
    /// Whether each destination gets its own share of the rate. If `flows` is false, it gets its
    /// own queue instead.
    pub destinations: bool,
}

impl Isolation {
    pub const fn blind(self) -> bool {
        !(self.flows || self.sources || self.destinations)
    }

    const fn counts_sources(self) -> bool {
        self.flows && self.sources
    }

    const fn counts_destinations(self) -> bool {
        self.flows && self.destinations
    }

    /// Returns the hash by which a packet's queue is found. It is computed from the hashes of the
    /// packet's flow and hosts.
    pub const fn tag(self, flow: u32, source: u32, destination: u32) -> u32 {
        if self.flows {
            return flow;
        }
        (if self.sources { source } else { 0 }) ^ (if self.destinations { destination } else { 0 })
    }
}

/// The hashes by which the queue and the hosts of a packet are found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keys {
    /// The hash for the queue.
    pub tag: u32,
    pub source: u32,
    pub destination: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// The queue is empty, and its AQM has no state.
    None,
    /// The queue has become active recently and has not used up its quantum.
    Sparse,
    /// The queue has used up its quantum and was then empty when it was served. It counts as
    /// sparse, but it is in a list of bulk queues.
    SparseWait,
    /// The queue has used up a quantum.
    Bulk,
    /// The queue is empty, but the state of its AQM must still decay.
    Decaying,
}

#[derive(Clone, Debug)]
pub struct Flow {
    pub packets: Ring<Packet>,
    pub cobalt: Cobalt,
    pub deficit: i32,
    pub set: Set,
    next: u16,
    prev: u16,
    source: u16,
    destination: u16,
}

/// A slot of the host table. It holds one source and one destination. The two are independent of
/// each other.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: [u32; 2],
    bulk: [u16; 2],
}

/// The first and the last queue of a list. The list is linked through [`Flow`].
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u16,
    last: u16,
}

/// The lists in which the queues of a tin wait for service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    New,
    /// Empty queues whose AQM state decays.
    Decaying,
    /// Bulk queues that wait for the current round.
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Population {
    /// Number of queues that are in the states `Sparse` and `SparseWait`.
    pub sparse: u16,
    pub bulk: u16,
    pub decaying: u16,
}

#[derive(Debug)]
pub struct Flows {
    isolation: Isolation,
    flows: Box<[Flow]>,
    tags: Box<[u32]>,
    backlogs: Backlogs,
    hosts: Box<[Host]>,
    /// First the list of sparse queues and the list of decaying queues. Then one list of bulk
    /// queues for each of the next rounds.
    lists: Box<[Ends; 2 + ROUNDS]>,
    /// Bit set of the rounds for which bulk queues wait.
    waited_for: [u64; ROUNDS / 64],
    waiting: u16,
    round: usize,
    /// State of the random generator that produces the dither.
    dither: u64,
    pub population: Population,
    /// How many bytes a queue gets in a round, before they are divided by the number of bulk queues
    /// of its host.
    pub quantum: u32,
}

impl Flows {
    /// Creates empty queues. If neither flows nor hosts are separate, creates only one queue.
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

    #[inline]
    pub fn get(&mut self, index: usize) -> &mut Flow {
        &mut self.flows[index]
    }

    pub fn peek(&self, index: usize) -> &Flow {
        &self.flows[index]
    }

    /// Returns the queue of a packet. If the packet's flow does not have a queue yet, assigns one.
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

    /// Returns the slots of a set in the hash table, beginning with the home slot.
    fn ways(home: usize) -> impl Iterator<Item = usize> + Clone {
        let base = home - home % WAYS;
        (0..WAYS).map(move |i| base + (home + i) % WAYS)
    }

    fn find_in_set(&mut self, home: usize, keys: &Keys) -> usize {
        // Prefer the flow's own queue, then an empty queue. If there is neither, share the queue in
        // the home slot with another flow.
        let own = Self::ways(home).find(|&i| self.tags[i] == keys.tag);
        let (index, fresh) = match own {
            Some(index) => (index, self.flows[index].set == Set::None),
            None => {
                let empty = Self::ways(home).find(|&i| self.flows[i].set == Set::None);
                let index = empty.unwrap_or(home);
                // The queue may have belonged to another flow. Then it no longer counts for the
                // other flow's hosts.
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

    /// Returns the slot of a host. `side` is 0 for sources and 1 for destinations.
    fn host(&mut self, tag: u32, side: usize) -> u16 {
        let home = tag as usize % QUEUES;
        let own = Self::ways(home).find(|&i| self.hosts[i].tag[side] == tag);
        let index = own
            .or_else(|| Self::ways(home).find(|&i| self.hosts[i].bulk[side] == 0))
            .unwrap_or(home);
        self.hosts[index].tag[side] = tag;
        index as u16
    }

    /// If `begins` is true, counts a bulk queue for its hosts. Otherwise, the queue no longer
    /// counts for its hosts.
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

    /// Returns 16 random bits. They are used only for dither. So the result of one multiplication
    /// is random enough.
    #[inline]
    fn bits(&mut self) -> u32 {
        self.dither = self
            .dither
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(0x1405_7B7E_F767_814F);
        (self.dither >> 48) as u32
    }

    /// Returns how many bulk queues the source or the destination of a queue has, whichever is
    /// larger.
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

    /// Returns how many bytes a queue gets in a round, in units of 2^-16 bytes.
    #[inline]
    fn share(&self, load: u16) -> u32 {
        self.quantum * u32::from(u16::MAX / load)
    }

    /// Returns the initial deficit of a queue, in bytes. Dither is added, because rounding alone
    /// would always lose bytes.
    #[inline]
    fn first_share(&mut self, index: usize) -> i32 {
        ((self.share(self.load(index)) + self.bits()) >> 16) as i32
    }

    /// Appends a packet to a queue. If the queue was empty, makes it active.
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

    #[inline]
    pub fn pop_to(&mut self, index: usize, next: &mut Packet) -> bool {
        let any = self.flows[index].packets.pop_to(next);
        if any {
            self.backlogs.remove(index, next.len);
        }
        any
    }

    /// Removes a packet from the middle of a queue. The ACK filter needs this.
    pub fn remove(&mut self, index: usize, position: usize) -> Option<Packet> {
        let packet = self.flows[index].packets.remove(position)?;
        self.backlogs.remove(index, packet.len);
        Some(packet)
    }

    /// Returns the index of the longest queue and its length in bytes.
    pub fn longest(&mut self) -> (usize, u64) {
        self.backlogs.longest()
    }

    #[inline]
    pub fn active(&self) -> bool {
        self.population.sparse + self.population.bulk > 0
    }

    /// Returns the next queue that may send. With `decaying`, one decaying queue comes first.
    /// Sparse queues come next, and bulk queues last.
    #[inline]
    pub fn next(&mut self, mut decaying: bool) -> Option<(usize, List)> {
        loop {
            let list = self.first_list(decaying)?;
            decaying = false;
            let index = usize::from(self.lists[list.index()].first);
            if self.flows[index].deficit > 0 {
                return Some((index, list));
            }
            // The queue has used up its bytes of this round.
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
                // This is the only waiting queue, so it is next again.
                return Some((index, list));
            }
        }
    }

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

    /// Returns the next round for which a bulk queue waits.
    #[inline]
    fn next_round(&self) -> Option<usize> {
        const WORDS: usize = ROUNDS / 64;
        let at = self.round / 64;
        // Search the bit set from the current round on. First search the rest of this 64-bit word,
        // then the other words, and then the beginning of this word.
        let rest = self.waited_for[at] & (u64::MAX << (self.round % 64));
        if rest != 0 {
            return Some(at * 64 + rest.trailing_zeros() as usize);
        }
        (1..=WORDS).map(|i| (at + i) % WORDS).find_map(|i| {
            let word = self.waited_for[i];
            (word != 0).then(|| i * 64 + word.trailing_zeros() as usize)
        })
    }

    /// Gives a queue its bytes for one round. If its host has many bulk queues, gives it the bytes
    /// of all rounds until it can send a packet. Returns the number of rounds for which the queue
    /// has got bytes.
    #[inline]
    fn refill(&mut self, index: usize) -> usize {
        let load = self.load(index);
        let share = self.share(load);
        let bits = self.bits();
        let flow = &mut self.flows[index];
        let mut rounds = 1;
        if load > MANY {
            // Upper limit of the bytes that a queue gets in one round.
            let most = (share >> 16) + 1;
            let without = flow.deficit.unsigned_abs() / most;
            rounds = (without as usize + 1).min(ROUNDS - 1);
        }
        let got = (u64::from(share) * rounds as u64 + u64::from(bits)) >> 16;
        flow.deficit += got as i32;
        rounds
    }

    /// Appends a queue to the list of the round that is `rounds` rounds ahead.
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

    /// Records that the queue at the head of `list` was served and was empty.
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

    /// Returns how many bulk queues each source (`side` 0) or each destination (`side` 1) has.
    /// Hosts without bulk queues are left out.
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
