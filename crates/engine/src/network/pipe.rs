//! Pipes: constant delays with optional jitter. This module also defines how endpoints put packets
//! into pipes.

use std::collections::VecDeque;

use super::pauses::Pauses;
use super::slots::Slots;
use crate::calendar::order::Key;
use crate::calendar::{Calendar, Component};
use crate::packet::Packet;
use crate::plan::LinkPlan;
use crate::ring::Ring;
use crate::rng::Stream;
use crate::tcp::Port;
use crate::units::Time;

/// A constant delay. Packets leave in the order in which they enter.
pub(super) struct Pipe {
    pub delay: Time,
    pub more: Option<Box<More>>,
    pub packets: Ring<Packet>,
}

/// Properties of a pipe besides its constant delay.
#[derive(Default)]
pub(super) struct More {
    /// The upper limit of the random delay, and the random stream from which the delay is drawn.
    /// Packets keep their order.
    pub jitter: Option<(Time, Stream)>,
    pub slots: Option<Slots>,
    /// The pauses of the host whose packets use this pipe.
    pub pauses: Option<Pauses>,
    /// The state of this part's copy, if the run is divided into parts.
    pub part: Option<Box<OfPart>>,
}

/// One part's copy of a pipe, with the packets that leave the pipe in this part.
#[derive(Default)]
pub(super) struct OfPart {
    /// The key of each packet in the pipe. Keys decide the order of simultaneous events.
    pub keys: VecDeque<Key>,
    /// Whether other parts send packets into this copy.
    pub meets: bool,
    /// The packets that this part sends into the pipe during a window. This list is used only if
    /// `meets` is set. At the end of the window, its packets are merged with the other parts'
    /// packets.
    pub own: Vec<(Packet, Key)>,
}

impl OfPart {
    /// Stores the key of a packet that enters the pipe. Returns false if the packet enters the pipe
    /// only at the end of the window.
    #[inline(never)]
    fn keeps(&mut self, packet: &Packet, calendar: &mut Calendar) -> bool {
        if let Some(order) = &mut calendar.order {
            let key = order.key();
            if self.meets {
                self.own.push((*packet, key));
                return false;
            }
            self.keys.push_back(key);
        }
        true
    }
}

impl More {
    pub fn of(link: &LinkPlan, seed: u64) -> More {
        let stream = |purpose| Stream::new(seed, &link.name, purpose);
        let slots = link.slots.as_ref();
        More {
            jitter: (link.jitter > Time::ZERO).then(|| (link.jitter, stream("jitter"))),
            slots: slots.map(|slots| Slots::new(slots, stream("slots"))),
            ..More::default()
        }
    }

    /// Returns when a packet of this length leaves. `stamp` is the time at which it would leave
    /// without pauses, jitter and slots.
    #[inline(never)]
    pub fn leaves(&mut self, mut stamp: Time, len: u16, last: Option<Time>) -> Time {
        if let Some(pauses) = &mut self.pauses {
            stamp = pauses.leaves(stamp);
        }
        if let Some((most, stream)) = &mut self.jitter {
            stamp += Time(stream.below(most.ns() + 1));
        }
        match &mut self.slots {
            Some(slots) => slots.leaves(stamp, len),
            None => stamp,
        }
        .max(last.unwrap_or_default())
    }
}

impl Pipe {
    pub fn new(delay: Time, more: Option<More>) -> Pipe {
        Pipe {
            delay,
            more: more.map(Box::new),
            packets: Ring::default(),
        }
    }

    #[inline(always)] // inline, because a call would cost more than the function
    pub fn push(&mut self, mut packet: Packet, now: Time, id: Component, calendar: &mut Calendar) {
        packet.stamp = now + self.delay;
        if let Some(more) = &mut self.more {
            let last = self.packets.back().map(|last| last.stamp);
            packet.stamp = more.leaves(packet.stamp, packet.len, last);
            if let Some(part) = &mut more.part
                && !part.keeps(&packet, calendar)
            {
                return;
            }
        }
        if self.packets.is_empty() {
            calendar.schedule(id, packet.stamp);
        }
        self.packets.push_back(packet);
    }
}

/// What an endpoint needs in order to send packets: its pipe, the calendar and the counters.
pub(super) struct Access<'a> {
    pub pipe: &'a mut Pipe,
    pub id: Component,
    pub now: Time,
    pub calendar: &'a mut Calendar,
    /// Number of packets put into the network so far.
    pub entered: &'a mut u64,
}

impl Port for Access<'_> {
    #[inline(always)]
    fn send(&mut self, packet: Packet) {
        *self.entered += 1;
        self.pipe.push(packet, self.now, self.id, self.calendar);
    }
}
