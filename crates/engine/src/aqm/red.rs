//! RED: random early detection (Floyd and Jacobson 1993).
//!
//! tailback's RED follows sch_red and red.h of Linux 7.3. Every arriving packet updates the average
//! queue length: the backlog at its arrival is the new sample. If the average is at least `min`,
//! packets are marked or dropped at random. If the average is at least `max`, every packet is
//! marked or dropped. The formulas on this page call `pb` the probability that RED's curve gives
//! for the current average. While the average is constant, the distance between two marks or drops
//! is random. This distance is uniformly distributed from 1 to `1/pb` packets. So RED marks or
//! drops a share of `2 pb/(1 + pb)` of the packets. RED draws one random number for each mark or
//! drop.
//!
//! In Linux, a call of red_dequeue starts an idle period if the queue is empty. The longer the idle
//! period, the more the average decays. But below a shaper (htb or tbf), RED never notices that its
//! queue is empty, because the shaper does not dequeue from an empty queue. So below a shaper, the
//! average falls only when packets arrive. By default, tailback's RED behaves like RED below a
//! shaper (`idle = "hold"`). With this setting, the average may stay above `max` for a long time
//! after a burst. While the average is above `max`, RED drops every arriving packet that it cannot
//! mark, as in Linux. This loss continues even if each sender retransmits only one packet per
//! timeout. If `idle` is "decay", tailback's RED behaves like Linux's RED as the root qdisc of an
//! interface.
//!
//! If `burst` is set, RED computes the weight from burst, min and avpkt, as tc does. With
//! `adaptive`, RED adjusts the probability every 500 ms, as in the kernel.
//!
//! Four features do not exist in Linux, and are off by default: `gentle`, values of `uniformise`
//! other than `linux`, `include_arriving`, and thresholds in packets. `weight` and `probability`
//! accept any value. In tc, the weight must be a power of two (Wlog).
//!
//! Known deviations: tailback computes the average, the probability and the decay in floating
//! point, whereas Linux uses fixed-point numbers. An idle period that is as long as the
//! transmission of m packets multiplies the average by (1-w)^m, where w is the weight. Linux takes
//! the factor (1-w)^m from a table of shifts. If the shift would be below one, Linux approximates
//! the factor by 1 - mw. The default of `bandwidth` is the link's rate, whereas tc's default is
//! 10Mbit. If RED marks a packet that is then dropped because the buffer is full, this packet
//! counts only as dropped. If an event changes an option of `red`, packets stay queued and the
//! timer of `adaptive` continues. In Linux, such a change purges the queue and restarts this timer.
//! tc's options harddrop and nodrop are not implemented. As in Linux and unlike ns-2, the packet
//! size does not scale the probability, even if the average is in bytes.

use tailback_record::Cause;

use super::fifo::{Limit, Packets};
use super::{Backlog, Build, Dequeue, Queue, Setting, Sink};
use crate::packet::Packet;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};
use crate::rng::Stream;
use crate::units::{Bytes, Rate, Time};

mod adaptive;
mod burst;
mod kernel;
mod options;

use adaptive::Adaptive;
pub use options::{
    AVPKT, BANDWIDTH, GENTLE, IDLE, INCLUDE_ARRIVING, LIMIT, MAX, MIN, PROBABILITY, UNIFORMISE,
    WEIGHT,
};

/// The registry entry of `red`.
pub const ENTRY: Entry<Build> = Entry {
    name: "red",
    doc: "RED: marks or drops packets at random. The probability depends on the average queue length.",
    follows: "Linux 7.3 sch_red",
    options: &[
        LIMIT,
        MIN,
        MAX,
        PROBABILITY,
        Opt {
            doc: "Weight of a sample in the average. With a weight of 1, the average is the instantaneous queue length. Default: 0.002, or the weight that follows from burst. In tc, the weight is a power of two.",
            default: None,
            ..WEIGHT
        },
        Opt {
            name: "burst",
            doc: "Number of packets of avpkt bytes that may arrive at an empty queue before the average exceeds min. This number determines the weight, as in tc. The value \"tc\" means tc's default, (2 min + max)/(3 avpkt).",
            kind: Kind::WordOrInt {
                words: &["tc"],
                min: 1,
                max: 1 << 31,
            },
            default: None,
            tc: Some("burst PACKETS, computed if absent"),
        },
        Opt {
            name: "adaptive",
            doc: "Whether the probability adapts. Every 500 ms, the average is compared with the middle fifth of the range from min to max. The probability rises if the average is above this range, and falls if the average is below this range. The probability stays between 1 % and 50 %. Since Linux 5.7, tc alone does not start the adaptation, so the kernel engine also sets the flag in `struct tc_red_qopt`.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("adaptive"),
        },
        GENTLE,
        UNIFORMISE,
        Opt {
            name: "ecn",
            doc: "Whether ECN-capable packets are marked instead of dropped.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("ecn"),
        },
        Opt {
            doc: "What happens to the average while the queue is empty. \"hold\": the average does not change, as in Linux below a shaper (htb, tbf). \"decay\", as in Linux if RED is the root qdisc of an interface: after the queue was empty for a time t, the average is multiplied by (1 - weight)^m, where m = t bandwidth/avpkt.",
            default: Some("hold"),
            ..IDLE
        },
        AVPKT,
        BANDWIDTH,
        INCLUDE_ARRIVING,
    ],
    kernel: Kernel::Qdisc(&kernel::KERNEL),
    rules: Rules::NONE,
    finish: |options| {
        let limit = options.get("limit").cloned();
        finish_thresholds(options, limit.as_ref(), "min", "max")?;
        burst::finish(options)
    },
    build: |options, context| {
        Box::new(Red {
            ecn: options.bool("ecn"),
            adaptive: Adaptive::of(options),
            core: RedCore::of(options),
            store: Store::of(options, context.rate),
            rng: context.rng,
        })
    },
};

/// The unit of the thresholds and of the average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Frame bytes.
    Bytes,
}

impl Unit {
    /// Returns the unit of the thresholds. The thresholds have the unit of the option `min`.
    pub fn of(options: &Options) -> Unit {
        match options.get("min") {
            Some(Value::Packets(_)) => Unit::Packets,
            _ => Unit::Bytes,
        }
    }
}

/// Sets missing thresholds as tc does, and checks both thresholds. `min_name` and `max_name` are
/// the names of the options, for error messages.
pub fn finish_thresholds(
    options: &mut Options,
    limit: Option<&Value>,
    min_name: &'static str,
    max_name: &'static str,
) -> Result<(), Vec<OptionError>> {
    let scaled = |value: &Value, up: u64, down: u64| match value {
        Value::Packets(n) => Value::Packets((n.saturating_mul(up) / down).max(1)),
        Value::Bytes(n) => Value::Bytes(Bytes((n.0.saturating_mul(up) / down).max(1))),
        other => other.clone(),
    };
    if options.get("max").is_none() {
        let max = match (options.get("min"), limit) {
            (Some(min), _) => Some(scaled(min, 3, 1)),
            (None, Some(limit)) => Some(scaled(limit, 1, 4)),
            (None, None) => None,
        };
        if let Some(max) = max {
            options.set("max", max);
        }
    }
    if options.get("min").is_none()
        && let Some(max) = options.get("max")
    {
        let min = scaled(max, 1, 3);
        options.set("min", min);
    }
    let error = |option, message: &str| {
        Err(vec![OptionError {
            option,
            message: message.to_owned(),
        }])
    };
    match (options.get("min"), options.get("max")) {
        (Some(Value::Packets(min)), Some(Value::Packets(max))) if min <= max => Ok(()),
        (Some(Value::Bytes(min)), Some(Value::Bytes(max))) if min <= max => Ok(()),
        (Some(Value::Packets(_)), Some(Value::Packets(_)))
        | (Some(Value::Bytes(_)), Some(Value::Bytes(_))) => {
            error(min_name, "min is larger than max: expected min <= max")
        }
        _ => error(
            max_name,
            "min and max differ in unit: expected both in packets or both in bytes",
        ),
    }
}

/// Whether RED marks or drops a packet, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is queued without a mark.
    Pass,
    /// The packet is marked or dropped at random.
    Early,
    /// The packet is marked or dropped because the average is at or above the upper threshold.
    Forced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uniformise {
    /// RED draws one random number for each distance between two marks. The distances are uniformly
    /// distributed over 1..1/pb packets.
    Linux,
    /// RED draws one random number for each packet. The distances between marks are uniformly
    /// distributed over 1/pb..2/pb packets.
    Wait,
    /// RED draws one random number for each packet. The distances between marks have a geometric
    /// distribution.
    None,
}

/// The moving average of the queue length, and the function that maps this average to a
/// probability. RED uses one such core, and WRED uses one core for each class.
#[derive(Clone, Debug)]
pub struct RedCore {
    unit: Unit,
    avg: f64,
    /// Weight of the current queue length when the average is updated.
    weight: f64,
    /// The lower threshold, in the unit of `avg`.
    min: f64,
    /// The upper threshold, in the unit of `avg`.
    max: f64,
    probability: f64,
    /// Whether the probability rises to 1 between `max` and 2 `max`.
    gentle: bool,
    uniformise: Uniformise,
    /// Whether the queue length that updates the average includes the arriving packet.
    include_arriving: bool,
    /// Number of packets since the last mark or drop, while the average is between the thresholds.
    /// Otherwise this is -1.
    count: i64,
    /// A random number from 0 to 1 that determines the current distance between two marks (`Linux`
    /// only).
    draw: f64,
}

impl RedCore {
    /// Reads the options that concern the average and the probability.
    pub fn of(options: &Options) -> RedCore {
        let size = |name| match options.get(name) {
            Some(Value::Packets(n)) => *n as f64,
            Some(Value::Bytes(b)) => b.0 as f64,
            _ => f64::INFINITY,
        };
        RedCore {
            unit: Unit::of(options),
            avg: 0.0,
            weight: options.float("weight"),
            min: size("min"),
            max: size("max"),
            probability: options.float("probability"),
            gentle: options.bool("gentle"),
            uniformise: match options.word("uniformise") {
                "wait" => Uniformise::Wait,
                "none" => Uniformise::None,
                _ => Uniformise::Linux,
            },
            include_arriving: options.bool("include_arriving"),
            count: -1,
            draw: 0.0,
        }
    }

    /// Returns the unit of the average.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the average after an idle time: (1-w)^m avg. During the idle time, the link could
    /// have sent m packets.
    fn decayed(&self, m: f64) -> f64 {
        self.avg * libm::pow(1.0 - self.weight, m)
    }

    /// Updates the average: avg <- (1-w) avg + w q. If the packet ends an idle time, the average
    /// decays instead.
    #[inline]
    pub fn update(&mut self, arrival: &Arrival) {
        match arrival.idle {
            Some(m) => self.avg = self.decayed(m),
            None => {
                let with = u64::from(self.include_arriving);
                let sample = match self.unit {
                    Unit::Packets => arrival.packets + with,
                    Unit::Bytes => arrival.bytes + with * u64::from(arrival.len),
                };
                self.avg += self.weight * (sample as f64 - self.avg);
            }
        }
    }

    /// Returns pb. The result is the probability of a mark before RED adjusts it to space the marks
    /// (`uniformise`). The probability is 1 if every packet is marked.
    #[inline]
    pub fn pb(&self) -> f64 {
        let avg = self.avg;
        if avg < self.min {
            0.0
        } else if avg < self.max {
            self.probability * (avg - self.min) / (self.max - self.min)
        } else if self.gentle && avg < 2.0 * self.max {
            self.probability + (1.0 - self.probability) * (avg - self.max) / self.max
        } else {
            1.0
        }
    }

    /// Decides whether to mark or drop a packet.
    #[inline]
    pub fn decide(&mut self, rng: &mut Stream) -> Verdict {
        if self.avg < self.min {
            self.count = -1;
            return Verdict::Pass;
        }
        let band_end = if self.gentle {
            2.0 * self.max
        } else {
            self.max
        };
        if self.avg >= band_end {
            self.count = -1;
            return Verdict::Forced;
        }
        let pb = self.pb();
        self.count += 1;
        if self.uniformise != Uniformise::None && self.count == 0 {
            // As in Linux and ns-2, the first packet that finds the average above the lower
            // threshold is not marked. This packet only starts the count of packets.
            self.draw = rng.uniform();
            return Verdict::Pass;
        }
        let counted = self.count as f64 * pb;
        let hit = match self.uniformise {
            Uniformise::Linux => pb > 0.0 && counted >= self.draw,
            Uniformise::Wait => {
                let pa = if counted < 1.0 {
                    0.0
                } else if counted < 2.0 {
                    pb / (2.0 - counted)
                } else {
                    1.0
                };
                rng.chance(pa)
            }
            Uniformise::None => rng.chance(pb),
        };
        if !hit {
            return Verdict::Pass;
        }
        self.count = 0;
        if self.uniformise == Uniformise::Linux {
            self.draw = rng.uniform();
        }
        Verdict::Early
    }

    /// Returns three values for the time series: the average, the probability pb and the count.
    pub fn gauges(&self) -> [f64; 3] {
        [self.avg, self.pb(), self.count as f64]
    }
}

/// The state of the queue when a packet arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Queued packets.
    pub packets: u64,
    /// Queued bytes.
    pub bytes: u64,
    /// Frame length of the packet that arrives, in bytes.
    pub len: u16,
    /// How long the queue was idle before this packet arrived, in packet times. `None` if the
    /// average does not decay.
    pub idle: Option<f64>,
}

/// The packets of a RED queue, with the state that is needed to measure idle times.
#[derive(Debug)]
pub struct Store {
    packets: Packets,
    limit: Limit,
    /// The time that an idle link would need to send a packet of `avpkt` bytes, in ns. `None` if
    /// the average does not decay.
    packet_time: Option<f64>,
    /// When the link first found the queue empty. `None` if the queue is not idle.
    idle_since: Option<Time>,
    /// Nominal rate of the link. Without the option `bandwidth`, `packet_time` is computed from
    /// this rate.
    nominal: Rate,
}

impl Store {
    /// Reads [`LIMIT`], [`IDLE`], [`AVPKT`] and [`BANDWIDTH`]. `nominal` is the link's nominal rate.
    pub fn of(options: &Options, nominal: Rate) -> Store {
        let rate = match options.get("bandwidth") {
            Some(Value::Rate(rate)) => *rate,
            _ => nominal,
        };
        let decays = options.word("idle") == "decay" && rate.0 > 0;
        let ns = options.bytes("avpkt") as f64 * 8e9 / rate.0 as f64;
        Store {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
            packet_time: decays.then_some(ns),
            idle_since: Some(Time::ZERO),
            nominal,
        }
    }

    /// Changes the options. Packets stay in the queue. Idle times are still converted at the
    /// nominal rate, because the current rate may be 0.
    pub fn change(&mut self, options: &Options, setting: &Setting) {
        let now = Store::of(options, self.nominal);
        (self.limit, self.packet_time) = (now.limit, now.packet_time);
        if self.packets.is_empty() {
            self.idle_since.get_or_insert(setting.now);
        }
    }

    /// Ends the idle time. Returns the state of the queue for an arriving packet.
    #[inline]
    pub fn arrival(&mut self, packet: &Packet, now: Time) -> Arrival {
        let idle = self.idle(now);
        self.idle_since = None;
        Arrival {
            packets: self.packets.len(),
            bytes: self.packets.bytes(),
            len: packet.len,
            idle,
        }
    }

    /// Returns how long the queue has been idle so far, in packet times. `None` if the average does
    /// not decay.
    #[inline]
    fn idle(&self, now: Time) -> Option<f64> {
        match (self.idle_since, self.packet_time) {
            (Some(since), Some(packet_time)) if now > since => {
                Some(now.since(since).0 as f64 / packet_time)
            }
            _ => None,
        }
    }

    /// Queues a packet. If the packet exceeds the limit, drops it. If RED has chosen the packet
    /// (`hit`), marks it if `mark` is set, and drops it otherwise.
    #[inline]
    pub fn admit(
        &mut self,
        packet: &mut Packet,
        hit: bool,
        mark: bool,
        now: Time,
        sink: &mut Sink,
    ) {
        if hit && !mark {
            sink.drop(packet, Cause::Aqm, now);
        } else if !self.packets.has_room(self.limit, packet.len) {
            sink.drop(packet, Cause::Overflow, now);
        } else {
            if hit {
                sink.mark(packet, Cause::Mark, now);
            }
            self.packets.push(*packet);
        }
    }

    /// Moves the next packet to `next`. If the queue is empty, starts an idle time, unless an idle
    /// time is running. (The link requests a packet only after it has sent the previous packet. So
    /// the transmission time of the previous packet is not part of the idle time.)
    #[inline]
    pub fn dequeue(&mut self, now: Time, next: &mut Packet) -> Dequeue {
        let given = self.packets.give(next);
        if given == Dequeue::Empty {
            self.idle_since.get_or_insert(now);
        }
        given
    }

    /// Returns the packets that are `places` positions behind the head ([`Queue::ahead`]).
    pub fn ahead(&self, places: [usize; 3]) -> Option<[&Packet; 3]> {
        self.packets.ahead(places)
    }

    /// Returns the number of packets and bytes queued.
    pub fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

/// The queue discipline `red`.
#[derive(Debug)]
pub struct Red {
    ecn: bool,
    adaptive: Option<Adaptive>,
    core: RedCore,
    store: Store,
    rng: Stream,
}

impl Queue for Red {
    fn changeable(&self) -> &'static [&'static str] {
        &[
            "limit",
            "min",
            "max",
            "probability",
            "weight",
            "gentle",
            "ecn",
            "uniformise",
            "idle",
            "avpkt",
            "bandwidth",
            "include_arriving",
        ]
    }

    fn change(&mut self, options: &Options, setting: &Setting, _sink: &mut Sink) {
        self.ecn = options.bool("ecn");
        // As in Linux, the average restarts from 0, because its old value may not fit the new
        // thresholds.
        self.adaptive = Adaptive::of(options);
        self.core = RedCore::of(options);
        self.store.change(options, setting);
    }

    #[inline]
    fn enqueue(&mut self, packet: &mut Packet, now: Time, sink: &mut Sink) {
        let arrival = self.store.arrival(packet, now);
        self.core.update(&arrival);
        let hit = self.core.decide(&mut self.rng) != Verdict::Pass;
        let mark = self.ecn && packet.ecn.is_capable();
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

    fn timer(&mut self, now: Time, _sink: &mut Sink) -> Option<Time> {
        let adaptive = self.adaptive.as_mut()?;
        if now > Time::ZERO {
            let idle = self.store.idle(now);
            let average = idle.map_or(self.core.avg, |m| self.core.decayed(m));
            adaptive.step(average, &mut self.core);
        }
        Some(now + adaptive::STEP)
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.extend(self.core.gauges());
        out.extend(self.adaptive.as_ref().map(Adaptive::probability));
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        let names: &[&str; 4] = match self.core.unit() {
            Unit::Bytes => &["red_avg_bytes", "red_probability", "red_count", "red_max_p"],
            Unit::Packets => &[
                "red_avg_packets",
                "red_probability",
                "red_count",
                "red_max_p",
            ],
        };
        match self.adaptive {
            Some(_) => names,
            None => &names[..3],
        }
    }
}

#[cfg(test)]
mod tests;
