//! Cobalt combines CoDel and BLUE. Each queue has its own state.
//!
//! In Cobalt's CoDel, one timer, `drop_next`, both increases and decreases the count. In RFC 8289,
//! this timer never decreases the count. While the sojourn time is above the target, the time
//! between two signals (drops or marks) is interval/sqrt(count). While the sojourn time is below
//! the target, the same timer decreases the count. BLUE drops with a probability. Overflows
//! increase this probability, and each dequeue that finds the queue empty decreases it.

use tailback_record::Cause;

use crate::rng::Stream;

/// By how much an overflow increases BLUE's probability, in units of 2^-32 (1/256).
const P_INC: u32 = 1 << 24;
/// By how much a dequeue from an empty queue decreases BLUE's probability, in units of 2^-32
/// (1/4096).
const P_DEC: u32 = 1 << 20;

/// 1/sqrt(count) in units of 2^-32 for counts below 16. For these counts one Newton step is
/// inaccurate. For the counts 0 and 1, the table contains the largest 32-bit fraction below 1.
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

/// When Cobalt gives the first signal (mark or drop) after the sojourn time has risen above the
/// target. This setting applies if the sojourn time has not been above the target for a long time,
/// or never before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// As in Linux, 1/sqrt(count) begins at 0, and a timer in the past is set to the current time.
    /// As a result, Cobalt marks the second packet that is above the target.
    Linux,
    /// The first signal follows one interval later, as CoDel's authors intend.
    Interval,
}

/// Cobalt's parameters, which all queues of a tin share.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Acceptable sojourn time, in ns. Also the shortest time between two changes of BLUE's
    /// probability.
    pub target: i64,
    /// Time between the first two signals, in ns.
    pub interval: i64,
    /// Transmission time of the largest packet, in ns.
    pub mtu_time: i64,
    pub fresh: Fresh,
}

#[derive(Clone, Copy, Debug)]
pub struct Cobalt {
    /// The count. The count grows by one with each signal (drop or mark). While the sojourn time is
    /// below the target, the count falls by one each time the timer expires.
    pub(super) count: u32,
    /// 1/sqrt(count) in units of 2^-32.
    pub(super) rec_inv_sqrt: u32,
    /// When the next signal or the next decrease of the count is due, in ns.
    pub(super) drop_next: i64,
    /// When BLUE's probability last changed, in ns.
    blue_timer: i64,
    /// The probability with which BLUE drops, in units of 2^-32.
    p_drop: u32,
    /// Whether the sojourn time is above the target.
    dropping: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub mark: bool,
    /// Why Cobalt wants to drop the packet, or `None`. If the packet is the only one in its queue,
    /// Cake nevertheless delivers it.
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

    /// Returns when the next signal after `time` is due. As in Linux, only the low 32 bits of the
    /// interval are scaled (up to 4.29 s).
    #[inline]
    fn after(&self, time: i64, interval: i64) -> i64 {
        let low = interval as u64 & u64::from(u32::MAX);
        time + ((low * u64::from(self.rec_inv_sqrt)) >> 32) as i64
    }

    /// Records that a packet of this queue was dropped because Cake's limit was exceeded.
    pub fn queue_full(&mut self, p: &Params, now: i64) {
        if now - self.blue_timer > p.target {
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Records that this queue was served and was empty.
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

    /// Decides whether to mark or drop the packet at the head. `sojourn` is the packet's sojourn
    /// time in ns. `capable` is true if the packet can be marked. With `ingress`, `bulk_flows` is
    /// the number of the tin's bulk queues. Without `ingress`, `bulk_flows` is 0.
    #[inline(always)] // inline, because Cake calls it for every packet
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
        // As in Linux, compare the current time with the old value of the timer, even if the code
        // below changes the timer.
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
        // BLUE also drops ECN-capable packets, because it is intended for flows that do not respond
        // to marks.
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
