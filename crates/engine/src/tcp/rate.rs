//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation), as in Linux 7.3
//! (`tcp_rate_skb_sent`, `tcp_rate_skb_delivered`, `tcp_rate_gen`). As in the v3 branch of
//! github.com/google/bbr, this module also records, for each sent segment, how many segments were
//! in flight at that time, and how many had been lost.
//!
//! This data is stored separately from the scoreboard. The data exists only if the congestion
//! control needs rate samples ([`crate::cc::Needs`]). For other congestion controls, the sender
//! only tests whether the data exists.
//!
//! Deviations: Linux treats the ACK of a single small segment as probably delayed
//! (`FLAG_ACK_MAYBE_DELAYED`). tailback does not. Receivers do not renege on SACKs. As in Linux, a
//! sender is application-limited if its send queue ran empty before the application's last write. A
//! sender with a fixed number of bytes is never application-limited.

use crate::cc::{Conn, LostSegment, RateSample, View};
use crate::units::Time;

/// Values of the connection that are stored when a segment is sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    delivered: u64,
    delivered_ce: u64,
    lost: u64,
    /// The time of the last delivery before the segment was sent. `NEVER` once the segment itself
    /// is delivered.
    delivered_at: Time,
    /// When the first segment in the sample's interval was sent.
    first_tx: Time,
    in_flight: u32,
    app_limited: bool,
}

const NOTHING: Sent = Sent {
    delivered: 0,
    delivered_ce: 0,
    lost: 0,
    delivered_at: Time::NEVER,
    first_tx: Time::ZERO,
    in_flight: 0,
    app_limited: false,
};

/// The segment that was sent last among those that the current ACK has delivered so far.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent: Sent,
    seq: u64,
    send_us: u64,
}

/// The data for rate samples of one connection. The data has an entry for each segment in flight.
#[derive(Clone, Debug)]
pub struct Rates {
    /// The stored values of each segment, by sequence number as in the scoreboard's ring.
    ring: Vec<Sent>,
    mask: u64,
    /// When the newest delivery was sent, that is, the delivered segment that was sent last.
    first_tx: Time,
    delivered_at: Time,
    newest: Option<Newest>,
    /// Segments that loss detection has just marked as lost.
    pub(super) marked: Vec<u64>,
}

impl Default for Rates {
    fn default() -> Self {
        Rates {
            ring: vec![NOTHING; 32],
            mask: 31,
            first_tx: Time::ZERO,
            delivered_at: Time::ZERO,
            newest: None,
            marked: Vec::with_capacity(32),
        }
    }
}

/// Returns the time between two events, in us. Like Linux, converts both times to us before it
/// subtracts.
fn us_between(from: Time, to: Time) -> u64 {
    (to.ns() / 1000).saturating_sub(from.ns() / 1000)
}

impl Rates {
    /// Records that segment `seq` was sent now. `view` includes the segment. `alone` means that no
    /// other segment is outstanding. `lost` is the number of segments that have been found lost so
    /// far. `app_limited` means that the application ran out of data during the current flight.
    #[inline(never)]
    pub fn sent(&mut self, seq: u64, alone: bool, lost: u64, app_limited: bool, view: View<'_>) {
        let una = view.flight.una;
        if seq - una > self.mask {
            self.grow(una, seq);
        }
        // If no segments are outstanding, a new interval starts now.
        if alone {
            self.first_tx = view.now;
            self.delivered_at = view.now;
        }
        self.ring[(seq & self.mask) as usize] = Sent {
            delivered: view.delivered,
            delivered_ce: view.delivered_ce,
            lost,
            delivered_at: self.delivered_at,
            first_tx: self.first_tx,
            in_flight: view.flight.in_flight(),
            app_limited,
        };
    }

    #[cold]
    fn grow(&mut self, una: u64, seq: u64) {
        let mut mask = self.mask;
        while seq - una > mask {
            mask = mask * 2 + 1;
        }
        let mut ring = vec![NOTHING; mask as usize + 1];
        for old in una..seq {
            ring[(old & mask) as usize] = self.ring[(old & self.mask) as usize];
        }
        self.ring = ring;
        self.mask = mask;
    }

    /// Records that a segment was acknowledged or SACKed. The segment's last transmission was at
    /// `at`. The ACK's sample is computed from the delivered segment that was sent last.
    // The functions that senders call are not inlined. So a sender without rate samples executes
    // only one test for them.
    #[inline(never)]
    pub fn delivered(&mut self, seq: u64, at: Time) {
        let slot = &mut self.ring[(seq & self.mask) as usize];
        if slot.delivered_at == Time::NEVER {
            return; // the segment was SACKed before
        }
        let newer = self
            .newest
            .is_none_or(|n| (at, seq) > (self.first_tx, n.seq));
        if newer {
            self.first_tx = at;
            self.newest = Some(Newest {
                sent: *slot,
                seq,
                send_us: us_between(slot.first_tx, at),
            });
        }
        slot.delivered_at = Time::NEVER;
    }

    /// Discards the sample of an ACK that a later ACK has overtaken.
    #[inline(never)]
    pub fn discard(&mut self) {
        self.newest = None;
    }

    /// Generates the sample of an ACK (Linux `tcp_rate_gen`). `conn` includes the ACK. `delivered`
    /// is the number of segments that the ACK delivers. `lost` is the number of segments that have
    /// been found lost so far. Resets [`crate::cc::Window::app_limited`] once enough segments have
    /// been delivered.
    #[inline(never)]
    pub fn generate(
        &mut self,
        delivered: u32,
        lost: u64,
        next_send: Time,
        conn: &mut Conn,
        app_limited: &mut u64,
    ) {
        if *app_limited != 0 && conn.delivered > *app_limited {
            *app_limited = 0;
        }
        if delivered > 0 {
            self.delivered_at = conn.now;
        }
        conn.rate = RateSample {
            delivered_at: self.delivered_at,
            lost_total: lost,
            next_send,
            ..RateSample::default()
        };
        let Some(newest) = self.newest.take() else {
            return;
        };
        let sent = newest.sent;
        let rate = &mut conn.rate;
        rate.delivered = (conn.delivered - sent.delivered) as u32;
        rate.delivered_ce = (conn.delivered_ce - sent.delivered_ce) as u32;
        rate.prior_delivered = sent.delivered;
        rate.lost = (lost - sent.lost) as u32;
        rate.tx_in_flight = sent.in_flight;
        rate.app_limited = sent.app_limited;
        let ack_us = us_between(sent.delivered_at, conn.now);
        let interval = newest.send_us.max(ack_us);
        // The interval is shorter than any round trip. So the sample belongs to a retransmission
        // that was needless.
        if conn.min_rtt != Time::NEVER && interval < conn.min_rtt.ns() / 1000 {
            return;
        }
        rate.interval_us = interval;
    }

    /// Returns the recorded values of a segment that was found lost. `lost` is the number of losses
    /// up to and including this one.
    pub fn lost(&self, seq: u64, lost: u64) -> Option<LostSegment> {
        let sent = &self.ring[(seq & self.mask) as usize];
        (sent.delivered_at != Time::NEVER).then(|| LostSegment {
            tx_in_flight: sent.in_flight,
            lost: lost.saturating_sub(sent.lost) as u32,
            app_limited: sent.app_limited,
            seq,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Flight;
    use std::ops::Range;

    fn us(n: u64) -> Time {
        Time::from_us(n)
    }

    /// Sends the new segment `seq`. `una` is the first segment in flight.
    fn send(rates: &mut Rates, conn: &Conn, seq: u64, una: u64, app_limited: bool) {
        let flight = Flight {
            una,
            nxt: seq + 1,
            ..Flight::default()
        };
        rates.sent(seq, seq == una, 0, app_limited, conn.view(&flight));
    }

    /// Returns a sender whose `n` segments leave evenly over 10 ms.
    fn flight(n: u64) -> (Rates, Conn) {
        let (mut rates, mut conn) = (Rates::default(), Conn::default());
        for seq in 0..n {
            conn.now = us(10_000 * seq / n);
            send(&mut rates, &conn, seq, 0, false);
        }
        (rates, conn)
    }

    fn ack(rates: &mut Rates, conn: &mut Conn, app_limited: &mut u64, seqs: Range<u64>, n: u64) {
        for seq in seqs {
            rates.delivered(seq, us(10_000 * seq / n));
            conn.delivered += 1;
        }
        rates.generate(1, 0, Time::ZERO, conn, app_limited);
    }

    #[test]
    fn the_slower_of_sending_and_acknowledging_counts() {
        // ACKs arrive over 20 ms, at half the rate at which segments were sent. The last of the 100
        // segments was sent 9.9 ms after the first one.
        let (mut rates, mut conn) = flight(100);
        let mut app_limited = 0;
        for seq in 0..100 {
            conn.now = us(50_000 + 200 * seq);
            ack(&mut rates, &mut conn, &mut app_limited, seq..seq + 1, 100);
        }
        let sample = conn.rate;
        assert_eq!((sample.delivered, sample.interval_us), (100, 69_800));
        assert_eq!((sample.prior_delivered, sample.tx_in_flight), (0, 100));

        // The 90 segments of a second window were sent over 9 ms. One ACK acknowledges all 90
        // segments, 60 ms after the first segment was sent.
        for seq in 100..190 {
            conn.now = us(70_000 + 100 * (seq - 100));
            send(&mut rates, &conn, seq, 100, false);
        }
        conn.now = us(130_000);
        for seq in 100..190 {
            rates.delivered(seq, us(70_000 + 100 * (seq - 100)));
            conn.delivered += 1;
        }
        rates.generate(90, 0, Time::ZERO, &mut conn, &mut app_limited);
        assert_eq!((conn.rate.delivered, conn.rate.interval_us), (90, 60_000));
        assert_eq!(conn.rate.prior_delivered, 100);
    }

    #[test]
    fn a_bubble_marks_what_is_sent_until_it_is_acknowledged() {
        let (mut rates, mut conn) = flight(10);
        let mut app_limited = 0;
        conn.now = us(40_000);
        ack(&mut rates, &mut conn, &mut app_limited, 0..2, 10);
        assert!(!conn.rate.app_limited);
        // Eight segments are in flight, and the application has no more data.
        app_limited = conn.delivered + 8;
        send(&mut rates, &conn, 10, 2, true);
        conn.now = us(50_000);
        ack(&mut rates, &mut conn, &mut app_limited, 2..10, 10);
        assert_eq!((conn.rate.app_limited, app_limited), (false, 10));
        rates.delivered(10, us(40_000));
        conn.delivered += 1;
        conn.now = us(80_000);
        rates.generate(1, 0, Time::ZERO, &mut conn, &mut app_limited);
        assert_eq!((conn.rate.app_limited, app_limited), (true, 0));
    }

    #[test]
    fn a_sacked_segment_counts_once_and_lost_ones_are_told() {
        let (mut rates, mut conn) = flight(64);
        let mut app_limited = 0;
        conn.now = us(40_000);
        rates.delivered(40, us(6_250));
        conn.delivered += 1;
        rates.generate(1, 0, Time::ZERO, &mut conn, &mut app_limited);
        assert_eq!((conn.rate.delivered, conn.rate.tx_in_flight), (1, 41));
        rates.delivered(40, us(6_250));
        rates.generate(0, 0, Time::ZERO, &mut conn, &mut app_limited);
        assert_eq!((conn.rate.delivered, conn.rate.interval_us), (0, 0));
        let lost = rates.lost(3, 2).expect("in flight");
        assert_eq!((lost.tx_in_flight, lost.lost), (4, 2));
        assert!(rates.lost(40, 2).is_none());
        // An interval below the smallest RTT gives no sample.
        conn.min_rtt = us(100_000);
        rates.delivered(41, us(6_406));
        conn.delivered += 1;
        rates.generate(1, 0, Time::ZERO, &mut conn, &mut app_limited);
        assert_eq!((conn.rate.delivered, conn.rate.interval_us), (2, 0));
    }
}
