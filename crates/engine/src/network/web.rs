//! The connections of sources such as `web`: they come and go.
//!
//! Each source has a fixed number of places for connections. A place has a
//! number in packets, behind flows and sources, so that every table by that
//! number (paths, counters of a queue, hosts of a fair queue) has an entry from
//! the start. A place is not taken again before the last packet of its previous
//! connection has left the network: what is inside is what entered less what
//! came out and what queues dropped. Free places are taken in turn, the longest
//! free first, as ports are: a queue that hashes flows puts one connection here
//! and the next one there.
//!
//! The client connects, the server sends. Sender and receiver are those of
//! flows, of which the sender connects: its SYN plays the SYN-ACK, and the
//! answer to it the client's ACK, which is the request. Only the client's SYN
//! comes before that. So the times, the packets and the retransmissions of a
//! handshake are right; its third packet is 8 bytes longer than Linux's, a SYN
//! that was lost is sent again as Linux does, and a server that has answered
//! one does not answer its duplicate before its own timer.

use std::collections::VecDeque;

use tailback_record::{Completion, Completions, TrafficOutcome};

use super::build::build_ends;
use super::{Access, End, Network};
use crate::calendar::Component;
use crate::cc;
use crate::packet::{Packet, flags};
use crate::plan::Plan;
use crate::registry::Options;
use crate::rng::Stream;
use crate::tcp::Port;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::{Sender, SenderStats, syn_timeout};
use crate::units::Time;

/// All connections of the sources.
pub(super) struct Web {
    places: Vec<Place>,
    /// One for each source; `None`: it sends datagrams.
    pools: Vec<Option<Pool>>,
    /// Number in packets of the first place.
    first: u32,
    /// Component of the first place.
    pub component: Component,
}

/// A place for a connection.
struct Place {
    source: u32,
    /// The connection that has it.
    taken: Option<Box<Connection>>,
    /// Packets that its ends have put into the network, and that have reached one.
    entered: u64,
    ended: u64,
    /// When it is entered in the calendar.
    armed: Time,
}

/// A connection from connect to the last ACK.
struct Connection {
    sender: Sender,
    receiver: Receiver,
    bytes: u64,
    mss: u64,
    /// When the client has sent its first SYN.
    opened: Time,
    /// When the client sends its next one; `NEVER` once there is an answer.
    ask_again: Time,
    /// SYNs the client has sent again.
    asked_again: u32,
    delivered: bool,
}

/// What the connections of a source have in common.
struct Pool {
    build: cc::Build,
    options: Options,
    /// Seeds of the connections' congestion controls.
    seeds: Stream,
    /// Free places, the longest free first.
    free: VecDeque<u32>,
    /// Connections that are over: their memory is used again, and their
    /// statistics go on in it.
    // Boxed as those in use are: a box moves from one list to the other, the connection stays.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<Connection>>,
    started: u64,
    refused: u64,
    done: Vec<Completion>,
}

impl Pool {
    /// Statistics of connections that are over.
    fn spare_stats(&mut self) -> impl Iterator<Item = &mut SenderStats> {
        self.spare.iter_mut().map(|c| &mut c.sender.stats)
    }
}

/// The way of an end of a connection into the network; counts what it sends.
struct Counted<'a> {
    access: Access<'a>,
    entered: &'a mut u64,
}

impl Port for Counted<'_> {
    #[inline]
    fn send(&mut self, packet: Packet) {
        *self.entered += 1;
        self.access.send(packet);
    }
}

impl Web {
    /// Places for a plan's sources; `owners` as [`Plan::owners`] gives them.
    pub fn new(plan: &Plan, owners: &[u32], component: Component) -> Web {
        let first = (plan.flows.len() + plan.traffic.len()) as u32;
        let place = |owner: &u32| Place {
            source: owner - plan.flows.len() as u32,
            taken: None,
            entered: 0,
            ended: 0,
            armed: Time::NEVER,
        };
        let places: Vec<Place> = owners[first as usize..].iter().map(place).collect();
        let sources = plan.traffic.iter().zip(0..);
        let pools = sources.map(|(source, number)| {
            let connections = source.connections.as_ref()?;
            let (entry, options) = super::build::known(cc::ENTRIES, &connections.cc);
            let places = places.iter().zip(0..);
            let own = places.filter(|(place, _)| place.source == number);
            Some(Pool {
                build: entry.build,
                options: options.clone(),
                seeds: Stream::new(plan.seed, &source.name, "cc"),
                free: own.map(|(_, index)| index).collect(),
                spare: Vec::new(),
                started: 0,
                refused: 0,
                done: Vec::new(),
            })
        });
        Web {
            pools: pools.collect(),
            places,
            first,
            component,
        }
    }

    /// Statistics of a source's senders.
    fn stats(&mut self, source: u32) -> impl Iterator<Item = &mut SenderStats> {
        let places = self.places.iter_mut().filter(move |p| p.source == source);
        let open = places.filter_map(|p| p.taken.as_mut());
        let over = self.pools[source as usize].as_mut();
        let over = over.into_iter().flat_map(Pool::spare_stats);
        open.map(|c| &mut c.sender.stats).chain(over)
    }

    /// Counters start from here; returns how many data packets there were.
    pub fn end_warmup(&mut self) -> u64 {
        let mut packets = 0;
        for source in 0..self.pools.len() as u32 {
            for stats in self.stats(source) {
                packets += std::mem::take(stats).packets;
            }
        }
        packets
    }

    /// Adds to the outcome of a source what its connections did.
    pub fn finish(&mut self, source: usize, plan: &Plan, out: &mut TrafficOutcome) {
        let traffic = &plan.traffic[source];
        if traffic.connections.is_none() {
            return;
        }
        out.sent_packets = self.stats(source as u32).map(|s| s.packets).sum();
        let Some(pool) = &mut self.pools[source] else {
            return;
        };
        let (rate, rtt) = plan.alone(traffic);
        out.completions = Some(Completions {
            started: pool.started,
            refused: pool.refused,
            rate_bit: rate.0,
            rtt_ns: rtt.ns(),
            most_bytes: traffic.options.bytes("max"),
            done: std::mem::take(&mut pool.done),
        });
    }
}

impl Network {
    /// A request: a connection begins, unless there are too many.
    pub(super) fn connect(&mut self, source: u32, bytes: u64) {
        let measured = self.now >= self.plan.warmup;
        let Some(index) = self.take_place(source) else {
            if let Some(pool) = &mut self.web.pools[source as usize] {
                pool.refused += u64::from(measured);
            }
            return;
        };
        let connections = self.plan.traffic[source as usize].connections.as_ref();
        let (Some(connections), Some(pool)) = (connections, &mut self.web.pools[source as usize])
        else {
            return;
        };
        pool.started += u64::from(measured);
        let mut control = (pool.build)(&pool.options);
        control.randomise(pool.seeds.fork());
        let (sender, receiver) = build_ends(
            self.web.first + index,
            &connections.tcp,
            control,
            connections.ecn,
            Some(bytes),
            self.first_segment,
        );
        let mut fresh = Connection {
            sender,
            receiver,
            bytes,
            mss: u64::from(connections.tcp.mss),
            opened: self.now,
            ask_again: self.now + syn_timeout(0),
            asked_again: 0,
            delivered: false,
        };
        let connection = match pool.spare.pop() {
            Some(mut spare) => {
                fresh.sender.stats = std::mem::take(&mut spare.sender.stats);
                *spare = fresh;
                spare
            }
            None => Box::new(fresh),
        };
        self.web.places[index as usize].taken = Some(connection);
        if let Some((connection, mut port)) = self.connection(index, End::Receiver) {
            connection.receiver.ask(connection.opened, &mut port);
        }
        self.rearm_place(index);
    }

    /// Takes the place that is free for longest and has nothing in the network.
    fn take_place(&mut self, source: u32) -> Option<u32> {
        let (links, web) = (&self.links, &mut self.web);
        let pool = web.pools[source as usize].as_mut()?;
        let nothing_inside = |index: &u32| {
            let place = &web.places[*index as usize];
            let gone = links.iter().map(|l| l.sink.gone(web.first + index));
            place.entered == place.ended + gone.sum::<u64>()
        };
        let position = pool.free.iter().position(nothing_inside)?;
        pool.free.remove(position)
    }

    /// The connection at a place, if there is one, and the way of one of its ends.
    #[inline]
    fn connection(&mut self, index: u32, end: End) -> Option<(&mut Connection, Counted<'_>)> {
        let path = &self.paths[(self.web.first + index) as usize];
        let id = match end {
            End::Sender => path.access,
            End::Receiver => path.returning,
        };
        let place = &mut self.web.places[index as usize];
        let port = Counted {
            access: Access {
                pipe: &mut self.pipes[id as usize],
                id,
                now: self.now,
                calendar: &mut self.calendar,
                entered: &mut self.entered,
            },
            entered: &mut place.entered,
        };
        Some((place.taken.as_mut()?, port))
    }

    /// A packet has reached the end of its way: of a source, or of one of its connections.
    pub(super) fn deliver_traffic(&mut self, packet: &Packet) {
        match packet.flow.checked_sub(self.web.first) {
            None => self.receive_datagram(packet, packet.flow as usize - self.flows.len()),
            Some(index) => {
                self.web.places[index as usize].ended += 1;
                if packet.has(flags::ACK) {
                    self.deliver_to_server(packet, index);
                } else {
                    self.deliver_to_client(packet, index);
                }
            }
        }
    }

    fn deliver_to_client(&mut self, packet: &Packet, index: u32) {
        let (now, warmup) = (self.now, self.plan.warmup);
        let source = self.web.places[index as usize].source as usize;
        if packet.payload > 0 {
            self.receive_datagram(packet, source);
        }
        let Some((connection, mut port)) = self.connection(index, End::Receiver) else {
            return;
        };
        connection.ask_again = Time::NEVER;
        connection.receiver.on_packet(packet, now, &mut port);
        if !connection.delivered
            && connection.receiver.arrived() * connection.mss >= connection.bytes
        {
            connection.delivered = true;
            let completion = Completion {
                at_ns: now.ns(),
                bytes: connection.bytes,
                took_ns: now.since(connection.opened).ns(),
            };
            if connection.opened >= warmup
                && let Some(pool) = &mut self.web.pools[source]
            {
                pool.done.push(completion);
            }
        }
        self.rearm_place(index);
    }

    fn deliver_to_server(&mut self, packet: &Packet, index: u32) {
        let now = self.now;
        let Some((connection, mut port)) = self.connection(index, End::Sender) else {
            return;
        };
        let sender = &mut connection.sender;
        if Receiver::asks(packet) {
            if !sender.has_started() {
                sender.start(now, &mut port);
            }
        } else if packet.has(flags::SYN) {
            sender.on_syn_ack(packet, now, &mut port);
        } else {
            sender.on_ack(packet, now, &mut port);
        }
        self.after_server(index);
    }

    /// The connection is over when its server knows that everything has arrived.
    fn after_server(&mut self, index: u32) {
        let place = &mut self.web.places[index as usize];
        if place.taken.as_ref().is_some_and(|c| c.sender.is_done())
            && let Some(pool) = &mut self.web.pools[place.source as usize]
        {
            pool.spare.extend(place.taken.take());
            pool.free.push_back(index);
        }
        self.rearm_place(index);
    }

    /// Moves the calendar's entry of a place if its deadline is now earlier; a
    /// later one waits until the entry comes up.
    #[inline]
    fn rearm_place(&mut self, index: u32) {
        let place = &mut self.web.places[index as usize];
        let Some(connection) = &place.taken else {
            return;
        };
        let ends = connection
            .sender
            .deadline()
            .min(connection.receiver.deadline());
        let deadline = ends.min(connection.ask_again);
        if deadline < place.armed {
            place.armed = deadline;
            self.calendar.schedule(self.web.component + index, deadline);
        }
    }

    /// A deadline of a connection has come, or that of the one before it.
    pub(super) fn run_place(&mut self, component: Component) {
        self.calendar.cancel(component);
        let (now, index) = (self.now, component - self.web.component);
        self.web.places[index as usize].armed = Time::NEVER;
        if let Some((connection, mut port)) = self.connection(index, End::Receiver) {
            if connection.ask_again <= now {
                connection.asked_again += 1;
                connection.ask_again = now + syn_timeout(connection.asked_again);
                connection.receiver.ask(now, &mut port);
            }
            if connection.receiver.deadline() <= now {
                connection.receiver.on_timer(now, &mut port);
            }
        }
        if let Some((connection, mut port)) = self.connection(index, End::Sender)
            && connection.sender.deadline() <= now
        {
            connection.sender.on_timer(now, &mut port);
        }
        self.after_server(index);
    }
}
