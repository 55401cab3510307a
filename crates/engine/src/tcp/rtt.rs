//! The round-trip time and the retransmission timeout. The timeout doubles each time it expires
//! (backoff).
//!
//! The computation follows Linux 7.3 `tcp_rtt_estimator` and `__tcp_set_rto` (RFC 6298 with Linux's
//! asymmetric mean deviation). As in Linux, srtt is in units of 1/8 us and mdev in units of 1/4 us.
//! The timeout is rounded up to jiffies of 1 ms. Deviation: the minimum RTT is the minimum over the
//! whole connection, whereas Linux uses a window of 300 s.

use crate::units::Time;

/// Upper limit of the timeout (Linux `TCP_RTO_MAX`).
pub const MAX_RTO: Time = Time::from_secs(120);
/// Timeout before the first sample (RFC 6298 section 2.1).
pub const INITIAL_RTO: Time = Time::from_secs(1);

/// Estimates the RTT, and computes the retransmission timeout from it.
#[derive(Clone, Debug)]
pub struct Rtt {
    /// Smoothed RTT, in units of 1/8 us. This value is 0 before the first sample.
    pub(super) srtt_us: u32,
    /// Mean deviation, in units of 1/4 us.
    mdev_us: u32,
    mdev_max_us: u32,
    /// The difference between the retransmission timeout and srtt, in us.
    rttvar_us: u32,
    /// The current round ends when this segment is acknowledged.
    round_end: u64,
    /// Lower limit of `rttvar_us`, in us.
    min_rto_us: u32,
    rto: Time,
    /// How many times the timeout has doubled since the last sample.
    backoff: u32,
    /// The smoothed RTT that earlier connections have stored, in units of 1/8 us. This value is
    /// used when the connection is established. 0 means that no RTT is stored.
    pub(super) remembered_us: u32,
}

impl Rtt {
    /// Creates an estimator without samples.
    pub fn new(min_rto: Time) -> Rtt {
        Rtt {
            srtt_us: 0,
            mdev_us: 0,
            mdev_max_us: 0,
            rttvar_us: 0,
            round_end: 0,
            min_rto_us: (min_rto.ns() / 1000).min(120_000_000) as u32,
            rto: INITIAL_RTO,
            backoff: 0,
            remembered_us: 0,
        }
    }

    /// Adds a sample. `snd_una` and `snd_nxt` determine when a round ends.
    pub fn sample(&mut self, rtt: Time, snd_una: u64, snd_nxt: u64) {
        let measured = (rtt.ns() / 1000).clamp(1, 1 << 28) as i64;
        let mut srtt = i64::from(self.srtt_us);
        if srtt != 0 {
            let mut error = measured - (srtt >> 3);
            srtt += error;
            if error < 0 {
                error = -error - i64::from(self.mdev_us >> 2);
                // A sample far below srtt has only an eighth of the usual weight. Otherwise, a
                // falling RTT would increase the deviation and therefore the timeout (Sarolahti and
                // Kuznetsov 2002).
                if error > 0 {
                    error >>= 3;
                }
            } else {
                error -= i64::from(self.mdev_us >> 2);
            }
            self.mdev_us = (i64::from(self.mdev_us) + error) as u32;
            if self.mdev_us > self.mdev_max_us {
                self.mdev_max_us = self.mdev_us;
                self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
            }
            if snd_una > self.round_end {
                if self.mdev_max_us < self.rttvar_us {
                    self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
                }
                self.round_end = snd_nxt;
                self.mdev_max_us = self.min_rto_us;
            }
        } else {
            srtt = measured << 3;
            self.mdev_us = (measured << 1) as u32;
            self.rttvar_us = self.mdev_us.max(self.min_rto_us);
            self.mdev_max_us = self.rttvar_us;
            self.round_end = snd_nxt;
        }
        self.srtt_us = srtt.max(1) as u32;
        let jiffies = ((self.srtt_us >> 3) + self.rttvar_us).div_ceil(1000);
        self.rto = Time::from_ms(u64::from(jiffies)).min(MAX_RTO);
        self.backoff = 0;
    }

    /// Returns the smoothed RTT, or zero before the first sample.
    pub fn srtt(&self) -> Time {
        Time::from_us(u64::from(self.srtt_us) >> 3)
    }

    /// Returns the smoothed RTT in units of 1/8 us, as Linux stores it. The result is 0 before the
    /// first sample.
    pub fn srtt_x8_us(&self) -> u32 {
        self.srtt_us
    }

    /// Records the smoothed RTT that earlier connections have stored, in units of 1/8 us.
    pub fn remember(&mut self, srtt_us: u32) {
        self.remembered_us = srtt_us;
    }

    /// Computes the timeout from a stored RTT, which is in units of 1/8 us (Linux
    /// `tcp_init_metrics`).
    pub(super) fn time_out_after(&mut self, srtt_us: u32) {
        let jiffies = u64::from(srtt_us / 8000);
        let min_rto = u64::from(self.min_rto_us.div_ceil(1000));
        self.rto = Time::from_ms(jiffies + min_rto.max(2 * jiffies)).min(MAX_RTO);
    }

    /// Doubles the timeout after it has expired (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Returns how many times the timeout was doubled since the last sample.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Returns the current timeout, including its doublings.
    #[inline]
    pub fn timeout(&self) -> Time {
        if self.backoff == 0 {
            return self.rto;
        }
        Time(self.rto.ns().saturating_mul(1 << self.backoff.min(16))).min(MAX_RTO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sample_then_gain_of_an_eighth() {
        let mut rtt = Rtt::new(Time::from_ms(200));
        assert_eq!(rtt.timeout(), Time::from_secs(1));
        rtt.sample(Time::from_ms(80), 0, 10);
        assert_eq!(
            (rtt.srtt(), rtt.timeout()),
            (Time::from_ms(80), Time::from_ms(280))
        );
        rtt.sample(Time::from_ms(160), 1, 11);
        assert_eq!(rtt.srtt(), Time::from_ms(90));
        // mdev x 4 = 160 + (80 - 40) = 200 ms. This value does not exceed the minimum of 200 ms, so
        // the minimum applies.
        assert_eq!(rtt.timeout(), Time::from_ms(290));
        rtt.sample(Time::from_ms(400), 2, 12);
        // The sample is 310 ms above srtt, so srtt = 90 + 310/8 ms, and mdev x 4 = 200 + (310 - 50)
        // = 460 ms.
        assert_eq!(rtt.srtt(), Time::from_us(128_750));
        assert_eq!(rtt.timeout(), Time::from_ms(589), "588.75 ms in jiffies");
    }

    #[test]
    fn deviation_decays_to_the_floor() {
        let mut rtt = Rtt::new(Time::from_ms(200));
        rtt.sample(Time::from_ms(500), 0, 1);
        assert_eq!(rtt.timeout(), Time::from_ms(1500));
        for i in 1..200 {
            rtt.sample(Time::from_ms(20), i * 10, i * 10 + 10);
        }
        assert_eq!(rtt.srtt(), Time::from_ms(20));
        // The estimated deviation is not exactly 0, so the timeout is slightly above 220 ms. The
        // timeout is rounded up to 221 ms.
        assert_eq!(rtt.timeout(), Time::from_ms(221));
    }

    /// The expected values of `tcp_rtt_estimator` were computed by hand. A sample below srtt can
    /// increase the deviation. Such a sample has an eighth of the usual weight. At the end of a
    /// round, `rttvar_us` may exceed the round's largest deviation. A quarter of this excess is
    /// then subtracted from `rttvar_us`.
    #[test]
    fn a_falling_rtt_by_hand() {
        let mut rtt = Rtt::new(Time::from_ms(1));
        for (sample_ms, una, nxt, srtt_x8_us, timeout_ms) in [
            (80, 0, 10, 640_000, 240),
            // The sample is 40 ms below srtt. This difference equals the deviation, so the
            // deviation does not change.
            (40, 1, 11, 600_000, 235),
            // The sample is 55 ms below srtt, so the deviation grows by (55 - 40) / 8 ms. This
            // sample ends the round.
            (20, 11, 21, 545_000, 230),
            (60, 12, 22, 536_875, 229),
            // The largest deviation of the round was 129.532 ms, so (161.875 - 129.532) / 4 ms are
            // subtracted from `rttvar_us`.
            (60, 22, 32, 529_766, 221),
        ] {
            rtt.sample(Time::from_ms(sample_ms), una, nxt);
            assert_eq!(rtt.srtt_x8_us(), srtt_x8_us, "{sample_ms} ms");
            assert_eq!(rtt.timeout(), Time::from_ms(timeout_ms), "{sample_ms} ms");
        }
    }

    #[test]
    fn backoff_doubles_up_to_two_minutes_and_ends_with_a_sample() {
        let mut rtt = Rtt::new(Time::from_ms(200));
        for (backoff, seconds) in [(0, 1), (1, 2), (2, 4), (6, 64), (7, 120), (40, 120)] {
            while rtt.backoff() < backoff {
                rtt.back_off();
            }
            assert_eq!(rtt.timeout(), Time::from_secs(seconds), "{backoff}");
        }
        // The shortest possible RTT sample is 1 us. The timeout is then 200.001 ms, which is
        // rounded up to 201 ms.
        rtt.sample(Time(1), 0, 1);
        assert_eq!((rtt.backoff(), rtt.srtt_x8_us()), (0, 8));
        assert_eq!(rtt.timeout(), Time::from_ms(201));
    }

    /// Linux `tcp_init_metrics`: the timeout is the stored RTT plus the larger of two values: twice
    /// this RTT, and the minimum timeout.
    #[test]
    fn the_timeout_of_a_remembered_rtt() {
        for (rtt_ms, timeout_ms) in [(30, 230), (100, 300), (150, 450), (60_000, 120_000)] {
            let mut rtt = Rtt::new(Time::from_ms(200));
            rtt.remember(rtt_ms * 8000);
            rtt.time_out_after(rtt.remembered_us);
            assert_eq!(rtt.timeout(), Time::from_ms(timeout_ms), "{rtt_ms} ms");
            assert_eq!(rtt.srtt(), Time::ZERO, "it is no sample");
        }
    }
}
