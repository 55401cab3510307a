//! PIE's controller, and the decision to drop or mark a packet. `pie` and `fq_pie` share this code.
//! pie.rs lists the sources and deviations.

use crate::packet::Packet;
use crate::registry::{Options, Value};
use crate::rng::Stream;
use crate::units::Time;
use crate::wheel;

/// Converts a time to ticks of Linux's packet scheduler clock, which are 64 ns long.
#[inline]
pub(super) const fn ticks(time: Time) -> u64 {
    time.0 >> 6
}

const TICKS_PER_SECOND: u64 = 15_625_000;

/// The departure rate is measured while at least this many bytes are queued. Each measurement lasts
/// until the same number of bytes has left.
const ESTIMATE_BYTES: u64 = 16_384;

/// Parameters that all queues of a discipline share.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    pub(super) target: u64,
    /// The time between two updates. This time is not yet rounded to the jiffies of the timer.
    pub(super) tupdate: Time,
    /// The gain for the difference between the delay and the target, in units of 1/16 Hz.
    pub(super) alpha: u64,
    /// The gain for the change of the delay, in units of 1/16 Hz.
    pub(super) beta: u64,
    pub(super) ecn: bool,
    pub(super) bytemode: bool,
    /// Whether the delay is computed as the backlog divided by the estimated departure rate.
    pub(super) estimate: bool,
    /// Whether PIE behaves as in Linux before 2019.
    pub(super) old: bool,
    /// The integer that represents a probability of 1.
    pub(super) one: u64,
    /// Above this probability, packets are dropped even if they are ECN-capable.
    mark_at_most: u64,
    /// The burst allowance at the start and after a period without congestion, in ticks.
    pub(super) burst: u64,
    pub(super) mtu: u64,
}

impl Params {
    /// Reads the complete options of `pie` or `fq_pie`. `mtu` is the length of the largest frame,
    /// in bytes.
    pub fn of(options: &Options, mtu: u32) -> Params {
        let old = matches!(options.get("version"), Some(Value::Word("linux-3.14")));
        let one = if old {
            u64::from(u32::MAX)
        } else {
            u64::MAX >> 8
        };
        Params {
            target: ticks(options.time("target")),
            tupdate: options.time("tupdate"),
            alpha: options.int("alpha").unsigned_abs(),
            beta: options.int("beta").unsigned_abs(),
            ecn: options.bool("ecn"),
            bytemode: options.bool("bytemode"),
            estimate: options.bool("dq_rate_estimator"),
            old,
            one,
            mark_at_most: match options.get("ecn_prob") {
                Some(Value::Int(percent)) => one / 100 * percent.unsigned_abs(),
                _ => one / 10,
            },
            burst: ticks(Time::from_ms(if old { 100 } else { 150 })),
            mtu: u64::from(mtu.max(1)),
        }
    }

    /// Returns the time of the update that follows the update at `now`. In Linux, a timer of n
    /// jiffies fires after n + 1 jiffies (`calc_index`). For example, a timer of 15 ms fires after
    /// 16 ms. In the Linux of 2014, a timer fired after n jiffies.
    #[inline]
    pub fn after(&self, now: Time) -> Time {
        if self.old {
            now + self.tupdate
        } else {
            wheel::fires(now, now + self.tupdate)
        }
    }

    /// Returns whether a packet may be marked instead of dropped. If the probability is above 10 %
    /// (RFC 8033 section 5.1), packets are dropped instead of marked. In FQ-PIE, this limit is
    /// `ecn_prob`.
    #[inline]
    pub fn marks(&self, vars: &Vars, packet: &Packet) -> bool {
        self.ecn && vars.prob <= self.mark_at_most && packet.ecn.is_capable()
    }
}

/// The state of PIE for one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vars {
    pub(super) qdelay: u64,
    /// The queueing delay at the previous update, in ticks.
    pub(super) qdelay_old: u64,
    pub(super) burst: u64,
    /// The drop probability. [`Params::one`] represents a probability of 1.
    pub(super) prob: u64,
    /// The sum of the probabilities since the last drop.
    pub(super) accu_prob: u64,
    /// When a packet was last dequeued, in ticks. With `estimate`, the value is the time at which
    /// the current measurement of the departure rate began.
    pub(super) dq_tstamp: Option<u64>,
    /// How many bytes have been dequeued during the current measurement of the departure rate.
    /// `None` if no measurement is in progress.
    pub(super) dq_count: Option<u64>,
    /// The departure rate, in bytes per 256 ticks. The value is 0 while the rate is unknown.
    pub(super) avg_dq_rate: u64,
}

impl Vars {
    /// Returns the initial state.
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

    /// Returns the initial state, but with the drop probability `prob` (0 to 1).
    #[cfg(test)]
    pub fn with_probability(p: &Params, prob: f64) -> Vars {
        Vars {
            prob: (prob * p.one as f64) as u64,
            ..Vars::new(p)
        }
    }

    /// RFC 8033 section 4.1: a packet of `len` bytes arrives when `backlog` bytes are queued.
    /// Returns whether to drop or mark this packet.
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
        // RFC 8033 section 5.4: no packet is dropped before the sum of probabilities reaches 0.85.
        // Once the sum has reached 8.5, the packet is always dropped.
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

    /// Records that a packet was dropped for any reason.
    #[inline]
    pub fn dropped(&mut self) {
        self.accu_prob = 0;
    }

    /// Updates the delay when a packet leaves. `backlog` bytes stay queued.
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
        // RFC 8033 section 4.4: the elapsed time reduces the burst allowance.
        self.burst = self.burst.saturating_sub(elapsed);
    }

    /// RFC 8033 section 5.2: estimates the departure rate over 16 KiB, while at least 16 KiB are
    /// queued. If a measurement is now complete, returns how long it took, in ticks.
    pub(super) fn estimate(&mut self, packet: &Packet, backlog: u64, now: u64) -> Option<u64> {
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

    /// Returns the gain per tick for an option that is in units of 1/16 Hz. The gain depends on the
    /// current probability.
    #[inline]
    pub(super) fn gain(&self, p: &Params, option: u64) -> i64 {
        let gain = option * (p.one / TICKS_PER_SECOND);
        let shift = if p.old {
            match self.prob {
                prob if prob < p.one / 100 => 7,
                prob if prob < p.one / 10 => 5,
                _ => 4,
            }
        } else {
            // The table in RFC 8033 section 4.2: if the probability is below 10 %, the gain is
            // divided by 2. For each power of ten below 10 %, down to 10^-6, the gain is divided by
            // another factor of 4.
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

    /// RFC 8033 section 4.2: updates the probability once per tupdate.
    pub fn update(&mut self, p: &Params, backlog: u64) {
        let (qdelay, qdelay_old) = if p.estimate {
            self.qdelay_old = self.qdelay;
            let delay = (backlog << 8).checked_div(self.avg_dq_rate).unwrap_or(0);
            (delay, self.qdelay_old)
        } else {
            (self.qdelay, self.qdelay_old)
        };
        // The delay may be 0 although packets are queued. The queue is then short but not empty, so
        // the probability must not decay.
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
        // RFC 8033 section 5.5: if the probability is at least 10 %, an update raises it by at most
        // 2 %.
        let two_percent = (p.one / 50) as i64;
        if delta > two_percent && self.prob >= p.one / 10 {
            delta = (p.one / 100 * 2) as i64;
        }
        // While the delay is very large, the probability rises fast. RFC 8033 does not contain this
        // rule.
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

    /// Returns two values for the time series: the probability (0 to 1, or above 1; see pie.rs) and
    /// the delay in ns.
    pub fn gauges(&self, p: &Params) -> [f64; 2] {
        [
            self.prob as f64 / p.one as f64,
            self.qdelay.saturating_mul(64) as f64,
        ]
    }
}
