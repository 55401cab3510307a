//! Linux's fq, used as the queue of a bottleneck. fq gives each flow a fair share, and does not
//! contain an AQM. If `ce_threshold` is set, fq marks packets that have waited longer than this
//! threshold.
//!
//! tailback's fq follows sch_fq of Linux 7.3 for packets that a router forwards. Forwarded packets
//! do not belong to a socket, so fq does not pace them. fq distinguishes flows by the lowest bits
//! of a hash (`orphan_mask`). The hash covers each packet's addresses and ports. Flows that have
//! just become active (new flows) are served before old flows. Each flow has a credit in bytes, and
//! may send while the credit is positive. A new flow has a credit of `initial_quantum`. In each
//! round of the scheduler, the credit grows by `quantum`. A flow that becomes active again keeps
//! its credit. If the flow was inactive for longer than `refill_delay`, its credit is raised to at
//! least one quantum. A packet that would exceed `flow_limit` or `limit` is dropped on arrival.
//! Packets that have waited longer than `ce_threshold` are marked when they leave.
//!
//! While the queues of all flows are empty, up to eight packets can wait in a common FIFO
//! (`fast_path`, in Linux since 6.7). Packets in the common FIFO leave before all other packets,
//! and are never marked.
//!
//! Known deviations: pacing (`maxrate`), priorities and the senders' time stamps are not
//! implemented. These features have no effect on forwarded packets that all have the same priority.
//! The hash of a flow is computed as in fair/mod.rs, but with as many buckets as `orphan_mask`
//! allows. `refill_delay` is rounded up to jiffies of 1 ms, as in Linux with HZ = 1000.

use tailback_record::Cause;

use super::fair::slab::{Fifo, Slab};
use super::{Backlog, Build, Dequeue, Queue, QueueContext, Setting, Sink, fair, shrink};
use crate::packet::Packet;
use crate::registry::kernel::{Kernel, Order, Qdisc, impossible, micros, number, only};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, Value, no_finish};
use crate::units::Time;

/// Returns an option for the number of bytes that a flow may send in a round. tc accepts up to 1
/// MiB.
const fn bytes(name: &'static str, least: i64, doc: &'static str, tc: &'static str) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Int {
            min: least,
            max: 1 << 20,
        },
        default: None,
        tc: Some(tc),
    }
}

const fn packets(name: &'static str, doc: &'static str, default: &'static str) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Size {
            packets: true,
            bytes: false,
        },
        default: Some(default),
        tc: None,
    }
}

/// The registry entry of `fq`.
pub const ENTRY: Entry<Build> = Entry {
    name: "fq",
    doc: "Fair queueing of flows. Packets that have waited longer than a threshold are marked.",
    follows: "Linux 7.3 sch_fq",
    options: &[
        packets(
            "limit",
            "Largest length of all queues together, in packets; packets that arrive at a full \
                queue are dropped.",
            "10000p",
        ),
        packets(
            "flow_limit",
            "Largest length of the queue of one flow, in packets; packets that arrive at a full \
                queue are dropped.",
            "100p",
        ),
        bytes(
            "quantum",
            256,
            "Bytes that a flow may send in one round of the scheduler; default: twice the largest frame (3028 bytes).",
            "quantum BYTES",
        ),
        bytes(
            "initial_quantum",
            1,
            "Bytes that a new flow may send at first; default: ten times the largest frame (15140 bytes).",
            "initial_quantum BYTES",
        ),
        Opt {
            name: "refill_delay",
            doc: "A flow that has had no packets in the queue for longer than this time may send at least one quantum when its next packet arrives.",
            kind: Kind::Time { min: Time::ZERO },
            default: Some("40ms"),
            tc: None,
        },
        Opt {
            name: "orphan_mask",
            doc: "Bit mask that selects which bits of the hash distinguish flows. With 0, all packets belong to one flow.",
            kind: Kind::Int {
                min: 0,
                max: 65_535,
            },
            default: Some("1023"),
            tc: Some("orphan_mask MASK"),
        },
        Opt {
            name: "ce_threshold",
            doc: "Sojourn time above which ECN-capable packets are marked. Without this option, no packets are marked.",
            kind: Kind::Time {
                min: Time::from_us(1),
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "fast_path",
            doc: "Whether up to eight packets may wait in a common FIFO while the queues of all flows are empty. Packets in the common FIFO are never marked. Linux has had the common FIFO since version 6.7.",
            kind: Kind::Bool,
            default: Some("true"),
            tc: None,
        },
    ],
    kernel: Kernel::Qdisc(&KERNEL),
    rules: Rules::NONE,
    finish: no_finish,
    build: |options, context| Box::new(Fq::new(options, context)),
};

/// Linux's fq treats the departure time that TCP has set (`skb->tstamp`) as the packet's time of
/// arrival. In the guest of the kernel engine, packets keep this time from host to host, because
/// `skb_clear_tstamp` does not clear it. A packet that arrives over a real wire has no such time.
const FROM_SENDER: &str = "packets keep their departure time within a guest, so fq would measure \
     the delay since they left the sender";

/// tailback does not read the kernel's counter of marks, because this counter also includes packets
/// that cannot be marked.
const KERNEL: Qdisc = Qdisc {
    kinds: &["fq"],
    since: Some("3.12"),
    words: &[
        ("fast_path", |w, o| {
            if w.options.get(o) == Some(&Value::Bool(true)) {
                return;
            }
            let message = "fq of this Linux always uses the fast path";
            only(w, o, Value::Bool(true), message);
        }),
        ("limit", number),
        ("flow_limit", number),
        ("quantum", number),
        ("initial_quantum", number),
        ("refill_delay", micros),
        ("orphan_mask", number),
        ("ce_threshold", |w, o| {
            impossible(w, o, FROM_SENDER, "no ce_threshold")
        }),
    ],
    tail_drop: true,
    order: Order::Flows,
    ..Qdisc::DEFAULT
};

const NONE: u32 = u32::MAX;
/// How many packets the FIFO of the fast path can hold.
const FAST: u32 = 8;
/// Linux's jiffy at HZ = 1000, in ns.
const JIFFY: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    fifo: Fifo,
    packets: u32,
    next: u32,
    listed: bool,
    credit: i64,
    /// The jiffy in which the flow became inactive and left the lists.
    age: u64,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: List = List {
        first: NONE,
        last: NONE,
    };

    #[inline]
    fn push(&mut self, flows: &mut [Flow], flow: u32) {
        flows[flow as usize].next = NONE;
        match flows.get_mut(self.last as usize) {
            Some(last) => last.next = flow,
            None => self.first = flow,
        }
        self.last = flow;
    }

    #[inline]
    fn pop(&mut self, flows: &[Flow]) {
        self.first = flows[self.first as usize].next;
        if self.first == NONE {
            self.last = NONE;
        }
    }
}

/// The queue discipline `fq`.
#[derive(Debug)]
pub struct Fq {
    slab: Slab,
    flows: Vec<Flow>,
    new: List,
    old: List,
    busy: usize,
    fast: Fifo,
    fast_packets: u32,
    fast_path: bool,
    total: Backlog,
    limit: u64,
    flow_limit: u64,
    quantum: i64,
    /// After this time, the credit of an inactive flow is refilled. In jiffies.
    refill_delay: u64,
    ce_threshold: Time,
    /// A random key. This key decides which flows share a bucket.
    key: u64,
}

/// Returns the value of an option that is in bytes. The default is `count` times the largest frame.
fn frames(options: &Options, name: &str, count: i64, mtu: u32) -> i64 {
    match options.get(name) {
        Some(Value::Int(bytes)) => *bytes,
        _ => count * i64::from(mtu),
    }
}

/// Returns the time after which the credit of an inactive flow is refilled, in jiffies.
fn jiffies(options: &Options) -> u64 {
    options.time("refill_delay").ns().div_ceil(JIFFY)
}

fn ce_threshold(options: &Options) -> Time {
    match options.get("ce_threshold") {
        Some(Value::Time(time)) => *time,
        _ => Time::NEVER,
    }
}

impl Fq {
    fn new(options: &Options, mut context: QueueContext) -> Fq {
        let flow = Flow {
            credit: frames(options, "initial_quantum", 10, context.mtu),
            next: NONE,
            // A flow that has never been active does not need a refill.
            age: u64::MAX,
            ..Flow::default()
        };
        Fq {
            slab: Slab::default(),
            flows: vec![flow; options.int("orphan_mask") as usize + 1],
            new: List::EMPTY,
            old: List::EMPTY,
            busy: 0,
            fast: Fifo::default(),
            fast_packets: 0,
            fast_path: options.bool("fast_path"),
            total: Backlog::default(),
            limit: fair::packets(options.get("limit")),
            flow_limit: fair::packets(options.get("flow_limit")),
            quantum: frames(options, "quantum", 2, context.mtu),
            refill_delay: jiffies(options),
            ce_threshold: ce_threshold(options),
            key: context.rng.bits(),
        }
    }

    #[inline]
    fn flow_of(&self, packet: &Packet) -> u32 {
        // Linux accepts any number as the mask. If the hashes of two flows differ only in bits that
        // are 0 in the mask, these flows share a queue.
        fair::hash(self.key, packet) & (self.flows.len() as u32 - 1)
    }

    #[inline]
    fn count(&mut self, packet: &Packet) {
        self.total.packets += 1;
        self.total.bytes += u64::from(packet.len);
    }

    #[inline]
    fn sent(&mut self, packet: &Packet) {
        self.total.packets -= 1;
        self.total.bytes -= u64::from(packet.len);
    }
}

impl Queue for Fq {
    fn changeable(&self) -> &'static [&'static str] {
        &[
            "limit",
            "flow_limit",
            "quantum",
            "refill_delay",
            "ce_threshold",
        ]
    }

    fn change(&mut self, options: &Options, setting: &Setting, sink: &mut Sink) {
        self.limit = fair::packets(options.get("limit"));
        self.flow_limit = fair::packets(options.get("flow_limit"));
        self.quantum = frames(options, "quantum", 2, setting.mtu);
        self.refill_delay = jiffies(options);
        self.ce_threshold = ce_threshold(options);
        shrink(self, setting.now, sink, |queue| {
            queue.total.packets > queue.limit
        });
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        if self.total.packets - u64::from(self.fast_packets) >= self.limit {
            return sink.drop(packet, Cause::Overflow, now);
        }
        if self.busy == 0 && self.fast_packets < FAST && self.fast_path {
            self.slab.push(&mut self.fast, *packet);
            self.fast_packets += 1;
            return self.count(packet);
        }
        let index = self.flow_of(packet);
        let flow = &mut self.flows[index as usize];
        if u64::from(flow.packets) >= self.flow_limit {
            return sink.drop(packet, Cause::Overflow, now);
        }
        self.busy += usize::from(flow.packets == 0);
        flow.packets += 1;
        self.slab.push(&mut flow.fifo, *packet);
        if !flow.listed {
            flow.listed = true;
            if now.ns() / JIFFY > flow.age.saturating_add(self.refill_delay) {
                flow.credit = flow.credit.max(self.quantum);
            }
            self.new.push(&mut self.flows, index);
        }
        self.count(packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        if self.fast_packets > 0 {
            self.slab.pop_to(&mut self.fast, next);
            self.fast_packets -= 1;
            self.sent(next);
            return Dequeue::Packet;
        }
        loop {
            let is_new = self.new.first != NONE;
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = list.first;
            let Some(flow) = self.flows.get_mut(index as usize) else {
                return Dequeue::Empty;
            };
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                list.pop(&self.flows);
                self.old.push(&mut self.flows, index);
                continue;
            }
            if !self.slab.pop_to(&mut flow.fifo, next) {
                list.pop(&self.flows);
                // A new flow becomes the last of the old flows. So new flows cannot starve the old
                // flows.
                if is_new {
                    self.old.push(&mut self.flows, index);
                } else {
                    let flow = &mut self.flows[index as usize];
                    flow.listed = false;
                    flow.age = (now.ns() / JIFFY) | 1;
                }
                continue;
            }
            flow.packets -= 1;
            flow.credit -= i64::from(next.len);
            self.busy -= usize::from(flow.packets == 0);
            self.sent(next);
            if now.since(next.stamp) > self.ce_threshold && next.ecn.is_capable() {
                sink.mark(next, Cause::StepMark, now);
            }
            return Dequeue::Packet;
        }
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.push(self.busy as f64);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["fq_active_flows"]
    }
}

#[cfg(test)]
mod tests;
