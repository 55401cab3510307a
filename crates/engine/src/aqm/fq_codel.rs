//! FQ-CoDel (RFC 8290).
//!
//! tailback's FQ-CoDel follows sch_fq_codel of Linux 7.3, even where Linux differs from RFC 8290.
//! CoDel acts while the queues of *all* flows together hold more than one MTU. If the limit is
//! exceeded, the queue drops packets from the head of the flow with the most bytes. Dropping stops
//! after `drop_batch` packets, or once half of the flow's bytes have been dropped. CoDel's count
//! for the flow with the most bytes increases by the number of drops. ECN is on by default.
//! fair/mod.rs describes how flows are distinguished, and codel.rs describes CoDel.
//!
//! Known deviations: codel.rs and fair/mod.rs list deviations that also apply to FQ-CoDel. For
//! `memory_limit`, a frame counts as its length plus a fixed number of bytes. In Linux, the number
//! of bytes added to the length varies. `ce_threshold_selector` examines only the ECN field and not
//! the whole DS field.

use tailback_record::Cause;

use super::codel::{self, Params, Source, Vars};
use super::fair::{self, Fair};
use super::sce::{self, Marker};
use super::{Backlog, Build, Dequeue, Queue, QueueContext, Setting, Sink, shrink};
use crate::packet::{Ecn, Packet};
use crate::registry::kernel::{Kernel, Order, Qdisc, Xstats, flag, micros, number};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options};
use crate::units::Time;

/// The registry entry of `fq_codel`.
pub const ENTRY: Entry<Build> = Entry {
    name: "fq_codel",
    doc: "FQ-CoDel: fair queueing, with a separate CoDel for each flow's queue.",
    follows: "Linux 7.3 sch_fq_codel (RFC 8290)",
    options: &[
        Opt {
            name: "limit",
            doc: "Largest length of all queues together, in packets; if more packets are queued, \
                packets of the flow with the longest queue are dropped.",
            kind: Kind::Size {
                packets: true,
                bytes: false,
            },
            default: Some("10240p"),
            tc: Some("limit PACKETS"),
        },
        fair::FLOWS,
        codel::TARGET,
        codel::INTERVAL,
        fair::QUANTUM,
        Opt {
            name: "memory_limit",
            doc: "Limit on the memory of all queued packets. If this limit is exceeded, packets are dropped as if `limit` were exceeded. Each frame uses 832 bytes in addition to its length.",
            kind: Kind::Size {
                packets: false,
                bytes: true,
            },
            default: Some("32mb"),
            tc: Some("memory_limit BYTES"),
        },
        Opt {
            name: "drop_batch",
            doc: "Largest number of packets that are dropped at once when the queue is full.",
            kind: Kind::Int {
                min: 1,
                max: 65_536,
            },
            default: Some("64"),
            tc: None,
        },
        Opt {
            default: Some("true"),
            ..codel::ECN
        },
        codel::CE_THRESHOLD,
        Opt {
            name: codel::SELECTOR,
            doc: "Which packets ce_threshold marks, as VALUE/MASK: those whose ECN field, masked with MASK, equals VALUE. For example, 0x01/0x01 selects ECT(1) and CE. Default: all packets.",
            kind: Kind::Word(&[
                "0x00/0x01",
                "0x01/0x01",
                "0x00/0x02",
                "0x02/0x02",
                "0x00/0x03",
                "0x01/0x03",
                "0x02/0x03",
                "0x03/0x03",
            ]),
            default: None,
            tc: Some("ce_threshold_selector VALUE/MASK (Linux 5.17)"),
        },
        sce::OPTION,
    ],
    kernel: Kernel::Qdisc(&KERNEL),
    rules: Rules::NONE,
    finish,
    build: |options, context| Box::new(FqCodel::new(options, context)),
};

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    if options.get(codel::SELECTOR).is_some() && options.get("ce_threshold").is_none() {
        return Err(vec![OptionError {
            option: codel::SELECTOR,
            message: "it selects packets for ce_threshold: expected ce_threshold too".to_owned(),
        }]);
    }
    Ok(())
}

const KERNEL: Qdisc = Qdisc {
    kinds: &["fq_codel"],
    since: Some("3.5"),
    words: &[
        ("sce", sce::spell),
        ("limit", number),
        ("target", micros),
        ("interval", micros),
        ("ecn", |w, o| flag(w, o, "ecn", "noecn")),
        ("ce_threshold", micros),
        (codel::SELECTOR, |w, o| {
            if let Some([value, mask]) = codel::selector(w.options) {
                w.pair(o, &format!("{value:#x}/{mask:#x}"));
            }
        }),
        ("flows", number),
        ("quantum", number),
        ("memory_limit", number),
        ("drop_batch", number),
    ],
    drops_at_dequeue: true,
    xstats: Xstats {
        // The kernel's statistics begin with the type TCA_FQ_CODEL_XSTATS_QDISC. The statistics
        // contain the counters `ecn_mark` and `ce_mark`.
        tag: &[0; 4],
        marks: Some(&[12, 28]),
        ..Qdisc::DEFAULT.xstats
    },
    order: Order::Flows,
    ..Qdisc::DEFAULT
};

/// The queue discipline `fq_codel`.
#[derive(Debug)]
pub struct FqCodel {
    fair: Fair<Vars>,
    params: Params,
    limit: u64,
    /// Limit for the memory that Linux would use, in bytes.
    memory_limit: u64,
    drop_batch: u32,
    sce: Option<Marker>,
}

impl FqCodel {
    fn new(options: &Options, mut context: QueueContext) -> FqCodel {
        let (flows, quantum) = (options.int("flows"), options.get("quantum"));
        let none = Vars::default();
        FqCodel {
            fair: Fair::new(flows, quantum, context.mtu, none, &mut context.rng),
            params: Params::of(options, context.mtu),
            limit: fair::packets(options.get("limit")),
            // Linux reduces a larger `memory_limit` to 2^31.
            memory_limit: options.bytes("memory_limit").min(1 << 31),
            drop_batch: options.int("drop_batch") as u32,
            sce: Marker::of(options, context.rng),
        }
    }

    #[cold]
    fn overflow(&mut self, now: Time, sink: &mut Sink) {
        let (flow, backlog) = self.fair.fattest();
        let (vars, mut queue) = self.fair.flow(flow);
        let (mut drops, mut bytes) = (0, 0);
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        while queue.pop_to(&mut packet) {
            drops += 1;
            bytes += u64::from(packet.len);
            sink.drop(&packet, Cause::Overflow, now);
            if drops >= self.drop_batch || bytes >= backlog / 2 {
                break;
            }
        }
        vars.punish(drops);
    }
}

impl Queue for FqCodel {
    fn changeable(&self) -> &'static [&'static str] {
        &[
            "limit",
            "target",
            "interval",
            "ecn",
            "ce_threshold",
            "ce_threshold_selector",
            "quantum",
            "memory_limit",
            "drop_batch",
        ]
    }

    fn change(&mut self, options: &Options, setting: &Setting, sink: &mut Sink) {
        let quantum = options.get("quantum");
        self.fair.change_quantum(quantum, setting.mtu);
        self.params = Params::of(options, setting.mtu);
        self.limit = fair::packets(options.get("limit"));
        self.memory_limit = options.bytes("memory_limit").min(1 << 31);
        self.drop_batch = options.int("drop_batch") as u32;
        shrink(self, setting.now, sink, |queue| {
            let full = queue.fair.backlog().packets > queue.limit;
            full || queue.fair.memory() > queue.memory_limit
        });
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        let flow = self.fair.flow_of(packet);
        self.fair.push(flow, *packet);
        let full = self.fair.backlog().packets > self.limit;
        if full || self.fair.memory() > self.memory_limit {
            self.overflow(now, sink);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        loop {
            let Some(turn) = self.fair.turn() else {
                return Dequeue::Empty;
            };
            let (vars, mut queue) = self.fair.flow(turn.flow);
            if !vars.dequeue(&mut queue, &self.params, now, sink, next) {
                self.fair.pass(turn);
                continue;
            }
            if let Some(sce) = &mut self.sce {
                sce.mark(next, vars.over_target(), now, sink);
            }
            self.fair.sent(turn, next.len);
            return Dequeue::Packet;
        }
    }

    fn backlog(&self) -> Backlog {
        self.fair.backlog()
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.push(self.fair.active() as f64);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["fq_active_flows"]
    }
}

#[cfg(test)]
mod tests;
