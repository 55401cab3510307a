//! Step marking: an ECN-capable packet is marked if the queue length, or the packet's sojourn time,
//! exceeds a threshold. DCTCP expects step marking (RFC 8257 section 3.1). The low-latency queue of
//! L4S also uses step marking.
//!
//! If the threshold is in bytes or packets, it is compared with the queue length that the packet
//! finds on arrival (Alizadeh et al. 2010). If the threshold is a time, it is compared with the
//! packet's sojourn time when the packet leaves. `step_thresh` of DualPI2 and `ce_threshold` of
//! fq_codel are also step thresholds. Linux has no queue discipline that marks at a threshold and
//! does nothing else. So the kernel engine runs tailback's own module `sch_step` for `step`. Two
//! queue disciplines of Linux can act similarly: `red` with min = max and weight 1, and `codel`
//! with `ce_threshold`. By default, packets that are not ECN-capable are neither marked nor
//! dropped.

mod kernel;

use tailback_record::Cause;

use super::fifo::{Limit, Packets};
use super::{Backlog, Build, Dequeue, Queue, Setting, Sink};
use crate::packet::Packet;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};
use crate::units::Time;

/// The registry entry of `step`.
pub const ENTRY: Entry<Build> = Entry {
    name: "step",
    doc: "Marks an ECN-capable packet if the queue length, or the packet's sojourn time, exceeds a threshold.",
    follows: "RFC 8257 section 3.1",
    options: &[
        Opt {
            name: "limit",
            doc: "Largest length of the queue, in packets or bytes; packets that arrive at a full \
                queue are dropped.",
            kind: Kind::Size {
                packets: true,
                bytes: true,
            },
            default: Some("1000p"),
            tc: None,
        },
        Opt {
            name: "threshold",
            doc: "Packets are marked if their sojourn time, or the queue length in bytes or packets, is greater than this value.",
            kind: Kind::TimeOrSize,
            default: Some("1ms"),
            tc: None,
        },
        Opt {
            name: "at",
            doc: "Whether the threshold is checked when a packet arrives (\"enqueue\") or when it leaves (\"dequeue\"). \"enqueue\" is the default if the threshold is a length. If the threshold is a time, only \"dequeue\" is possible.",
            kind: Kind::Word(&["enqueue", "dequeue"]),
            default: None,
            tc: None,
        },
        Opt {
            name: "include_arriving",
            doc: "Whether the queue length that is compared with the threshold includes the packet that may be marked.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        Opt {
            name: "not_ect",
            doc: "What happens to a packet that exceeds the threshold but is not ECN-capable: it \
                is forwarded unmarked, or dropped.",
            kind: Kind::Word(&["pass", "drop"]),
            default: Some("pass"),
            tc: None,
        },
    ],
    kernel: Kernel::Qdisc(&kernel::KERNEL),
    rules: Rules::NONE,
    finish: |options| {
        let time = matches!(options.get("threshold"), Some(Value::Time(_)));
        match options.get("at") {
            None => {
                let at = if time { "dequeue" } else { "enqueue" };
                options.set("at", Value::Word(at));
                Ok(())
            }
            Some(Value::Word("enqueue")) if time => Err(vec![OptionError {
                option: "at",
                message: "the sojourn time of a packet is known when it leaves: expected \"dequeue\", or a threshold in bytes or packets".to_owned(),
            }]),
            Some(_) => Ok(()),
        }
    },
    build: |options, _| Box::new(Step::of(options)),
};

#[derive(Clone, Copy, Debug)]
enum Threshold {
    Sojourn(Time),
    Length(Limit),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Mark,
    Drop,
}

/// The queue discipline `step`.
#[derive(Debug)]
pub struct Step {
    packets: Packets,
    limit: Limit,
    threshold: Threshold,
    /// Whether the queue decides about a packet on arrival. If this field is false, the queue
    /// decides when the packet leaves.
    on_arrival: bool,
    /// Whether the queue length includes the arriving packet itself.
    include_own: bool,
    /// Whether packets that are above the threshold and not ECN-capable are dropped.
    drop_not_ect: bool,
}

impl Step {
    fn of(options: &Options) -> Step {
        Step {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
            threshold: match options.get("threshold") {
                Some(Value::Time(time)) => Threshold::Sojourn(*time),
                length => Threshold::Length(Limit::of(length)),
            },
            on_arrival: options.word("at") == "enqueue",
            include_own: options.bool("include_arriving"),
            drop_not_ect: options.word("not_ect") == "drop",
        }
    }

    /// Decides whether to mark or drop a packet. Called before the packet is queued, or after it
    /// has left the queue.
    #[inline]
    fn fate(&self, packet: &Packet, now: Time) -> Fate {
        let own = u64::from(self.include_own);
        let above = match self.threshold {
            Threshold::Sojourn(time) => now.since(packet.stamp) > time,
            Threshold::Length(Limit::Packets(n)) => self.packets.len() + own > n,
            Threshold::Length(Limit::Bytes(n)) => {
                self.packets.bytes() + own * u64::from(packet.len) > n
            }
        };
        match (above, packet.ecn.is_capable()) {
            (true, true) => Fate::Mark,
            (true, false) if self.drop_not_ect => Fate::Drop,
            _ => Fate::Pass,
        }
    }
}

impl Queue for Step {
    fn changeable(&self) -> &'static [&'static str] {
        &["limit", "threshold", "at", "include_arriving", "not_ect"]
    }

    fn change(&mut self, options: &Options, _setting: &Setting, _sink: &mut Sink) {
        let packets = std::mem::take(&mut self.packets);
        *self = Step {
            packets,
            ..Step::of(options)
        };
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        if !self.packets.has_room(self.limit, packet.len) {
            sink.drop(packet, Cause::Overflow, now);
            return;
        }
        if self.on_arrival {
            match self.fate(packet, now) {
                Fate::Pass => {}
                Fate::Mark => sink.mark(packet, Cause::StepMark, now),
                Fate::Drop => return sink.drop(packet, Cause::Aqm, now),
            }
        }
        self.packets.push(*packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        while self.packets.pop_to(next) {
            if !self.on_arrival {
                match self.fate(next, now) {
                    Fate::Pass => {}
                    Fate::Mark => sink.mark(next, Cause::StepMark, now),
                    Fate::Drop => {
                        sink.drop(next, Cause::Aqm, now);
                        continue;
                    }
                }
            }
            return Dequeue::Packet;
        }
        Dequeue::Empty
    }

    fn ahead(&self, places: [usize; 3]) -> Option<[&Packet; 3]> {
        self.packets.ahead(places)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::QueueContext;
    use crate::packet::Ecn;
    use crate::registry::{Options, defaults, parse_word};
    use crate::rng::Stream;
    use crate::units::Rate;

    fn options(set: &[(&'static str, &str)]) -> Options {
        let mut options = defaults(ENTRY.options);
        for (name, text) in set {
            let opt = ENTRY.options.iter().find(|o| o.name == *name).unwrap();
            options.set(opt.name, parse_word(opt.kind, text).unwrap());
        }
        options
    }

    /// Enqueues `n` packets of 1000 bytes at time 0. Dequeues one packet every millisecond,
    /// beginning at 1 ms. Returns whether each packet was marked. Also returns the sink.
    fn run(set: &[(&'static str, &str)], n: usize, ecn: Ecn) -> (Vec<bool>, Sink) {
        let mut options = options(set);
        (ENTRY.finish)(&mut options).unwrap();
        let context = QueueContext {
            rate: Rate(8_000_000),
            mtu: 1514,
            rng: Stream::new(1, "step", "queue"),
        };
        let mut queue = (ENTRY.build)(&options, context);
        let mut sink = Sink::new(1, Time::ZERO);
        for _ in 0..n {
            let mut packet = Packet::new(0, 1_000, ecn);
            sink.arrive(&packet, Time::ZERO);
            queue.enqueue(&mut packet, Time::ZERO, &mut sink);
        }
        let mut marked = Vec::new();
        for ms in 1.. {
            let Some(packet) = queue.take(Time::from_ms(ms), &mut sink) else {
                break;
            };
            sink.forward(&packet, Time::from_ms(ms));
            marked.push(packet.ecn == Ecn::Ce);
        }
        (marked, sink)
    }

    #[test]
    fn a_length_is_what_the_packet_finds() {
        let expected = [false, false, false, true, true];
        // When the fourth packet arrives, 3000 bytes are queued. When the third packet arrives,
        // 2000 bytes are queued, which does not exceed the threshold of 2000 bytes.
        assert_eq!(run(&[("threshold", "2000b")], 5, Ecn::Ect0).0, expected);
        assert_eq!(run(&[("threshold", "2p")], 5, Ecn::Ect0).0, expected);
        let own = [("threshold", "3p"), ("include_arriving", "true")];
        assert_eq!(run(&own, 5, Ecn::Ect0).0, expected);
    }

    #[test]
    fn at_dequeue_a_length_is_what_stays_behind() {
        let set = [("threshold", "2p"), ("at", "dequeue")];
        let expected = [true, true, false, false, false];
        assert_eq!(run(&set, 5, Ecn::Ect1).0, expected);
    }

    #[test]
    fn a_time_is_the_sojourn_of_the_packet() {
        // Packet n leaves n ms after its arrival.
        let (marked, sink) = run(&[("threshold", "3ms")], 5, Ecn::Ect1);
        assert_eq!(marked, [false, false, false, true, true]);
        assert_eq!(sink.meter.counts.get(Cause::StepMark), 2);
    }

    #[test]
    fn packets_without_ecn_pass_or_are_dropped() {
        let (marked, sink) = run(&[("threshold", "2p")], 5, Ecn::NotEct);
        assert_eq!((marked.len(), sink.meter.counts.drops()), (5, 0));
        let (marked, sink) = run(&[("threshold", "2p"), ("not_ect", "drop")], 5, Ecn::NotEct);
        assert_eq!((marked.len(), sink.meter.counts.get(Cause::Aqm)), (3, 2));
        let late = [("threshold", "3ms"), ("not_ect", "drop")];
        let (marked, sink) = run(&late, 5, Ecn::NotEct);
        assert_eq!((marked.len(), sink.meter.counts.get(Cause::Aqm)), (3, 2));
    }

    #[test]
    fn a_time_cannot_be_judged_on_arrival() {
        let mut options = options(&[("threshold", "1ms"), ("at", "enqueue")]);
        assert_eq!((ENTRY.finish)(&mut options).unwrap_err()[0].option, "at");
    }
}
