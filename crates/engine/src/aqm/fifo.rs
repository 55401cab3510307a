//! FIFO with tail drop. The FIFO is Linux's `pfifo` if the limit is in packets, and `bfifo` if the
//! limit is in bytes.
//!
//! tailback's FIFO follows sch_fifo of Linux 7.3. With a limit in bytes, a packet is admitted if
//! the backlog including the packet does not exceed the limit. With a limit in packets, a packet is
//! admitted if fewer packets than the limit are queued.
//!
//! No known deviations.

use tailback_record::Cause;

use super::{Backlog, Build, Dequeue, Queue, Setting, Sink};
use crate::packet::{Ecn, Packet};
use crate::registry::kernel::{Kernel, Qdisc, Xstats, number};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, Value, no_finish};
use crate::ring::Ring;
use crate::units::Time;

/// The registry entry of `fifo`.
pub const ENTRY: Entry<Build> = Entry {
    name: "fifo",
    doc: "First in, first out, with tail drop.",
    follows: "Linux 7.3 sch_fifo",
    options: &[Opt {
        name: "limit",
        doc: "Largest length of the queue, in packets or bytes.",
        kind: Kind::Size {
            packets: true,
            bytes: true,
        },
        default: Some("1000p"),
        tc: Some("pfifo limit PACKETS or bfifo limit BYTES"),
    }],
    kernel: Kernel::Qdisc(&KERNEL),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options, _| Box::new(Fifo::new(Limit::of(options.get("limit")))),
};

const KERNEL: Qdisc = Qdisc {
    kinds: &["pfifo", "bfifo"],
    since: Some("2.2"),
    built_in: true,
    words: &[("limit", |words, option| {
        if let Some(Value::Bytes(_)) = words.options.get(option) {
            words.kind = "bfifo";
        }
        number(words, option);
    })],
    tail_drop: true,
    xstats: Xstats {
        marks: Some(&[]),
        ..Qdisc::DEFAULT.xstats
    },
    ..Qdisc::DEFAULT
};

/// Largest backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Packets.
    Packets(u64),
    /// Frame bytes.
    Bytes(u64),
}

impl Limit {
    /// Reads an option that is a size. If no value is set, the queue is unlimited.
    pub fn of(value: Option<&Value>) -> Limit {
        match value {
            Some(Value::Packets(n)) => Limit::Packets(*n),
            Some(Value::Bytes(b)) => Limit::Bytes(b.0),
            _ => Limit::Packets(u64::MAX),
        }
    }
}

/// A FIFO of packets that counts how many bytes are queued. Queue disciplines store their packets
/// in such FIFOs.
#[derive(Debug, Default)]
pub struct Packets {
    queue: Ring<Packet>,
    bytes: u64,
}

impl Packets {
    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.len);
        self.queue.push_back(packet);
    }

    /// Moves the oldest packet to `next`. Returns whether there was a packet.
    #[inline]
    pub fn pop_to(&mut self, next: &mut Packet) -> bool {
        let any = self.queue.pop_to(next);
        if any {
            self.bytes -= u64::from(next.len);
        }
        any
    }

    /// Moves the oldest packet to `next`. Returns the value that [`crate::aqm::Queue::dequeue`]
    /// must return.
    #[inline]
    pub fn give(&mut self, next: &mut Packet) -> Dequeue {
        match self.pop_to(next) {
            true => Dequeue::Packet,
            false => Dequeue::Empty,
        }
    }

    /// Returns the oldest packet.
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        self.queue.front()
    }

    /// Returns the packets that are `places` positions behind the oldest packet
    /// ([`crate::aqm::Queue::ahead`]).
    #[inline]
    pub fn ahead(&self, places: [usize; 3]) -> Option<[&Packet; 3]> {
        self.queue.ahead(places)
    }

    /// Returns the number of packets queued.
    #[inline]
    pub fn len(&self) -> u64 {
        self.queue.len() as u64
    }

    /// Returns whether the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the number of bytes queued.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of packets and bytes queued.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.len(),
            bytes: self.bytes,
        }
    }

    /// Returns whether one more packet of `len` bytes would be within the limit.
    #[inline]
    pub fn has_room(&self, limit: Limit, len: u16) -> bool {
        match limit {
            Limit::Packets(n) => self.len() < n,
            Limit::Bytes(n) => self.bytes + u64::from(len) <= n,
        }
    }

    /// Returns whether the queue does not exceed the limit.
    pub fn is_within(&self, limit: Limit) -> bool {
        match limit {
            Limit::Packets(n) => self.len() <= n,
            Limit::Bytes(n) => self.bytes <= n,
        }
    }

    /// Called after a limit was lowered. Drops packets from the head while the queue exceeds the
    /// new limit. As in Linux, these drops do not affect the control law of the queue.
    pub fn shrink(&mut self, limit: Limit, now: Time, sink: &mut Sink) {
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        while !self.is_within(limit) && self.pop_to(&mut packet) {
            sink.drop(&packet, Cause::Overflow, now);
        }
    }

    /// Appends a packet. If the packet would exceed the limit, drops it.
    #[inline(always)] // without inlining, the packet would be copied to memory
    pub fn push_or_drop(&mut self, packet: &Packet, limit: Limit, now: Time, sink: &mut Sink) {
        if self.has_room(limit, packet.len) {
            self.push(*packet);
        } else {
            sink.drop(packet, Cause::Overflow, now);
        }
    }
}

/// The queue discipline `fifo`.
#[derive(Debug)]
pub struct Fifo {
    packets: Packets,
    limit: Limit,
}

impl Fifo {
    /// Creates an empty queue.
    pub fn new(limit: Limit) -> Fifo {
        Fifo {
            packets: Packets::default(),
            limit,
        }
    }
}

impl Queue for Fifo {
    fn changeable(&self) -> &'static [&'static str] {
        &["limit"]
    }

    fn change(&mut self, options: &Options, _setting: &Setting, _sink: &mut Sink) {
        self.limit = Limit::of(options.get("limit"));
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        self.packets.push_or_drop(packet, self.limit, now, sink);
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _sink: &mut Sink, next: &mut Packet) -> Dequeue {
        self.packets.give(next)
    }

    fn ahead(&self, places: [usize; 3]) -> Option<[&Packet; 3]> {
        self.packets.ahead(places)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}
