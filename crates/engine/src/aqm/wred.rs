//! The dual AQM of "Using DCTCP in the Internet" (Kuehlewind et al. 2014). This AQM is one FIFO
//! with two RED instances, one for each class of packets. The instance `ecn` decides which
//! ECN-capable packets (ECT and CE) are marked. The instance `classic` decides which Not-ECT
//! packets are dropped. Both instances average the length of the whole queue.
//!
//! If `min` equals `max` and the weight is 1, the RED curve of an instance is a step. The instance
//! then marks or drops each packet that finds a queue length of at least `min`.
//!
//! The paper of 2014 does not specify some details of this AQM. Options of `wred` set the details
//! that the paper leaves open. Most defaults are the same as in `red`: marks are spaced as in
//! Linux, thresholds are in bytes, and the average does not include the arriving packet. One
//! default differs from `red`: the averages decay while the queue is empty. Every arrival updates
//! both averages. To space its marks or drops, each instance counts only the packets of its own
//! class. The deviations of `red` from Linux also apply to `wred`. Linux does not have `wred`, so
//! the kernel engine runs tailback's own module `sch_wred`.

mod kernel;

use super::red::{self, RedCore, Store, Unit, Verdict, finish_thresholds};
use super::{Backlog, Build, Dequeue, Queue, Setting, Sink};
use crate::packet::Packet;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, Value};
use crate::rng::Stream;
use crate::units::Time;

/// The options for the average and the probability of each class.
const CLASS: &[Opt] = &[
    red::MIN,
    red::MAX,
    red::PROBABILITY,
    red::WEIGHT,
    red::GENTLE,
    red::UNIFORMISE,
    red::INCLUDE_ARRIVING,
];

/// The registry entry of `wred`.
pub const ENTRY: Entry<Build> = Entry {
    name: "wred",
    doc: "One FIFO with two RED curves: one curve marks ECN-capable packets, and the other curve drops packets that are not ECN-capable.",
    follows: "Kuehlewind et al. 2014, section IV (RED as in Linux 7.3 sch_red)",
    options: &[
        red::LIMIT,
        Opt {
            name: "ecn",
            doc: "The RED curve that marks ECN-capable packets.",
            kind: Kind::Table(CLASS),
            default: None,
            tc: None,
        },
        Opt {
            name: "classic",
            doc: "The RED curve that drops packets that are not ECN-capable.",
            kind: Kind::Table(CLASS),
            default: None,
            tc: None,
        },
        Opt {
            name: "average",
            doc: "When an instance updates its average: at every arrival (\"arrival\"), or only when a packet of its own class arrives (\"class\"). With either value, the instance averages the length of the whole queue.",
            kind: Kind::Word(&["arrival", "class"]),
            default: Some("arrival"),
            tc: None,
        },
        red::IDLE,
        red::AVPKT,
        red::BANDWIDTH,
    ],
    kernel: Kernel::Qdisc(&kernel::KERNEL),
    rules: Rules::NONE,
    finish: |options| {
        let limit = options.get("limit").cloned();
        let mut errors = Vec::new();
        for (class, min, max) in [
            ("ecn", "ecn.min", "ecn.max"),
            ("classic", "classic.min", "classic.max"),
        ] {
            let mut table = options.table(class).clone();
            if let Err(e) = finish_thresholds(&mut table, limit.as_ref(), min, max) {
                errors.extend(e);
            }
            options.set(class, Value::Table(table));
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    },
    build: |options, context| {
        Box::new(Wred {
            ecn: RedCore::of(options.table("ecn")),
            classic: RedCore::of(options.table("classic")),
            own_arrivals: options.word("average") == "class",
            store: Store::of(options, context.rate),
            rng: context.rng,
        })
    },
};

/// The queue discipline `wred`.
#[derive(Debug)]
pub struct Wred {
    /// Average and probability for ECN-capable packets, which are marked.
    ecn: RedCore,
    /// Average and probability for all other packets, which are dropped.
    classic: RedCore,
    /// Whether a packet updates only the average of its own class, and not both averages.
    own_arrivals: bool,
    store: Store,
    rng: Stream,
}

impl Queue for Wred {
    fn changeable(&self) -> &'static [&'static str] {
        &["ecn", "classic", "limit", "idle", "avpkt", "bandwidth"]
    }

    fn change(&mut self, options: &Options, setting: &Setting, _sink: &mut Sink) {
        self.ecn = RedCore::of(options.table("ecn"));
        self.classic = RedCore::of(options.table("classic"));
        self.store.change(options, setting);
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        let arrival = self.store.arrival(packet, now);
        let (own, other) = if packet.ecn.is_capable() {
            (&mut self.ecn, &mut self.classic)
        } else {
            (&mut self.classic, &mut self.ecn)
        };
        own.update(&arrival);
        // The packet ends an idle time of the queue, so the average of the class to which the
        // packet does not belong must decay, too.
        if !self.own_arrivals || arrival.idle.is_some() {
            other.update(&arrival);
        }
        let hit = own.decide(&mut self.rng) != Verdict::Pass;
        let mark = packet.ecn.is_capable();
        self.store.admit(packet, hit, mark, now, sink);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _sink: &mut Sink, next: &mut Packet) -> Dequeue {
        self.store.dequeue(now, next)
    }

    fn ahead(&self, places: [usize; 3]) -> Option<[&Packet; 3]> {
        self.store.ahead(places)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.extend(self.ecn.gauges());
        out.extend(self.classic.gauges());
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        macro_rules! names {
            ($ecn:literal, $classic:literal) => {
                &[
                    concat!("ecn_avg_", $ecn),
                    "ecn_probability",
                    "ecn_count",
                    concat!("classic_avg_", $classic),
                    "classic_probability",
                    "classic_count",
                ]
            };
        }
        match (self.ecn.unit(), self.classic.unit()) {
            (Unit::Bytes, Unit::Bytes) => names!("bytes", "bytes"),
            (Unit::Bytes, Unit::Packets) => names!("bytes", "packets"),
            (Unit::Packets, Unit::Bytes) => names!("packets", "bytes"),
            (Unit::Packets, Unit::Packets) => names!("packets", "packets"),
        }
    }
}

#[cfg(test)]
mod tests;
