//! Cobalt: CoDel and BLUE in combination, with separate state for each queue.
//!
//! Cobalt's CoDel differs from RFC 8289 because one timer, `drop_next`, both increases and
//! decreases the count. Above the target, signals (drops or marks) are interval/sqrt(count) apart.
//! Below the target, the same timer decreases the count. BLUE drops with a probability that grows
//! with overflows and shrinks when a dequeue finds the queue empty.

use tailback_record::Cause;

use crate::rng::Stream;

/// BLUE: probability added by an overflow, in units of 2^-32 (1/256).
const P_INC: u32 = 1 << 24;
/// BLUE: probability subtracted when a dequeue finds the queue empty, in units of 2^-32 (1/4096).
const P_DEC: u32 = 1 << 20;

/// 1/sqrt(count) in units of 2^-32 for counts below 16. For these counts one Newton step is
/// inaccurate. For counts of 0 and 1, the table has the largest 32-bit fraction below 1.
const INVERSE_ROOTS: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// When the first signal (mark or drop) comes after the sojourn time has risen above the target.
/// This setting applies if the sojourn time was never above the target before, or not for a long
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// As in Linux, the initial 1/sqrt(count) is 0, and a timer in the past is set to the current
    /// time. So Cobalt marks the second packet above the target.
    Linux,
    /// The first signal comes one interval later, as CoDel's authors intend.
    Interval,
}

/// Parameters of a tin.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Acceptable sojourn time, ns. BLUE's probability changes at most once per target time.
    pub target: i64,
    /// Time between the first two signals, ns.
    pub interval: i64,
    /// Serialisation time of the largest packet, ns.
    pub mtu_time: i64,
    pub fresh: Fresh,
}

#[derive(Clone, Copy, Debug)]
pub struct Cobalt {
    /// Grows by one with each signal, and falls by one each time the timer expires while the
    /// sojourn time is below the target.
    pub(super) count: u32,
    /// 1/sqrt(count) in units of 2^-32.
    pub(super) rec_inv_sqrt: u32,
    /// Time of the next signal or of the next decrease of the count, ns.
    pub(super) drop_next: i64,
    /// When BLUE's probability last changed, ns.
    blue_timer: i64,
    /// BLUE's drop probability in units of 2^-32.
    p_drop: u32,
    /// Whether the sojourn time is above the target.
    dropping: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub mark: bool,
    /// Cause for which Cobalt drops the packet. Nevertheless, Cake delivers the packet if it is the
    /// only packet in its queue.
    pub drop: Option<Cause>,
    /// Whether the sojourn time is above the target, as CoDel defines it.
    pub over: bool,
}

impl Cobalt {
    pub fn new(fresh: Fresh) -> Cobalt {
        Cobalt {
            count: 0,
            rec_inv_sqrt: match fresh {
                Fresh::Linux => 0,
                Fresh::Interval => u32::MAX,
            },
            drop_next: 0,
            blue_timer: i64::MIN / 2,
            p_drop: 0,
            dropping: false,
        }
    }

    pub(super) fn update_root(&mut self) {
        if let Some(&root) = INVERSE_ROOTS.get(self.count as usize) {
            self.rec_inv_sqrt = root;
            return;
        }
        // Make one Newton step of x <- x/2 (3 - count x^2), in 32-bit fractions.
        let x = u64::from(self.rec_inv_sqrt);
        let square = (x * x) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        self.rec_inv_sqrt = ((rest >> 2).wrapping_mul(x) >> 31) as u32;
    }

    /// Returns the time of the next signal after `time`. Like Linux, the computation scales only
    /// the low 32 bits of the interval (up to 4.29 s).
    #[inline]
    fn after(&self, time: i64, interval: i64) -> i64 {
        let low = interval as u64 & u64::from(u32::MAX);
        time + ((low * u64::from(self.rec_inv_sqrt)) >> 32) as i64
    }

    /// Records that a packet of this queue was dropped because the limit was exceeded.
    pub fn queue_full(&mut self, p: &Params, now: i64) {
        if now - self.blue_timer > p.target {
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Records that the queue was served and found empty.
    pub fn queue_empty(&mut self, p: &Params, now: i64) {
        if self.p_drop > 0 && now - self.blue_timer > p.target {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.update_root();
            self.drop_next = self.after(self.drop_next, p.interval);
        }
    }

    #[inline]
    pub fn remembers(&self, now: i64) -> bool {
        self.p_drop > 0 || self.count > 0 || now < self.drop_next
    }

    /// Decides whether to mark or drop the packet at the head. `sojourn` is its sojourn time in ns,
    /// and `capable` is true if the packet can be marked. With `ingress`, `bulk_flows` is the
    /// number of bulk queues of the tin. Otherwise, it is 0.
    #[inline]
    pub fn decide(
        &mut self,
        p: &Params,
        now: i64,
        sojourn: i64,
        capable: bool,
        bulk_flows: u32,
        rng: &mut Stream,
    ) -> Verdict {
        let over = sojourn > p.target
            && sojourn > p.mtu_time * i64::from(bulk_flows) * 2
            && sojourn > p.mtu_time * 4;
        // As in Linux, compare the time with the old value of the timer, even if the code below
        // changes the timer.
        let mut late = now > self.drop_next;
        let mut due = self.count > 0 && now >= self.drop_next;
        let mut verdict = Verdict {
            mark: false,
            drop: None,
            over,
        };
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.after(now, p.interval);
                late &= p.fresh == Fresh::Linux;
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if due && self.dropping {
            verdict.mark = capable;
            if !capable {
                verdict.drop = Some(Cause::Aqm);
            }
            self.count = self.count.saturating_add(1);
            self.update_root();
            self.drop_next = self.after(self.drop_next, p.interval);
            late = now > self.drop_next;
        } else {
            while due {
                self.count -= 1;
                self.update_root();
                self.drop_next = self.after(self.drop_next, p.interval);
                late = now > self.drop_next;
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        // BLUE drops even ECN-capable packets, because it is meant for flows that do not respond to
        // marks.
        if self.p_drop > 0 && verdict.drop.is_none() && ((rng.bits() >> 32) as u32) < self.p_drop {
            verdict.drop = Some(Cause::Blue);
        }
        if self.count == 0 {
            self.drop_next = now + p.interval;
        } else if late && verdict.drop.is_none() {
            self.drop_next = now;
        }
        verdict
    }

    /// Returns `count` and BLUE's probability, for a time series.
    pub fn gauges(&self) -> [f64; 2] {
        [
            f64::from(self.count),
            f64::from(self.p_drop) / 4_294_967_296.0,
        ]
    }
}
