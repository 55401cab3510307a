//! The window as a function of time (RFC 9438 section 4), in Linux's fixed-point arithmetic.

use crate::units::Time;

/// Binary logarithm of the number of ticks per second in the cubic function, which is 2^10.
const BICTCP_HZ: u32 = 10;
/// C in units of 1/1024 segments/s^3.
const CUBE_RTT_SCALE: u64 = 410;
pub(super) const HZ: u64 = 1000;
pub(in crate::cc) fn jiffies(time: Time) -> u64 {
    time.ns() / (1_000_000_000 / HZ)
}

/// Linux's table of approximate cube roots. The index consists of the leading binary digits of a
/// number (8 to 63). The errors of this table affect the result of [`cubic_root`].
#[rustfmt::skip]
const ROOTS: [u8; 56] = [
    123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
    176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206,
    209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229, 231, 232,
    234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// Returns the cube root as Linux computes it, by an approximation and one Newton step. The error
/// is at most 0.2 %.
pub(super) fn cubic_root(a: u64) -> u64 {
    let digits = u64::BITS - a.leading_zeros();
    if digits < 7 {
        // For such small numbers, find the nearest integer. The nearest integer is the first root
        // with (root + 1/2)^3 > a. The code multiplies both sides of this inequality by 8.
        return (0..4)
            .find(|root| (2 * root + 1_u64).pow(3) > 8 * a)
            .unwrap_or(4);
    }
    // Shift by a third of the number of binary digits of `a`, minus the digits that the table
    // covers.
    let shift = ((digits * 84) >> 8) - 1;
    let leading = (a >> (3 * shift)) as usize;
    let x = ((u64::from(ROOTS[leading - 8]) + 10) << shift) >> 6;
    // Compute (2 x + a / x^2) / 3. Round both divisions as Linux does.
    let sum = 2 * x + a / (x * (x - 1));
    (sum * 341) >> 10
}

/// Returns C t^3 in segments (RFC 9438 figure 1). `t` is in 1/1024 s.
pub(in crate::cc) fn rise(t: u64) -> u32 {
    let t = u128::from(t);
    let rise = (u128::from(CUBE_RTT_SCALE) * t * t * t) >> (10 + 3 * BICTCP_HZ);
    u32::try_from(rise).unwrap_or(u32::MAX)
}

/// Converts jiffies to the unit of the cubic function, 1/1024 s.
pub(in crate::cc) fn ticks(jiffies: u64) -> u64 {
    (jiffies << BICTCP_HZ) / HZ
}

/// Converts the unit of the cubic function, 1/1024 s, to jiffies.
pub(in crate::cc) fn jiffies_of(ticks: u64) -> u64 {
    (ticks * HZ) >> BICTCP_HZ
}

/// The curve, with the values from which it is computed.
#[derive(Debug, Default)]
pub(in crate::cc) struct Epoch {
    /// How many segments must be acknowledged before the window grows by one segment.
    pub(super) cnt: u32,
    /// W_max, in segments: the window before the last reduction. Fast convergence may lower this
    /// value. W_max is 0 before the first reduction.
    pub(super) last_max_cwnd: u32,
    pub(super) last_cwnd: u32,
    pub(super) last_time: u64,
    /// Window at the inflection point of the curve, in segments.
    pub(in crate::cc) origin: u32,
    /// Time from the start of the epoch to the inflection point, 1/1024 s.
    pub(in crate::cc) k: u64,
    /// Smallest RTT since the last timeout, in us. The value is 0 before the first RTT sample.
    pub(super) delay_min: u32,
    /// When growth began after the last reduction, in jiffies.
    pub(in crate::cc) start: Option<u64>,
    /// Acknowledged data that has not yet been added to `w_est`. The unit is a segment, or a byte
    /// for CUBIC-SCE.
    pub(in crate::cc) ack_cnt: i64,
    /// The window that Reno would have now, in segments.
    pub(super) w_est: u32,
    /// Whether HyStart has ended slow start.
    pub(super) found: bool,
}

pub(super) struct Friendly {
    pub on: bool,
    pub alpha_one: bool,
    pub scale: u32,
    pub cwnd_prior: u32,
    /// By how much an acknowledged segment increases `ack_cnt`.
    pub unit: i64,
}

impl Epoch {
    pub(super) fn update(&mut self, cubic: &Friendly, now: u64, cwnd: u32, acked: u32) {
        self.ack_cnt += i64::from(acked) * cubic.unit;
        if self.last_cwnd == cwnd && now - self.last_time <= HZ / 32 {
            return;
        }
        // The value of the curve changes with the clock, at most once per jiffy. The Reno-friendly
        // window changes with each ACK.
        if self.start.is_none() || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.cnt = self.cubic(now, cwnd, i64::from(acked) * cubic.unit);
        }
        if cubic.on {
            self.friendly(cubic, cwnd);
        }
        // RFC 9438 section 4.2: the window grows at most by a factor of 1.5 per RTT.
        self.cnt = self.cnt.max(2);
    }

    /// Returns the value of `cnt` with which the window follows the curve (RFC 9438 sections 4.2,
    /// 4.4 and 4.5).
    pub(super) fn cubic(&mut self, now: u64, cwnd: u32, acked: i64) -> u32 {
        let start = match self.start {
            Some(start) => start,
            None => {
                self.start = Some(now);
                self.ack_cnt = acked;
                self.w_est = cwnd;
                // RFC 9438 figure 2: K = cbrt((W_max - cwnd_epoch) / C).
                let below = u64::from(self.last_max_cwnd.saturating_sub(cwnd));
                self.origin = self.last_max_cwnd.max(cwnd);
                self.k = cubic_root((1 << (10 + 3 * BICTCP_HZ)) / CUBE_RTT_SCALE * below);
                now
            }
        };
        // Evaluate the curve one RTT ahead. `now - start` is never negative, because idle times
        // never move `start` beyond the present.
        let rtt = u64::from(self.delay_min).div_ceil(1_000_000 / HZ);
        let t = ticks(now - start + rtt);
        // RFC 9438 figure 1: W_cubic(t) = C (t - K)^3 + W_max.
        let delta = rise(t.abs_diff(self.k));
        let target = if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        let cnt = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            cwnd.saturating_mul(100)
        };
        // The bandwidth is not known yet, so grow by at least 5 % per RTT.
        if self.last_max_cwnd == 0 {
            cnt.min(20)
        } else {
            cnt
        }
    }

    /// Lowers `cnt` if Reno would have a larger window (RFC 9438 section 4.3).
    fn friendly(&mut self, friendly: &Friendly, cwnd: u32) {
        let scale = i64::from(friendly.scale) * friendly.unit;
        let per_segment = ((i64::from(cwnd) * scale) >> 3).max(1);
        let mut room = i64::MAX;
        if friendly.alpha_one {
            room = i64::from(friendly.cwnd_prior.saturating_sub(self.w_est));
        }
        self.count(per_segment, room);
        if friendly.alpha_one && self.w_est >= friendly.cwnd_prior {
            self.count(i64::from(cwnd.max(1)) * friendly.unit, i64::MAX);
        }
        if self.w_est > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.w_est - cwnd));
        }
    }

    /// For each `per_segment` in `ack_cnt`, increases `w_est` by one, but by at most `room` in
    /// total. Each time, subtracts `per_segment` from `ack_cnt`. As in Linux, `ack_cnt` must exceed
    /// `per_segment`. It is not enough that `ack_cnt` equals `per_segment`.
    fn count(&mut self, per_segment: i64, room: i64) {
        let grown = ((self.ack_cnt - 1).max(0) / per_segment).min(room);
        self.ack_cnt -= grown * per_segment;
        self.w_est = self.w_est.saturating_add(grown as u32);
    }
}
