//! The part of a sender that its congestion control sees and writes
//! (what Linux keeps in `tcp_sock`).

use super::rate::RateSample;
use crate::cc::CaState;
use crate::plan::Growth;
use crate::units::Time;

/// Window, counters and clocks of a sender. Windows are in segments.
#[derive(Clone, Debug)]
pub struct Conn {
    /// The time of the event being processed.
    pub now: Time,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Acknowledged segments counted towards the next increase.
    pub cwnd_cnt: u32,
    /// Upper bound of the window.
    pub cwnd_clamp: u32,
    /// Window when the last reduction began.
    pub prior_cwnd: u32,
    /// Congestion state.
    pub ca_state: CaState,
    /// Whether the `ssthresh` being asked for is a response to ECN-Echo.
    pub reducing_on_ecn: bool,
    /// First unacknowledged segment.
    pub snd_una: u64,
    /// Next segment to be sent for the first time.
    pub snd_nxt: u64,
    /// Segments delivered so far, retransmissions included.
    pub delivered: u64,
    /// Segments delivered by ACKs that carried ECN-Echo; with Accurate ECN:
    /// marked segments that have arrived, as far as is known.
    pub delivered_ce: u64,
    /// Sent, neither acknowledged, sacked nor lost, plus retransmitted.
    pub in_flight: u32,
    /// Sent and not acknowledged.
    pub packets_out: u32,
    /// Largest `packets_out` of the last window.
    pub max_packets_out: u32,
    /// Whether the window was the limit in the last window.
    pub cwnd_limited: bool,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Time,
    /// Smallest RTT seen.
    pub min_rtt: Time,
    /// Payload of a full segment, bytes.
    pub mss: u16,
    /// What growth counts.
    pub growth: Growth,
    /// Rate at which packets are paced, bytes/s; 0: not yet known.
    pub pacing_rate: u64,
    /// Segments that may leave together where packets are paced (TSO autosizing).
    pub pacing_burst: u32,
    /// The first segments of the connection are paced, too (`tcp_pace_iw` of the L4S team).
    pub pace_first: bool,
    /// The congestion control needs a kind of ECN that the other end does not have: there is none.
    pub ecn_refused: bool,
    /// Time of the last data transmission (Linux `lsndtime`).
    pub last_sent: Time,
    /// Samples of the delivery rate are of no use until this many segments are
    /// delivered: there was nothing to send; 0: they are.
    pub app_limited: u64,
    /// What the ACK tells of the delivery rate; only for a congestion control
    /// that asks for it.
    pub rate: RateSample,
}

impl Conn {
    /// Slow start as the stack defines it: below ssthresh; Linux 3.2 included it.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        match self.growth {
            Growth::Segments => self.cwnd < self.ssthresh,
            Growth::Acks => self.cwnd <= self.ssthresh,
        }
    }

    /// Linux `tcp_is_cwnd_limited`: growth is allowed only if the window was the limit.
    #[inline]
    pub fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited || (self.in_slow_start() && self.cwnd < 2 * self.max_packets_out)
    }

    /// Linux `tcp_slow_start`: grows up to ssthresh and returns what is left of `acked`.
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = (self.cwnd + acked).min(match self.growth {
            Growth::Segments => self.ssthresh,
            Growth::Acks => self.ssthresh.saturating_add(1),
        });
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(self.cwnd_clamp);
        left
    }

    /// Linux `tcp_cong_avoid_ai`: one segment more for every `w` acknowledged;
    /// credit left over from a larger `w` is applied first, gently. Linux 3.2
    /// spent an ACK of its own on the increase: one segment more for `w + 1` ACKs.
    #[inline]
    pub fn cong_avoid_ai(&mut self, w: u32, acked: u32) {
        if self.growth == Growth::Acks {
            if self.cwnd_cnt >= w {
                self.cwnd = (self.cwnd + 1).min(self.cwnd_clamp);
                self.cwnd_cnt = 0;
            } else {
                self.cwnd_cnt += 1;
            }
            return;
        }
        if self.cwnd_cnt >= w {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= w {
            let delta = self.cwnd_cnt / w;
            self.cwnd_cnt -= delta * w;
            self.cwnd += delta;
        }
        self.cwnd = self.cwnd.min(self.cwnd_clamp);
    }
}

impl Default for Conn {
    fn default() -> Self {
        Conn {
            now: Time::ZERO,
            cwnd: 10,
            ssthresh: crate::cc::INFINITE_SSTHRESH,
            cwnd_cnt: 0,
            cwnd_clamp: u32::MAX / 2,
            prior_cwnd: 0,
            ca_state: CaState::Open,
            reducing_on_ecn: false,
            snd_una: 0,
            snd_nxt: 0,
            delivered: 0,
            delivered_ce: 0,
            in_flight: 0,
            packets_out: 0,
            max_packets_out: 0,
            cwnd_limited: false,
            srtt: Time::ZERO,
            min_rtt: Time::NEVER,
            mss: 1448,
            growth: Growth::Segments,
            pacing_rate: 0,
            pacing_burst: 1,
            pace_first: false,
            ecn_refused: false,
            last_sent: Time::ZERO,
            app_limited: 0,
            rate: RateSample::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 3.2 `tcp_cong_avoid_ai`: the ACK that raises the window counts for nothing else.
    #[test]
    fn counting_acks_takes_one_more_than_the_window() {
        let mut conn = Conn {
            cwnd: 10,
            ssthresh: 5,
            growth: Growth::Acks,
            ..Conn::default()
        };
        let mut acks = Vec::new();
        for i in 1..=23 {
            let before = conn.cwnd;
            conn.cong_avoid_ai(conn.cwnd, 1);
            if conn.cwnd > before {
                acks.push(i);
            }
        }
        assert_eq!(acks, [11, 23]);
    }
}
