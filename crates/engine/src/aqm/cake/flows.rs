//! The queues of a tin. An 8-way set-associative hash over flows and hosts selects a packet's
//! queue. The queues wait for service in the lists of DRR++.
//!
//! A new queue is sparse: Cake serves sparse queues before bulk queues. A queue becomes a bulk
//! queue once it has used up its quantum. A queue is "decaying" if it is empty but the state of its
//! AQM has not yet decayed to 0. Cake counts the bulk queues of each host. A queue's quantum per
//! round is divided by the number of bulk queues of its source or of its destination. Cake divides
//! by the larger of these two numbers.
//!
//! Linux visits every bulk queue in every round. If a host has a thousand queues, each of them gets
//! only a byte or two per round. So Linux visits a queue about a thousand times for each packet. In
//! tailback, such a queue gets the bytes of several rounds in advance. tailback skips the queue in
//! these rounds. In Linux, the queue sends no packet in these rounds, either.

use super::super::backlogs::Backlogs;
use super::cobalt::{Cobalt, Fresh, Params};
use crate::packet::Packet;
use crate::ring::Ring;

pub const QUEUES: usize = 1024;
/// Associativity of the hash table. The hash of a flow selects a set of this many queues.
const WAYS: usize = 8;
/// The number of rounds for which lists of bulk queues exist. The number of rounds whose bytes a
/// queue gets at once is smaller than this number.
const ROUNDS: usize = 256;
const MOST_ROUNDS: u8 = (ROUNDS - 1) as u8;
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
    /// Whether each destination gets its own share of the rate. If `flows` is false, each
    /// destination gets its own queue instead.
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

    /// Returns the hash by which a packet's queue is found. This hash is computed from the hashes
    /// of the packet's flow and hosts.
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
    /// The hash by which the packet's queue is found.
    pub tag: u32,
    pub source: u32,
    pub destination: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// The queue is empty, and its AQM has no state.
    None,
    /// The queue has become active recently and has not used up its quantum.
    Sparse,
    /// The queue has used up its quantum and was then empty when it was served. This queue counts
    /// as sparse, but waits in a list of bulk queues.
    SparseWait,
    /// The queue has used up a quantum.
    Bulk,
    /// The queue is empty, but the state of its AQM must still decay.
    Decaying,
}

/// The packets of a queue, and its AQM.
#[derive(Clone, Debug)]
pub struct Flow {
    pub packets: Ring<Packet>,
    pub cobalt: Cobalt,
}

/// The part of a queue's state that DRR++ needs. This state is not in [`Flow`], because DRR++
/// visits many queues that send nothing. The [`Turn`]s of all queues fit into the L1 cache.
#[derive(Clone, Copy, Debug)]
struct Turn {
    deficit: i32,
    next: u16,
    /// The queue before this one in the list of decaying queues. In other lists, this field has no
    /// meaning, because only the first queue of such a list is removed.
    prev: u16,
    source: u16,
    destination: u16,
    set: Set,
}

const _: () = assert!(size_of::<Turn>() == 16);

/// A slot of the host table. The slot stores one source and one destination, which are independent
/// of each other.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: [u32; 2],
    bulk: [u16; 2],
}

/// The first and the last queue of a list. The list is linked through [`Turn`].
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u16,
    last: u16,
}

/// An empty list, which has neither a first nor a last queue.
const EMPTY: Ends = Ends {
    first: NONE,
    last: NONE,
};

/// The lists in which the queues of a tin wait for service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    New,
    /// Empty queues whose AQM state decays.
    Decaying,
    /// Bulk queues that wait for this round.
    Old(u8),
}

impl List {
    /// Index of the list of the first round.
    const FIRST_OLD: usize = 2;

    #[inline]
    fn index(self) -> usize {
        match self {
            List::New => 0,
            List::Decaying => 1,
            List::Old(round) => List::FIRST_OLD + usize::from(round),
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
    /// There are always [`QUEUES`] entries, even if Cake has only one queue. So the compiler can
    /// omit checks of indices.
    turns: Box<[Turn; QUEUES]>,
    tags: Box<[u32]>,
    backlogs: Backlogs,
    hosts: Box<[Host]>,
    /// The first two entries are the list of sparse queues and the list of decaying queues. The
    /// other entries are lists of bulk queues, one for each of the next rounds.
    lists: Box<[Ends; List::FIRST_OLD + ROUNDS]>,
    /// Bit set of the rounds for which bulk queues wait.
    waited_for: [u64; ROUNDS / 64],
    waiting: u16,
    round: u8,
    /// State of the random generator that produces the dither.
    dither: u64,
    pub population: Population,
    /// How many bytes a queue gets in a round, before the division by the number of bulk queues of
    /// its host.
    pub quantum: u32,
}

impl Flows {
    /// Creates empty queues. If neither flows nor hosts have separate queues, creates only one
    /// queue.
    pub fn new(isolation: Isolation, fresh: Fresh, seed: u64) -> Flows {
        let count = if isolation.blind() { 1 } else { QUEUES };
        let flow = Flow {
            packets: Ring::default(),
            cobalt: Cobalt::new(fresh),
        };
        let turn = Turn {
            deficit: 0,
            set: Set::None,
            next: NONE,
            prev: NONE,
            source: 0,
            destination: 0,
        };
        Flows {
            isolation,
            flows: vec![flow; count].into(),
            turns: Box::new([turn; QUEUES]),
            tags: vec![0; count].into(),
            backlogs: Backlogs::new(count),
            hosts: vec![Host::default(); count].into(),
            lists: Box::new([EMPTY; List::FIRST_OLD + ROUNDS]),
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
        if self.tags[home] == keys.tag && self.turns[home % QUEUES].set != Set::None {
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
            Some(index) => (index, self.turns[index % QUEUES].set == Set::None),
            None => {
                let empty = Self::ways(home).find(|&i| self.turns[i % QUEUES].set == Set::None);
                let index = empty.unwrap_or(home);
                // The queue may have belonged to another flow. If so, the queue no longer counts
                // for the hosts of that flow.
                self.count_bulk(index, false);
                (index, true)
            }
        };
        self.tags[index] = keys.tag;
        if fresh {
            if self.isolation.counts_sources() {
                self.turns[index % QUEUES].source = self.host(keys.source, 0);
            }
            if self.isolation.counts_destinations() {
                self.turns[index % QUEUES].destination = self.host(keys.destination, 1);
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

    /// If `begins` is true, counts a bulk queue for its hosts. If `begins` is false, the queue no
    /// longer counts for its hosts.
    fn count_bulk(&mut self, index: usize, begins: bool) {
        if self.turns[index % QUEUES].set == Set::Bulk {
            self.count_for_hosts(index, begins);
        }
    }

    fn count_for_hosts(&mut self, index: usize, begins: bool) {
        let turn = &self.turns[index % QUEUES];
        let sides = [
            (self.isolation.counts_sources(), turn.source),
            (self.isolation.counts_destinations(), turn.destination),
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

    /// Returns the initial deficit of a queue, in bytes. Adds random bits as dither, because
    /// rounding without dither would always lose bytes.
    #[inline]
    fn first_share(&mut self, index: usize) -> i32 {
        let load = load(self.isolation, &self.hosts, &self.turns[index % QUEUES]);
        ((share(self.quantum, load) + next_bits(&mut self.dither)) >> 16) as i32
    }

    /// Appends a packet to a queue. If the queue was empty, makes it active.
    #[inline]
    pub fn push(&mut self, index: usize, packet: Packet) {
        self.backlogs.add(index, packet.len);
        self.flows[index].packets.push_back(packet);
        match self.turns[index % QUEUES].set {
            Set::Sparse | Set::Bulk => {}
            Set::SparseWait => {
                self.population.sparse -= 1;
                self.become_bulk(index);
            }
            set => {
                if set == Set::Decaying {
                    self.population.decaying -= 1;
                    self.unlink_decaying(index);
                }
                self.link(index, List::New);
                self.population.sparse += 1;
                self.turns[index % QUEUES].set = Set::Sparse;
                self.turns[index % QUEUES].deficit = self.first_share(index);
            }
        }
    }

    #[inline(always)] // as for `next`
    pub fn pop_to(&mut self, index: usize, next: &mut Packet) -> bool {
        let any = self.flows[index].packets.pop_to(next);
        if any {
            self.backlogs.remove(index, next.len);
        }
        any
    }

    /// Removes a packet from the middle of a queue. The ACK filter calls this function.
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

    /// Reduces a queue's deficit by the bytes that it has sent.
    #[inline]
    pub fn spend(&mut self, index: usize, bytes: u32) {
        self.turns[index % QUEUES].deficit -= bytes as i32;
    }

    /// Returns the next queue that may send. If `decaying` is true, one decaying queue comes first.
    /// Sparse queues come next, and bulk queues last.
    #[inline(always)] // inline, because Cake calls it for every packet
    pub fn next(&mut self, decaying: bool) -> Option<(usize, List)> {
        let none = |list: List| self.lists[list.index()].first == NONE;
        let list = List::Old(self.round);
        let first = self.lists[list.index()].first;
        if self.waiting == 1
            && first != NONE
            && none(List::New)
            && (!decaying || none(List::Decaying))
        {
            // No other queue waits, so give this queue the bytes of further rounds until it may
            // send.
            let index = usize::from(first);
            while self.turns[index % QUEUES].deficit <= 0 {
                self.refill(index);
            }
            return Some((index, list));
        }
        let (index, list) = self.next_of_many(decaying)?;
        Some((usize::from(index), list))
    }

    /// Does the same as [`Flows::next`], but for any number of waiting queues. The result fits into
    /// a register.
    #[inline(never)]
    fn next_of_many(&mut self, mut decaying: bool) -> Option<(u16, List)> {
        loop {
            let list = self.first_list(decaying)?;
            decaying = false;
            let first = self.lists[list.index()].first;
            let index = usize::from(first);
            if self.turns[index % QUEUES].deficit > 0 {
                return Some((first, list));
            }
            // The queue has used up its bytes of this round.
            match list {
                List::Old(_) => return Some(self.pass()),
                List::New | List::Decaying => {
                    self.end_sparse(index);
                    let rounds = self.refill(index);
                    self.unlink_first(list);
                    self.wait(index, rounds);
                }
            }
        }
    }

    /// While the first queue of the current round has no bytes left, gives it new bytes and moves it
    /// to a later round. If all queues of the round have moved, continues with the next round.
    /// Returns the first queue that has bytes left.
    #[inline]
    fn pass(&mut self) -> (u16, List) {
        let (isolation, quantum) = (self.isolation, self.quantum);
        // The loop uses local slices, because the compiler would read the addresses of the boxes
        // again after each write.
        let (turns, hosts) = (&mut *self.turns, &*self.hosts);
        let (lists, waited_for) = (&mut *self.lists, &mut self.waited_for);
        let mut dither = self.dither;
        let mut grant = Grant::default();
        let mut granted = None;
        let mut enough = 0;
        let mut round = self.round;
        let mut first = lists[List::Old(round).index()].first;
        loop {
            if first == NONE {
                // Every queue of this round has moved to a later round.
                lists[List::Old(round).index()] = EMPTY;
                waited_for[usize::from(round / 64)] &= !(1 << (round % 64));
                round = next_round(waited_for, round).unwrap_or(round);
                first = lists[List::Old(round).index()].first;
            }
            let turn = &mut turns[usize::from(first) % QUEUES];
            if turn.deficit > 0 {
                break;
            }
            debug_assert!(turn.set != Set::Sparse, "sparse queues are in another list");
            // Queues of the same hosts get the same number of bytes.
            let ends = Some((turn.source, turn.destination));
            if granted != ends {
                granted = ends;
                grant = Grant::new(quantum, load(isolation, hosts, turn));
                enough = grant.most * u32::from(grant.rounds - 1);
            }
            let rounds = grant.refill_below(enough, &mut turn.deficit, next_bits(&mut dither));
            let next = std::mem::replace(&mut turn.next, NONE);
            append(turns, lists, waited_for, first, round.wrapping_add(rounds));
            first = next;
        }
        lists[List::Old(round).index()].first = first;
        self.round = round;
        self.dither = dither;
        (first, List::Old(round))
    }

    /// Records that a sparse queue has used up its quantum.
    fn end_sparse(&mut self, index: usize) {
        if self.turns[index % QUEUES].set == Set::Sparse {
            if self.flows[index].packets.is_empty() {
                self.turns[index % QUEUES].set = Set::SparseWait;
            } else {
                self.population.sparse -= 1;
                self.become_bulk(index);
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
        let round = List::Old(self.round);
        if filled(self, round) {
            return Some(round);
        }
        if let Some(round) = next_round(&self.waited_for, self.round) {
            self.round = round;
            return Some(List::Old(round));
        }
        filled(self, List::Decaying).then_some(List::Decaying)
    }

    /// Gives a queue its bytes for one round or for several rounds. Returns the number of rounds.
    #[inline]
    fn refill(&mut self, index: usize) -> u8 {
        let turn = &mut self.turns[index % QUEUES];
        let load = load(self.isolation, &self.hosts, turn);
        Grant::new(self.quantum, load).refill(&mut turn.deficit, next_bits(&mut self.dither))
    }

    /// Appends a queue to the list of the round that is `rounds` rounds ahead.
    fn wait(&mut self, index: usize, rounds: u8) {
        self.waiting += 1;
        self.turns[index % QUEUES].next = NONE;
        let round = self.round.wrapping_add(rounds);
        append(
            &mut self.turns,
            &mut self.lists,
            &mut self.waited_for,
            index as u16,
            round,
        );
    }

    fn become_bulk(&mut self, index: usize) {
        self.population.bulk += 1;
        self.turns[index % QUEUES].set = Set::Bulk;
        self.count_for_hosts(index, true);
    }

    /// Records that the queue at the head of `list` was served and was empty.
    pub fn emptied(&mut self, index: usize, list: List, p: &Params, now: i64) {
        let cobalt = &mut self.flows[index].cobalt;
        cobalt.queue_empty(p, now);
        let remembers = cobalt.remembers(now);
        self.unlink_first(list);
        match self.turns[index % QUEUES].set {
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
            self.turns[index % QUEUES].set = Set::Decaying;
            self.link(index, List::Decaying);
        } else {
            self.turns[index % QUEUES].set = Set::None;
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

    /// Appends a queue to the list of sparse or of decaying queues.
    fn link(&mut self, index: usize, list: List) {
        let ends = &mut self.lists[list.index()];
        let last = std::mem::replace(&mut ends.last, index as u16);
        if last == NONE {
            ends.first = index as u16;
        } else {
            self.turns[usize::from(last) % QUEUES].next = index as u16;
        }
        let turn = &mut self.turns[index % QUEUES];
        turn.prev = last;
        turn.next = NONE;
    }

    /// Removes the first queue of a list.
    fn unlink_first(&mut self, list: List) {
        let ends = &mut self.lists[list.index()];
        let next = self.turns[usize::from(ends.first) % QUEUES].next;
        ends.first = next;
        if next == NONE {
            ends.last = NONE;
        } else if list == List::Decaying {
            self.turns[usize::from(next) % QUEUES].prev = NONE;
        }
        if let List::Old(round) = list {
            self.waiting -= 1;
            if next == NONE {
                self.waited_for[usize::from(round / 64)] &= !(1 << (round % 64));
            }
        }
    }

    /// Removes a queue from any place in the list of decaying queues.
    fn unlink_decaying(&mut self, index: usize) {
        let Turn { prev, next, .. } = self.turns[index % QUEUES];
        let ends = &mut self.lists[List::Decaying.index()];
        if prev == NONE {
            ends.first = next;
        } else {
            self.turns[usize::from(prev) % QUEUES].next = next;
        }
        if next == NONE {
            ends.last = prev;
        } else {
            self.turns[usize::from(next) % QUEUES].prev = prev;
        }
    }
}

/// Returns how many bulk queues the source or the destination of a queue has, whichever is larger.
#[inline]
fn load(isolation: Isolation, hosts: &[Host], turn: &Turn) -> u16 {
    let mut load = 1;
    if isolation.counts_sources() {
        load = load.max(hosts[usize::from(turn.source)].bulk[0]);
    }
    if isolation.counts_destinations() {
        load = load.max(hosts[usize::from(turn.destination)].bulk[1]);
    }
    load
}

/// Returns the next round for which a bulk queue waits. `round` is the current round.
#[inline]
fn next_round(waited_for: &[u64; ROUNDS / 64], round: u8) -> Option<u8> {
    const WORDS: u8 = (ROUNDS / 64) as u8;
    let at = round / 64;
    // Search the bit set from the current round on. First search the rest of this 64-bit word, then
    // the other words, and then the beginning of this word.
    let rest = waited_for[usize::from(at)] & (u64::MAX << (round % 64));
    if rest != 0 {
        return Some(at * 64 + rest.trailing_zeros() as u8);
    }
    (1..=WORDS).map(|i| (at + i) % WORDS).find_map(|i| {
        let word = waited_for[usize::from(i)];
        (word != 0).then(|| i * 64 + word.trailing_zeros() as u8)
    })
}

/// Returns how many bytes a queue gets in a round, in units of 2^-16 bytes.
#[inline]
fn share(quantum: u32, load: u16) -> u32 {
    quantum * u32::from(u16::MAX / load)
}

/// Returns 16 random bits. The bits are used only for dither, so the result of one multiplication
/// is random enough.
#[inline]
fn next_bits(dither: &mut u64) -> u32 {
    *dither = dither
        .wrapping_mul(0x5851_F42D_4C95_7F2D)
        .wrapping_add(0x1405_7B7E_F767_814F);
    (*dither >> 48) as u32
}

/// Appends a queue to the list of a round. The queue's own `next` must be `NONE`.
#[inline]
fn append(
    turns: &mut [Turn; QUEUES],
    lists: &mut [Ends; List::FIRST_OLD + ROUNDS],
    waited_for: &mut [u64; ROUNDS / 64],
    queue: u16,
    round: u8,
) {
    let ends = &mut lists[List::Old(round).index()];
    let last = std::mem::replace(&mut ends.last, queue);
    if last == NONE {
        ends.first = queue;
        waited_for[usize::from(round / 64)] |= 1 << (round % 64);
    } else {
        turns[usize::from(last) % QUEUES].next = queue;
    }
}

/// The bytes that a queue gets in a round.
#[derive(Clone, Copy, Default)]
struct Grant {
    /// The bytes in units of 2^-16 bytes.
    share: u32,
    /// The most bytes that a queue can get for one round, rounded up.
    most: u32,
    /// The most rounds for which a queue can get bytes at once.
    rounds: u8,
}

impl Grant {
    #[inline]
    fn new(quantum: u32, load: u16) -> Grant {
        let share = share(quantum, load);
        Grant {
            share,
            most: (share >> 16) + 1,
            rounds: if load > MANY { MOST_ROUNDS } else { 1 },
        }
    }

    /// Gives a queue its bytes for one round. If the queue's host has many bulk queues, gives the
    /// queue the bytes of as many rounds as the queue needs to send a packet. Adds 16 random bits
    /// as dither. Returns the number of rounds for which the queue has got bytes.
    #[inline]
    fn refill(&self, deficit: &mut i32, bits: u32) -> u8 {
        let rounds = match self.rounds {
            1 => 1,
            limit => (deficit.unsigned_abs() / self.most + 1).min(u32::from(limit)),
        };
        self.give(deficit, rounds, bits)
    }

    /// Does the same as [`Grant::refill`]. If the deficit is at least `enough`, the queue gets the
    /// bytes of the largest number of rounds. This case needs no division.
    #[inline]
    fn refill_below(&self, enough: u32, deficit: &mut i32, bits: u32) -> u8 {
        let size = deficit.unsigned_abs();
        let rounds = if size >= enough {
            u32::from(self.rounds)
        } else {
            size / self.most + 1
        };
        self.give(deficit, rounds, bits)
    }

    #[inline]
    fn give(&self, deficit: &mut i32, rounds: u32, bits: u32) -> u8 {
        let got = (u64::from(self.share) * u64::from(rounds) + u64::from(bits)) >> 16;
        *deficit += got as i32;
        rounds as u8
    }
}
