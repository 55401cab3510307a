//! Values that a host stores about a destination from one connection to the next.
//!
//! This module follows Linux 7.3 `tcp_update_metrics` and `tcp_init_metrics`. When a sender has
//! finished, the host stores its RTT, its ssthresh and its degree of reordering. The next sender to
//! the same destination starts with these values. Deviations: values do not expire, whereas in
//! Linux they expire after an hour. Values are stored when all data is acknowledged. Linux stores
//! these values when the FIN exchange is over. A source of requests with the option `collect` can
//! store values later. `cwnd` is not stored, because Linux uses a stored `cwnd` only if a route
//! locks it.

use super::rtt::Rtt;
use super::sender::Sender;
use crate::cc::{CaState, INFINITE_SSTHRESH};
use crate::units::Time;

/// The values stored for one destination. 0 means that a value is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// Smoothed RTT, in units of 1/8 us.
    srtt_us: u32,
    /// Slow start threshold, in segments.
    ssthresh: u32,
    /// Largest number of segments by which the path has reordered a segment.
    reordering: u32,
}

/// The values of a sender that has finished. The sender's host uses these values to update the
/// [`Destination`].
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    /// Smoothed RTT x 8, us, or 0 if there is no RTT sample since the last timeout.
    srtt_us: u32,
    cwnd: u32,
    ssthresh: u32,
    ca_state: CaState,
    reordering: u32,
    /// The idle time after which the window shrinks, and the initial window. `None` if the window
    /// never shrinks after an idle time.
    decays: Option<(Time, u32)>,
}

impl Finished {
    /// Reads the values of a sender.
    pub fn of(sender: &Sender) -> Finished {
        let backed_off = sender.rtt.backoff() > 0;
        Finished {
            srtt_us: if backed_off {
                0
            } else {
                sender.rtt.srtt_x8_us()
            },
            cwnd: sender.window.cwnd,
            ssthresh: sender.window.ssthresh,
            ca_state: sender.conn.ca_state,
            reordering: sender.recovery.rack.reordering,
            decays: sender.decays_after_idle(),
        }
    }

    /// Changes the values as Linux does when it sends a FIN after an idle time. If the idle time
    /// exceeds the retransmission timeout, the window shrinks half-way to the initial window, and
    /// ssthresh rises to three quarters of the window (Linux `tcp_cwnd_application_limited`).
    pub fn idle_for(&mut self, idle: Time) {
        if let Some((timeout, initial)) = self.decays
            && idle >= timeout
            && self.ca_state == CaState::Open
            && self.cwnd > initial
        {
            let three_quarters = (self.cwnd >> 1) + (self.cwnd >> 2);
            self.ssthresh = self.ssthresh.max(three_quarters);
            self.cwnd = u32::midpoint(self.cwnd, initial);
        }
    }
}

impl Destination {
    /// Stores the values of a sender that has finished. If `ssthresh` is true, also stores its
    /// slow-start threshold.
    pub fn update(&mut self, sender: &Finished, ssthresh: bool) {
        let srtt = sender.srtt_us;
        if srtt == 0 {
            // The sender has no RTT sample since its last timeout.
            self.srtt_us = 0;
            return;
        }
        // A larger RTT replaces the stored one. A smaller RTT reduces the stored RTT by an eighth
        // of the difference.
        self.srtt_us = match self.srtt_us.checked_sub(srtt) {
            None | Some(0) => srtt,
            Some(less) => self.srtt_us - (less >> 3),
        };
        let (window, ca_state) = (sender, sender.ca_state);
        let in_slow_start = window.cwnd < window.ssthresh;
        if window.ssthresh >= INFINITE_SSTHRESH {
            // ssthresh still has its initial value.
            if ssthresh && self.ssthresh != 0 {
                self.ssthresh = self.ssthresh.max(window.cwnd >> 1);
            }
        } else if !in_slow_start && ca_state == CaState::Open {
            if ssthresh {
                self.ssthresh = window.ssthresh.max(window.cwnd >> 1);
            }
        } else {
            if ssthresh && self.ssthresh != 0 {
                self.ssthresh = self.ssthresh.max(window.ssthresh);
            }
            self.reordering = self.reordering.max(sender.reordering);
        }
    }

    /// Passes the stored values to a sender that has not connected yet. If `ssthresh` is true, the
    /// sender also gets the slow-start threshold.
    pub fn recall(&self, sender: &mut Sender, ssthresh: bool) {
        if ssthresh && self.ssthresh != 0 {
            sender.window.ssthresh = self.ssthresh;
            sender.first_ssthresh = self.ssthresh;
        }
        if self.reordering != 0 {
            sender.recovery.rack.reordering = self.reordering;
        }
        sender.rtt.remember(self.srtt_us);
    }
}

impl Rtt {
    /// After the handshake, computes the retransmission timeout from the stored RTT if that RTT is
    /// larger than the RTT of the handshake. The stored RTT is used until the first segment gives
    /// an RTT sample.
    pub(super) fn recall(&mut self) {
        let remembered = std::mem::take(&mut self.remembered_us);
        if remembered > self.srtt_us {
            self.time_out_after(remembered);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cc;
    use crate::plan::TcpPlan;
    use crate::registry::{complete_defaults, find};

    /// Returns a sender with an RTT, a window and an ssthresh.
    pub(crate) fn sender(rtt: Time, cwnd: u32, ssthresh: u32) -> Sender {
        let entry = find(cc::ENTRIES, "reno").expect("registered");
        let control = (entry.build)(&complete_defaults(entry));
        let mut sender = Sender::new(0, &TcpPlan::default(), control, false, None);
        sender.rtt.sample(rtt, 0, 1);
        (sender.window.cwnd, sender.window.ssthresh) = (cwnd, ssthresh);
        sender
    }

    /// The threshold that is stored is at least half of the window. If the sender is in slow start,
    /// the stored threshold can only rise.
    #[test]
    fn the_threshold_is_half_the_window_at_least() {
        let rtt = Time::from_ms(20);
        let mut known = Destination::default();
        known.update(&Finished::of(&sender(rtt, 40, INFINITE_SSTHRESH)), true);
        assert_eq!(
            known.ssthresh, 0,
            "nothing was known, and nothing was learnt"
        );
        known.update(&Finished::of(&sender(rtt, 30, 20)), true);
        assert_eq!(known.ssthresh, 20);
        known.update(&Finished::of(&sender(rtt, 60, 20)), true);
        assert_eq!(known.ssthresh, 30);
        known.update(&Finished::of(&sender(rtt, 80, INFINITE_SSTHRESH)), true);
        assert_eq!(known.ssthresh, 40);
        known.update(&Finished::of(&sender(rtt, 10, 12)), true);
        assert_eq!(known.ssthresh, 40, "in slow start the threshold only rises");
        known.update(&Finished::of(&sender(rtt, 12, 12)), true);
        assert_eq!(known.ssthresh, 12);
        let mut next = sender(rtt, 10, INFINITE_SSTHRESH);
        known.recall(&mut next, true);
        assert_eq!(next.window.ssthresh, 12);
        let mut without = sender(rtt, 10, INFINITE_SSTHRESH);
        known.recall(&mut without, false);
        assert_eq!(without.window.ssthresh, INFINITE_SSTHRESH);
    }

    /// A FIN that is sent late shrinks a large window below ssthresh. The sender then seems to be
    /// in slow start, so its ssthresh is not stored.
    #[test]
    fn a_late_fin_shrinks_the_window() {
        let learnt = |cwnd, ssthresh, idle| {
            let mut values = Finished::of(&sender(Time::from_ms(20), cwnd, ssthresh));
            values.idle_for(idle);
            let mut known = Destination::default();
            known.update(&values, true);
            known.ssthresh
        };
        let (soon, late) = (Time::from_ms(100), Time::from_secs(1));
        assert_eq!(learnt(60, 30, soon), 30);
        assert_eq!(learnt(60, 30, late), 0, "35 segments, and ssthresh is 45");
        assert_eq!(learnt(20, 15, late), 15, "15 segments, and ssthresh is 15");
        assert_eq!(learnt(8, 6, late), 6, "smaller than the initial window");
    }

    #[test]
    fn a_smaller_rtt_counts_by_an_eighth() {
        let mut known = Destination::default();
        known.update(&Finished::of(&sender(Time::from_ms(80), 10, 20)), false);
        known.update(&Finished::of(&sender(Time::from_ms(40), 10, 20)), false);
        assert_eq!(known.srtt_us, 8 * 75_000);
        known.update(&Finished::of(&sender(Time::from_ms(90), 10, 20)), false);
        assert_eq!(known.srtt_us, 8 * 90_000);
        let mut late = sender(Time::from_ms(10), 10, 20);
        late.rtt.back_off();
        known.update(&Finished::of(&late), false);
        assert_eq!(known.srtt_us, 0);
    }

    /// With a stored RTT, the timeout is the RTT plus the larger of two values: twice the RTT, and
    /// the lower limit of the timeout (Linux `tcp_init_metrics`).
    #[test]
    fn a_remembered_rtt_sets_the_first_timeout() {
        let mut rtt = Rtt::new(Time::from_ms(200));
        rtt.remember(8 * 150_000);
        rtt.sample(Time::from_ms(20), 0, 1);
        rtt.recall();
        assert_eq!(rtt.timeout(), Time::from_ms(450));
        let mut rtt = Rtt::new(Time::from_ms(200));
        rtt.remember(8 * 30_000);
        rtt.sample(Time::from_ms(20), 0, 1);
        rtt.recall();
        assert_eq!(rtt.timeout(), Time::from_ms(230));
        let mut rtt = Rtt::new(Time::from_ms(200));
        rtt.remember(8 * 10_000);
        rtt.sample(Time::from_ms(20), 0, 1);
        let usual = rtt.timeout();
        rtt.recall();
        assert_eq!(rtt.timeout(), usual, "no larger than the handshake's");
    }
}
