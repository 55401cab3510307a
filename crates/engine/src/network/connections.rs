//! TCP connections, including both of their ends. Either end may open a connection.
//!
//! Each packet carries one number, which is an index into a table of [`Ends`]. Each flow has an
//! entry in the table, which holds its connection for the whole run. Each traffic source also has
//! an entry, and the source's datagrams carry the entry's number. If a source opens connections, it
//! also has a fixed number of slots at the end of the table. So other tables with the same index,
//! such as the per-flow counters of a queue, have their full size from the start.
//!
//! A connection may use a slot again, but only after the last packet of the slot's previous
//! connection has left the network. So a number never denotes two connections at the same time.
//! Neither packets nor results need to distinguish connections that used the same slot. The
//! calendar may still have an entry for a timer of the slot's previous connection. When this entry
//! is due, the slot's new connection finds that its own deadline is later, and does nothing.
//!
//! Data always goes from sender to receiver. The client is the end that opens the connection. The
//! client of a flow is normally the sender. If the receiver requests data, the receiver is the
//! client. The client's SYN comes first, and the server's SYN serves as the SYN-ACK. The client
//! answers the server's SYN with a packet that is both the ACK of the handshake and the request. So
//! the times, packets and retransmissions of a handshake are the same as in Linux. The only
//! difference from Linux is that the third packet of the handshake is 8 bytes longer. A lost SYN is
//! sent again as in Linux. If the client repeats a SYN that the server has already answered, the
//! server waits for its own timer before it answers again.

use std::sync::Arc;

use super::Network;
use super::chunks::Chunks;
use super::pipe::{Access, Pipe};
use super::turns::Turns;
use crate::calendar::{Calendar, Component};
use crate::cc::CongestionControl;
use crate::packet::{Packet, flags};
use crate::plan::TcpPlan;
use crate::tcp::accecn;
use crate::tcp::ecn_echo::EcnEcho;
use crate::tcp::handshake::syn_timeout;
use crate::tcp::receiver::Receiver;
use crate::tcp::sce::SceEcho;
use crate::tcp::sender::Sender;
use crate::units::Time;
use crate::wheel::WheelPhase;

/// One end of a connection. Arrays with one element for each end are indexed by this enum.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Sender,
    Receiver,
}

#[derive(Clone, Copy)]
pub(super) enum Opener {
    /// A flow, which uses the table entry for the whole run.
    Flow,
    /// The traffic source with this index.
    Traffic(u32),
    /// The entry of `[[programs]]` with this index.
    Program(u32),
}

#[derive(Clone)]
pub(super) struct Path {
    /// Links on the route of the data.
    pub route: Arc<[u32]>,
    /// Links on the route of the ACKs.
    pub back: Arc<[u32]>,
    /// The pipe of each [`End`]. The sender's pipe is before the first link of the route. The
    /// receiver's pipe is before the first link of the return path.
    pub pipes: [u32; 2],
}

/// An entry of the table: two ends, the path between them, and their connection.
pub(super) struct Ends {
    pub opener: Opener,
    pub path: Path,
    /// Calendar component of the timer of each [`End`].
    pub timers: [Component; 2],
    /// When each timer's entry in the calendar is due.
    pub armed: [Time; 2],
    /// When each end next needs to act. These times are copies of values in the connection, so that
    /// the network need not read the connection from memory. The entry in the calendar may be
    /// earlier than this time.
    pub due: [Time; 2],
    /// Packets that the ends have put into the network.
    pub entered: u64,
    /// Packets that have reached an end.
    pub ended: u64,
    /// The connection. `None` for a source of datagrams, or for a free slot.
    pub connection: Option<Box<Connection>>,
}

impl Ends {
    /// Returns the connection of a flow. A flow has a connection during the whole run.
    pub fn of_flow(&self) -> &Connection {
        let connection = self.connection.as_ref();
        connection.expect("the slot of a flow is never free")
    }

    /// Returns the connection of a flow for modification.
    pub fn of_flow_mut(&mut self) -> &mut Connection {
        let connection = self.connection.as_mut();
        connection.expect("the slot of a flow is never free")
    }
}

/// A connection from its first SYN on.
pub(super) struct Connection {
    pub sender: Sender,
    pub receiver: Receiver,
    pub client: End,
    pub opened: Time,
    /// When the receiver, as the client, repeats its SYN or a request. This time is `NEVER` once
    /// the client has an answer.
    pub syn_due: Time,
    pub syn_retransmits: u32,
    /// Payload to send, in bytes. `None` means no limit.
    pub bytes: Option<u64>,
    pub mss: u64,
    pub first: u64,
    /// The transfer (or the current chunk) is complete once all segments with numbers below this
    /// one have arrived.
    pub goal: u64,
    /// When the last byte was delivered.
    pub completed: Option<Time>,
    pub chunks: Option<Box<Chunks>>,
    /// The current request, if the connection stays open until the end of the run (`Step::Load` of
    /// a source).
    pub asked: Option<Box<Asked>>,
    /// The requests of a connection that serves several requests, one after the other.
    pub turns: Option<Box<Turns>>,
}

pub(super) struct Asked {
    pub at: Time,
    /// Number of segments of the answer.
    segments: u64,
    /// When the request was last sent. `None` once the request has arrived.
    pub sent: Option<Time>,
    /// How long the answer took. `None` until the answer has arrived.
    pub took: Option<Time>,
}

impl Connection {
    /// Creates a connection that is not open yet. `phases` holds the timer phases of its hosts, by
    /// [`End`].
    pub fn unopened(
        number: u32,
        tcp: &TcpPlan,
        control: Box<dyn CongestionControl>,
        ecn: bool,
        bytes: Option<u64>,
        first_segment: u64,
        phases: [WheelPhase; 2],
    ) -> Connection {
        let need = control.needs().ecn;
        let echo = EcnEcho::of(ecn, tcp.ecn_feedback, need);
        let mut receiver = Receiver::new(number, tcp, echo);
        if ecn && !receiver.is_accurate() {
            receiver.echo_sce(SceEcho::of(tcp.sce_receiver, need));
        }
        let cut = accecn::of_sender(tcp, echo);
        let sender = Sender::new(number, &cut, control, ecn, bytes);
        let [at_sender, at_receiver] = phases;
        let mss = u64::from(cut.mss);
        Connection {
            sender: sender.numbered_from(first_segment).at_phase(at_sender),
            receiver: receiver.numbered_from(first_segment).at_phase(at_receiver),
            client: End::Sender,
            opened: Time::ZERO,
            syn_due: Time::NEVER,
            syn_retransmits: 0,
            bytes,
            mss,
            first: first_segment,
            goal: bytes.map_or(u64::MAX, |bytes| first_segment + bytes.div_ceil(mss)),
            completed: None,
            chunks: None,
            asked: None,
            turns: None,
        }
    }

    /// Returns this connection. With offloads, the hosts of a connection leave segmentation to
    /// their network interfaces.
    pub fn with_offloads(self, offloads: bool) -> Connection {
        if !offloads {
            return self;
        }
        Connection {
            sender: self.sender.joining(u16::MAX),
            receiver: self.receiver.joined(),
            ..self
        }
    }

    /// Declares that the application will write its `bytes` bytes in several pieces.
    pub fn expect_writes(&mut self, bytes: Option<u64>) {
        self.sender.expect_writes();
        let last = bytes.map(|bytes| self.first + bytes.div_ceil(self.mss));
        self.goal = last.unwrap_or(u64::MAX);
        self.bytes = bytes;
    }

    pub fn divide(&mut self, chunks: Chunks) {
        self.goal = self.first + chunks.segments;
        self.sender.divide(chunks.bytes);
        self.chunks = Some(Box::new(chunks));
    }

    /// Returns when the receiver next needs to act, for example to repeat a SYN or a request.
    pub fn receiver_deadline(&self) -> Time {
        self.receiver.deadline().min(self.syn_due)
    }

    /// Returns how many payload bytes have been delivered in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.payload(self.receiver.arrived())
    }

    pub fn acked_bytes(&self) -> u64 {
        self.payload(self.sender.acked())
    }

    /// Returns how many payload bytes the first `segments` segments have. The last segment of the
    /// transfer, or of a chunk, may be short.
    fn payload(&self, segments: u64) -> u64 {
        if let Some(chunks) = &self.chunks {
            let begun = (segments % chunks.segments * self.mss).min(chunks.bytes);
            return segments / chunks.segments * chunks.bytes + begun;
        }
        let whole = segments * self.mss;
        self.bytes.map_or(whole, |bytes| whole.min(bytes))
    }

    /// Returns whether the last byte of the transfer, or of a chunk, has just been delivered.
    #[inline]
    fn completes(&mut self, now: Time, calendar: &mut Calendar) -> bool {
        if self.receiver.rcv_nxt >= self.goal {
            self.reach_goal(now, calendar);
            return true;
        }
        false
    }

    /// Lets the receiver request `bytes` bytes at `now`, unless an earlier request is not yet
    /// answered.
    pub fn ask(&mut self, bytes: u64, now: Time, port: &mut Access<'_>) {
        const AGAIN: Time = Time(1_000_000_000);
        const PAYLOAD: u16 = 100;
        if self.syn_due != Time::NEVER {
            return;
        }
        match self.asked.as_deref_mut() {
            None => {
                self.asked = Some(Box::new(Asked {
                    at: now,
                    segments: bytes.div_ceil(self.mss),
                    sent: Some(now),
                    took: None,
                }));
            }
            Some(asked) => match &mut asked.sent {
                // The last request may be lost, so repeat it.
                Some(sent) if now.since(*sent) >= AGAIN => *sent = now,
                _ => return,
            },
        }
        self.receiver.ask(PAYLOAD, port);
    }

    #[cold]
    #[inline(never)]
    fn reach_goal(&mut self, now: Time, calendar: &mut Calendar) {
        if let Some(asked) = &mut self.asked {
            asked.took = Some(now.since(asked.at));
            self.goal = u64::MAX;
            return;
        }
        if self.turns.is_some() {
            self.goal = u64::MAX;
            return;
        }
        let next = |chunks: &mut Box<Chunks>| chunks.arrive(self.receiver.arrived(), now, calendar);
        let next = self.chunks.as_mut().map_or(u64::MAX, next);
        self.goal = self.first.saturating_add(next);
        if self.goal == u64::MAX {
            self.completed = Some(now);
        }
    }
}

/// The connection of an end that acts now, and other data that the end needs in order to act.
pub(super) struct Acting<'a> {
    pub connection: &'a mut Connection,
    pub port: Access<'a>,
    pub entry: Entry<'a>,
}

impl Acting<'_> {
    /// Moves the receiver's calendar entry to its deadline. At the deadline, the receiver may have
    /// to repeat a SYN or a request.
    pub fn rearm_receiver(self) {
        let deadline = self.connection.receiver_deadline();
        self.entry.rearm(deadline, self.port.calendar);
    }
}

pub(super) struct Entry<'a> {
    timer: Component,
    armed: &'a mut Time,
    due: &'a mut Time,
}

impl Entry<'_> {
    /// Moves the calendar entry if the new deadline is earlier. If the new deadline is later, the
    /// entry stays where it is. The entry is moved when it is due.
    #[inline]
    pub fn rearm(self, deadline: Time, calendar: &mut Calendar) {
        *self.due = deadline;
        if deadline < *self.armed {
            *self.armed = deadline;
            calendar.schedule(self.timer, deadline);
        }
    }

    /// Moves the calendar entry, which is due now, to the end's next deadline. Moving the entry is
    /// one operation, whereas removing it and adding it again would be two.
    fn settle(self, deadline: Time, calendar: &mut Calendar) {
        *self.due = deadline;
        *self.armed = deadline;
        calendar.move_to(self.timer, deadline);
    }
}

impl Ends {
    /// Returns the connection of an end, and other data that the end needs in order to act. Returns
    /// `None` if the entry has no connection.
    #[inline]
    pub fn acting<'a>(
        &'a mut self,
        end: End,
        pipes: &'a mut [Pipe],
        now: Time,
        calendar: &'a mut Calendar,
    ) -> Option<Acting<'a>> {
        let id = self.path.pipes[end as usize];
        Some(Acting {
            connection: self.connection.as_mut()?,
            port: Access {
                pipe: &mut pipes[id as usize],
                id,
                now,
                calendar,
                entered: &mut self.entered,
            },
            entry: Entry {
                timer: self.timers[end as usize],
                armed: &mut self.armed[end as usize],
                due: &mut self.due[end as usize],
            },
        })
    }

    /// Handles an end's calendar entry that is due. If the end's deadline is later than now, moves
    /// the entry to the deadline and returns true.
    #[inline]
    fn waits(&mut self, end: End, now: Time, calendar: &mut Calendar) -> bool {
        let due = self.due[end as usize];
        let waits = due > now && self.connection.is_some();
        if waits {
            self.armed[end as usize] = due;
            calendar.move_to(self.timers[end as usize], due);
        }
        waits
    }
}

impl Network {
    /// Delivers a data packet to the receiving end of its path.
    #[inline(never)] // keeps `arrive` short
    pub(super) fn deliver_data(&mut self, packet: &Packet) {
        let now = self.now;
        let ends = &mut self.ends[packet.flow as usize];
        ends.ended += 1;
        let opener = ends.opener;
        let mut completed = false;
        let acting = ends.acting(End::Receiver, &mut self.pipes, now, &mut self.calendar);
        if let Some(Acting {
            connection,
            mut port,
            entry,
        }) = acting
        {
            connection.syn_due = Time::NEVER;
            connection.receiver.on_packet(packet, now, &mut port);
            completed = connection.completes(now, port.calendar);
            entry.rearm(connection.receiver.deadline(), port.calendar);
        }
        match opener {
            Opener::Flow => {}
            Opener::Traffic(source) => {
                self.received(source as usize, packet, completed);
                if self.ends[packet.flow as usize].connection.is_none() {
                    self.left(packet.flow as usize);
                }
            }
            Opener::Program(entry) => self.receive_datagram(entry as usize, End::Receiver, packet),
        }
    }

    /// Delivers an ACK, or the client's SYN, to the sending end of its path.
    #[inline(never)]
    pub(super) fn deliver_ack(&mut self, packet: &Packet) {
        let (now, number) = (self.now, packet.flow as usize);
        let ends = &mut self.ends[number];
        ends.ended += 1;
        let opener = ends.opener;
        let acting = ends.acting(End::Sender, &mut self.pipes, now, &mut self.calendar);
        let Some(Acting {
            connection,
            mut port,
            entry,
        }) = acting
        else {
            return match opener {
                Opener::Program(entry) => {
                    self.receive_datagram(entry as usize, End::Sender, packet)
                }
                Opener::Traffic(source) if packet.has(flags::DATAGRAM) => {
                    self.answered(source as usize, packet)
                }
                _ => self.left(number),
            };
        };
        let sender = &mut connection.sender;
        if !packet.has(flags::SYN | flags::REQUEST) {
            sender.on_ack(packet, now, &mut port);
        } else if packet.has(flags::REQUEST) {
            // A request that arrives before the end of the handshake is ignored. The client sends
            // the request again.
            if connection.turns.is_none() || sender.is_established() {
                sender.on_request(packet, now, &mut port);
            }
            if let Some(asked) = &mut connection.asked
                && asked.sent.take().is_some()
            {
                // The segments that the sender sends next belong to the answer.
                connection.goal = sender.flight().nxt + asked.segments;
            }
            if let Some(chunks) = &mut connection.chunks {
                chunks.request(packet.seq - connection.first, now, port.calendar);
            }
            connection.answer(false, now, &mut port);
        } else if !Receiver::is_connect(packet) {
            sender.on_syn_ack(packet, now, &mut port);
            connection.answer(true, now, &mut port);
        } else if !sender.has_started() {
            sender.start(now, &mut port);
        }
        let sender = &mut connection.sender;
        sender.note_limit();
        entry.rearm(sender.deadline(), port.calendar);
        self.after_sender(number, opener);
    }

    /// Updates the calendar and the records after a sender has acted.
    #[inline]
    pub(super) fn after_sender(&mut self, number: usize, opener: Opener) {
        match opener {
            Opener::Flow if self.follows_flows => self.after_flow(number),
            Opener::Flow | Opener::Program(_) => {}
            Opener::Traffic(source) => self.close_if_done(source as usize, number),
        }
    }

    /// Records the state of a flow's sender after it has acted, or stores it for later connections.
    #[cold]
    fn after_flow(&mut self, number: usize) {
        if self.every_change {
            self.record_change(number);
        }
        if let Some(memory) = &mut self.memory {
            let now = self.now;
            memory.store_flow(number, &self.ends[number].of_flow().sender, now);
        }
    }

    pub(super) fn run_sender(&mut self, number: usize) {
        let now = self.now;
        let ends = &mut self.ends[number];
        // If the sender's deadline is later, the sender did not act. If the sender did not act,
        // there is nothing to record, unless every change is recorded.
        if !self.every_change && ends.waits(End::Sender, now, &mut self.calendar) {
            return;
        }
        let (opener, timer) = (ends.opener, ends.timers[End::Sender as usize]);
        let acting = ends.acting(End::Sender, &mut self.pipes, now, &mut self.calendar);
        let Some(mut end) = acting else {
            ends.armed[End::Sender as usize] = Time::NEVER;
            return self.calendar.cancel(timer);
        };
        let sender = &mut end.connection.sender;
        if !sender.has_started() {
            if end.connection.client == End::Sender {
                if let Some(memory) = &mut self.memory {
                    memory.recall(number, sender, now);
                }
                sender.start(now, &mut end.port);
            }
        } else if sender.deadline() <= now {
            sender.on_timer(now, &mut end.port);
        }
        sender.note_limit();
        let deadline = sender.deadline();
        end.entry.settle(deadline, end.port.calendar);
        self.after_sender(number, opener);
    }

    pub(super) fn run_receiver(&mut self, number: usize) {
        let now = self.now;
        let ends = &mut self.ends[number];
        if ends.waits(End::Receiver, now, &mut self.calendar) {
            return;
        }
        let timer = ends.timers[End::Receiver as usize];
        let acting = ends.acting(End::Receiver, &mut self.pipes, now, &mut self.calendar);
        let Some(mut end) = acting else {
            ends.armed[End::Receiver as usize] = Time::NEVER;
            return self.calendar.cancel(timer);
        };
        let connection = &mut *end.connection;
        if connection.syn_due <= now && !connection.repeats_request(now, &mut end.port) {
            connection.syn_retransmits += 1;
            connection.syn_due = now + syn_timeout(connection.syn_retransmits);
            connection.receiver.connect(now, &mut end.port);
        }
        if connection.receiver.deadline() <= now {
            connection.receiver.on_timer(now, &mut end.port);
        }
        let deadline = connection.receiver_deadline();
        end.entry.settle(deadline, end.port.calendar);
    }

    /// Lets the receiver send the first SYN, as the client.
    pub(super) fn connect_receiver(&mut self, number: usize) {
        let now = self.now;
        let ends = &mut self.ends[number];
        let acting = ends.acting(End::Receiver, &mut self.pipes, now, &mut self.calendar);
        if let Some(mut end) = acting {
            end.connection.syn_due = now + syn_timeout(0);
            end.connection.receiver.connect(now, &mut end.port);
            end.rearm_receiver();
        }
    }
}
