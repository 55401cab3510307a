//! The token bucket of a shaper. The bucket limits how many bytes may leave at once after the link
//! was idle.
//!
//! The bucket follows Linux 7.3 `sch_htb` without hysteresis. The bucket models one htb class whose
//! rate equals its ceiling. For such a class, `burst` and `cburst` are the same bucket. A token is
//! the right to transmit for one nanosecond at the rate. A packet may leave if the number of tokens
//! is not negative (`htb_class_mode`). The packet then consumes as many tokens as its transmission
//! takes nanoseconds. Idle time adds tokens up to the depth of the bucket (`htb_accnt_tokens`). So
//! after an idle time, up to `burst` / (packet length) + 1 packets leave at once. With a depth of
//! 0, each packet waits until the previous packet's transmission time has passed.
//!
//! If the rate changes while a packet waits for tokens, the bucket gains tokens at the new rate.
//! htb differs: it keeps the departure time that it has computed at the old rate. While the rate of
//! a link is 0, its bucket gains tokens, like the bucket of an idle link. Linux htb does not
//! support a rate of 0.

use crate::plan::RatePlan;
use crate::rate::{Cursor, steps_end, steps_end_bits};
use crate::units::{Bytes, Rate, Time};

/// Returns the burst that tc (`q_htb.c`) computes for a class without a configured burst. This
/// burst is 1600 bytes plus the rate divided by the kernel's timer frequency. With high-resolution
/// timers, `/proc/net/psched` reports a frequency of 1 GHz. If the rate is then below 8 Gbit/s, the
/// quotient is less than one byte, so tc adds nothing.
pub fn tc_burst(rate: Rate) -> Bytes {
    const MTU: u64 = 1_600;
    const HZ: u64 = 1_000_000_000;
    Bytes(rate.0 / 8 / HZ + MTU)
}

/// The largest burst, which tc stores in 32 bits.
pub const MOST_BURST: Bytes = Bytes(u32::MAX as u64);

/// The longest idle time for which tokens are added (htb's `mbuffer`).
pub const MOST_GATHERED: Time = Time::from_secs(60);

#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    burst: Bytes,
    /// Tokens, ns.
    tokens: i64,
    /// The time up to which tokens have been added. This time is in the future while the number of
    /// tokens is negative.
    at: Time,
    /// Index of the step that the rate has reached, if the rate changes in steps.
    step: Cursor,
    /// When the last packet left, and how many tokens were missing at that time (in bit/s x ns).
    /// The bucket stores these values because a rate change changes how long the missing tokens
    /// take to accrue.
    owed: (Time, u128),
}

impl Bucket {
    /// Creates a full bucket.
    pub fn new(burst: Bytes) -> Bucket {
        Bucket {
            burst,
            tokens: MOST_GATHERED.0 as i64,
            at: Time::ZERO,
            step: Cursor::default(),
            owed: (Time::ZERO, 0),
        }
    }

    /// Records a packet that left at `since` but was not passed to [`Bucket::take`].
    pub fn note(&mut self, since: Time, len: u32) {
        self.owed = (since, bits(len));
    }

    /// Computes the waiting time again after the steps of the rate have changed. Returns when the
    /// next packet may leave, or `None` if no tokens are missing.
    pub fn again(&mut self, steps: &[(Time, Rate)]) -> Option<Time> {
        let (since, owed) = self.owed;
        if owed == 0 {
            return None;
        }
        let step = steps.partition_point(|step| step.0 <= since);
        let until = steps_end_bits(steps, step.saturating_sub(1), since, owed);
        if self.burst.0 > 0 {
            self.at = until;
        }
        Some(until)
    }

    /// Takes the tokens for a packet of `len` bytes that leaves now. With `link = "wire"`, the
    /// packet begins to leave now. Returns when the next packet may leave.
    #[inline(never)]
    pub fn take(&mut self, rate: &RatePlan, now: Time, len: u32) -> Time {
        let (step, current) = match rate {
            RatePlan::Steps(steps) => {
                let step = self.step.at(steps, now);
                (step, steps[step].1)
            }
            other => (0, other.nominal()),
        };
        if let (RatePlan::Steps(steps), 0) = (rate, self.burst.0) {
            self.owed = (now, bits(len));
            return steps_end(steps, step, now, len);
        }
        let gathered = now.since(self.at).min(MOST_GATHERED).0 as i64;
        let depth = depth(self.burst, current).0 as i64;
        let cost = current.time_for(u64::from(len)).0 as i64;
        let tokens = (self.tokens + gathered).min(depth) - cost;
        if tokens >= 0 {
            (self.tokens, self.at) = (tokens, now);
            self.owed = (now, 0);
            return now;
        }
        let missing = tokens.unsigned_abs();
        self.owed = (now, u128::from(missing) * u128::from(current.0));
        let until = match rate {
            RatePlan::Steps(steps) => {
                let missing = u128::from(missing) * u128::from(current.0);
                steps_end_bits(steps, step, now, missing)
            }
            RatePlan::Constant(_) | RatePlan::Trace(_) => now + Time(missing),
        };
        (self.tokens, self.at) = (0, until);
        until
    }
}

/// Returns how many tokens a frame consumes. The unit of tokens is bit/s x ns.
fn bits(len: u32) -> u128 {
    u128::from(len) * 8 * 1_000_000_000
}

/// Returns how long a burst takes at the rate, rounded to ticks of 64 ns as in tc. (Older versions
/// of tc count in whole microseconds.)
fn depth(burst: Bytes, rate: Rate) -> Time {
    const TICK: u64 = 64;
    let time = rate.time_for(burst.0).min(MOST_GATHERED);
    Time(time.0.div_ceil(TICK) * TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: RatePlan = RatePlan::Constant(Rate(10_000_000));

    /// Returns how many packets leave at once if the bucket is full, and how long the next packet
    /// waits after them.
    fn at_once(burst: u64, len: u32) -> (u32, Time) {
        let mut bucket = Bucket::new(Bytes(burst));
        let now = Time::from_secs(1);
        let mut packets = 0;
        loop {
            packets += 1;
            let next = bucket.take(&RATE, now, len);
            if next > now {
                return (packets, next - now);
            }
        }
    }

    #[test]
    fn a_packet_leaves_while_tokens_are_not_below_zero() {
        // At 10 Mbit/s the transmission of a packet of 1514 bytes takes 1211.2 us, and that of the
        // burst of 1600 bytes takes 1280 us.
        assert_eq!(at_once(0, 1_514), (1, Time(1_211_200)));
        assert_eq!(at_once(1_600, 1_514), (2, Time(2 * 1_211_200 - 1_280_000)));
        assert_eq!(at_once(1_513, 1_514).0, 1);
        // A packet may leave when exactly zero tokens are left.
        assert_eq!(at_once(1_600, 1_600), (2, Time(1_280_000)));
        assert_eq!(at_once(15_140, 1_514).0, 11);
    }

    #[test]
    fn tokens_come_at_the_rate_up_to_the_depth() {
        let mut bucket = Bucket::new(Bytes(1_600));
        let start = Time::from_secs(1);
        assert_eq!(bucket.take(&RATE, start, 1_514), start);
        // Tokens for 68.8 us are left. After another 100 us the bucket contains tokens for 168.8
        // us. The packet needs tokens for 1211.2 us, so tokens for 1042.4 us are missing.
        let later = start + Time(100_000);
        let next = bucket.take(&RATE, later, 1_514);
        assert_eq!(next, later + Time(1_211_200 - 168_800));
        // A minute later the bucket is full. The bucket never holds more tokens than its depth.
        let minute = next + Time::from_secs(60);
        assert_eq!(bucket.take(&RATE, minute, 1_514), minute);
        assert!(bucket.take(&RATE, minute, 1_514) > minute);
    }

    #[test]
    fn what_is_missing_is_paid_at_the_rates_to_come() {
        let steps = RatePlan::Steps(vec![
            (Time::ZERO, Rate(8_000_000)),
            (Time::from_ms(1), Rate(4_000_000)),
        ]);
        // At 1 B/us, the first 1000 bytes take 1 ms. At half the rate, the second 1000 bytes take 2
        // ms.
        let mut bucket = Bucket::new(Bytes(0));
        assert_eq!(bucket.take(&steps, Time::ZERO, 2_000), Time::from_ms(3));
    }

    #[test]
    fn tc_adds_the_rate_over_the_timers_frequency() {
        assert_eq!(tc_burst(Rate(10_000_000)), Bytes(1_600));
        assert_eq!(tc_burst(Rate(7_999_999_999)), Bytes(1_600));
        assert_eq!(tc_burst(Rate(100_000_000_000)), Bytes(1_612));
    }

    #[test]
    fn a_depth_is_counted_in_ticks() {
        assert_eq!(depth(Bytes(1_600), Rate(10_000_000)), Time(1_280_000));
        assert_eq!(depth(Bytes(1_600), Rate(48_000_000)), Time(266_688));
    }
}
