//! FIFO with head drop, as Linux 7.3 `sch_fifo`'s `pfifo_head_drop`: what arrives at a
//! full queue takes the place of the oldest packet.

use tailback_record::Cause;

use super::fifo::{Limit, Packets};
use super::{Backlog, Build, Dequeue, Queue, Sink};
use crate::packet::Packet;
use crate::registry::kernel::{Kernel, Order, Qdisc, Xstats, number};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, no_finish};
use crate::units::Time;

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "head-drop",
    doc: "First in, first out; a full queue drops its oldest packet.",
    follows: "Linux 7.3 sch_fifo (pfifo_head_drop)",
    options: &[Opt {
        name: "limit",
        doc: "Most packets that may be queued.",
        kind: Kind::Size {
            packets: true,
            bytes: false,
        },
        default: Some("1000p"),
        tc: Some("limit PACKETS"),
    }],
    kernel: Kernel::Qdisc(&KERNEL),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options, _| {
        Box::new(HeadDrop {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
        })
    },
};

/// The kernel face.
const KERNEL: Qdisc = Qdisc {
    kinds: &["pfifo_head_drop"],
    since: Some("2.6.34"),
    built_in: true,
    words: &[("limit", number)],
    order: Order::Arrival,
    xstats: Xstats {
        marks: Some(&[]),
        ..Qdisc::SIMULATED.xstats
    },
    ..Qdisc::SIMULATED
};

/// The discipline.
#[derive(Debug)]
pub struct HeadDrop {
    packets: Packets,
    limit: Limit,
}

impl Queue for HeadDrop {
    fn enqueue(&mut self, packet: Packet, now: Time, sink: &mut Sink) {
        if !self.packets.has_room(self.limit, packet.len)
            && let Some(oldest) = self.packets.pop()
        {
            sink.drop(&oldest, Cause::Overflow, now);
        }
        // Nothing fits below a limit of 0.
        self.packets.push_or_drop(packet, self.limit, now, sink);
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut Sink) -> Dequeue {
        self.packets.pop().map_or(Dequeue::Empty, Dequeue::Packet)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}
