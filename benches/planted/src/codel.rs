//! CoDel (RFC 8289) with an optional bug.

use tailback_engine::aqm::fifo::{Limit, Packets};
use tailback_engine::aqm::{Backlog, Build, Cause, Dequeue, Queue, Sink};
use tailback_engine::crates::Registry;
use tailback_engine::packet::{Ecn, Packet};
use tailback_engine::registry::kernel::{Kernel, Qdisc};
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, Kind, Opt, Options, no_finish};
use tailback_engine::units::Time;

/// The bug that a copy of CoDel has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    Clean,
    /// The time between drops does not shrink with the number of drops.
    Law,
    /// ECN-capable packets are dropped although `ecn` is set.
    Ecn,
    /// CoDel drops or marks the first packet above the target, instead of waiting for an interval.
    Hasty,
}

macro_rules! entry {
    ($constant:ident, $name:literal, $bug:expr) => {
        static $constant: Entry<Build> = Entry {
            name: $name,
            doc: "CoDel, maybe with a bug.",
            follows: "RFC 8289",
            options: &[
                Opt {
                    name: "limit",
                    doc: "The most that may be queued, in packets or bytes.",
                    kind: Kind::Size {
                        packets: true,
                        bytes: true,
                    },
                    default: Some("1000p"),
                    tc: None,
                },
                Opt {
                    name: "ecn",
                    doc: "Whether ECN-capable packets are marked instead of dropped.",
                    kind: Kind::Bool,
                    default: Some("false"),
                    tc: None,
                },
            ],
            kernel: Kernel::Qdisc(&Qdisc::DEFAULT),
            rules: Rules::NONE,
            finish: no_finish,
            build: |options, _context| Box::new(Planted::of(options, $bug)),
        };
    };
}

entry!(CLEAN, "codel-clean", Bug::Clean);
entry!(LAW, "codel-law", Bug::Law);
entry!(ECN, "codel-ecn", Bug::Ecn);
entry!(HASTY, "codel-hasty", Bug::Hasty);

pub(super) fn register(registry: &mut Registry) {
    for entry in [&CLEAN, &LAW, &ECN, &HASTY] {
        registry.queue(entry);
    }
}

const TARGET: Time = Time(5_000_000);
const INTERVAL: u64 = 100_000_000;
const MTU: u64 = 1514;

struct Planted {
    packets: Packets,
    limit: Limit,
    ecn: bool,
    bug: Bug,
    first_above: Option<Time>,
    dropping: bool,
    count: u32,
    last_count: u32,
    next_drop: Time,
}

impl Planted {
    fn of(options: &Options, bug: Bug) -> Planted {
        Planted {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
            ecn: options.bool("ecn"),
            bug,
            first_above: None,
            dropping: false,
            count: 0,
            last_count: 0,
            next_drop: Time::ZERO,
        }
    }

    /// Returns whether the sojourn time has been above the target for a whole interval (RFC 8289
    /// section 5.4).
    fn is_late(&mut self, packet: &Packet, now: Time) -> bool {
        if now.since(packet.stamp) < TARGET || self.packets.bytes() <= MTU {
            self.first_above = None;
            return false;
        }
        let wait = if self.bug == Bug::Hasty { 0 } else { INTERVAL };
        let due = *self.first_above.get_or_insert(now + Time(wait));
        now >= due
    }

    fn law(&self, from: Time) -> Time {
        let count = if self.bug == Bug::Law { 1 } else { self.count };
        from + Time((INTERVAL as f64 / f64::from(count).sqrt()) as u64)
    }

    /// Marks the packet in `next`, or drops it and takes the next packet from the queue.
    fn act(&mut self, next: &mut Packet, now: Time, sink: &mut Sink) -> Acted {
        if self.ecn && self.bug != Bug::Ecn && next.ecn != Ecn::NotEct {
            sink.mark(next, Cause::Mark, now);
            return Acted::Marked;
        }
        sink.drop(next, Cause::Aqm, now);
        match self.packets.pop_to(next) {
            true => Acted::Dropped,
            false => Acted::Emptied,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Acted {
    Marked,
    Dropped,
    Emptied,
}

impl Queue for Planted {
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        self.packets.push_or_drop(packet, self.limit, now, sink);
    }

    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        if !self.packets.pop_to(next) {
            (self.first_above, self.dropping) = (None, false);
            return Dequeue::Empty;
        }
        let mut late = self.is_late(next, now);
        if self.dropping {
            while late && self.dropping && now >= self.next_drop {
                self.count += 1;
                let acted = self.act(next, now, sink);
                if acted == Acted::Emptied {
                    (self.first_above, self.dropping) = (None, false);
                    return Dequeue::Empty;
                }
                self.next_drop = self.law(self.next_drop);
                if acted == Acted::Marked {
                    break;
                }
                late = self.is_late(next, now);
            }
            self.dropping &= late;
        } else if late {
            let acted = self.act(next, now, sink);
            if acted == Acted::Emptied {
                self.first_above = None;
                return Dequeue::Empty;
            }
            if acted == Acted::Dropped {
                self.is_late(next, now);
            }
            self.dropping = true;
            let added = self.count - self.last_count;
            let recent = now < self.next_drop + Time(16 * INTERVAL);
            self.count = if added > 1 && recent { added } else { 1 };
            self.last_count = self.count;
            self.next_drop = self.law(now);
        }
        Dequeue::Packet
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}
