//! Runs the parts of a plan together; `build` makes them.
//!
//! A data packet goes sender -> pipe (half the RTT) -> links of its route ->
//! receiver; an ACK goes receiver -> pipe (the other half) -> links of the way
//! back -> sender. Packets wait in the FIFOs of pipes and queues; the calendar
//! holds one entry for each pipe, link and end point.

mod build;
mod web;

use std::collections::VecDeque;

use tailback_record::{FlowOutcome, Measured, Outcome, Series, SeriesId, TrafficOutcome};

use crate::aqm::{self, Queue};
use crate::calendar::{Calendar, Component};
use crate::capture::PacketEvent;
use crate::cc;
use crate::link::{Link, Next};
use crate::packet::{Packet, flags};
use crate::plan::{Plan, SeriesMode};
use crate::rng::Stream;
use crate::tcp::Port;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::traffic::{Source, Step};
use crate::units::Time;
use web::Web;

/// A constant delay: what goes in comes out in order.
struct Pipe {
    delay: Time,
    /// Order-preserving random addition, and its stream.
    jitter: Option<(Time, Stream)>,
    packets: VecDeque<Packet>,
}

impl Pipe {
    fn new(delay: Time, jitter: Option<(Time, Stream)>) -> Pipe {
        Pipe {
            delay,
            jitter,
            packets: VecDeque::new(),
        }
    }

    #[inline]
    fn push(&mut self, mut packet: Packet, now: Time, id: Component, calendar: &mut Calendar) {
        packet.stamp = now + self.delay;
        if let Some((most, stream)) = &mut self.jitter {
            packet.stamp += Time(stream.below(most.ns() + 1));
            if let Some(last) = self.packets.back() {
                packet.stamp = packet.stamp.max(last.stamp);
            }
        }
        if self.packets.is_empty() {
            calendar.schedule(id, packet.stamp);
        }
        self.packets.push_back(packet);
    }
}

/// The way of an end point into the network.
struct Access<'a> {
    pipe: &'a mut Pipe,
    id: Component,
    now: Time,
    calendar: &'a mut Calendar,
    /// Packets put into the network so far.
    entered: &'a mut u64,
}

impl Port for Access<'_> {
    #[inline]
    fn send(&mut self, packet: Packet) {
        *self.entered += 1;
        self.pipe.push(packet, self.now, self.id, self.calendar);
    }
}

/// One end of a flow; also the place of its entry in [`Flow::armed`].
#[derive(Clone, Copy)]
enum End {
    Sender,
    Receiver,
}

/// Where packets of a flow or source go.
#[derive(Clone)]
struct Path {
    route: Box<[u32]>,
    back: Box<[u32]>,
    /// Pipe before the first link.
    access: u32,
    /// Pipe behind the receiver.
    returning: u32,
}

/// A TCP flow: both ends and what is counted.
struct Flow {
    sender: Sender,
    receiver: Receiver,
    /// When each end is entered in the calendar.
    armed: [Time; 2],
    start: Time,
    stop: Option<Time>,
    /// Payload to send.
    bytes: Option<u64>,
    mss: u64,
    /// Bytes delivered before the measurement began.
    base_bytes: u64,
    completed: Option<Time>,
    /// Payload delivered when the flow was stopped.
    bytes_at_stop: Option<u64>,
    srtt_sum_ns: u128,
    srtt_samples: u64,
    rwnd_limited_samples: u64,
    /// Window last recorded (series at every change).
    recorded_cwnd: u32,
    series: Option<FlowSeries>,
}

impl Flow {
    /// Payload bytes delivered in order.
    fn delivered_bytes(&self) -> u64 {
        let whole = self.receiver.arrived() * self.mss;
        self.bytes.map_or(whole, |bytes| whole.min(bytes))
    }
}

struct FlowSeries {
    cwnd: SeriesId,
    ssthresh: SeriesId,
    srtt: SeriesId,
    in_flight: SeriesId,
    delivered: SeriesId,
    gauges: Vec<SeriesId>,
    /// Congestion state and acknowledged bytes, if the state is recorded after every ACK.
    acks: Option<(SeriesId, SeriesId)>,
}

struct LinkSeries {
    packets: SeriesId,
    bytes: SeriesId,
    gauges: Vec<SeriesId>,
}

/// An unresponsive source and its sink.
struct Unresponsive {
    source: Box<dyn Source>,
    start: Time,
    stop: Option<Time>,
    sent_packets: u64,
    received_packets: u64,
    received_bytes: u64,
}

/// Component numbers: the order in which simultaneous events are handled.
#[derive(Clone, Copy)]
struct Ids {
    /// Pipes come first, from 0.
    links: u32,
    queue_timers: u32,
    rate_changes: u32,
    senders: u32,
    receivers: u32,
    sources: u32,
    stops: u32,
    warmup: u32,
    sampler: u32,
    // Places of connections come last.
}

/// Where every packet is (without warm-up: drops are counted from there).
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

/// Packets recorded after which a slice ends early: one event may send a whole window.
const RECORDED_AT_ONCE: usize = 1 << 16;
/// Events between two looks at how many there are.
const EVENTS_BETWEEN_LOOKS: u64 = 64;

/// A network with its flows, ready to run.
pub struct Network {
    now: Time,
    plan: Plan,
    ids: Ids,
    calendar: Calendar,
    pipes: Vec<Pipe>,
    links: Vec<Link>,
    link_pipes: Vec<Option<u32>>,
    link_series: Vec<LinkSeries>,
    flows: Vec<Flow>,
    sources: Vec<Unresponsive>,
    web: Web,
    paths: Vec<Path>,
    series: Series,
    scratch: Vec<f64>,
    events: u64,
    /// Packets that end points put into the network, and that reached one.
    entered: u64,
    ended: u64,
    data_packets_before_warmup: u64,
    every_change: bool,
    /// Number of the first segment of every connection.
    first_segment: u64,
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
        let queued = self
            .links
            .iter()
            .map(|l| l.queue.backlog().packets + l.in_service())
            .sum::<u64>();
        Census {
            entered: self.entered,
            ended: self.ended,
            inside: waiting + queued,
            dropped: self.links.iter().map(|l| l.sink.meter.counts.drops()).sum(),
        }
    }

    /// A flow's sender, to look at.
    pub fn sender(&self, flow: usize) -> &Sender {
        &self.flows[flow].sender
    }

    /// What is queued before a link.
    pub fn backlog(&self, link: usize) -> aqm::Backlog {
        self.links[link].queue.backlog()
    }

    /// The time of the event handled last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Handles up to so many events; returns false when the run is over.
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

    /// What [`Network::take_packets`] would move.
    fn recorded_packets(&self) -> usize {
        let links = self.links.iter();
        links.map(|link| link.sink.recorded_packets()).sum()
    }

    fn handle(&mut self, max_events: u64) -> bool {
        for handled in 0..max_events {
            match self.calendar.peek() {
                Some((time, component)) if time < self.plan.duration => {
                    self.now = time;
                    self.dispatch(component);
                }
                _ => {
                    self.events += handled;
                    self.now = self.plan.duration;
                    return false;
                }
            }
        }
        self.events += max_events;
        true
    }

    /// Moves what was recorded of packets since the last call to the end of
    /// `out`, in the order of time; those of one nanosecond in the order of the
    /// links. To be called between slices that are short enough for the memory
    /// there is, and after the last one.
    pub fn take_packets(&mut self, out: &mut Vec<PacketEvent>) {
        let before = out.len();
        for link in &mut self.links {
            link.sink.take_packets(out);
        }
        out[before..].sort_by_key(|event| event.time);
    }

    #[inline]
    fn dispatch(&mut self, component: Component) {
        let ids = self.ids;
        if component < ids.links {
            self.run_pipe(component);
        } else if component < ids.queue_timers {
            self.serve_link(component - ids.links);
        } else if component < ids.rate_changes {
            self.run_queue_timer(component, (component - ids.queue_timers) as usize);
        } else if component < ids.senders {
            self.change_rate(component, (component - ids.rate_changes) as usize);
        } else if component < ids.receivers {
            self.run_sender(component - ids.senders);
        } else if component < ids.sources {
            self.run_receiver(component - ids.receivers);
        } else if component < ids.stops {
            self.run_source(component, component - ids.sources);
        } else if component < ids.warmup {
            self.stop_flow(component, (component - ids.stops) as usize);
        } else if component == ids.warmup {
            self.calendar.cancel(component);
            self.end_warmup();
        } else if component == ids.sampler {
            self.sample();
            self.calendar
                .schedule(component, self.now + self.plan.record.interval);
        } else {
            self.run_place(component);
        }
    }

    /// Delivers what has reached the end of a pipe.
    fn run_pipe(&mut self, id: Component) {
        loop {
            let pipe = &mut self.pipes[id as usize];
            match pipe.packets.front() {
                None => return self.calendar.cancel(id),
                Some(head) if head.stamp > self.now => {
                    return self.calendar.schedule(id, head.stamp);
                }
                Some(_) => {
                    let packet = pipe.packets.pop_front().expect("it has a head");
                    self.arrive(packet);
                }
            }
        }
    }

    /// A packet arrives at the next link of its route, or at its end.
    #[inline]
    fn arrive(&mut self, packet: Packet) {
        let path = &self.paths[packet.flow as usize];
        let hops = if packet.has(flags::ACK) {
            &path.back
        } else {
            &path.route
        };
        if let Some(&link) = hops.get(usize::from(packet.hop)) {
            if self.links[link as usize].arrive(packet, self.now) {
                self.serve_link(link);
            }
            return;
        }
        self.ended += 1;
        let index = packet.flow as usize;
        if index >= self.flows.len() {
            self.deliver_traffic(&packet);
        } else if packet.has(flags::ACK) {
            self.deliver_ack(&packet, index);
        } else {
            self.deliver_data(&packet, index);
        }
    }

    /// Serves a link as long as packets leave at this very moment.
    fn serve_link(&mut self, link: u32) {
        let id = self.ids.links + link;
        loop {
            match self.links[link as usize].serve(self.now) {
                Next::Leaves(packet, again) => {
                    self.calendar.schedule(id, again);
                    self.leave_link(packet, link);
                    if again > self.now {
                        return;
                    }
                }
                Next::Wait(Time::NEVER) | Next::Idle => return self.calendar.cancel(id),
                Next::Wait(time) => return self.calendar.schedule(id, time),
            }
        }
    }

    /// A packet leaves a link: lost, or on its way.
    #[inline]
    fn leave_link(&mut self, mut packet: Packet, link: u32) {
        if self.links[link as usize].loses(&packet, self.now) {
            return;
        }
        packet.hop += 1;
        match self.link_pipes[link as usize] {
            None => self.arrive(packet),
            Some(pipe) => {
                self.pipes[pipe as usize].push(packet, self.now, pipe, &mut self.calendar);
            }
        }
    }

    /// An end point and its way into the network.
    #[inline]
    fn end(&mut self, index: usize, end: End) -> (&mut Flow, Access<'_>) {
        let path = &self.paths[index];
        let id = match end {
            End::Sender => path.access,
            End::Receiver => path.returning,
        };
        let port = Access {
            pipe: &mut self.pipes[id as usize],
            id,
            now: self.now,
            calendar: &mut self.calendar,
            entered: &mut self.entered,
        };
        (&mut self.flows[index], port)
    }

    fn deliver_data(&mut self, packet: &Packet, index: usize) {
        let now = self.now;
        let (flow, mut port) = self.end(index, End::Receiver);
        flow.receiver.on_packet(packet, now, &mut port);
        if let Some(bytes) = flow.bytes
            && flow.completed.is_none()
            && flow.receiver.arrived() * flow.mss >= bytes
        {
            flow.completed = Some(now);
        }
        self.rearm(index, End::Receiver);
    }

    fn deliver_ack(&mut self, packet: &Packet, index: usize) {
        let now = self.now;
        let (flow, mut port) = self.end(index, End::Sender);
        if packet.has(flags::SYN) {
            flow.sender.on_syn_ack(packet, now, &mut port);
        } else {
            flow.sender.on_ack(packet, now, &mut port);
        }
        if self.every_change {
            self.record_change(index);
        }
        self.rearm(index, End::Sender);
    }

    /// Moves the calendar's entry of an end point if its deadline is now
    /// earlier; a later one waits until the entry comes up.
    #[inline]
    fn rearm(&mut self, index: usize, end: End) {
        let flow = &mut self.flows[index];
        let (deadline, first) = match end {
            End::Sender => (flow.sender.deadline(), self.ids.senders),
            End::Receiver => (flow.receiver.deadline(), self.ids.receivers),
        };
        let armed = &mut flow.armed[end as usize];
        if deadline < *armed {
            *armed = deadline;
            self.calendar.schedule(first + index as u32, deadline);
        }
    }

    fn run_sender(&mut self, index: u32) {
        self.calendar.cancel(self.ids.senders + index);
        let (index, now) = (index as usize, self.now);
        let (flow, mut port) = self.end(index, End::Sender);
        flow.armed[End::Sender as usize] = Time::NEVER;
        if !flow.sender.has_started() {
            flow.sender.start(now, &mut port);
        } else if flow.sender.deadline() <= now {
            flow.sender.on_timer(now, &mut port);
        }
        if self.every_change {
            self.record_change(index);
        }
        self.rearm(index, End::Sender);
    }

    fn run_receiver(&mut self, index: u32) {
        self.calendar.cancel(self.ids.receivers + index);
        let (index, now) = (index as usize, self.now);
        let (flow, mut port) = self.end(index, End::Receiver);
        flow.armed[End::Receiver as usize] = Time::NEVER;
        if flow.receiver.deadline() <= now {
            flow.receiver.on_timer(now, &mut port);
        }
        self.rearm(index, End::Receiver);
    }

    fn run_source(&mut self, id: Component, index: u32) {
        let flow = self.flows.len() as u32 + index;
        let access = self.paths[flow as usize].access;
        loop {
            let stream = &mut self.sources[index as usize];
            if stream.stop.is_some_and(|stop| self.now >= stop) {
                return self.calendar.cancel(id);
            }
            match stream.source.next(self.now) {
                Step::Send { len, ecn } => {
                    let mut packet = Packet::new(flow, len, ecn);
                    packet.flags = flags::DATAGRAM;
                    if self.now >= self.plan.warmup {
                        stream.sent_packets += 1;
                    }
                    self.entered += 1;
                    let pipe = &mut self.pipes[access as usize];
                    pipe.push(packet, self.now, access, &mut self.calendar);
                }
                Step::Connect { bytes } => self.connect(index, bytes),
                Step::Wait(until) => return self.calendar.schedule(id, until),
                Step::Done => return self.calendar.cancel(id),
            }
        }
    }

    fn receive_datagram(&mut self, packet: &Packet, source: usize) {
        if self.now >= self.plan.warmup {
            let stream = &mut self.sources[source];
            stream.received_packets += 1;
            stream.received_bytes += u64::from(packet.len);
        }
    }

    fn run_queue_timer(&mut self, id: Component, index: usize) {
        let link = &mut self.links[index];
        match link.queue.timer(self.now, &mut link.sink) {
            Some(next) => self.calendar.schedule(id, next.max(self.now + Time(1))),
            None => self.calendar.cancel(id),
        }
    }

    fn change_rate(&mut self, id: Component, index: usize) {
        let link = &mut self.links[index];
        // The change that is due is the first after the moment before it.
        if let Some((_, rate)) = link.next_rate_change(Time(self.now.ns() - 1)) {
            link.queue.rate_changed(rate, self.now);
        }
        match link.next_rate_change(self.now) {
            Some((time, _)) => self.calendar.schedule(id, time),
            None => self.calendar.cancel(id),
        }
    }

    fn stop_flow(&mut self, id: Component, index: usize) {
        self.calendar.cancel(id);
        let flow = &mut self.flows[index];
        flow.bytes_at_stop = Some(flow.delivered_bytes());
        flow.sender.stop();
    }

    /// Counters start from here.
    fn end_warmup(&mut self) {
        for flow in &mut self.flows {
            flow.base_bytes = flow.delivered_bytes();
            self.data_packets_before_warmup += flow.sender.stats.packets;
            flow.sender.stats = Default::default();
        }
        self.data_packets_before_warmup += self.web.end_warmup();
    }

    fn record_change(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let cwnd = flow.sender.conn.cwnd;
        let Some(ids) = &flow.series else {
            return;
        };
        if ids.acks.is_some() {
            return self.record_ack(index);
        }
        if cwnd != flow.recorded_cwnd {
            flow.recorded_cwnd = cwnd;
            self.series.push(ids.cwnd, self.now.ns(), f64::from(cwnd));
        }
    }

    /// The state of a sender that has had an ACK or a timer of its own.
    fn record_ack(&mut self, index: usize) {
        let (flow, now) = (&self.flows[index], self.now.ns());
        let conn = &flow.sender.conn;
        let Some(ids) = flow.series.as_ref().filter(|_| conn.srtt > Time::ZERO) else {
            return;
        };
        let Some((ca_state, acked_bytes)) = ids.acks else {
            return;
        };
        let acked = flow.sender.acked() * flow.mss;
        let acked = flow.bytes.map_or(acked, |bytes| acked.min(bytes));
        self.series.push(acked_bytes, now, acked as f64);
        self.series.push(ids.cwnd, now, f64::from(conn.cwnd));
        if conn.ssthresh < cc::INFINITE_SSTHRESH {
            self.series
                .push(ids.ssthresh, now, f64::from(conn.ssthresh));
        }
        self.series
            .push(ids.in_flight, now, f64::from(conn.in_flight));
        let state = f64::from(conn.ca_state as u8);
        self.series.push(ca_state, now, state);
        self.scratch.clear();
        flow.sender.cc.gauges(conn, &mut self.scratch);
        for (id, value) in ids.gauges.iter().zip(&self.scratch) {
            self.series.push(*id, now, *value);
        }
    }

    /// Takes the samples of one record interval.
    fn sample(&mut self) {
        let (now, measured) = (self.now.ns(), self.now >= self.plan.warmup);
        let recording = self.plan.record.series != SeriesMode::Off;
        for flow in &mut self.flows {
            let srtt = flow.sender.srtt();
            if measured
                && let Some(srtt) = srtt
                && !flow.sender.is_done()
            {
                flow.srtt_sum_ns += u128::from(srtt.ns());
                flow.srtt_samples += 1;
                flow.rwnd_limited_samples += u64::from(flow.sender.rwnd_limited());
            }
            let (Some(ids), Some(srtt)) = (&flow.series, srtt) else {
                continue;
            };
            let conn = &flow.sender.conn;
            if ids.acks.is_some() {
                // The rest is recorded with every ACK.
                self.series.push(ids.srtt, now, srtt.ns() as f64);
                continue;
            }
            self.series.push(ids.cwnd, now, f64::from(conn.cwnd));
            if conn.ssthresh < cc::INFINITE_SSTHRESH {
                self.series
                    .push(ids.ssthresh, now, f64::from(conn.ssthresh));
            }
            self.series.push(ids.srtt, now, srtt.ns() as f64);
            self.series
                .push(ids.in_flight, now, f64::from(conn.in_flight));
            self.series
                .push(ids.delivered, now, flow.delivered_bytes() as f64);
            self.scratch.clear();
            flow.sender.cc.gauges(conn, &mut self.scratch);
            for (id, value) in ids.gauges.iter().zip(&self.scratch) {
                self.series.push(*id, now, *value);
            }
        }
        if !recording {
            return;
        }
        for (link, ids) in self.links.iter().zip(&self.link_series) {
            let backlog = link.queue.backlog();
            self.series.push(ids.packets, now, backlog.packets as f64);
            self.series.push(ids.bytes, now, backlog.bytes as f64);
            self.scratch.clear();
            link.queue.gauges(self.now, &mut self.scratch);
            for (id, value) in ids.gauges.iter().zip(&self.scratch) {
                self.series.push(*id, now, *value);
            }
        }
    }

    /// What was measured. Meant for the end of a run; earlier it tells of the
    /// time up to [`Network::now`].
    pub fn finish(mut self) -> Outcome {
        let (end, warmup) = (self.now, self.plan.warmup);
        let mut outcome = Outcome {
            duration_ns: end.ns(),
            warmup_ns: warmup.ns(),
            events: self.events,
            data_packets: self.data_packets_before_warmup,
            series: self.series,
            ..Outcome::default()
        };
        for (flow, plan) in self.flows.iter_mut().zip(&self.plan.flows) {
            let to = [flow.stop, flow.completed]
                .into_iter()
                .flatten()
                .fold(end, Time::min);
            let delivered = flow.bytes_at_stop.unwrap_or_else(|| flow.delivered_bytes());
            let stats = std::mem::take(&mut flow.sender.stats);
            outcome.flows.push(FlowOutcome {
                name: plan.name.clone(),
                cc: plan.cc.name().to_owned(),
                from_ns: flow.start.max(warmup).ns(),
                to_ns: to.ns(),
                delivered_bytes: delivered.saturating_sub(flow.base_bytes),
                rtt: stats.rtt,
                srtt_sum_ns: flow.srtt_sum_ns,
                srtt_samples: flow.srtt_samples,
                packets: stats.packets,
                retransmits: stats.retransmits,
                timeouts: stats.timeouts,
                completion_ns: flow.completed.map(|t| t.since(flow.start).ns()),
                rwnd_limited_samples: flow.rwnd_limited_samples,
                ..FlowOutcome::default()
            });
        }
        for (i, (stream, plan)) in self.sources.iter().zip(&self.plan.traffic).enumerate() {
            let mut source = TrafficOutcome {
                name: plan.name.clone(),
                kind: plan.kind.to_owned(),
                from_ns: stream.start.max(warmup).ns(),
                to_ns: stream.stop.map_or(end, |s| s.min(end)).ns(),
                sent_packets: stream.sent_packets,
                received_packets: stream.received_packets,
                received_bytes: stream.received_bytes,
                ..TrafficOutcome::default()
            };
            self.web.finish(i, &self.plan, &mut source);
            outcome.traffic.push(source);
        }
        let links = self.links.into_iter().zip(&self.plan.links);
        let links = links.map(|(link, plan)| Measured {
            name: plan.name.clone(),
            aqm: plan.queue.name().to_owned(),
            meter: link.sink.finish(end),
            capacity: |from, to| plan.rate.capacity_bytes(Time(from), Time(to)),
        });
        outcome.complete(links, self.plan.record.series != SeriesMode::Off);
        outcome
    }
}
