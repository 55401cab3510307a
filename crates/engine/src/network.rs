//! Runs all components of a plan.
//!
//! | file | contents |
//! |---|---|
//! | `build` | builds an idle network from a plan |
//! | `events` | what each component does when it is due |
//! | `ahead` | prefetches the memory that the next packets will need |
//! | `applications` | applications of flows: their writes and requests |
//! | `chunks` | the chunks of a connection |
//! | `connections` | both ends of TCP connections of flows and sources |
//! | `sources` | traffic sources, which send datagrams or open connections |
//! | `datagrams` | the receiving ends of sources, which echo datagrams, assemble frames and send reports |
//! | `loads` | connections of sources that never end, and requests on these connections |
//! | `pipe` | constant delays with optional jitter |
//! | `impaired` | links with impairments |
//! | `live` | changes of links, flows and sources during the run |
//! | `parts` | divides one run among several cores |
//! | `slots` | time slots after a link; packets may leave only in a slot |
//! | `sampling` | time series and samples |
//! | `endpoints` | endpoints of programs: what they send and receive |
//! | `outcome` | the results of a run |
//!
//! A data packet goes from the sender through a pipe (half the RTT) and the links of its route to
//! the receiver. An ACK goes from the receiver through a pipe (the other half) and the links of the
//! return path to the sender. Packets wait in the FIFOs of pipes and queues. The calendar holds one
//! entry for each pipe, link and endpoint.

mod ahead;
mod applications;
mod build;
mod chunks;
mod connections;
mod datagrams;
mod endpoints;
mod events;
mod impaired;
mod live;
mod loads;
mod memory;
mod outcome;
pub mod parts;
mod pauses;
mod pipe;
mod reuse;
mod sampling;
mod slots;
mod sources;
mod turns;

use std::collections::VecDeque;
use std::sync::Arc;

use tailback_record::{LinkSampler, Series};

use crate::aqm::{self, Queue};
use crate::calendar::Calendar;
use crate::capture::PacketEvent;
use crate::link::Link;
use crate::plan::{EventPlan, Plan};
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

/// Counts the packets by their current location. Drops during the warm-up are not counted. So the
/// counts add up only if the run has no warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Packets that endpoints have put into the network, and packets that links have added by
    /// splitting large packets.
    pub entered: u64,
    /// Packets that an endpoint has taken out of the network.
    pub ended: u64,
    /// Packets in pipes, in queues and in transmission.
    pub inside: u64,
    /// Packets that queues dropped, and packets that were lost after a queue.
    pub dropped: u64,
}

/// [`Network::advance`] returns early once this many packets are recorded. A call may record more
/// packets than this number, because one event may send a whole window.
const RECORDED_AT_ONCE: usize = 1 << 16;
/// Number of events between two checks of [`RECORDED_AT_ONCE`].
const EVENTS_BETWEEN_LOOKS: u64 = 64;

/// A network with its flows, ready to run.
pub struct Network {
    now: Time,
    plan: Arc<Plan>,
    ids: Ids,
    calendar: Calendar,
    pipes: Vec<Pipe>,
    links: Vec<Link>,
    impaired: Vec<Option<Box<Impaired>>>,
    link_samplers: Vec<LinkSampler>,
    /// The two endpoints of each flow, traffic source and connection slot. The index is the number
    /// that packets carry.
    ends: Vec<Ends>,
    flows: Vec<Flow>,
    traffic: Vec<Traffic>,
    endpoints: Option<Box<Endpoints>>,
    series: Series,
    scratch: Vec<f64>,
    events: u64,
    data_packets_before_warmup: u64,
    every_change: bool,
    /// Whether the network records a flow's state, or stores it for later connections, each time
    /// the flow's sender acts.
    follows_flows: bool,
    /// The values that hosts store about destinations (RTT, ssthresh, reordering). `None` if no
    /// host stores such values.
    memory: Option<Box<Memory>>,
    /// Number of open connections, including those of flows.
    connections: usize,
    /// Index of the first slot. A slot is an entry of `ends` that connections of a source use one
    /// after the other.
    first_slot: u32,
    first_segment: u64,
    /// The state of this part, if the run is divided into parts for several cores.
    part: Option<Box<parts::Part>>,
    /// Changes that are not yet applied, in the order of time.
    changes: VecDeque<EventPlan>,
    seed: u64,
}

impl Network {
    /// Replaces the queue of a link. This function is for tests and for queues that are not
    /// registered. Call this function before the run.
    pub fn replace_queue(&mut self, link: usize, queue: Box<dyn Queue>) {
        self.links[link].queue = queue;
        self.links[link]
            .queue
            .link_overhead(self.plan.links[link].overhead);
        self.links[link].queue.flows(&self.plan.flow_info());
    }

    /// Counts all packets that have entered the network, by their current location.
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
        let split: u64 = self.links.iter().map(|l| l.sink.packets_split()).sum();
        Census {
            entered: self.ends.iter().map(|ends| ends.entered).sum::<u64>() + split,
            ended: self.ends.iter().map(|ends| ends.ended).sum(),
            inside: waiting + queued + held,
            dropped: self.links.iter().map(|l| l.sink.meter.counts.drops()).sum(),
        }
    }

    /// Returns the sender of a flow (read-only).
    pub fn sender(&self, flow: usize) -> &Sender {
        &self.ends[flow].of_flow().sender
    }

    /// Returns how many packets and bytes are in the queue of a link.
    pub fn backlog(&self, link: usize) -> aqm::Backlog {
        self.links[link].queue.backlog()
    }

    /// Returns the time of the event that was handled last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Handles up to `max_events` events. Returns false when the run is over.
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

    /// Returns the number of packets that [`Network::take_packets`] would move.
    fn recorded_packets(&self) -> usize {
        let links = self.links.iter();
        links.map(|link| link.sink.recorded_packets()).sum()
    }

    /// Handles every event up to and including `time`, but not after the end of the run. Then sets
    /// the network's time to `time`.
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

    /// Returns the time of the next event, or [`Time::NEVER`] if no event is due before the end of
    /// the run.
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

    /// Stops recording packets at a link.
    pub fn stop_recording_packets(&mut self, link: usize) {
        self.links[link].sink.stop_recording_packets();
    }

    /// Appends to `out` the packets that were recorded since the last call, in the order of time.
    /// Packets that were recorded in the same nanosecond are in the order of the links. Call this
    /// function after every call of [`Network::advance`]. Let each call of `advance` handle so few
    /// events that the recorded packets fit into memory.
    pub fn take_packets(&mut self, out: &mut Vec<PacketEvent>) {
        let before = out.len();
        for link in &mut self.links {
            link.sink.take_packets(out);
        }
        out[before..].sort_by_key(|event| event.time);
    }
}
