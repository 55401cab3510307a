//! Runs the parts of a plan together.
//!
//! | file | what |
//! |---|---|
//! | `build` | from a plan to a network at rest |
//! | `events` | what each component does when it is due |
//! | `ahead` | memory that packets to come will need |
//! | `applications` | what applications of flows write, and ask for |
//! | `chunks` | what is known of the chunks of a connection |
//! | `connections` | both ends of TCP, no matter who opens them |
//! | `sources` | traffic sources: datagrams, and connections opened |
//! | `datagrams` | what the receiving ends of sources do with datagrams: echoes, frames, reports |
//! | `loads` | connections without end that sources open, and requests on them |
//! | `pipe` | constant delays |
//! | `impaired` | links with impairments |
//! | `parts` | one run on several cores |
//! | `slots` | delay in slots |
//! | `sampling` | series and samples |
//! | `endpoints` | endpoints of programs: what they send and receive |
//! | `outcome` | what was measured |
//!
//! A data packet goes sender -> pipe (half the RTT) -> links of its route ->
//! receiver; an ACK goes receiver -> pipe (the other half) -> links of the way
//! back -> sender. Packets wait in the FIFOs of pipes and queues; the calendar
//! holds one entry for each pipe, link and end point.

mod ahead;
mod applications;
mod build;
mod chunks;
mod connections;
mod datagrams;
mod endpoints;
mod events;
mod impaired;
mod loads;
mod memory;
mod outcome;
pub mod parts;
mod pipe;
mod sampling;
mod slots;
mod sources;

use std::sync::Arc;

use tailback_record::{LinkSampler, Series};

use crate::aqm::{self, Queue};
use crate::calendar::Calendar;
use crate::capture::PacketEvent;
use crate::link::Link;
use crate::plan::Plan;
use crate::tcp::sender::Sender;
use crate::units::Time;
use connections::Ends;
use endpoints::Endpoints;
pub use endpoints::{Arrival, Dropped};
use events::Ids;
use impaired::Impaired;
use memory::Memory;
use pipe::Pipe;
use sampling::Flow;
use sources::Traffic;

/// Where every packet is. For plans without a warm-up, as drops are counted from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Put into the network by an end point.
    pub entered: u64,
    /// Taken out of it by an end point.
    pub ended: u64,
    /// In pipes, queues and transmission.
    pub inside: u64,
    /// Dropped by queues or lost behind them.
    pub dropped: u64,
}

/// Number of recorded packets after which a slice ends early: one event may send a whole window.
const RECORDED_AT_ONCE: usize = 1 << 16;
/// Events between two checks of how many packets are recorded.
const EVENTS_BETWEEN_LOOKS: u64 = 64;

/// A network with its flows, ready to run.
pub struct Network {
    now: Time,
    plan: Arc<Plan>,
    ids: Ids,
    calendar: Calendar,
    pipes: Vec<Pipe>,
    links: Vec<Link>,
    /// Impairments, by link.
    impaired: Vec<Option<Box<Impaired>>>,
    link_samplers: Vec<LinkSampler>,
    /// By the number in packets: flows, traffic sources, slots.
    ends: Vec<Ends>,
    flows: Vec<Flow>,
    traffic: Vec<Traffic>,
    /// Entries of programs, if any.
    endpoints: Option<Box<Endpoints>>,
    series: Series,
    scratch: Vec<f64>,
    events: u64,
    data_packets_before_warmup: u64,
    every_change: bool,
    /// Whether flows are looked at after their senders have acted.
    follows_flows: bool,
    /// What hosts remember about destinations, if they do.
    memory: Option<Box<Memory>>,
    /// Open ones, and those of flows.
    connections: usize,
    /// Number of the first connection of a source.
    first_slot: u32,
    /// Number of the first segment of every connection.
    first_segment: u64,
    /// Set if the network is one part of several.
    part: Option<Box<parts::Part>>,
}

impl Network {
    /// Puts another queue before a link: for queues that are not registered, and for tests. To be
    /// called before the run.
    pub fn replace_queue(&mut self, link: usize, queue: Box<dyn Queue>) {
        self.links[link].queue = queue;
        self.links[link]
            .queue
            .link_overhead(self.plan.links[link].overhead);
        self.links[link].queue.flows(&self.plan.flow_info());
    }

    /// Where every packet that entered the network is.
    pub fn census(&self) -> Census {
        let waiting = self
            .pipes
            .iter()
            .map(|p| p.packets.len() as u64)
            .sum::<u64>();
        let held = self.impaired.iter().flatten();
        let held: u64 = held.map(|impaired| impaired.packets()).sum();
        let queued = self
            .links
            .iter()
            .map(|l| l.queue.backlog().packets + l.in_service())
            .sum::<u64>();
        Census {
            entered: self.ends.iter().map(|ends| ends.entered).sum(),
            ended: self.ends.iter().map(|ends| ends.ended).sum(),
            inside: waiting + queued + held,
            dropped: self.links.iter().map(|l| l.sink.meter.counts.drops()).sum(),
        }
    }

    /// A flow's sender, to look at.
    pub fn sender(&self, flow: usize) -> &Sender {
        &self.ends[flow].of_flow().sender
    }

    /// The packets in the queue of a link.
    pub fn backlog(&self, link: usize) -> aqm::Backlog {
        self.links[link].queue.backlog()
    }

    /// The time of the event handled last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Handles up to this many events; returns false when the run is over.
    pub fn advance(&mut self, max_events: u64) -> bool {
        if !self.plan.record.packets {
            return self.handle(max_events);
        }
        let mut left = max_events;
        while left > 0 && self.recorded_packets() < RECORDED_AT_ONCE {
            let part = left.min(EVENTS_BETWEEN_LOOKS);
            if !self.handle(part) {
                return false;
            }
            left -= part;
        }
        true
    }

    /// How many packets [`Network::take_packets`] would move.
    fn recorded_packets(&self) -> usize {
        let links = self.links.iter();
        links.map(|link| link.sink.recorded_packets()).sum()
    }

    /// Handles every event up to this time and including it, or up to the end of the run, and moves
    /// the network's time there.
    pub fn advance_until(&mut self, time: Time) {
        let time = time.min(self.plan.duration);
        loop {
            let (next, component) = self.calendar.next();
            if next > time || next >= self.plan.duration {
                break;
            }
            self.now = next;
            self.dispatch(component);
            self.events += 1;
        }
        self.now = self.now.max(time);
    }

    /// The time of the next event, or [`Time::NEVER`] if nothing is due before the end of the run.
    pub fn next_event(&self) -> Time {
        match self.calendar.next().0 {
            next if next < self.plan.duration => next,
            _ => Time::NEVER,
        }
    }

    fn handle(&mut self, max_events: u64) -> bool {
        let end = self.plan.duration;
        for handled in 0..max_events {
            let (time, component) = self.calendar.next();
            if time >= end {
                self.events += handled;
                self.now = end;
                return false;
            }
            self.now = time;
            self.dispatch(component);
        }
        self.events += max_events;
        true
    }

    /// Moves what was recorded of packets since the last call to the end of `out`, in the order of
    /// time, and within a nanosecond in the order of the links. Call it after the last slice, and
    /// between slices that are short enough for the available memory.
    pub fn take_packets(&mut self, out: &mut Vec<PacketEvent>) {
        let before = out.len();
        for link in &mut self.links {
            link.sink.take_packets(out);
        }
        out[before..].sort_by_key(|event| event.time);
    }
}
