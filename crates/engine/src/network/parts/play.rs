//! Runs one part window by window, and assembles the whole network at the end.

use std::mem::{replace, swap, take};
use std::sync::Arc;

use super::Split;
use super::meeting::{self, Ended, Meeting, Says, Sent};
use crate::calendar::Component;
use crate::calendar::order::{Key, Order};
use crate::network::Network;
use crate::network::pipe::{More, OfPart};
use crate::packet::{Ecn, Packet, flags};
use crate::plan::Plan;
use crate::units::Time;

/// The data that one part needs to exchange packets with the other parts.
pub(in crate::network) struct Part {
    own: u16,
    links: Arc<[u16]>,
    ends: Arc<[u16]>,
    /// Pipes that hold packets from several parts. This part handles the packets when they leave
    /// these pipes.
    meeting: Vec<u32>,
    /// For each pipe, its index in `meeting`.
    place: Vec<u32>,
    /// Packets for the other parts, with one list for each part.
    out: Vec<Vec<Sent>>,
    /// When the first packet in `out` leaves its pipe.
    sent: Time,
    /// Two scratch lists for each pipe in `meeting`. One holds the packets that the pipe has so
    /// far, and the other holds the packets that another part has sent.
    lists: [Vec<Entering>; 2],
    merged: Entering,
}

/// Packets that enter a pipe, with the keys that order them.
type Entering = Vec<(Packet, Key)>;

impl Split {
    /// Runs a part to the end of the run. After every window, synchronises with the other parts and
    /// calls `look` with the current time. `look` returns whether the run is to continue.
    ///
    /// # Panics
    /// Panics for the same reasons as [`Network::new`], and if the engine panics. If this part
    /// panics, the other parts end as well.
    pub fn play(
        &self,
        plan: &Arc<Plan>,
        seed: u64,
        own: usize,
        meeting: &Meeting,
        look: &mut dyn FnMut(Time) -> bool,
    ) -> (Ended, Network) {
        let _present = meeting.present();
        let mut network = self.part(plan, seed, own);
        let ended = network.play_part(meeting, own, look);
        (ended, network)
    }

    /// Builds one of the parts, before its first event.
    fn part(&self, plan: &Arc<Plan>, seed: u64, own: usize) -> Network {
        let mut network = Network::new(plan, seed);
        for pipe in &mut network.pipes {
            if pipe.more.is_none() {
                let more = More {
                    part: Some(Box::default()),
                    ..More::default()
                };
                pipe.more = Some(Box::new(more));
            }
        }
        let own = own as u16;
        let mut meets = vec![false; network.pipes.len()];
        for (ends, home) in network.ends.iter().zip(self.ends.iter()) {
            for way in [&ends.path.route, &ends.path.back] {
                for (place, link) in way.iter().enumerate() {
                    let next = way.get(place + 1).map(|next| self.links[*next as usize]);
                    if next.unwrap_or(*home) == own
                        && self.links[*link as usize] != own
                        && let Some(pipe) = network.links[*link as usize].pipe
                    {
                        meets[pipe as usize] = true;
                    }
                }
            }
        }
        let (mut meeting, mut places) = (Vec::new(), Vec::new());
        for (pipe, meets) in (0..).zip(meets) {
            places.push(meeting.len() as u32);
            if meets && let Some(copy) = network.copy(pipe) {
                copy.meets = true;
                meeting.push(pipe);
            }
        }
        network.calendar.order = Some(Box::new(Order::new()));
        network.part = Some(Box::new(Part {
            own,
            links: Arc::clone(&self.links),
            ends: Arc::clone(&self.ends),
            lists: [(); 2].map(|()| meeting.iter().map(|_| Vec::new()).collect()),
            meeting,
            place: places,
            out: (0..self.parts).map(|_| Vec::new()).collect(),
            sent: Time::NEVER,
            merged: Vec::new(),
        }));
        network.leave_to_others();
        network
    }
}

impl Network {
    #[inline]
    pub(in crate::network) fn owns_link(&self, link: usize) -> bool {
        (self.part.as_ref()).is_none_or(|part| part.links[link] == part.own)
    }

    /// Returns this part's copy of a pipe, if several parts have copies.
    fn copy(&mut self, pipe: u32) -> Option<&mut OfPart> {
        self.pipes[pipe as usize].more.as_mut()?.part.as_deref_mut()
    }

    /// Removes the components of other parts from the calendar.
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

    /// Handles a packet that moves from a link into a pipe. If the packet will leave the pipe in
    /// another part, adds it to the list for that part and returns true.
    #[inline(never)]
    pub(in crate::network) fn crosses(&mut self, packet: &Packet, pipe: u32) -> bool {
        let (Some(part), Some(order)) = (&mut self.part, &mut self.calendar.order) else {
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

    fn play_part(
        &mut self,
        meeting: &Meeting,
        own: usize,
        look: &mut dyn FnMut(Time) -> bool,
    ) -> Ended {
        let end = self.plan.duration;
        let (mut side, mut halt) = (0, meeting::GOES_ON);
        loop {
            if halt == meeting::GOES_ON && !look(self.now) {
                halt = meeting::STOPPED;
            }
            let says = Says {
                next: self.hand_over(meeting, side, own),
                rows: self.series.len(),
                halt,
            };
            let begin = match meeting.meet(side, own, &says) {
                Ok(begin) => begin,
                Err(ended) => return ended,
            };
            if !self.take_over(meeting, side, own) {
                halt = meeting::UNORDERED;
            }
            if begin >= end {
                self.now = end;
                return Ended::Done;
            }
            self.play_until(end.min(begin + meeting.window()));
            side = 1 - side;
        }
    }

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
            self.look_into_pipe(id, &packet);
            self.arrive(&mut packet);
        }
    }

    /// Passes the collected packets to the other parts. Returns the earlier of two times: when this
    /// part's next event is due, and when the first of these packets leaves its pipe.
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
            // The receiving part has emptied this mailbox, so after the swap `out` is an empty
            // list.
            swap(&mut *meeting.mail(side, own, to), out);
        }
        for pipe in &part.meeting {
            let copy = self.pipes[*pipe as usize].more.as_ref();
            let waiting = copy.and_then(|more| more.part.as_ref()?.own.first());
            next = waiting.map_or(next, |(packet, _)| next.min(packet.stamp));
        }
        next
    }

    /// Merges packets from other parts into this part's pipes. Returns false if the order of these
    /// packets is ambiguous.
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
        for from in (0..meeting.parts()).filter(|from| *from != own) {
            for sent in meeting.mail(side, from, own).drain(..) {
                let place = part.place[sent.pipe as usize];
                arrived[place as usize].push((sent.packet, sent.key));
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
                // Swap the lists, so that the memory of both is reused.
                swap(list, &mut copy.own);
            }
        }
        ordered
    }

    /// Assembles the whole network from its parts at the end of a run. `self` is the first part.
    /// Afterwards, call only [`Network::finish`], because no events are left.
    #[must_use]
    pub fn join(mut self, others: Vec<Network>) -> Network {
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
            self.series.append_rows(&take(&mut other.series));
            self.events += other.events;
            self.data_packets_before_warmup += other.data_packets_before_warmup;
        }
        self.part = None;
        self
    }
}

/// Merges two sorted lists. Returns false if the order of the result is ambiguous.
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
