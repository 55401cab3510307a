//! One run on several cores, with the bytes of one.
//!
//! The network is cut where links have delay: what happens on one side of it reaches the other no
//! sooner than that, so that every part may run ahead by the least of these delays, the window. Each
//! part has the whole network and of it only its own components at work: links, and connections where
//! data enters the first of them. What a link counts and what a connection counts is kept by it
//! alone. A pipe has a copy in each part, with the packets that leave it there; those that a link of
//! another part puts in are handed over at the end of each window, and put in the order in which one
//! core would have had them (`order`).
//!
//! What cannot be cut so is played on one core: links whose delay varies, the ways of connections that
//! traffic opens (a slot is used again when its last packet is gone, wherever that is), and runs that
//! record packets, or more rows than are kept.

use std::mem::{replace, swap, take};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tailback_record::series::MAX_ROWS;

use super::Network;
use super::order::{Key, Order};
use super::pipe::{More, OfPart};
use crate::calendar::Component;
use crate::packet::{Ecn, Packet, flags};
use crate::plan::{LinkPlan, Plan};
use crate::units::Time;

/// How much of the work one part may have at most, times an equal share.
const UNEVEN: f64 = 1.4;
/// Looks at the others before the processor is given to them.
const SPINS: u32 = 1 << 12;

/// Which part has what.
pub struct Split {
    /// Part of each link.
    links: Arc<[u16]>,
    /// Part of each number in packets.
    ends: Arc<[u16]>,
    parts: usize,
    /// What each part may run ahead of the others.
    window: Time,
}

impl Split {
    /// A way to cut the network of a plan into so many parts of about equal work; `None` where there
    /// is none.
    pub fn of(plan: &Plan, parts: usize) -> Option<Split> {
        let half_is_zero = |rtt: Time| rtt.ns() < 2;
        let zero = plan.each_flow().any(|flow| half_is_zero(flow.of.rtt))
            || plan.each_source().any(|source| half_is_zero(source.of.rtt));
        if parts < 2 || parts > plan.links.len() || plan.record.packets || zero {
            return None;
        }
        let mut delays: Vec<Time> = (plan.links.iter()).filter_map(constant_delay).collect();
        delays.sort_unstable();
        delays.dedup();
        // The longest window that lets the parts be even.
        delays.into_iter().rev().find_map(|window| {
            let mut sets = joined(plan, window);
            let links = even(plan, &mut sets, parts)?;
            let owners = plan.owners();
            let ends = owners.iter().map(|owner| {
                let root = sets.find(plan.links.len() + *owner as usize);
                // What passes no link is at home anywhere.
                links.get(sets.least[root]).copied().unwrap_or_default()
            });
            let ends = ends.collect();
            Some(Split {
                links: links.into(),
                ends,
                parts,
                window,
            })
        })
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// What each part may run ahead of the others.
    pub fn window(&self) -> Time {
        self.window
    }

    /// One of the parts, at rest.
    ///
    /// # Panics
    /// As [`Network::new`].
    pub fn part(&self, plan: &Arc<Plan>, seed: u64, own: usize) -> Network {
        let mut network = Network::new(plan, seed);
        for pipe in &mut network.pipes {
            if pipe.more.is_none() {
                let more = More {
                    part: Some(OfPart::default()),
                    ..More::default()
                };
                pipe.more = Some(Box::new(more));
            }
        }
        let mut part = Part {
            own: own as u16,
            links: Arc::clone(&self.links),
            ends: Arc::clone(&self.ends),
            meeting: Vec::new(),
            out: (0..self.parts).map(|_| Vec::new()).collect(),
            sent: Time::NEVER,
            lists: Default::default(),
            merged: Vec::new(),
        };
        for (ends, home) in network.ends.iter().zip(self.ends.iter()) {
            for way in [&ends.path.route, &ends.path.back] {
                for (place, link) in way.iter().enumerate() {
                    let next = way.get(place + 1).map(|next| self.links[*next as usize]);
                    let to = next.unwrap_or(*home);
                    if to == part.own
                        && self.links[*link as usize] != to
                        && let Some(pipe) = network.link_pipes[*link as usize]
                        && !part.meeting.contains(&pipe)
                    {
                        part.meeting.push(pipe);
                    }
                }
            }
        }
        for pipe in &part.meeting {
            if let Some(copy) = network.copy(*pipe) {
                copy.meets = true;
            }
        }
        part.lists = [(); 2].map(|()| part.meeting.iter().map(|_| Vec::new()).collect());
        network.calendar.order = Some(Box::new(Order::new()));
        network.part = Some(Box::new(part));
        network.leave_to_others();
        network
    }
}

/// The delay behind a link, if it has one that does not vary.
fn constant_delay(link: &LinkPlan) -> Option<Time> {
    let constant = link.jitter == Time::ZERO && link.slots.is_none();
    (constant && link.delay > Time::ZERO).then_some(link.delay)
}

/// Links and, behind them, the ends of ways: what has to be in one part.
struct Sets {
    above: Vec<usize>,
    /// The least link of each set, by its root.
    least: Vec<usize>,
}

impl Sets {
    fn find(&mut self, mut of: usize) -> usize {
        while self.above[of] != of {
            self.above[of] = self.above[self.above[of]];
            of = self.above[of];
        }
        of
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.above[a] = b;
        self.least[b] = self.least[a].min(self.least[b]);
    }
}

/// What is not cut by links of such a delay or more.
fn joined(plan: &Plan, window: Time) -> Sets {
    let links = plan.links.len();
    let nodes = links + plan.flow_count() + plan.source_count();
    let mut sets = Sets {
        above: (0..nodes).collect(),
        least: (0..nodes).collect(),
    };
    let cut: Vec<bool> = (plan.links.iter())
        .map(|link| constant_delay(link).is_some_and(|delay| delay >= window))
        .collect();
    let mut way = |ends: usize, hops: &[u32], whole: bool| {
        let mut last = ends;
        for (place, link) in hops.iter().enumerate() {
            let link = *link as usize;
            if place == 0 || whole || !cut[last] {
                sets.join(last, link);
            }
            last = link;
        }
        if last != ends && (whole || !cut[last]) {
            sets.join(last, ends);
        }
    };
    for (ends, flow) in (links..).zip(plan.each_flow()) {
        way(ends, &flow.of.route, false);
        way(ends, &flow.of.back, false);
    }
    for (ends, source) in (links + plan.flow_count()..).zip(plan.each_source()) {
        let back = source.of.connections.as_ref().map(|c| &c.back[..]);
        way(ends, &source.of.route, back.is_some());
        way(ends, back.unwrap_or_default(), true);
    }
    sets
}

/// The part of each link: sets in the order of their first links, which is that of the file and
/// mostly that of the network, so that neighbours stay together. Work is as rate.
fn even(plan: &Plan, sets: &mut Sets, parts: usize) -> Option<Vec<u16>> {
    let links = plan.links.len();
    let mut work = vec![0.0; links];
    let mut of = Vec::with_capacity(links);
    for (place, link) in plan.links.iter().enumerate() {
        let root = sets.find(place);
        let first = sets.least[root];
        work[first] += link.rate.nominal().0 as f64;
        of.push(first);
    }
    let share = work.iter().sum::<f64>() / parts as f64;
    let mut loads = vec![0.0; parts];
    let (mut part_of, mut before) = (vec![0; links], 0.0);
    for (first, work) in work.iter().enumerate().filter(|(_, work)| **work > 0.0) {
        let part = (((before + work / 2.0) / share) as usize).min(parts - 1);
        part_of[first] = part as u16;
        loads[part] += work;
        before += work;
    }
    let even = loads
        .iter()
        .all(|load| *load > 0.0 && *load <= UNEVEN * share);
    even.then(|| of.into_iter().map(|first| part_of[first]).collect())
}

/// What a part knows of the others.
pub(super) struct Part {
    own: u16,
    links: Arc<[u16]>,
    ends: Arc<[u16]>,
    /// Pipes into which other parts send packets that leave them here.
    meeting: Vec<u32>,
    /// Packets for other parts, by part.
    out: Vec<Vec<Sent>>,
    /// The earliest time at which one of them leaves its pipe.
    sent: Time,
    /// While packets are taken over: those of each pipe of `meeting` so far, and of another part.
    lists: [Vec<Entering>; 2],
    /// Where two lists are made one.
    merged: Entering,
}

/// Packets on their way into a pipe.
type Entering = Vec<(Packet, Key)>;

/// A packet that leaves a pipe in another part.
struct Sent {
    packet: Packet,
    pipe: u32,
    key: Key,
}

/// Why a part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The run is over.
    Done,
    /// It was asked to stop.
    Stopped,
    /// What was simultaneous could not be put in order: the run is to be played on one core.
    Unordered,
    /// Another part panicked.
    Broken,
}

const GOES_ON: u8 = 0;
const STOPPED: u8 = 1;
const UNORDERED: u8 = 2;

/// Where parts meet, between windows. What they write there before they meet is of one of two
/// sides, by turns: the other is still being read.
pub struct Meeting {
    window: Time,
    arrived: AtomicUsize,
    turn: AtomicUsize,
    broken: AtomicBool,
    halt: [AtomicU8; 2],
    /// When each part has something to do.
    next: [Vec<AtomicU64>; 2],
    /// Packets by sender and receiver.
    sent: [Vec<Mutex<Vec<Sent>>>; 2],
}

impl Meeting {
    /// Of the parts of a split.
    pub fn new(split: &Split) -> Meeting {
        let parts = split.parts;
        let next = || (0..parts).map(|_| AtomicU64::new(0)).collect();
        let sent = || (0..parts * parts).map(|_| Mutex::default()).collect();
        Meeting {
            window: split.window,
            arrived: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            halt: [AtomicU8::new(GOES_ON), AtomicU8::new(GOES_ON)],
            next: [next(), next()],
            sent: [sent(), sent()],
        }
    }

    /// Says to all others that one of them will not come.
    pub fn give_up(&self) {
        self.broken.store(true, Ordering::Release);
    }

    /// Waits for all; false where one gave up.
    fn wait(&self) -> bool {
        let turn = self.turn.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.next[0].len() {
            self.arrived.store(0, Ordering::Release);
            self.turn.store(turn + 1, Ordering::Release);
            return true;
        }
        let mut spins = 0;
        while self.turn.load(Ordering::Acquire) == turn {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            spins += 1;
            match spins < SPINS {
                true => std::hint::spin_loop(),
                false => std::thread::yield_now(),
            }
        }
        true
    }

    fn mail(&self, side: usize, from: usize, to: usize) -> &Mutex<Vec<Sent>> {
        &self.sent[side][from * self.next[0].len() + to]
    }
}

/// A part that panics says so to those that wait for it.
struct GivesUp<'a>(&'a Meeting);

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}

impl Network {
    /// Whether a link is at work here.
    #[inline]
    pub(super) fn owns_link(&self, link: usize) -> bool {
        (self.part.as_ref()).is_none_or(|part| part.links[link] == part.own)
    }

    /// This part's copy of a pipe, if others have it as well.
    fn copy(&mut self, pipe: u32) -> Option<&mut OfPart> {
        self.pipes[pipe as usize].more.as_mut()?.part.as_mut()
    }

    /// Takes what is of other parts out of the calendar.
    fn leave_to_others(&mut self) {
        let Some(part) = &self.part else {
            return;
        };
        let ids = self.ids;
        for (i, _) in (0..)
            .zip(part.links.iter())
            .filter(|(_, p)| **p != part.own)
        {
            self.calendar.cancel(ids.queue_timers + i);
            self.calendar.cancel(ids.rate_changes + i);
        }
        let ends = (0..).zip(part.ends.iter());
        for (i, _) in ends.filter(|(_, p)| **p != part.own) {
            let (flows, sources) = (self.flows.len() as u32, self.traffic.len() as u32);
            if i < flows {
                self.calendar.cancel(ids.senders + i);
                self.calendar.cancel(ids.stops + i);
            } else if i < flows + sources {
                self.calendar.cancel(ids.sources + i - flows);
            }
        }
    }

    /// A packet has left a link for a pipe: whether it leaves that in another part, to which it is
    /// then on its way.
    #[inline(never)]
    pub(super) fn crosses(&mut self, packet: &Packet, pipe: u32) -> bool {
        let (Some(part), Some(order)) = (&mut self.part, &self.calendar.order) else {
            return false;
        };
        let path = &self.ends[packet.flow as usize].path;
        let hops = match packet.has(flags::ACK) {
            true => &path.back,
            false => &path.route,
        };
        let to = match hops.get(usize::from(packet.hop)) {
            Some(link) => part.links[*link as usize],
            None => part.ends[packet.flow as usize],
        };
        if to == part.own {
            return false;
        }
        let mut packet = *packet;
        packet.stamp = self.now + self.pipes[pipe as usize].delay;
        part.sent = part.sent.min(packet.stamp);
        part.out[usize::from(to)].push(Sent {
            packet,
            pipe,
            key: order.key(),
        });
        true
    }

    /// Plays a part to the end of the run, in step with the others; `look` is told the time now and
    /// then, and says whether to go on.
    pub fn play_part(&mut self, meeting: &Meeting, look: &mut dyn FnMut(Time) -> bool) -> Ended {
        let _guard = GivesUp(meeting);
        let own = self.part.as_ref().map_or(0, |part| usize::from(part.own));
        let end = self.plan.duration;
        let (mut turn, mut ordered) = (0, true);
        loop {
            let side = turn % 2;
            let next = self.hand_over(meeting, side, own);
            meeting.next[side][own].store(next.ns(), Ordering::Release);
            if !ordered {
                meeting.halt[side].fetch_max(UNORDERED, Ordering::AcqRel);
            } else if !look(self.now) {
                meeting.halt[side].fetch_max(STOPPED, Ordering::AcqRel);
            }
            if !meeting.wait() {
                return Ended::Broken;
            }
            match meeting.halt[side].load(Ordering::Acquire) {
                STOPPED => return Ended::Stopped,
                UNORDERED => return Ended::Unordered,
                _ => {}
            }
            ordered = self.take_over(meeting, side, own);
            let next = meeting.next[side].iter();
            let next = next.map(|next| Time(next.load(Ordering::Acquire)));
            let begin = next.min().unwrap_or(Time::NEVER);
            if begin >= end {
                self.now = end;
                return Ended::Done;
            }
            self.play_until(end.min(begin + meeting.window));
            turn += 1;
        }
    }

    /// Handles what is due before a time.
    fn play_until(&mut self, end: Time) {
        let pipes = self.ids.links;
        while let Some((time, component)) = self.calendar.peek()
            && time < end
        {
            self.now = time;
            if let Some(order) = &mut self.calendar.order {
                order.event(time, component);
            }
            match component < pipes {
                true => self.run_copy(component),
                false => self.dispatch(component),
            }
            self.events += 1;
        }
    }

    /// Delivers what has reached the end of a pipe.
    fn run_copy(&mut self, id: Component) {
        if self.copy(id).is_none() {
            return self.dispatch(id);
        }
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        loop {
            let waiting = &mut self.pipes[id as usize].packets;
            if !waiting.pop_if(&mut packet, |head| head.stamp <= self.now) {
                return match waiting.front() {
                    None => self.calendar.cancel(id),
                    Some(head) => self.calendar.schedule(id, head.stamp),
                };
            }
            let key = self.copy(id).and_then(|copy| copy.keys.pop_front());
            if let (Some(order), Some(key)) = (&mut self.calendar.order, key) {
                order.leaves(id, key);
            }
            self.look_into_pipe(id);
            self.arrive(&mut packet);
        }
    }

    /// Gives other parts their packets; when this one, or one of those packets, is next.
    fn hand_over(&mut self, meeting: &Meeting, side: usize, own: usize) -> Time {
        let mut next = self.calendar.peek().map_or(Time::NEVER, |(time, _)| time);
        let Some(part) = &mut self.part else {
            return next;
        };
        next = next.min(replace(&mut part.sent, Time::NEVER));
        for (to, out) in part
            .out
            .iter_mut()
            .enumerate()
            .filter(|(_, out)| !out.is_empty())
        {
            let mail = meeting.mail(side, own, to).lock();
            // The other side's vector is empty: it was read.
            swap(&mut *mail.unwrap_or_else(PoisonError::into_inner), out);
        }
        for pipe in &part.meeting {
            let copy = self.pipes[*pipe as usize].more.as_ref();
            let waiting = copy.and_then(|more| more.part.as_ref()?.own.first());
            next = waiting.map_or(next, |(packet, _)| next.min(packet.stamp));
        }
        next
    }

    /// Puts what came from other parts into its pipes, in order with what this one put there;
    /// false where there is no telling the order.
    fn take_over(&mut self, meeting: &Meeting, side: usize, own: usize) -> bool {
        let Some(part) = &mut self.part else {
            return true;
        };
        let mut ordered = true;
        let [lists, arrived] = &mut part.lists;
        for (pipe, list) in part.meeting.iter().zip(lists.iter_mut()) {
            let copy = self.pipes[*pipe as usize].more.as_mut();
            if let Some(copy) = copy.and_then(|more| more.part.as_mut()) {
                swap(list, &mut copy.own);
            }
        }
        for from in (0..meeting.next[0].len()).filter(|from| *from != own) {
            let mail = meeting.mail(side, from, own).lock();
            let mut mail = mail.unwrap_or_else(PoisonError::into_inner);
            for sent in mail.drain(..) {
                let place = part.meeting.iter().position(|pipe| *pipe == sent.pipe);
                if let Some(place) = place {
                    arrived[place].push((sent.packet, sent.key));
                }
            }
            for (list, arrived) in lists.iter_mut().zip(arrived.iter_mut()) {
                if list.is_empty() {
                    swap(list, arrived);
                } else if !arrived.is_empty() {
                    ordered &= merge(list, arrived, &mut part.merged);
                    swap(list, &mut part.merged);
                    arrived.clear();
                }
            }
        }
        for (id, list) in part.meeting.iter().zip(lists.iter_mut()) {
            let Some((first, _)) = list.first() else {
                continue;
            };
            let pipe = &mut self.pipes[*id as usize];
            if pipe.packets.is_empty() {
                self.calendar.schedule(*id, first.stamp);
            }
            let copy = pipe.more.as_mut().and_then(|more| more.part.as_mut());
            if let Some(copy) = copy {
                for (packet, key) in list.drain(..) {
                    pipe.packets.push_back(packet);
                    copy.keys.push_back(key);
                }
                // Its memory goes back to where it came from.
                swap(list, &mut copy.own);
            }
        }
        ordered
    }

    /// The whole network again, from its parts at the end of a run, the first of which this is;
    /// `None` where they have recorded more rows than are kept.
    pub fn join(mut self, others: Vec<Network>) -> Option<Network> {
        let rows = |network: &Network| network.series.len() + network.series.lost as usize;
        if rows(&self) + others.iter().map(rows).sum::<usize>() > MAX_ROWS {
            return None;
        }
        for mut other in others {
            let Some(part) = other.part.take() else {
                continue;
            };
            let of = |place: &u16| *place == part.own;
            for (link, _) in part.links.iter().enumerate().filter(|(_, p)| of(p)) {
                swap(&mut self.links[link], &mut other.links[link]);
            }
            let flows = self.flows.len();
            for (place, _) in part.ends.iter().enumerate().filter(|(_, p)| of(p)) {
                swap(&mut self.ends[place], &mut other.ends[place]);
                if let Some(flow) = self.flows.get_mut(place) {
                    swap(flow, &mut other.flows[place]);
                } else if let Some(source) = self.traffic.get_mut(place - flows) {
                    swap(source, &mut other.traffic[place - flows]);
                }
            }
            self.series.append_rows(take(&mut other.series));
            self.events += other.events;
            self.data_packets_before_warmup += other.data_packets_before_warmup;
        }
        self.part = None;
        Some(self)
    }
}

/// Merges two lists that are in order; false where there is no telling.
fn merge(one: &[(Packet, Key)], other: &[(Packet, Key)], merged: &mut Entering) -> bool {
    let mut ordered = true;
    merged.clear();
    let (mut a, mut b) = (one.iter().peekable(), other.iter().peekable());
    while let (Some((first, key)), Some((second, of_second))) = (a.peek(), b.peek()) {
        let order = match first.stamp.cmp(&second.stamp) {
            std::cmp::Ordering::Equal => key.order(of_second),
            different => Some(different),
        };
        ordered &= order.is_some_and(std::cmp::Ordering::is_ne);
        let next = match order {
            Some(std::cmp::Ordering::Greater) => b.next(),
            _ => a.next(),
        };
        merged.extend(next);
    }
    merged.extend(a);
    merged.extend(b);
    ordered
}
