//! A queue discipline: first in, first out. A packet that waited longer than `target` is marked if
//! it is ECN-capable, and dropped otherwise. At most one packet is marked or dropped in every
//! `interval`.
//!
//! Each packet passed to `enqueue` must be returned by `dequeue` or passed to `sink.drop`, exactly
//! once. The link sets `packet.stamp` to the time of arrival.

use tailback_engine::aqm::fifo::{Limit, Packets};
use tailback_engine::aqm::{Backlog, Build, Cause, Dequeue, Queue, Sink};
use tailback_engine::crates::Registry;
use tailback_engine::packet::{Ecn, Packet};
use tailback_engine::registry::kernel::{Kernel, Qdisc};
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, Kind, Opt, Options, no_finish};
use tailback_engine::units::Time;

/// Registers everything in this crate with tailback.
pub fn register(registry: &mut Registry) {
    registry.queue(&ENTRY);
}

/// The name, description and options of the discipline.
static ENTRY: Entry<Build> = Entry {
    name: "NAME",
    doc: "First in, first out, with a mark or drop for what waited too long.",
    follows: "nothing that is published",
    options: &[
        Opt {
            name: "limit",
            doc: "Largest length of the queue, in packets or bytes.",
            kind: Kind::Size {
                packets: true,
                bytes: true,
            },
            default: Some("1000p"),
            tc: None,
        },
        Opt {
            name: "target",
            doc: "Wait that is signalled.",
            kind: Kind::Time { min: Time(1_000) },
            default: Some("5ms"),
            tc: None,
        },
        Opt {
            name: "interval",
            doc: "Time from one signal to the next.",
            kind: Kind::Time { min: Time(1_000) },
            default: Some("50ms"),
            tc: None,
        },
    ],
    // Linux does not have this FIFO, so only the simulator runs it.
    kernel: Kernel::Qdisc(&Qdisc::DEFAULT),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options, _context| Box::new(TYPE::of(options)),
};

struct TYPE {
    packets: Packets,
    limit: Limit,
    target: Time,
    interval: Time,
    /// No packet is marked or dropped before this time.
    quiet_until: Time,
}

impl TYPE {
    fn of(options: &Options) -> TYPE {
        TYPE {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
            target: options.time("target"),
            interval: options.time("interval"),
            quiet_until: Time::ZERO,
        }
    }
}

impl Queue for TYPE {
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        self.packets.push_or_drop(packet, self.limit, now, sink);
    }

    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        while self.packets.pop_to(next) {
            let waited = now.since(next.stamp);
            if waited <= self.target || now < self.quiet_until {
                return Dequeue::Packet;
            }
            self.quiet_until = now + self.interval;
            if next.ecn != Ecn::NotEct {
                sink.mark(next, Cause::Mark, now);
                return Dequeue::Packet;
            }
            sink.drop(next, Cause::Aqm, now);
        }
        Dequeue::Empty
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_engine::registry::complete_defaults;

    fn arrived(ecn: Ecn) -> Packet {
        let mut packet = Packet::new(0, 1514, ecn);
        packet.stamp = Time::ZERO;
        packet
    }

    #[test]
    fn one_signal_in_an_interval() {
        let mut queue = TYPE::of(&complete_defaults(&ENTRY));
        let mut sink = Sink::new(1, Time::ZERO);
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect0] {
            let mut packet = arrived(ecn);
            sink.arrive(&packet, Time::ZERO);
            queue.enqueue(&mut packet, Time::ZERO, &mut sink);
        }
        // The first packet waited too long and is dropped. The following packets are not dropped
        // until an interval has passed.
        let second = queue.take(Time::from_ms(6), &mut sink);
        let second = second.expect("a packet is queued");
        assert_eq!(second.ecn, Ecn::Ect0);
        let third = queue.take(Time::from_ms(60), &mut sink);
        let third = third.expect("a packet is queued");
        assert_eq!(third.ecn, Ecn::Ce);
        assert_eq!(queue.backlog(), Backlog::default());
    }
}
