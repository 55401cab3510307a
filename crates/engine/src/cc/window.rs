//! [`Window`]: the values that a congestion control sets.

use crate::plan::Growth;

/// Slow-start threshold before the first reduction (Linux `TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// The largest window, in segments.
pub const MAX_CWND: u32 = u32::MAX / 2;

/// How much data a sender may have in flight, and at which rate it may send. Windows are in
/// segments.
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Slow-start threshold, in segments.
    pub ssthresh: u32,
    /// Number of acknowledged segments that count towards the next increase of the window (Linux
    /// `snd_cwnd_cnt`).
    pub cwnd_cnt: u32,
    /// Pacing rate, in bytes/s. The value is 0 before the rate is known.
    pub pacing_rate: u64,
    /// If packets are paced: number of segments that may leave together (TSO autosizing).
    pub pacing_burst: u32,
    /// The smallest number of segments in a burst if TCP combines segments into larger packets
    /// (TSO; Linux `min_tso_segs`). If the value is 0, the congestion control itself sets
    /// `pacing_burst` (`tso_segs` of the L4S team).
    pub least_burst: u32,
    /// Whether the initial window is paced, too (`tcp_pace_iw` of the L4S team).
    pub pace_first: bool,
    /// Whether the congestion control leaves the pacing rate to the stack. The option `pacing` of
    /// the scenario then decides whether packets are paced.
    pub paced_by_stack: bool,
    /// If this value is not 0, rate samples may be below the path's capacity, because the
    /// application had no data to send. The samples are valid again once this many segments have
    /// been delivered (Linux `app_limited`). The stack sets this field. A congestion control that
    /// intentionally keeps its window small also sets this field.
    pub app_limited: u64,
    /// A short name of the reason why the congestion control ended slow start ("hystart_delay").
    /// `None` if a loss or a mark ended slow start. Only `tailback explain` uses this value.
    pub left_slow_start: Option<&'static str>,
    growth: Growth,
}

impl Window {
    /// Creates the window with which a connection starts.
    pub fn new(cwnd: u32, ssthresh: u32, growth: Growth) -> Window {
        Window {
            cwnd,
            ssthresh,
            cwnd_cnt: 0,
            pacing_rate: 0,
            pacing_burst: 1,
            least_burst: 2,
            pace_first: false,
            paced_by_stack: false,
            app_limited: 0,
            left_slow_start: None,
            growth,
        }
    }

    /// Returns how many of the `delivered` segments of an ACK count towards growth. If growth
    /// counts ACKs, an ACK that delivers any segment counts as one.
    #[inline]
    pub fn growth_of(&self, delivered: u32) -> u32 {
        match self.growth {
            Growth::Segments => delivered,
            Growth::Acks => u32::from(delivered > 0),
        }
    }

    /// Returns whether the window grows with the number of ACKs instead of the number of
    /// acknowledged segments.
    pub fn counts_acks(&self) -> bool {
        self.growth == Growth::Acks
    }

    /// Returns whether the connection is in slow start. A connection is in slow start if its window
    /// is below ssthresh. In Linux 3.2, it is also in slow start if the window equals ssthresh.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        match self.growth {
            Growth::Segments => self.cwnd < self.ssthresh,
            Growth::Acks => self.cwnd <= self.ssthresh,
        }
    }

    /// Linux `tcp_slow_start`: increases the window up to ssthresh. Returns how many of the `acked`
    /// segments are left for congestion avoidance.
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = (self.cwnd + acked).min(match self.growth {
            Growth::Segments => self.ssthresh,
            Growth::Acks => self.ssthresh.saturating_add(1),
        });
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd.min(MAX_CWND);
        left
    }

    /// Linux `tcp_cong_avoid_ai`: increases the window by one segment for every `w` acknowledged
    /// segments. If `w` has become smaller, `cwnd_cnt` may already be equal to or above `w`. The
    /// window then grows by one segment, and `cwnd_cnt` restarts at 0. Linux 3.2 needed one more
    /// ACK for each increase. So the window grew by one segment for every `w + 1` ACKs.
    #[inline]
    pub fn cong_avoid_ai(&mut self, w: u32, acked: u32) {
        if self.growth == Growth::Acks {
            if self.cwnd_cnt >= w {
                self.cwnd = (self.cwnd + 1).min(MAX_CWND);
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
        self.cwnd = self.cwnd.min(MAX_CWND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 3.2 `tcp_cong_avoid_ai`: the ACK that increases the window is not counted towards the
    /// next increase.
    #[test]
    fn counting_acks_takes_one_more_than_the_window() {
        let mut window = Window::new(10, 5, Growth::Acks);
        let mut acks = Vec::new();
        for i in 1..=23 {
            let before = window.cwnd;
            window.cong_avoid_ai(window.cwnd, 1);
            if window.cwnd > before {
                acks.push(i);
            }
        }
        assert_eq!(acks, [11, 23]);
    }
}
