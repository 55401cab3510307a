//! Cake combines a shaper, tins (classes of traffic), a queue for each flow, and the AQM Cobalt.
//!
//! tailback's Cake follows sch_cake of Linux 7.3. Linux's Cake does not set SCE marks. tailback's
//! SCE marks (Some Congestion Experienced) follow the Cake of SCE's authors, as of June 2019 (see
//! `aqm/sce.rs`). Cake itself shapes the traffic to the link's rate, so the link does not limit the
//! rate a second time. The options `overhead`, `mpu` and `atm` determine the size that the shaper
//! assumes for a packet. Each packet occupies the link for the assumed size divided by the link's
//! rate.
//!
//! | module | what it implements |
//! |---|---|
//! | `shaper` | the shaper's virtual clocks, and packet sizes |
//! | `tins` | classes by DSCP |
//! | `flows` | set-associative hash, DRR++, host isolation |
//! | `cobalt` | CoDel and BLUE |
//! | `ack_filter` | the ACK filter |
//! | `memory` | how much of the memory limit a packet uses |
//!
//! Known deviations: Linux distinguishes flows and hosts by the hash of the sending socket. For a
//! packet without such a hash, Linux hashes the addresses with a random key. In tailback, the hash
//! depends on the numbers of the flow and of its hosts, and on the seed of the run. If Cake is full
//! and several queues are equally long, tailback drops packets from the first of these queues.
//! Linux keeps queues in a heap, and drops packets from the queue at the top of the heap. If a host
//! has more than 16 bulk queues, tailback gives each of these queues the bytes of several DRR
//! rounds at once. Adding several rounds at once saves computation (see cake/flows.rs). If Cake
//! splits a packet into segments, tailback checks after each enqueued segment whether Cake is full
//! and must drop packets. Linux checks only after it has enqueued the last segment. For the memory
//! limit, a segment of a split packet counts like a separate packet of the same length. The options
//! `unlimited`, `autorate-ingress`, `nat` and `fwmark` are not implemented. If the link's rate
//! follows a trace, Cake shapes to the mean rate of the trace.

use tailback_record::Cause;

use super::sce::Ramp;
use super::{Backlog, Build, Dequeue, FlowInfo, Queue, QueueContext, Setting, Sink};
use crate::packet::{Ecn, Packet, flags};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};
use crate::rng::Stream;
use crate::units::{Rate, Time};

mod ack_filter;
mod cobalt;
mod flows;
mod kernel;
pub(super) mod memory;
mod shaper;
#[cfg(test)]
mod tests;
mod tins;

use ack_filter::{AckFilter, redundant_ack};
use cobalt::{Fresh, Params};
use flows::{Flows, Isolation, Keys};
use shaper::{Framing, PerByte, Shaper, Sizes};
use tins::Tins;

/// The registry entry of `cake`.
pub const ENTRY: Entry<Build> = Entry {
    name: "cake",
    doc: "Cake shapes traffic to the link's rate and shares the rate fairly among flows and hosts. \
        Each flow's queue uses the AQM Cobalt (CoDel and BLUE). Cake can also set SCE marks.",
    follows: "Linux 7.3 sch_cake; SCE as of June 2019",
    options: &[
        Opt {
            name: "flow",
            doc: "Which packets share a queue: all packets (flowblind), the packets of one host \
                (srchost, dsthost), the packets of a pair of hosts (hosts), or the packets of a \
                flow (all other values). The values dual-srchost, dual-dsthost and triple-isolate \
                also give each host a fair share.",
            kind: Kind::Word(&[
                "flowblind",
                "srchost",
                "dsthost",
                "hosts",
                "flows",
                "dual-srchost",
                "dual-dsthost",
                "triple-isolate",
            ]),
            default: Some("triple-isolate"),
            tc: Some("flowblind, flows, ..."),
        },
        Opt {
            name: "tins",
            doc: "Scheme that sorts packets into tins (classes of traffic) by DSCP.",
            kind: Kind::Word(&[
                "besteffort",
                "precedence",
                "diffserv3",
                "diffserv4",
                "diffserv8",
            ]),
            default: Some("diffserv3"),
            tc: Some("besteffort, diffserv3, ..."),
        },
        Opt {
            name: "sce",
            doc: "Whether ECT(0) packets get SCE marks. The probability of a mark rises linearly with the sojourn time. With \"on\", the probability is 1 if the sojourn time is at least the target. With a number N, the probability is 1/N if the sojourn time equals the target. With \"single\", the probability is 0 if the sojourn time is at most the target.",
            kind: Kind::WordOrInt {
                words: &["off", "on", "single"],
                min: 2,
                max: 1024,
            },
            default: Some("off"),
            tc: Some("not in Linux; sce, sce-single, sce-thresh N in the Cake of SCE's authors"),
        },
        Opt {
            name: "sce_single_slope",
            doc: "How fast the mark probability rises above the target if sce is \"single\". With \"halved\", as in the code of SCE's authors, the probability reaches 1 when the sojourn time is twice the target. With \"kept\", as SCE's authors describe, the probability reaches 1 when the sojourn time is 1.5 times the target. Default: halved.",
            kind: Kind::Word(&["halved", "kept"]),
            default: None,
            tc: Some("not in Linux"),
        },
        Opt {
            name: "fresh",
            doc: "When Cobalt first marks or drops a packet of a queue. \"linux\": at the second packet whose sojourn time is above the target. \"interval\": one interval after the first packet whose sojourn time is above the target.",
            kind: Kind::Word(&["linux", "interval"]),
            default: Some("linux"),
            tc: Some("not in Linux"),
        },
        Opt {
            name: "rtt",
            doc: "Cobalt's interval. Cobalt's target is 5 % of this interval.",
            kind: Kind::Time {
                min: Time::from_us(1),
            },
            default: Some("100ms"),
            tc: None,
        },
        Opt {
            name: "ack_filter",
            doc: "Whether Cake drops an ACK that a newer ACK makes redundant.",
            kind: Kind::Word(&["off", "on", "aggressive"]),
            default: Some("off"),
            tc: Some("no-ack-filter, ack-filter, ack-filter-aggressive"),
        },
        Opt {
            name: "overhead",
            doc: "Number of bytes that the shaper adds to the length of each IP packet. Default: \
                14, the size of an Ethernet header.",
            kind: Kind::Int { min: -64, max: 256 },
            default: None,
            tc: None,
        },
        Opt {
            name: "mpu",
            doc: "Smallest packet size, in bytes, that the shaper assumes. Packets below this size count as packets of this size.",
            kind: Kind::Int { min: 0, max: 256 },
            default: Some("0"),
            tc: None,
        },
        Opt {
            name: "atm",
            doc: "How the link frames packets: not at all, in ATM cells (48 payload bytes in 53), or in PTM codewords (64 payload bytes in 65).",
            kind: Kind::Word(&["noatm", "atm", "ptm"]),
            default: Some("noatm"),
            tc: Some("noatm, atm or ptm"),
        },
        Opt {
            name: "memlimit",
            doc: "Limit on the memory of all queued packets, in bytes of packet buffers, as in Linux. Default: four times the product of rate and rtt, at least 4 MiB and at most the memory of 10,240 full-size packets.",
            kind: Kind::Size {
                packets: false,
                bytes: true,
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "ingress",
            doc: "Whether packets that Cake drops also count towards the shaper's rate. This option is \
                intended for traffic that has already passed the bottleneck.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("ingress or egress"),
        },
        Opt {
            name: "wash",
            doc: "Whether Cake clears the DSCP of forwarded packets.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("wash or nowash"),
        },
        Opt {
            name: "split_gso",
            doc: "Whether the queue splits large packets from offloads (path.offloads) into their \
                segments.",
            kind: Kind::Bool,
            default: Some("true"),
            tc: Some("split-gso or no-split-gso"),
        },
    ],
    kernel: Kernel::Qdisc(&kernel::KERNEL),
    rules: Rules::NONE,
    finish: |options| {
        if options.get("sce") == Some(&Value::Word("single")) {
            options.set_default("sce_single_slope", Value::Word("halved"));
        } else if options.get("sce_single_slope").is_some() {
            return Err(vec![OptionError {
                option: "sce_single_slope",
                message: "only sce = \"single\" has a slope: expected no sce_single_slope, or sce = \"single\"".to_owned(),
            }]);
        }
        Ok(())
    },
    build: |options, context| Box::new(Cake::new(options, context)),
};

/// The configuration, which does not change during the run.
#[derive(Debug)]
struct Config {
    isolation: Isolation,
    tins: Tins,
    ramp: Ramp,
    fresh: Fresh,
    /// Cobalt's interval in us, the unit in which tc passes it to the kernel.
    rtt_us: u64,
    ack_filter: AckFilter,
    sizes: Sizes,
    memlimit: Option<u64>,
    ingress: bool,
    wash: bool,
    mtu: u32,
}

impl Config {
    fn of(options: &Options, mtu: u32) -> Config {
        let isolation = |flows, sources, destinations| Isolation {
            flows,
            sources,
            destinations,
        };
        Config {
            isolation: match options.word("flow") {
                "flowblind" => isolation(false, false, false),
                "srchost" => isolation(false, true, false),
                "dsthost" => isolation(false, false, true),
                "hosts" => isolation(false, true, true),
                "flows" => isolation(true, false, false),
                "dual-srchost" => isolation(true, true, false),
                "dual-dsthost" => isolation(true, false, true),
                _ => isolation(true, true, true),
            },
            tins: match options.word("tins") {
                "besteffort" => Tins::BestEffort,
                "precedence" => Tins::Precedence,
                "diffserv4" => Tins::Diffserv4,
                "diffserv8" => Tins::Diffserv8,
                _ => Tins::Diffserv3,
            },
            ramp: match options.get("sce") {
                Some(Value::Int(divisor)) => Ramp::Knee(1.0 / *divisor as f64),
                Some(Value::Word("on")) => Ramp::Knee(1.0),
                Some(Value::Word("single")) => {
                    let kept = options.get("sce_single_slope") == Some(&Value::Word("kept"));
                    Ramp::Single(if kept { 0.5 } else { 1.0 })
                }
                _ => Ramp::Off,
            },
            fresh: match options.word("fresh") {
                "interval" => Fresh::Interval,
                _ => Fresh::Linux,
            },
            rtt_us: (options.time("rtt").ns() / 1_000).clamp(1, u64::from(u32::MAX)),
            ack_filter: match options.word("ack_filter") {
                "on" => AckFilter::On,
                "aggressive" => AckFilter::Aggressive,
                _ => AckFilter::Off,
            },
            sizes: Sizes {
                overhead: match options.get("overhead") {
                    Some(Value::Int(bytes)) => Some(*bytes as i32),
                    _ => None,
                },
                link: 0,
                mpu: options.int("mpu") as i32,
                framing: match options.word("atm") {
                    "atm" => Framing::Atm,
                    "ptm" => Framing::Ptm,
                    _ => Framing::Plain,
                },
                each: Framing::Plain,
            },
            memlimit: match options.get("memlimit") {
                Some(Value::Bytes(bytes)) => Some(bytes.0),
                _ => None,
            },
            ingress: options.bool("ingress"),
            wash: options.bool("wash"),
            mtu,
        }
    }
}

/// A class of traffic.
#[derive(Debug)]
struct Tin {
    flows: Flows,
    params: Params,
    per_byte: PerByte,
    /// The tin's virtual clock, in ns. While this clock is ahead of the current time, the tin is
    /// above its share of the rate. Each packet that is sent advances this clock by the packet's
    /// transmission time at the tin's share.
    next: i64,
    backlog: u64,
}

impl Tin {
    fn new(config: &Config, seed: u64) -> Tin {
        Tin {
            flows: Flows::new(config.isolation, config.fresh, seed),
            params: Params {
                target: 0,
                interval: 0,
                mtu_time: 0,
                fresh: config.fresh,
            },
            per_byte: PerByte::default(),
            next: 0,
            backlog: 0,
        }
    }

    fn set_rate(&mut self, rate: u64, config: &Config) {
        let wanted = ((config.rtt_us / 20).max(1) * 1_000) as i64;
        self.per_byte = PerByte::of(rate);
        self.flows.quantum = (rate >> 12).clamp(300, 1_514) as u32;
        let mtu_time = self.per_byte.time(config.mtu);
        let target = (mtu_time * 3 / 2).max(wanted);
        self.params = Params {
            target,
            interval: ((config.rtt_us * 1_000) as i64 + target - wanted).max(target * 2),
            mtu_time,
            fresh: config.fresh,
        };
    }

    #[inline]
    fn charge(&mut self, bytes: u32, now: i64) {
        let duration = self.per_byte.time(bytes);
        if self.next < now {
            self.next += duration;
        } else {
            self.next = self.next.max(now + duration);
        }
    }
}

/// Properties of a flow's packets in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    keys: Keys,
    /// The tin that the flow's DSCP selects.
    tin: u8,
    /// The tin that DSCP 0 selects. Cake uses this tin after it has set the DSCP to 0 (`wash`).
    washed: u8,
}

/// The queue discipline `cake`.
#[derive(Debug)]
pub struct Cake {
    config: Config,
    shaper: Shaper,
    tins: Box<[Tin]>,
    index: [u8; 64],
    /// For each flow: properties of its packets in both directions.
    known: Vec<[Known; 2]>,
    /// The seed for the hashes of flows and hosts.
    salt: u64,
    backlog: Backlog,
    memory: (u64, u64),
    /// Bit set of the tins that may have packets.
    active: u32,
    /// Whether the link's rate is 0.
    stopped: bool,
    /// The tin and the queue that were served last.
    served: (usize, usize),
    rng: Stream,
}

const TINS: usize = 8;

/// A queue that may send: its tin, its index, and the list in which it waits.
#[derive(Clone, Copy)]
struct Turn {
    t: usize,
    index: usize,
    list: flows::List,
}

/// The result of serving a queue.
enum Taken {
    /// It delivered a packet.
    Packet,
    /// It was empty.
    Empty,
    /// The packet was dropped. Cake must serve the same queue again.
    Dropped,
    /// The packet was dropped, but its bytes were charged to the rate (`ingress`). The scheduler
    /// must choose a queue again.
    Charged,
}

/// Computes a hash with the finaliser of SplitMix64, and returns the upper half of the result.
fn mix(x: u64) -> u32 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 32) as u32
}

impl Cake {
    fn new(options: &Options, mut context: QueueContext) -> Cake {
        let config = Config::of(options, context.mtu);
        let count = config.tins.rates(1).len();
        let mut cake = Cake {
            index: config.tins.index(),
            tins: (0..count)
                .map(|_| Tin::new(&config, context.rng.bits()))
                .collect(),
            config,
            shaper: Shaper::default(),
            known: Vec::new(),
            salt: context.rng.bits(),
            backlog: Backlog::default(),
            memory: (0, 0),
            active: 0,
            stopped: false,
            served: (0, 0),
            rng: context.rng,
        };
        cake.configure(context.rate);
        cake
    }

    fn configure(&mut self, rate: Rate) {
        let rate = (rate.0 / 8).max(1);
        let shares = self.config.tins.rates(rate);
        for (tin, share) in self.tins.iter_mut().zip(shares) {
            tin.set_rate(share, &self.config);
        }
        self.shaper.set_rate(PerByte::of(rate));
        let Config {
            memlimit,
            rtt_us,
            mtu,
            ..
        } = self.config;
        self.memory.1 = memory::limit(memlimit, rate, rtt_us, mtu);
    }

    fn know(&self, flow: u32, info: FlowInfo) -> [Known; 2] {
        // A flow has four separate hashes: one for each direction, one for its source, and one for
        // its destination.
        let hash = |domain: u64, number: u32| mix(self.salt ^ (domain << 32 | u64::from(number)));
        let way = |reverse: bool| {
            let (from, to) = if reverse {
                (info.destination, info.source)
            } else {
                (info.source, info.destination)
            };
            let keys = Keys {
                source: hash(3, from),
                destination: hash(4, to),
                tag: 0,
            };
            let own = hash(1 + u64::from(reverse), flow);
            let tag = self
                .config
                .isolation
                .tag(own, keys.source, keys.destination);
            Known {
                keys: Keys { tag, ..keys },
                tin: self.index[usize::from(info.dscp & 63)],
                washed: self.index[0],
            }
        };
        [way(false), way(true)]
    }

    #[inline]
    fn known(&mut self, packet: &Packet) -> Known {
        let flow = packet.flow as usize;
        if flow >= self.known.len() {
            self.meet(flow);
        }
        self.known[flow][usize::from(packet.has(flags::ACK))]
    }

    /// Adds flows that the scenario does not describe. Each of these flows has its own hosts and
    /// DSCP 0.
    #[cold]
    fn meet(&mut self, flow: usize) {
        for flow in self.known.len() as u32..=flow as u32 {
            let info = FlowInfo {
                source: 2 * flow,
                destination: 2 * flow + 1,
                dscp: 0,
            };
            let known = self.know(flow, info);
            self.known.push(known);
        }
    }

    #[inline]
    fn leave(&mut self, tin: usize, packet: &Packet) {
        let len = u64::from(packet.len);
        self.tins[tin].backlog -= len;
        self.backlog.bytes -= len;
        self.backlog.packets -= 1;
        self.memory.0 -= u64::from(memory::truesize(packet));
    }

    #[inline(always)] // inline, because dequeue calls it for every packet
    fn charge(&mut self, tin: usize, packet: &Packet, now: i64, dropped: bool) -> u32 {
        let bytes = self.config.sizes.charged(packet);
        if self.tins.len() > 1 {
            self.tins[tin].charge(bytes, now);
        }
        self.shaper.charge(bytes, dropped);
        bytes
    }

    /// Drops the oldest packet of the longest queue, because the limit is exceeded.
    #[cold]
    fn overflow(&mut self, now: Time, sink: &mut Sink) -> bool {
        let mut longest = (0, 0, 0);
        for (t, tin) in self.tins.iter_mut().enumerate() {
            let (index, bytes) = tin.flows.longest();
            if bytes > longest.2 {
                longest = (t, index, bytes);
            }
        }
        let (t, index, _) = longest;
        let tin = &mut self.tins[t];
        let mut packet = Packet::new(0, 0, Ecn::NotEct);
        if !tin.flows.pop_to(index, &mut packet) {
            return false;
        }
        let clock = now.ns() as i64;
        tin.flows.get(index).cobalt.queue_full(&tin.params, clock);
        self.leave(t, &packet);
        if self.config.ingress {
            self.charge(t, &packet, clock, true);
        }
        sink.drop(&packet, Cause::Overflow, now);
        true
    }

    /// Returns the highest tin that has packets and is within its share of the rate. If every tin
    /// with packets is above its share, returns the tin that will be within its share first.
    #[inline]
    fn choose(&self, now: i64) -> usize {
        if self.active & self.active.wrapping_sub(1) == 0 {
            // Only one tin has packets, so it is served even if it is above its share.
            return self.active.trailing_zeros() as usize % TINS;
        }
        let mut best = (0, i64::MAX);
        for (i, tin) in self.tins.iter().enumerate() {
            if self.active & (1 << i) != 0 {
                let wait = tin.next - now;
                if wait <= 0 || wait <= best.1 {
                    best = (i, wait);
                }
            }
        }
        best.0
    }

    /// Takes a packet from a queue and writes it to `next`. The AQM may mark or drop the packet.
    #[inline(always)] // inline, because dequeue calls it for every packet
    fn take(
        &mut self,
        t: usize,
        index: usize,
        now: Time,
        sink: &mut Sink,
        next: &mut Packet,
    ) -> Taken {
        let clock = now.ns() as i64;
        let tin = &mut self.tins[t];
        if !tin.flows.pop_to(index, next) {
            return Taken::Empty;
        }
        let sharing = if self.config.ingress {
            u32::from(tin.flows.population.bulk)
        } else {
            0
        };
        let sojourn = clock - next.stamp.ns() as i64;
        let flow = tin.flows.get(index);
        let capable = next.ecn.is_capable();
        let (params, rng) = (&tin.params, &mut self.rng);
        let verdict = flow
            .cobalt
            .decide(params, clock, sojourn, capable, sharing, rng);
        let last = flow.packets.is_empty();
        let target = tin.params.target;
        self.leave(t, next);
        if verdict.mark {
            sink.mark(next, Cause::Mark, now);
        }
        if let Some(cause) = verdict.drop {
            if last {
                return Taken::Packet;
            }
            sink.drop(next, cause, now);
            if self.config.ingress {
                let bytes = self.charge(t, next, clock, true);
                self.tins[t].flows.spend(index, bytes);
                return Taken::Charged;
            }
            return Taken::Dropped;
        }
        if next.ecn == Ecn::Ect0 && self.config.ramp != Ramp::Off {
            let p = self.config.ramp.probability(target, sojourn, verdict.over);
            if p > 0.0 && (p >= 1.0 || self.rng.chance(p)) {
                sink.mark(next, Cause::SceMark, now);
            }
        }
        Taken::Packet
    }

    /// Chooses the queue that may send next. If no queue may send now, returns the value that
    /// `dequeue` must return. `decaying` has the same meaning as in [`flows::Flows::next`].
    #[inline(always)] // inline, because dequeue calls it for every packet
    fn turn(&mut self, clock: i64, decaying: bool) -> Result<Turn, Dequeue> {
        if self.backlog.packets == 0 {
            return Err(Dequeue::Empty);
        }
        let opens = self.shaper.opens();
        if opens > clock {
            return Err(Dequeue::NotBefore(Time(opens as u64)));
        }
        let t = if self.tins.len() > 1 {
            self.choose(clock)
        } else {
            0
        };
        self.turn_in(t, decaying)
    }

    /// Chooses the queue of a tin that may send next.
    #[inline(always)] // as for `turn`
    fn turn_in(&mut self, t: usize, decaying: bool) -> Result<Turn, Dequeue> {
        let Some((index, list)) = self.tins[t].flows.next(decaying) else {
            return Err(Dequeue::Empty);
        };
        self.served = (t, index);
        Ok(Turn { t, index, list })
    }

    /// Charges a packet that leaves.
    #[inline(always)] // as for `turn`
    fn send(&mut self, turn: &Turn, next: &Packet, clock: i64) -> Dequeue {
        let bytes = self.charge(turn.t, next, clock, false);
        self.tins[turn.t].flows.spend(turn.index, bytes);
        let opens = self.shaper.opens().max(clock);
        Dequeue::Until(Time(opens as u64))
    }

    /// Continues a dequeue in which the first served queue has sent no packet. A separate function
    /// prevents the compiler from computing values for this loop before every dequeue.
    #[inline(never)]
    fn dequeue_later(
        &mut self,
        mut turn: Turn,
        mut taken: Taken,
        now: Time,
        sink: &mut Sink,
        next: &mut Packet,
    ) -> Dequeue {
        let clock = now.ns() as i64;
        loop {
            let chosen = match taken {
                Taken::Packet => return self.send(&turn, next, clock),
                Taken::Dropped => Ok(turn),
                Taken::Charged => self.turn_in(turn.t, false),
                Taken::Empty => {
                    let tin = &mut self.tins[turn.t];
                    tin.flows.emptied(turn.index, turn.list, &tin.params, clock);
                    if !tin.flows.active() {
                        self.active &= !(1 << turn.t);
                    }
                    self.turn(clock, false)
                }
            };
            turn = match chosen {
                Ok(turn) => turn,
                Err(result) => return result,
            };
            taken = self.take(turn.t, turn.index, now, sink, next);
        }
    }

    /// A packet has just been appended to a queue. If this packet makes an ACK in the queue
    /// redundant, drops the redundant ACK.
    #[inline(never)]
    fn filter_acks(&mut self, t: usize, index: usize, now: Time, sink: &mut Sink) {
        let queue = &self.tins[t].flows.get(index).packets;
        let old = redundant_ack(queue, self.config.ack_filter);
        if let Some(ack) = old.and_then(|i| self.tins[t].flows.remove(index, i)) {
            self.leave(t, &ack);
            if self.config.ingress {
                self.charge(t, &ack, now.ns() as i64, true);
            }
            sink.drop(&ack, Cause::AckFilter, now);
        }
    }
}

impl Queue for Cake {
    fn changeable(&self) -> &'static [&'static str] {
        &[
            "rtt",
            "ack_filter",
            "overhead",
            "mpu",
            "atm",
            "memlimit",
            "ingress",
            "wash",
        ]
    }

    fn change(&mut self, options: &Options, setting: &Setting, _sink: &mut Sink) {
        let before = self.config.sizes;
        self.config = Config::of(options, setting.mtu);
        self.config.sizes.link = before.link;
        if before.expects_joined() {
            self.config.sizes.expect_joined();
        }
        if setting.rate.0 > 0 {
            self.configure(setting.rate);
        }
    }

    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        let clock = now.ns() as i64;
        let known = self.known(packet);
        let t = usize::from(if packet.has(flags::WASHED) {
            known.washed
        } else {
            known.tin
        });
        if self.config.wash {
            packet.flags |= flags::WASHED;
        }
        let tin = &mut self.tins[t];
        let index = tin.flows.find(&known.keys);
        if tin.backlog == 0 {
            tin.next = tin.next.max(clock);
            if self.backlog.packets == 0 {
                self.shaper.wake(clock);
            }
        }
        let len = u64::from(packet.len);
        tin.backlog += len;
        self.backlog.bytes += len;
        self.backlog.packets += 1;
        self.memory.0 += u64::from(memory::truesize(packet));
        tin.flows.push(index, *packet);
        self.active |= 1 << t;
        if self.config.ack_filter != AckFilter::Off {
            self.filter_acks(t, index, now, sink);
        }
        while self.memory.0 > self.memory.1 && self.overflow(now, sink) {}
    }

    fn dequeue(&mut self, now: Time, sink: &mut Sink, next: &mut Packet) -> Dequeue {
        let clock = now.ns() as i64;
        if self.stopped {
            // After an outage, the link requests packets again. Packets that could not leave during
            // the outage must not leave in a burst now.
            self.stopped = false;
            self.shaper.resume(clock);
        }
        let turn = match self.turn(clock, true) {
            Ok(turn) => turn,
            Err(result) => return result,
        };
        match self.take(turn.t, turn.index, now, sink, next) {
            Taken::Packet => self.send(&turn, next, clock),
            taken => self.dequeue_later(turn, taken, now, sink, next),
        }
    }

    fn rate_changed(&mut self, rate: Rate, _now: Time) {
        // While the rate is 0, the link does not request packets.
        if rate.0 == 0 {
            self.stopped = true;
            return;
        }
        self.configure(rate);
    }

    fn link_overhead(&mut self, bytes: i32) {
        self.config.sizes.link = bytes;
    }

    fn expect_joined(&mut self) {
        self.config.sizes.expect_joined();
    }

    fn flows(&mut self, flows: &[FlowInfo]) {
        let known = flows.iter().zip(0..);
        self.known = known.map(|(info, flow)| self.know(flow, *info)).collect();
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        let (t, index) = self.served;
        let sum = |of: fn(&flows::Population) -> u16| -> f64 {
            let all = self.tins.iter().map(|tin| of(&tin.flows.population));
            f64::from(all.map(u32::from).sum::<u32>())
        };
        out.extend([sum(|p| p.bulk), sum(|p| p.sparse)]);
        out.extend(self.tins[t].flows.peek(index).cobalt.gauges());
        out.push(self.memory.0 as f64);
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &[
            "cake_bulk_flows",
            "cake_sparse_flows",
            "cobalt_count",
            "cobalt_p_drop",
            "cake_memory_bytes",
        ]
    }
}
