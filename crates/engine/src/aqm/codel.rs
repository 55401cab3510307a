//! CoDel: controlled delay (RFC 8289).
//!
//! tailback's CoDel follows sch_codel and codel_impl.h of Linux 7.3, even where Linux differs from
//! RFC 8289. CoDel counts time in ticks of 1024 ns (so 5 ms becomes 4.999 ms). CoDel approximates
//! 1/sqrt(count) by a 16-bit fraction. At each drop or mark, one Newton step improves this
//! fraction. A dequeue marks at most one packet, and returns this packet. A dequeue drops at most
//! 256 packets. If more than 256 drops are due, the dequeue skips the remaining drops. As in RFC
//! 8289, CoDel acts only while more than one MTU stays queued. If a dropping phase begins within 16
//! intervals of the previous phase, the count of the new phase starts from the previous phase's
//! number of drops and marks. The count starts from 1 if the previous phase is older, or contained
//! at most one drop or mark.
//!
//! Known deviations: in tailback, times do not wrap around. Linux compares 32-bit ticks, which wrap
//! around after 73 minutes. In tailback, the count of a queue's first dropping phase starts from 1.
//! In Linux, the count of a queue's first dropping phase depends on the uptime. Linux's count
//! starts from 1 if the uptime is between 1.6 s and 36 minutes. During the first 1.6 s, and for 37
//! minutes after minute 36, Linux treats the first dropping phase as if another phase had preceded
//! it. If CoDel marks a packet that is also above `ce_threshold`, tailback's counters include this
//! mark only once. The option `sce` is not in Linux (see sce.rs).

use super::fifo::{Limit, Packets};
use super::sce::{self, Marker};
use super::{Backlog, Build, Dequeue, Queue, Setting, Sink};
use crate::packet::Packet;
use crate::registry::kernel::{Gauge, Kernel, Qdisc, Reading, Xstats, flag, micros, number};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};
use crate::units::Time;

mod law;

pub use law::{Params, SELECTOR, Source, Vars, selector};

/// The registry entry of `codel`.
pub const ENTRY: Entry<Build> = Entry {
    name: "codel",
    doc: "CoDel: keeps the sojourn time of packets near a target.",
    follows: "Linux 7.3 sch_codel (RFC 8289)",
    options: &[
        Opt {
            name: "limit",
            doc: "Largest length of the queue, in packets; packets that arrive at a full queue are \
                dropped.",
            kind: Kind::Size {
                packets: true,
                bytes: false,
            },
            default: Some("1000p"),
            tc: Some("limit PACKETS"),
        },
        TARGET,
        INTERVAL,
        ECN,
        CE_THRESHOLD,
        sce::OPTION,
    ],
    kernel: Kernel::Qdisc(&KERNEL),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options, context| {
        Box::new(Codel {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
            params: Params::of(options, context.mtu),
            vars: Vars::default(),
            sce: Marker::of(options, context.rng),
        })
    },
};

const KERNEL: Qdisc = Qdisc {
    kinds: &["codel"],
    since: Some("3.5"),
    words: &[
        ("sce", sce::spell),
        ("limit", number),
        ("target", micros),
        ("interval", micros),
        ("ecn", |w, o| flag(w, o, "ecn", "noecn")),
        ("ce_threshold", micros),
    ],
    drops_at_dequeue: true,
    xstats: Xstats {
        // Offsets of the kernel's counters `ecn_mark` and `ce_mark`. `ce_mark` counts marks because
        // of `ce_threshold`.
        marks: Some(&[24, 32]),
        gauges: &[
            Gauge {
                series: "codel_count",
                at: 4,
                reading: Reading::Count,
            },
            Gauge {
                series: "codel_dropping",
                at: 28,
                reading: Reading::Flag,
            },
        ],
        ..Qdisc::DEFAULT.xstats
    },
    ..Qdisc::DEFAULT
};

/// The option for the target of the sojourn time.
pub const TARGET: Opt = Opt {
    name: "target",
    doc: "Acceptable sojourn time of a packet.",
    kind: Kind::Time {
        min: Time::from_us(1),
    },
    default: Some("5ms"),
    tc: None,
};

/// The option for the interval, in which CoDel takes the minimum of the sojourn time.
pub const INTERVAL: Opt = Opt {
    name: "interval",
    doc: "Time for which the sojourn time must stay above the target before CoDel acts. The interval should be about the largest round-trip time.",
    kind: Kind::Time {
        min: Time::from_us(1),
    },
    default: Some("100ms"),
    tc: None,
};

/// The option for marking packets instead of dropping them.
pub const ECN: Opt = Opt {
    name: "ecn",
    doc: "Whether ECN-capable packets are marked instead of dropped.",
    kind: Kind::Bool,
    default: Some("false"),
    tc: Some("ecn or noecn"),
};

/// The option for the sojourn time above which packets are marked in addition to CoDel's marks.
pub const CE_THRESHOLD: Opt = Opt {
    name: "ce_threshold",
    doc: "Sojourn time above which every ECN-capable packet is marked, in addition to CoDel's marks. By default, CoDel does not use a threshold of this kind.",
    kind: Kind::Time {
        min: Time::from_us(1),
    },
    default: None,
    tc: None,
};

/// The queue discipline `codel`.
#[derive(Debug)]
pub struct Codel {
    packets: Packets,
    limit: Limit,
    params: Params,
    vars: Vars,
    sce: Option<Marker>,
}

impl Codel {
    /// Implements `dequeue` for a queue that sets SCE marks.
    #[inline(never)]
    fn dequeue_with_sce(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        let packets = &mut self.packets;
        if !self.vars.dequeue(packets, &self.params, now, sink, next) {
            return Dequeue::Empty;
        }
        if let Some(sce) = &mut self.sce {
            sce.mark(next, self.vars.over_target(), now, sink);
        }
        Dequeue::Packet
    }
}

impl Queue for Codel {
    fn changeable(&self) -> &'static [&'static str] {
        &["limit", "target", "interval", "ecn", "ce_threshold"]
    }

    fn change(&mut self, options: &Options, setting: &Setting, sink: &mut Sink) {
        self.limit = Limit::of(options.get("limit"));
        self.params = Params::of(options, setting.mtu);
        self.packets.shrink(self.limit, setting.now, sink);
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        self.packets.push_or_drop(packet, self.limit, now, sink);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        if self.sce.is_some() {
            return self.dequeue_with_sce(now, sink, next);
        }
        let packets = &mut self.packets;
        match self.vars.dequeue(packets, &self.params, now, sink, next) {
            true => Dequeue::Packet,
            false => Dequeue::Empty,
        }
    }

    fn ahead(&self, places: [usize; 3]) -> Option<[&Packet; 3]> {
        self.packets.ahead(places)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.extend(self.vars.gauges());
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["codel_count", "codel_dropping"]
    }
}

#[cfg(test)]
mod tests;
