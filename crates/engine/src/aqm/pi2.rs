//! PI2 is a single queue with the controller of DualPI2 (De Schepper et al., CoNEXT 2016).
//!
//! The controller computes a probability p. Classic packets are dropped with probability p squared.
//! If `ecn` is set, ECN-capable classic packets are marked instead of dropped. Packets that the
//! option `scalable` selects are marked with probability k p, where k is `coupling_factor`. The
//! arithmetic and the defaults are those of Linux's sch_dualpi2 (see dualpi2.rs). The controller's
//! input is the sojourn time of the packet at the head of the queue. Linux does not have PI2. So
//! the kernel engine runs tailback's own module, `sch_pi2`. If `scalable` selects packets and k p
//! exceeds 1, packets are dropped with probability p squared even if they are ECN-capable.
//!
//! No known deviations.

mod kernel;

use tailback_record::Cause;

use super::dualpi2::core::{ONE, Params, Vars, Verdict};
use super::dualpi2::{COUPLING, GAIN, LIMIT, scalable, single};
use super::fifo::{Limit, Packets};
use super::pie;
use super::{Backlog, Build, Dequeue, Queue, Setting, Sink};
use crate::packet::{Ecn, Packet};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};
use crate::rng::Stream;
use crate::units::Time;

/// The registry entry of `pi2`.
pub const ENTRY: Entry<Build> = Entry {
    name: "pi2",
    doc: "PI2: a single queue. A PI controller computes a probability, and classic packets are \
        dropped with the square of this probability.",
    follows: "De Schepper et al. 2016, with the arithmetic of Linux 7.3 sch_dualpi2",
    options: &[
        Opt {
            doc: "Largest length of the queue, in packets; packets that arrive at a full queue are \
                dropped.",
            ..LIMIT
        },
        pie::TARGET,
        Opt {
            name: "tupdate",
            doc: "Time between two updates of the probability.",
            kind: Kind::Time {
                min: Time::from_us(1),
            },
            default: Some("16ms"),
            tc: None,
        },
        Opt {
            name: "alpha",
            doc: "Gain for the difference between the queueing delay and the target, in Hz. The \
                gain is a multiple of 1/256.",
            kind: GAIN,
            default: Some("0.16015625"),
            tc: None,
        },
        Opt {
            name: "beta",
            doc: "Gain for the change of the queueing delay between two updates, in Hz. The gain \
                is a multiple of 1/256.",
            kind: GAIN,
            default: Some("3.19921875"),
            tc: None,
        },
        COUPLING,
        Opt {
            name: "ecn",
            doc: "Whether ECN-capable packets are marked instead of dropped.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        Opt {
            name: "scalable",
            doc: "Which packets are marked with probability k p: no packets, L4S packets (ECT(1)), or all ECN-capable packets.",
            kind: Kind::Word(&["none", "ect1", "any"]),
            default: Some("none"),
            tc: None,
        },
    ],
    kernel: Kernel::Qdisc(&kernel::KERNEL),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options, context| Box::new(Pi2::new(options, context.mtu, context.rng)),
};

/// The queue discipline `pi2`.
#[derive(Debug)]
pub struct Pi2 {
    packets: Packets,
    limit: Limit,
    params: Params,
    vars: Vars,
    ecn: bool,
    /// Whether ECT(0) packets count as scalable, too. `None` if no packets count as scalable.
    scalable: Option<bool>,
    next_update: Time,
    rng: Stream,
}

impl Pi2 {
    fn new(options: &Options, mtu: u32, rng: Stream) -> Pi2 {
        Pi2 {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
            params: Params {
                // If no packets count as scalable, k is 1. So k p never exceeds 1, and the rule for
                // overload never applies.
                k: match options.word("scalable") {
                    "none" => 1,
                    _ => options.int("coupling_factor").unsigned_abs(),
                },
                ..single(options, mtu)
            },
            vars: Vars::default(),
            ecn: options.bool("ecn"),
            scalable: match options.word("scalable") {
                "ect1" => Some(false),
                "any" => Some(true),
                _ => None,
            },
            next_update: Time::NEVER,
            rng,
        }
    }
}

impl Queue for Pi2 {
    fn changeable(&self) -> &'static [&'static str] {
        &[
            "limit",
            "target",
            "tupdate",
            "alpha",
            "beta",
            "ecn",
            "coupling_factor",
            "scalable",
        ]
    }

    fn change(&mut self, options: &Options, setting: &Setting, sink: &mut Sink) {
        let now = Pi2::new(options, setting.mtu, self.rng.clone());
        self.limit = now.limit;
        self.params = now.params;
        self.ecn = now.ecn;
        self.scalable = now.scalable;
        self.packets.shrink(self.limit, setting.now, sink);
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        self.packets.push_or_drop(packet, self.limit, now, sink);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        while self.packets.pop_to(next) {
            let scalable = self.scalable.is_some_and(|any| scalable(next.ecn, any));
            let capable = next.ecn.is_capable() && (self.ecn || scalable);
            let backlog = self.packets.bytes();
            match self
                .vars
                .verdict(&self.params, scalable, capable, backlog, &mut self.rng)
            {
                Verdict::Mark if next.ecn != Ecn::Ce => {
                    sink.mark(next, Cause::Mark, now);
                }
                Verdict::Pass | Verdict::Mark => {}
                Verdict::Drop => {
                    sink.drop(next, Cause::Aqm, now);
                    continue;
                }
                Verdict::Overload => {
                    sink.drop(next, Cause::Overload, now);
                    continue;
                }
            }
            return Dequeue::Packet;
        }
        Dequeue::Empty
    }

    fn timer(&mut self, now: Time, _sink: &mut Sink) -> Option<Time> {
        if self.next_update == Time::NEVER {
            self.next_update = now + self.params.tupdate;
        } else if now >= self.next_update {
            let head = self.packets.front();
            let delay = head.map_or(Time::ZERO, |head| now.since(head.stamp));
            self.vars.update(&self.params, delay);
            self.next_update = now + self.params.tupdate;
        }
        Some(self.next_update)
    }

    fn ahead(&self, places: [usize; 3]) -> Option<[&Packet; 3]> {
        self.packets.ahead(places)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.push(f64::from(self.vars.prob) / ONE as f64);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["pi2_probability"]
    }
}

#[cfg(test)]
mod tests;
