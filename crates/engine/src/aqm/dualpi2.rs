//! DualPI2 is the dual-queue coupled AQM of L4S (RFC 9332). DualPI2 has two queues: L (low latency)
//! is for packets of scalable flows, and C is for packets of classic flows.
//!
//! By default, DualPI2 follows sch_dualpi2 of Linux 7.3.4 (in Linux since 6.17), including its
//! integer arithmetic. A PI controller updates the probability p every `tupdate`. The controller's
//! input is the sojourn time of the packet at the head of L or at the head of C, whichever is
//! larger. A classic packet is dropped with probability p squared, or marked if it is ECN-capable.
//! To get this probability, DualPI2 drops or marks a classic packet if two random numbers are both
//! below p. Scalable packets are marked with the probability k p, where k is `coupling_factor`. A
//! scalable packet is always marked if its sojourn time exceeds the step threshold. While the
//! backlog is below two frames, packets are neither marked nor dropped. As in the kernel, p is a
//! 32-bit integer, computed modulo 2^32. So p wraps around if it changes by more than 1.
//!
//! `version` selects an earlier version of DualPI2, and sets the options whose values differ in
//! that version (dualpi2/presets.rs lists the sources):
//! - `dualpi2-2019-02-21`: the scheduler is a time-shifted FIFO. `l_drop` is 0, the target is 20 ms
//!   and `tupdate` is 32 ms. The gains are rounded to integers per tick of 64 ns. (The gains become
//!   0.309 and 3.114 Hz instead of 0.3125 and 3.125 Hz.) The update timer counts jiffies of 4 ms,
//!   and first fires after half a second. Random numbers are compared with p by `<` instead of
//!   `<=`. The step threshold has a resolution of 1024 ns. The step threshold applies to a packet
//!   only if at least one other packet remains in L. `dualpi2-2019-02-21` has no memory limit.
//! - `dualpi2-2019-wrr-counter`: the scheduler serves L until L has sent `wrr_ratio` packets since
//!   the last packet of C. `dualpi2-2019-wrr-counter` has no time shift, unless the option `tshift`
//!   sets one. The gains are rounded to integers per ns. (The gains become 0.233 and 2.794 Hz.)
//! - `dualpi2-2019-wrr-percent`: the scheduler shares the link's capacity between L and C, counted
//!   in bytes. The option `classic_protection` sets C's share. The gains are those of
//!   `dualpi2-2019-wrr-counter`. `l_drop` is 100 in `dualpi2-2019-wrr-percent`. The step threshold
//!   applies if at least two packets remain in L.
//! - `dualpi2-2019-refactored`: this version is like current Linux, but its timer counts jiffies,
//!   and it has no memory limit. `dualpi2-2019-refactored` divides the sum of the controller's
//!   terms by 127 instead of 64, which multiplies the gains by 0.504. The step threshold applies to
//!   packets that find more than one packet in L when they arrive.
//!
//! On the kernel engine, tailback's own module `sch_dualpi2_2019` runs the versions that are not in
//! Linux.
//!
//! Linux does not have the following two options. `l_aqm = "ramp"` replaces the step threshold of L
//! with the ramp of RFC 9332 (dualpi2/ramp.rs). `queue_protection` moves packets from L to C if
//! their flow builds a queue in L (dualpi2/protection.rs).
//!
//! Known deviations: tailback's counters of step marks and coupled marks do not count packets that
//! arrived with CE. The kernel's counters include packets that arrived with CE. tc filters are not
//! implemented, so L contains only ECN-capable packets. The first update of p occurs one `tupdate`
//! after the start of the run. The scheduler is reset only when drops empty both queues. Linux
//! resets the scheduler in the same situation if DualPI2 is a child of htb, because htb never calls
//! the dequeue function of an empty queue.

use std::cell::Cell;

use tailback_record::Cause;

use super::cake::memory::truesize;
use super::fifo::{Limit, Packets};
use super::{Backlog, Build, Dequeue, Queue, QueueContext, Setting, Sink};
use crate::packet::{Ecn, Packet, flags};
use crate::registry::kernel::Kernel;
use crate::registry::{Entry, Kind, Opt, Options, Value};
use crate::rng::Stream;
use crate::units::Time;

pub(super) mod core;
mod kernel;
mod presets;
mod protection;
mod ramp;
mod scheduler;
mod step;

use self::core::{Arithmetic, ONE, Overload, Params, Vars, Verdict};
use protection::Protection;
use ramp::Ramp;
use scheduler::{Class, Scheduler};

const fn time(name: &'static str, doc: &'static str, min: Time) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Time { min },
        default: None,
        tc: None,
    }
}

pub(super) const LIMIT: Opt = Opt {
    name: "limit",
    doc: "Largest number of packets in both queues together; packets that arrive at a full queue \
        are dropped.",
    kind: Kind::Size {
        packets: true,
        bytes: false,
    },
    default: Some("10000p"),
    tc: Some("limit PACKETS"),
};

pub(super) const COUPLING: Opt = Opt {
    name: "coupling_factor",
    doc: "The factor k: scalable packets are marked with probability k p, while classic packets are dropped or marked with probability p squared.",
    kind: Kind::Int { min: 1, max: 255 },
    default: Some("2"),
    tc: None,
};

/// The gains in Hz that tc and Linux accept, in steps of 1/256.
pub(super) const GAIN: Kind = Kind::Float {
    min: 1.0 / 256.0,
    max: 8_388_607.0,
};

/// The registry entry of `dualpi2`.
pub const ENTRY: Entry<Build> = Entry {
    name: "dualpi2",
    doc: "DualPI2: a low-latency queue for L4S beside a classic queue. The marking probability of \
        the low-latency queue is coupled to the drop probability of the classic queue.",
    follows: "Linux 7.3 sch_dualpi2 (RFC 9332)",
    options: &[
        LIMIT,
        Opt {
            name: "memlimit",
            doc: "Limit on the memory of both queues together, in bytes of packet buffers, as in Linux. Default: 2 x `limit` x the size of the largest frame; in the versions of 2019, no limit.",
            kind: Kind::Size {
                packets: false,
                bytes: true,
            },
            default: None,
            tc: Some("memlimit BYTES"),
        },
        time(
            "target",
            "Queueing delay that the controller aims for. Default: 15ms, or 20ms in versions \
                before dualpi2-2019-refactored.",
            Time::from_us(1),
        ),
        time(
            "tupdate",
            "Time between two updates of the probability. Default: 16ms, or 32ms in versions before dualpi2-2019-refactored.",
            Time::from_us(1),
        ),
        Opt {
            name: "alpha",
            doc: "Gain for the difference between the queueing delay and the target, in Hz. The \
                gain is a multiple of 1/256. Default: 41/256, or 80/256 in versions before \
                dualpi2-2019-refactored.",
            kind: GAIN,
            default: None,
            tc: None,
        },
        Opt {
            name: "beta",
            doc: "Gain for the change of the queueing delay between two updates, in Hz. The gain \
                is a multiple of 1/256. Default: 819/256, or 800/256 in versions before \
                dualpi2-2019-refactored.",
            kind: GAIN,
            default: None,
            tc: None,
        },
        time(
            "max_rtt",
            "Largest expected round-trip time. As in tc, max_rtt and typical_rtt together determine target, tupdate, alpha and beta.",
            Time::from_us(1),
        ),
        time(
            "typical_rtt",
            "Typical round-trip time. If only max_rtt or only typical_rtt is set, tailback \
             computes the other option: max_rtt is 6 times typical_rtt.",
            Time::from_us(1),
        ),
        Opt {
            name: "step_thresh",
            doc: "Step threshold. A packet of L is marked if its sojourn time, or the number of packets that remain in L, exceeds this threshold.",
            kind: Kind::TimeOrSize,
            default: Some("1ms"),
            tc: Some("step_thresh TIME or PACKETS"),
        },
        Opt {
            name: "min_qlen_step",
            doc: "The step threshold applies only if L has at least this many packets (see step_rule). Default: 0 in Linux, 2 in dualpi2-2019-refactored and dualpi2-2019-wrr-percent, and 1 in the other versions.",
            kind: Kind::Int {
                min: 0,
                max: u32::MAX as i64,
            },
            default: None,
            tc: Some("min_qlen_step PACKETS"),
        },
        Opt {
            name: "step_rule",
            doc: "Which length of L is compared with min_qlen_step. With enqueue, DualPI2 uses the length when a packet arrives. With dequeue, as in versions before dualpi2-2019-refactored, DualPI2 uses the length after the packet has left. With dequeue, min_qlen_step has no effect if step_thresh is in packets. The default depends on version.",
            kind: Kind::Word(&["enqueue", "dequeue"]),
            default: None,
            tc: None,
        },
        ramp::L_AQM,
        ramp::MIN,
        ramp::RANGE,
        protection::OPTION,
        COUPLING,
        Opt {
            name: "any_ect",
            doc: "Whether ECT(0) packets also go to L and are marked like packets of scalable flows (for DCTCP).",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("any_ect or l4s_ect"),
        },
        Opt {
            name: "overload",
            doc: "What DualPI2 does when k p, the probability of a mark in L, exceeds 1. With \"drop\", all packets are dropped with probability p squared, even if they are ECN-capable, and packets of L that are not dropped are marked. With \"overflow\", p does not rise above 1/k. Default: \"drop\". Versions before dualpi2-2019-refactored have the option l_drop instead of overload.",
            kind: Kind::Word(&["drop", "overflow"]),
            default: None,
            tc: Some("drop_on_overload or overflow"),
        },
        Opt {
            name: "l_drop",
            doc: "Replaces `overload` in versions before dualpi2-2019-refactored (default: 0, and \
                100 in dualpi2-2019-wrr-percent). If k p exceeds this percentage, ECN-capable \
                packets are treated like packets that are not ECN-capable. With 0, ECN-capable \
                packets are always treated as ECN-capable, and p does not rise above 1/k.",
            kind: Kind::Int { min: 0, max: 100 },
            default: None,
            tc: None,
        },
        Opt {
            name: "drop",
            doc: "When packets are dropped or marked at random: when they arrive (enqueue), or when they leave (dequeue).",
            kind: Kind::Word(&["dequeue", "enqueue"]),
            default: Some("dequeue"),
            tc: Some("drop_dequeue or drop_enqueue"),
        },
        Opt {
            name: "classic_protection",
            doc: "Weight, in percent, of C in the schedulers \"credit\" and \"wrr-percent\". Default: 10, or 9 in dualpi2-2019-wrr-percent.",
            kind: Kind::Int { min: 0, max: 100 },
            default: None,
            tc: Some("classic_protection PERCENT"),
        },
        Opt {
            name: "scheduler",
            doc: "Scheduler that shares the link's capacity between L and C. \"credit\": weighted round robin by bytes, as in Linux. \"wrr-counter\": round robin by packets. \"wrr-percent\": round robin by bytes. \"ts-fifo\": time-shifted FIFO. The default depends on version.",
            kind: Kind::Word(presets::SCHEDULERS),
            default: None,
            tc: None,
        },
        Opt {
            name: "wrr_ratio",
            doc: "Number of packets of L that the scheduler \"wrr-counter\" serves for each packet \
                of C. Default: 16.",
            kind: Kind::Int {
                min: 0,
                max: 1 << 20,
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "tshift",
            doc: "Head start of L: the scheduler \"ts-fifo\" treats packets of L as if they had arrived this much earlier (default: 40ms). The scheduler \"wrr-counter\" can use this head start in addition to its counter (default: none).",
            kind: Kind::Time { min: Time::ZERO },
            default: None,
            tc: None,
        },
        Opt {
            name: "tspeed",
            doc: "Exponent e: the schedulers \"ts-fifo\" and \"wrr-counter\" multiply the delay of L by 2^e. Default: 0.",
            kind: Kind::Int { min: 0, max: 32 },
            default: None,
            tc: None,
        },
        Opt {
            name: "arithmetic",
            doc: "How the controller represents and applies its gains. \"div64\": as in Linux. \"div127\": as in Linux, but updates divide by 127 instead of 64. \"ticks\": gains are rounded to integers per tick of 64 ns. \"ns\": gains are rounded to integers per ns. The default depends on version.",
            kind: Kind::Word(Arithmetic::WORDS),
            default: None,
            tc: None,
        },
        Opt {
            name: "timer",
            doc: "Timer that triggers the updates: \"hrtimer\", or \"jiffies\", which rounds times up to multiples of 4 ms. The default depends on version.",
            kind: Kind::Word(&["hrtimer", "jiffies"]),
            default: None,
            tc: None,
        },
        Opt {
            name: "reset_statistics",
            doc: "Whether the counters that the run records restart at 0 after each sample.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: None,
        },
        time(
            "reset_interval",
            "Time between two resets of the statistics. The versions of 2019 reset the statistics \
                whenever a program reads the statistics. A reset also sets the controller's \
                previous delay to 0, so at the next update the whole delay counts as growth. Default: no resets.",
            Time::from_us(1),
        ),
        Opt {
            name: "split_gso",
            doc: "Whether the queue splits large packets from offloads (path.offloads) into their \
                segments.",
            kind: Kind::Bool,
            default: Some("true"),
            tc: Some("split_gso or no_split_gso"),
        },
        Opt {
            name: "version",
            doc: "The version of DualPI2 to follow. The version also determines the defaults of \
             other options.",
            kind: Kind::Word(presets::VERSIONS),
            default: Some("linux-6.17"),
            tc: None,
        },
    ],
    kernel: Kernel::Qdisc(&kernel::KERNEL),
    rules: step::RULES,
    finish: presets::finish,
    build: |options, context| Box::new(DualPi2::new(options, context)),
};

/// The step threshold of L. A packet above this threshold is always marked, even if the probability
/// is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The threshold is a sojourn time in ns, as in Linux.
    Sojourn(Time),
    /// The threshold is a sojourn time in units of 1024 ns, as in the versions before
    /// `dualpi2-2019-refactored`.
    Kibi(u64),
    /// The threshold is the number of packets that remain in L when a packet leaves.
    Packets(u64),
}

fn controller(options: &Options, mtu: u32) -> Params {
    let arithmetic = match options.get("arithmetic") {
        Some(Value::Word(word)) => Arithmetic::of(word),
        _ => Arithmetic::Div64,
    };
    let overload = match (options.get("l_drop"), options.get("overload")) {
        (Some(Value::Int(0)), _) | (_, Some(Value::Word("overflow"))) => Overload::Overflow,
        (Some(Value::Int(percent)), _) => Overload::NoEcn(percent.unsigned_abs() * (ONE / 100)),
        _ => Overload::Drop,
    };
    Params {
        target: options.time("target"),
        tupdate: options.time("tupdate"),
        alpha: arithmetic.gain(options.float("alpha")),
        beta: arithmetic.gain(options.float("beta")),
        arithmetic,
        k: options.int("coupling_factor").unsigned_abs(),
        overload,
        edge: 1,
        min_backlog: 2 * u64::from(mtu),
    }
}

pub(super) fn single(options: &Options, mtu: u32) -> Params {
    controller(options, mtu)
}

/// Returns whether a packet counts as scalable. With `any`, ECT(0) packets also count as scalable.
#[inline]
pub(super) fn scalable(ecn: Ecn, any: bool) -> bool {
    match ecn {
        Ecn::Ect1 | Ecn::Ce => true,
        Ecn::Ect0 => any,
        Ecn::NotEct => false,
    }
}

/// A jiffy of the kernels in the testbeds of 2019 (HZ 250), in ns.
const JIFFY: u64 = 4_000_000;

/// When the first update occurs in the versions before `dualpi2-2019-refactored`. These versions
/// wait for HZ / 2 jiffies.
const HALF_A_SECOND: Time = Time::from_ms(500);

/// Counters that tailback samples (gauges). The kernel's `tc -s` shows the same counters.
#[derive(Debug, Default)]
struct Statistics {
    packets_c: Cell<u64>,
    packets_l: Cell<u64>,
    max: Cell<u64>,
    marks: Cell<u64>,
    step_marks: Cell<u64>,
}

#[inline]
fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

/// The queue discipline `dualpi2`.
#[derive(Debug)]
pub struct DualPi2 {
    l: Packets,
    c: Packets,
    limit: u64,
    /// The memory limit, and the memory that Linux would use now, both in bytes.
    memlimit: u64,
    memory: u64,
    params: Params,
    vars: Vars,
    scheduler: Scheduler,
    step: Step,
    /// The step threshold applies only if L has at least this many packets. The packets in L are
    /// counted when a packet arrives or, with `step_at_dequeue`, when a packet leaves.
    min_step: u64,
    /// Whether the packets in L are counted for `min_step` when a packet leaves, and not when it
    /// arrives. The leaving packet is not counted.
    step_at_dequeue: bool,
    ramp: Option<Ramp>,
    protection: Option<Box<Protection>>,
    any_ect: bool,
    /// Whether packets are dropped or marked on arrival and not on departure.
    early: bool,
    reset_statistics: bool,
    /// The time between two resets of the statistics. A reset also clears the delay that the
    /// controller has stored. `None` means that the statistics are never reset.
    reset_interval: Option<Time>,
    next_reset: Time,
    statistics: Statistics,
    first_update: Time,
    next_update: Time,
    rng: Stream,
}

impl DualPi2 {
    fn new(options: &Options, context: QueueContext) -> DualPi2 {
        let QueueContext { rate, mtu, mut rng } = context;
        let version = options.word("version");
        let linux = version == "linux-6.17";
        let old = !linux && version != "dualpi2-2019-refactored";
        let limit = match Limit::of(options.get("limit")) {
            Limit::Packets(n) | Limit::Bytes(n) => n,
        };
        let mut params = controller(options, mtu);
        params.edge = u64::from(!old);
        if options.word("timer") == "jiffies" {
            params.tupdate = Time(params.tupdate.ns().next_multiple_of(JIFFY));
        }
        let step_at_dequeue = options.word("step_rule") == "dequeue";
        DualPi2 {
            l: Packets::default(),
            c: Packets::default(),
            limit,
            memlimit: match options.get("memlimit") {
                Some(Value::Bytes(bytes)) => bytes.0,
                _ if linux => limit
                    .saturating_mul(2 * u64::from(mtu))
                    .min(u64::from(u32::MAX)),
                _ => u64::MAX,
            },
            memory: 0,
            params,
            vars: Vars::default(),
            scheduler: Scheduler::of(options, mtu),
            step: match options.get("step_thresh") {
                Some(Value::Packets(n)) => Step::Packets(*n),
                Some(Value::Time(time)) if old => Step::Kibi(time.ns() / 1_000),
                Some(Value::Time(time)) => Step::Sojourn(*time),
                _ => Step::Sojourn(Time::from_ms(1)),
            },
            min_step: options.int("min_qlen_step").unsigned_abs(),
            step_at_dequeue,
            ramp: Ramp::of(options),
            // Draw a random key only if queue protection is on. A further draw would change the
            // other random numbers of the queue.
            protection: (options.bool("queue_protection"))
                .then(|| Box::new(Protection::new(rate, rng.bits()))),
            any_ect: options.bool("any_ect"),
            early: options.word("drop") == "enqueue",
            reset_statistics: options.bool("reset_statistics"),
            reset_interval: match options.get("reset_interval") {
                Some(Value::Time(interval)) => Some(*interval),
                _ => None,
            },
            next_reset: Time::ZERO,
            statistics: Statistics::default(),
            first_update: if old { HALF_A_SECOND } else { params.tupdate },
            next_update: Time::NEVER,
            rng,
        }
    }

    fn queued(&self) -> u64 {
        self.l.len() + self.c.len()
    }

    /// A limit was lowered. Drops packets from the head of C, and then from the head of L, while
    /// the queue is above the new limit. As in Linux, the scheduler and the controller do not
    /// notice these drops.
    fn shrink(&mut self, now: Time, sink: &mut Sink) {
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        while self.queued() > self.limit || self.memory > self.memlimit {
            if !self.c.pop_to(&mut packet) && !self.l.pop_to(&mut packet) {
                return;
            }
            self.memory -= u64::from(truesize(&packet));
            sink.drop(&packet, Cause::Overflow, now);
        }
    }

    /// In versions that drop or mark on arrival, calls [`DualPi2::survives`] on arrival.
    #[inline(never)]
    fn survives_early(
        &mut self,
        packet: &mut Packet,
        scalable: bool,
        now: Time,
        sink: &mut Sink,
    ) -> bool {
        self.survives(packet, scalable, now, sink)
    }

    /// Marks or drops a packet of L or C. The probability depends on p. Returns whether the packet
    /// was not dropped.
    #[inline(always)]
    fn survives(
        &mut self,
        packet: &mut Packet,
        scalable: bool,
        now: Time,
        sink: &mut Sink,
    ) -> bool {
        let backlog = self.l.bytes() + self.c.bytes();
        let capable = packet.ecn.is_capable();
        let verdict = self
            .vars
            .verdict(&self.params, scalable, capable, backlog, &mut self.rng);
        match verdict {
            Verdict::Pass => true,
            Verdict::Mark => {
                if packet.ecn != Ecn::Ce {
                    sink.mark(packet, Cause::Mark, now);
                    count(&self.statistics.marks);
                }
                true
            }
            Verdict::Drop => {
                sink.drop(packet, Cause::Aqm, now);
                false
            }
            Verdict::Overload => {
                sink.drop(packet, Cause::Overload, now);
                false
            }
        }
    }

    /// Applies the ramp and the coupling to a packet that leaves L. In overload, this function does
    /// nothing and returns false. In overload, the caller must call [`DualPi2::survives`].
    #[inline(never)]
    fn ramped(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) -> bool {
        let backlog = self.l.bytes() + self.c.bytes();
        let coupled = match backlog < self.params.min_backlog {
            true => 0.0,
            false => self.vars.coupled(&self.params),
        };
        let Some(ramp) = self.ramp.as_mut().filter(|_| coupled <= 1.0) else {
            return false;
        };
        let alone = self.l.is_empty();
        let Some(cause) = ramp.marks(now.since(packet.stamp), alone, coupled) else {
            return true;
        };
        if packet.ecn != Ecn::Ce {
            sink.mark(packet, cause, now);
            count(match cause {
                Cause::StepMark => &self.statistics.step_marks,
                _ => &self.statistics.marks,
            });
        }
        true
    }

    #[inline(never)]
    fn admits(&mut self, packet: &Packet, now: Time) -> bool {
        let (delay, _) = self.delays(now);
        match &mut self.protection {
            Some(protection) => protection.admits(packet, delay, now),
            None => true,
        }
    }

    #[inline]
    fn step(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        let sojourn = now.since(packet.stamp);
        let enough = if self.step_at_dequeue {
            self.l.len() >= self.min_step || matches!(self.step, Step::Packets(_))
        } else {
            packet.has(flags::NOTED)
        };
        packet.flags &= !flags::NOTED;
        let above = match self.step {
            Step::Sojourn(time) => sojourn > time,
            Step::Kibi(units) => sojourn.ns() >> 10 > units,
            Step::Packets(n) => self.l.len() > n,
        };
        if above && enough && packet.ecn != Ecn::Ce {
            sink.mark(packet, Cause::StepMark, now);
            count(&self.statistics.step_marks);
        }
    }

    /// Returns the sojourn times of the packets at the two heads, L first. For an empty queue, the
    /// result is 0.
    fn delays(&self, now: Time) -> (Time, Time) {
        let of = |queue: &Packets| {
            queue
                .front()
                .map_or(Time::ZERO, |head| now.since(head.stamp))
        };
        (of(&self.l), of(&self.c))
    }
}

impl Queue for DualPi2 {
    fn changeable(&self) -> &'static [&'static str] {
        &[
            "limit",
            "memlimit",
            "target",
            "tupdate",
            "alpha",
            "beta",
            "typical_rtt",
            "max_rtt",
            "step_thresh",
            "min_qlen_step",
            "coupling_factor",
            "any_ect",
            "overload",
            "l_drop",
            "classic_protection",
        ]
    }

    fn change(&mut self, options: &Options, setting: &Setting, sink: &mut Sink) {
        let context = QueueContext {
            rate: setting.rate,
            mtu: setting.mtu,
            rng: self.rng.clone(),
        };
        let now = DualPi2::new(options, context);
        self.limit = now.limit;
        self.memlimit = now.memlimit;
        self.params = now.params;
        self.step = now.step;
        self.min_step = now.min_step;
        self.any_ect = now.any_ect;
        self.scheduler.change(now.scheduler);
        self.shrink(setting.now, sink);
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        let memory = u64::from(truesize(packet));
        if self.queued() >= self.limit || self.memory + memory > self.memlimit {
            sink.drop(packet, Cause::Overflow, now);
            return;
        }
        // Choose the queue before a mark changes the packet's ECN field.
        let mut to_l = scalable(packet.ecn, self.any_ect);
        if to_l && self.protection.is_some() {
            to_l = self.admits(packet, now);
        }
        if self.early && !self.survives_early(packet, to_l, now, sink) {
            return;
        }
        self.memory += memory;
        self.statistics
            .max
            .set(self.statistics.max.get().max(self.queued()));
        if to_l {
            if self.l.len() >= self.min_step {
                packet.flags |= flags::NOTED;
            }
            count(&self.statistics.packets_l);
            self.l.push(*packet);
        } else {
            count(&self.statistics.packets_c);
            self.c.push(*packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        let mut dropped = false;
        loop {
            let (l, c) = (self.l.front(), self.c.front());
            let (any_l, any_c) = (l.is_some(), c.is_some());
            let Some(class) = self.scheduler.pick(l, c, now) else {
                if dropped {
                    self.scheduler.reset();
                }
                return Dequeue::Empty;
            };
            let (queue, contended) = match class {
                Class::L => (&mut self.l, any_c),
                Class::C => (&mut self.c, any_l),
            };
            if !queue.pop_to(next) {
                return Dequeue::Empty;
            }
            self.memory -= u64::from(truesize(next));
            let of_l = class == Class::L;
            if of_l && self.ramp.is_some() && self.ramped(next, now, sink) {
                self.scheduler.sent(class, next.len, contended);
                return Dequeue::Packet;
            }
            if !self.early && !self.survives(next, of_l, now, sink) {
                dropped = true;
                continue;
            }
            if of_l && self.ramp.is_none() {
                self.step(next, now, sink);
            }
            self.scheduler.sent(class, next.len, contended);
            return Dequeue::Packet;
        }
    }

    fn timer(&mut self, now: Time, _sink: &mut Sink) -> Option<Time> {
        if self.next_update == Time::NEVER {
            self.next_update = now + self.first_update;
        } else if now >= self.next_update {
            if let Some(interval) = self.reset_interval
                && now >= self.next_reset
            {
                self.vars.last = 0;
                self.next_reset = now + interval;
            }
            let (l, c) = self.delays(now);
            self.vars.update(&self.params, l.max(c));
            self.next_update = now + self.params.tupdate;
        }
        Some(self.next_update)
    }

    fn ahead(&self, places: [usize; 3]) -> Option<[&Packet; 3]> {
        self.c.ahead(places).or_else(|| self.l.ahead(places))
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queued(),
            bytes: self.l.bytes() + self.c.bytes(),
        }
    }

    fn gauges(&self, now: Time, out: &mut Vec<f64>) {
        let (l, c) = self.delays(now);
        let s = &self.statistics;
        out.extend([
            f64::from(self.vars.prob) / ONE as f64,
            c.ns() as f64,
            l.ns() as f64,
            self.scheduler.gauge(),
        ]);
        for counter in [&s.packets_c, &s.packets_l, &s.max, &s.marks, &s.step_marks] {
            out.push(counter.get() as f64);
            if self.reset_statistics {
                counter.set(0);
            }
        }
        if let Some(protection) = &self.protection {
            out.push(protection.redirected as f64);
        }
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        const NAMES: [&str; 10] = [
            "dualpi2_probability",
            "dualpi2_delay_c_ns",
            "dualpi2_delay_l_ns",
            "dualpi2_credit",
            "dualpi2_packets_c",
            "dualpi2_packets_l",
            "dualpi2_max_packets",
            "dualpi2_marks",
            "dualpi2_step_marks",
            "dualpi2_redirected",
        ];
        &NAMES[..NAMES.len() - usize::from(self.protection.is_none())]
    }
}

#[cfg(test)]
mod tests;
