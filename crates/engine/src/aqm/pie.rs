//! PIE: proportional integral controller enhanced (RFC 8033).
//!
//! Follows Linux 7.3 sch_pie in its integer arithmetic: times in ticks of 64
//! ns, probability 1 is 2^56 - 1, gains in 16ths. Where Linux differs from RFC
//! 8033 Linux is followed: the delay is the sojourn time of the last packet
//! dequeued, 0 once the queue is empty; the probability decays by 1/64 in a
//! period with no delay before and after; 2 % are added while the delay is
//! above 250 ms; the burst allowance is 150 ms of time in which the queue was
//! served, given again when delays are below half the target and the
//! probability is 0; a forced mark does not reset the accumulated probability;
//! and the probability is not clamped to 1, it can wind up above it while the
//! delay stays high.
//!
//! `version = "linux-3.14"` is PIE as Linux had it before 2019: target 20 ms,
//! tupdate 30 ms, burst allowance 100 ms, delay from the estimated departure
//! rate, plain Bernoulli trials, gains / 8 below 1 % and / 2 below 10 %, decay
//! by 2 %, 32-bit probability. Its arithmetic overflows where the kernel's
//! does: the decay of a probability above 1.02 % takes it below that at once,
//! and a change above one half wraps.
//!
//! The timer is Linux's (see `wheel`): updates come one jiffy later than asked for,
//! every 16 ms by default. It runs from the start of the run, as that of a queue
//! which was set up more than 0.5 s before, when Linux has the first update.
//!
//! Known deviations: a backlog above 16 MiB does not overflow the estimated delay.

use tailback_record::Cause;

use super::fifo::{Limit, Packets};
use super::{Backlog, Build, Dequeue, Queue, Sink};
use crate::packet::Packet;
use crate::registry::{Entry, Kernel, Kind, Opt, OptionError, Options, Value};
use crate::rng::Stream;
use crate::units::Time;
use crate::wheel;

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "pie",
    doc: "PIE: drops or marks at random, the probability controlled by the queueing delay.",
    follows: "Linux 7.3 sch_pie (RFC 8033)",
    options: &[
        Opt {
            name: "limit",
            doc: "Most that may be queued, in packets; more is dropped at the tail.",
            kind: Kind::Size {
                packets: true,
                bytes: false,
            },
            default: Some("1000p"),
            tc: Some("limit PACKETS"),
        },
        Opt {
            name: "target",
            doc: "Queueing delay it aims at; default 15ms, 20ms in linux-3.14.",
            kind: Kind::Time {
                min: Time::from_us(1),
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "tupdate",
            doc: "Time between two updates of the probability; default 15ms, 30ms in linux-3.14. Linux counts it in jiffies.",
            kind: Kind::Time {
                min: Time::from_ms(1),
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "alpha",
            doc: "Gain of the distance from the target, in 16ths of 1/s.",
            kind: Kind::Int { min: 0, max: 32 },
            default: Some("2"),
            tc: None,
        },
        Opt {
            name: "beta",
            doc: "Gain of the change of the delay, in 16ths of 1/s.",
            kind: Kind::Int { min: 0, max: 32 },
            default: Some("20"),
            tc: None,
        },
        Opt {
            name: "ecn",
            doc: "Whether ECN-capable packets are marked instead of dropped while the probability is at most 10 %.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("ecn or noecn"),
        },
        Opt {
            name: "bytemode",
            doc: "Whether the probability is scaled by packet size over MTU.",
            kind: Kind::Bool,
            default: Some("false"),
            tc: Some("bytemode or nobytemode"),
        },
        Opt {
            name: "dq_rate_estimator",
            doc: "Whether the delay is the backlog over the estimated departure rate instead of the packets' sojourn time; default false, always true in linux-3.14.",
            kind: Kind::Bool,
            default: None,
            tc: Some("dq_rate_estimator or no_dq_rate_estimator"),
        },
        Opt {
            name: "version",
            doc: "Which Linux it follows.",
            kind: Kind::Word(&["linux-7.3", "linux-3.14"]),
            default: Some("linux-7.3"),
            tc: None,
        },
    ],
    kernel: Kernel::Tc("pie"),
    finish: |options| {
        let old = options.word("version") == "linux-3.14";
        let ms = if old { (20, 30) } else { (15, 15) };
        for (name, value) in [
            ("target", Value::Time(Time::from_ms(ms.0))),
            ("tupdate", Value::Time(Time::from_ms(ms.1))),
            ("dq_rate_estimator", Value::Bool(old)),
        ] {
            if options.get(name).is_none() {
                options.set(name, value);
            }
        }
        if old && !options.bool("dq_rate_estimator") {
            return Err(vec![OptionError {
                option: "dq_rate_estimator",
                message: "linux-3.14 has no other measure of delay: expected true".to_owned(),
            }]);
        }
        Ok(())
    },
    build: |options, context| {
        let params = Params::of(options, context.mtu);
        Box::new(Pie {
            packets: Packets::default(),
            limit: Limit::of(options.get("limit")),
            vars: Vars::new(&params),
            params,
            next_update: Time::NEVER,
            rng: context.rng,
        })
    },
};

/// Linux's packet scheduler clock: ticks of 64 ns.
#[inline]
const fn ticks(time: Time) -> u64 {
    time.0 >> 6
}

/// Ticks in a second.
const TICKS_PER_SECOND: u64 = 15_625_000;

/// Backlog, and bytes to count, for one estimate of the departure rate.
const ESTIMATE_BYTES: u64 = 16_384;

/// Parameters, shared by every queue of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Delay aimed at, ticks.
    target: u64,
    /// Time between two updates, before the timer's jiffies.
    tupdate: Time,
    /// Gain of the distance from the target, 16ths of 1/s.
    alpha: u64,
    /// Gain of the change of delay, 16ths of 1/s.
    beta: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    ecn: bool,
    /// Whether the probability is scaled by packet size.
    bytemode: bool,
    /// Whether the delay is backlog over estimated rate.
    estimate: bool,
    /// Linux before 2019.
    old: bool,
    /// Probability 1.
    one: u64,
    /// Given after a start or a calm time, ticks.
    burst: u64,
    /// Largest frame, bytes.
    mtu: u64,
}

impl Params {
    /// From the complete options of [`ENTRY`] and the largest frame in bytes.
    pub fn of(options: &Options, mtu: u32) -> Params {
        let old = options.word("version") == "linux-3.14";
        Params {
            target: ticks(options.time("target")),
            tupdate: options.time("tupdate"),
            alpha: options.int("alpha").unsigned_abs(),
            beta: options.int("beta").unsigned_abs(),
            ecn: options.bool("ecn"),
            bytemode: options.bool("bytemode"),
            estimate: options.bool("dq_rate_estimator"),
            old,
            one: if old {
                u64::from(u32::MAX)
            } else {
                u64::MAX >> 8
            },
            burst: ticks(Time::from_ms(if old { 100 } else { 150 })),
            mtu: u64::from(mtu.max(1)),
        }
    }

    /// When the update after one at this time is due. In Linux a timer set for
    /// n jiffies fires in the tick after them (`calc_index`), 16 ms after the
    /// last one for 15; the timers of 2014 fired in the tick itself.
    #[inline]
    pub fn after(&self, now: Time) -> Time {
        if self.old {
            now + self.tupdate
        } else {
            wheel::fires(now, now + self.tupdate)
        }
    }

    /// Whether a packet that is to be hit may be marked: RFC 8033 section 5.1
    /// stops marking above 10 %.
    #[inline]
    pub fn marks(&self, vars: &Vars, packet: &Packet) -> bool {
        self.ecn && vars.prob <= self.one / 10 && packet.ecn.is_capable()
    }
}

/// State of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Vars {
    /// Queueing delay, ticks.
    qdelay: u64,
    /// The same one update earlier, ticks.
    qdelay_old: u64,
    /// What is left of the burst allowance, ticks.
    burst: u64,
    /// Drop probability, [`Params::one`] is 1.
    prob: u64,
    /// Probabilities summed since the last drop.
    accu_prob: u64,
    /// Last dequeue, or the start of the estimate of the rate, ticks.
    dq_tstamp: Option<u64>,
    /// Bytes dequeued in this estimate; `None` while there is none.
    dq_count: Option<u64>,
    /// Departure rate, bytes per 256 ticks; 0: not known.
    avg_dq_rate: u64,
}

impl Vars {
    /// At the start.
    pub fn new(p: &Params) -> Vars {
        Vars {
            qdelay: 0,
            qdelay_old: 0,
            burst: p.burst,
            prob: 0,
            accu_prob: 0,
            dq_tstamp: None,
            dq_count: None,
            avg_dq_rate: 0,
        }
    }

    /// RFC 8033 section 4.1: whether a packet of `len` bytes that finds
    /// `backlog` bytes is to be dropped or marked.
    #[inline]
    pub fn drop_early(&mut self, p: &Params, backlog: u64, len: u64, rng: &mut Stream) -> bool {
        if self.burst > 0
            || (self.qdelay < p.target / 2 && self.prob < p.one / 5)
            || backlog < 2 * p.mtu
        {
            return false;
        }
        let prob = if p.bytemode && len <= p.mtu {
            (self.prob / p.mtu).wrapping_mul(len)
        } else {
            self.prob
        };
        if p.old {
            return rng.bits() >> 32 < prob;
        }
        // RFC 8033 section 5.4: no drop before the sum has reached 0.85, none
        // later than 8.5.
        self.accu_prob = match prob {
            0 => 0,
            prob => self.accu_prob.wrapping_add(prob),
        };
        if self.accu_prob < p.one / 100 * 85 {
            return false;
        }
        if self.accu_prob >= p.one / 2 * 17 {
            return true;
        }
        let hit = rng.bits() >> 8 < prob;
        if hit {
            self.accu_prob = 0;
        }
        hit
    }

    /// A packet was dropped, for whatever reason.
    #[inline]
    pub fn dropped(&mut self) {
        self.accu_prob = 0;
    }

    /// Measures the delay by a packet that leaves `backlog` bytes behind.
    #[inline]
    pub fn dequeued(&mut self, p: &Params, packet: &Packet, backlog: u64, time: Time) {
        let now = ticks(time);
        let elapsed = if p.estimate {
            match self.estimate(packet, backlog, now) {
                Some(elapsed) => elapsed,
                None => return,
            }
        } else {
            self.qdelay = match backlog {
                0 => 0,
                _ => now.saturating_sub(ticks(packet.stamp)),
            };
            let before = self.dq_tstamp.replace(now);
            before.map_or(0, |before| u64::from((now - before) as u32))
        };
        // RFC 8033 section 4.4.
        self.burst = self.burst.saturating_sub(elapsed);
    }

    /// RFC 8033 section 5.2: the departure rate, measured over 16 KiB while at
    /// least as much is queued. The time an estimate took, if one is complete.
    fn estimate(&mut self, packet: &Packet, backlog: u64, now: u64) -> Option<u64> {
        if backlog >= ESTIMATE_BYTES && self.dq_count.is_none() {
            self.dq_tstamp = Some(now);
            self.dq_count = Some(0);
        }
        let count = self.dq_count? + u64::from(packet.len);
        self.dq_count = Some(count);
        if count < ESTIMATE_BYTES {
            return None;
        }
        let elapsed = u64::from((now - self.dq_tstamp.unwrap_or(now)) as u32);
        let rate = (count << 8).checked_div(elapsed)?;
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => rate,
            avg => avg - (avg >> 3) + (rate >> 3),
        };
        if backlog < ESTIMATE_BYTES {
            self.dq_count = None;
        } else {
            self.dq_count = Some(0);
            self.dq_tstamp = Some(now);
        }
        Some(elapsed)
    }

    /// The gain per tick for an option in 16ths, by how large the probability is.
    #[inline]
    fn gain(&self, p: &Params, option: u64) -> i64 {
        let gain = option * (p.one / TICKS_PER_SECOND);
        let shift = if p.old {
            match self.prob {
                prob if prob < p.one / 100 => 7,
                prob if prob < p.one / 10 => 5,
                _ => 4,
            }
        } else {
            // RFC 8033 section 4.2, the table: a factor of 2 below 10 % and
            // of 4 more for each power of ten down to 10^-6.
            let mut shift = 4;
            if self.prob < p.one / 10 {
                shift += 1;
                let mut power = 100;
                while power <= 1_000_000 && self.prob < p.one / power {
                    shift += 2;
                    power *= 10;
                }
            }
            shift
        };
        (gain >> shift) as i64
    }

    /// RFC 8033 section 4.2: the update of the probability, each tupdate.
    pub fn update(&mut self, p: &Params, backlog: u64) {
        let (qdelay, qdelay_old) = if p.estimate {
            self.qdelay_old = self.qdelay;
            let delay = (backlog << 8).checked_div(self.avg_dq_rate).unwrap_or(0);
            (delay, self.qdelay_old)
        } else {
            (self.qdelay, self.qdelay_old)
        };
        // A delay of 0 with a backlog means a very small queue: no idle decay.
        let mut may_decay = qdelay != 0 || backlog == 0;

        let difference = |a: u64, b: u64| a.wrapping_sub(b) as i64;
        let mut delta = self
            .gain(p, p.alpha)
            .wrapping_mul(difference(qdelay, p.target))
            .wrapping_add(
                self.gain(p, p.beta)
                    .wrapping_mul(difference(qdelay, qdelay_old)),
            );
        if p.old {
            delta = i64::from(delta as i32);
        }
        // RFC 8033 section 5.5: steps of at most 2 % where it is above 10 %.
        let two_percent = (p.one / 50) as i64;
        if delta > two_percent && self.prob >= p.one / 10 {
            delta = (p.one / 100 * 2) as i64;
        }
        // Beyond RFC 8033: it rises fast while the delay is out of hand.
        if qdelay > ticks(Time::from_ms(250)) {
            delta = delta.wrapping_add(two_percent);
            if p.old {
                delta = i64::from(delta as i32);
            }
        }
        let before = self.prob;
        let mut prob = before.wrapping_add_signed(delta);
        if p.old {
            prob = u64::from(prob as u32);
        }
        if delta > 0 {
            if prob < before {
                prob = p.one;
                may_decay = false;
            }
        } else if prob > before {
            prob = 0;
        }
        if qdelay == 0 && qdelay_old == 0 && may_decay {
            prob = if p.old {
                u64::from((prob as u32).wrapping_mul(98) / 100)
            } else {
                prob - prob / 64
            };
        }
        self.prob = prob;
        self.qdelay = qdelay;

        let calm = qdelay < p.target / 2 && self.qdelay_old < p.target / 2;
        if calm && prob == 0 && (!p.estimate || self.avg_dq_rate > 0) {
            *self = Vars {
                qdelay: self.qdelay,
                qdelay_old: self.qdelay_old,
                ..Vars::new(p)
            };
        }
        if !p.estimate {
            self.qdelay_old = qdelay;
        }
    }

    /// Probability (1 is 1; see the head of the file) and delay in ns, for a time series.
    pub fn gauges(&self, p: &Params) -> [f64; 2] {
        [
            self.prob as f64 / p.one as f64,
            self.qdelay.saturating_mul(64) as f64,
        ]
    }
}

/// The discipline.
#[derive(Debug)]
pub struct Pie {
    packets: Packets,
    limit: Limit,
    params: Params,
    vars: Vars,
    /// When the probability is updated next.
    next_update: Time,
    rng: Stream,
}

impl Queue for Pie {
    #[inline]
    fn enqueue(&mut self, mut packet: Packet, now: Time, sink: &mut Sink) {
        let backlog = self.packets.bytes();
        if !self.packets.has_room(self.limit, packet.len) {
            self.vars.dropped();
            sink.drop(&packet, Cause::Overflow, now);
            return;
        }
        let len = u64::from(packet.len);
        if self
            .vars
            .drop_early(&self.params, backlog, len, &mut self.rng)
        {
            if !self.params.marks(&self.vars, &packet) {
                self.vars.dropped();
                sink.drop(&packet, Cause::Aqm, now);
                return;
            }
            sink.mark(&mut packet, Cause::Mark, now);
        }
        self.packets.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _sink: &mut Sink) -> Dequeue {
        let Some(packet) = self.packets.pop() else {
            return Dequeue::Empty;
        };
        let left = self.packets.bytes();
        self.vars.dequeued(&self.params, &packet, left, now);
        Dequeue::Packet(packet)
    }

    fn timer(&mut self, now: Time, _sink: &mut Sink) -> Option<Time> {
        if self.next_update == Time::NEVER {
            self.next_update = self.params.after(now);
        } else if now >= self.next_update {
            self.vars.update(&self.params, self.packets.bytes());
            self.next_update = self.params.after(now);
        }
        Some(self.next_update)
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }

    fn gauges(&self, _now: Time, out: &mut Vec<f64>) {
        out.extend(self.vars.gauges(&self.params));
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        &["pie_probability", "pie_qdelay_ns"]
    }
}

#[cfg(test)]
mod tests;
