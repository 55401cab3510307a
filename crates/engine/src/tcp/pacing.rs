//! Decides when the next packet may leave.

use crate::cc::{View, Window};
use crate::plan::{Pacing, TcpPlan};
use crate::units::{Rate, Time};

/// How many data segments leave without pacing at the start of a connection (`fq`'s initial
/// quantum, in segments).
const UNPACED: u64 = 10;
/// Length of the largest packet into which TCP combines segments, in bytes (Linux `sk_gso_max_size`
/// of a NIC).
const GSO_MAX: u64 = 65_536;
/// If the RTT is short, a burst has additional bytes. The number of additional bytes is halved for
/// every 2^`RTT_LOG` us of RTT (`tcp_tso_rtt_log`).
const RTT_LOG: u64 = 9;
/// Shifting a rate in B/s right by this many bits gives about the number of bytes in a millisecond
/// (`sk_pacing_shift`).
const MILLISECOND: u32 = 10;

#[derive(Clone, Debug)]
pub(super) struct Pacer {
    on: bool,
    /// Whether the congestion control itself sets the pacing rate.
    own_rate: bool,
    /// Whether segments leave in bursts, as if TCP combined them into larger packets (GSO).
    joined: bool,
    /// The pacing rates in early slow start and later, in percent of cwnd/srtt. These percentages
    /// are used if the stack sets the rate.
    ratios: [u32; 2],
    /// The percentages of cwnd/srtt that determine the size of GSO packets, in early slow start and
    /// later. Linux computes this size from the pacing rate even if it does not pace.
    size_ratios: [u32; 2],
    pub first: u64,
    /// The earliest time at which the next packet may leave.
    pub until: Time,
    /// How many more segments may leave in the current burst, and when the burst began. (In Linux,
    /// these segments form one TSO segment.)
    burst: (u32, Time),
}

impl Pacer {
    pub fn new(plan: &TcpPlan, own_rate: bool) -> Pacer {
        Pacer {
            on: match plan.pacing {
                Pacing::Fq | Pacing::FqGso => true,
                Pacing::Off => false,
                Pacing::Auto | Pacing::Gso => own_rate,
            },
            own_rate,
            joined: matches!(plan.pacing, Pacing::FqGso | Pacing::Gso),
            ratios: match plan.pacing {
                // If the congestion control does not set a rate, packets are not paced.
                Pacing::Auto | Pacing::Gso => [0, 0],
                _ => [plan.pacing_ss_ratio, plan.pacing_ca_ratio],
            },
            size_ratios: [plan.pacing_ss_ratio, plan.pacing_ca_ratio],
            first: 0,
            until: Time::ZERO,
            burst: (0, Time::NEVER),
        }
    }

    /// Returns whether packets are paced. If packets are not paced, [`Pacer::update_rate`] does
    /// nothing.
    #[inline]
    pub fn paces(&self) -> bool {
        self.on
    }

    /// Returns whether a packet that waited for pacing may leave now. Without pacing, no packet
    /// waits.
    pub fn is_due(&self, now: Time) -> bool {
        self.on && self.until <= now
    }

    #[inline]
    pub fn may_leave(&self, now: Time) -> bool {
        self.until <= now || self.burst.0 > 0 && self.burst.1 == now
    }

    /// Records that a packet with this payload leaves. `nxt` is the sequence number of the next new
    /// segment.
    #[inline]
    pub fn sent(&mut self, now: Time, payload: u16, nxt: u64, window: &Window) {
        if self.on && window.pacing_rate > 0 {
            self.pace(now, payload, nxt, window);
        }
    }

    #[inline(never)]
    fn pace(&mut self, now: Time, payload: u16, nxt: u64, window: &Window) {
        // As with fq, the first segments leave without pacing.
        if nxt <= self.first + UNPACED && !(self.own_rate && window.pace_first) {
            // A packet without pacing is never late, so it does not shorten the next gap.
            self.until = now.max(self.until);
            return;
        }
        // As in Linux `tcp_update_skb_after_send` and fq, the gap depends only on the payload. If a
        // packet leaves late, the next gap is shortened, but by at most half. Segments of a burst
        // leave together.
        let rate = Rate(window.pacing_rate.saturating_mul(8));
        let gap = rate.time_for(u64::from(payload));
        if self.burst.0 > 0 && self.burst.1 == now {
            self.burst.0 -= 1;
            self.until += gap;
            return;
        }
        let late = now.since(self.until).min(Time(gap.ns() / 2));
        self.until = now.max(self.until) + (gap - late);
        self.burst = (window.pacing_burst.saturating_sub(1), now);
    }

    /// Linux `tcp_update_pacing_rate`: by default 2 cwnd/srtt in early slow start, and 1.2
    /// cwnd/srtt later. A congestion control that needs pacing sets the rate itself.
    #[inline]
    pub fn update_rate(&self, view: View<'_>, window: &mut Window) {
        let left_alone = self.own_rate && !window.paced_by_stack;
        if !self.on || left_alone || view.srtt == Time::ZERO {
            if left_alone && self.joined && window.least_burst > 0 {
                window.pacing_burst = joined(window.pacing_rate, view, window.least_burst);
            }
            return;
        }
        window.pacing_rate = rate_of(self.ratios, view, window);
        if self.joined {
            window.pacing_burst = joined(window.pacing_rate, view, window.least_burst);
        }
    }

    /// Returns the number of segments of the next packet if offloads are on (Linux `tcp_tso_segs`).
    pub fn segments_joined(&self, view: View<'_>, window: &Window) -> u32 {
        if window.least_burst == 0 {
            return window.pacing_burst;
        }
        let rate = match window.pacing_rate {
            0 if view.srtt == Time::ZERO => u64::MAX,
            0 => rate_of(self.size_ratios, view, window),
            rate => rate,
        };
        joined(rate, view, window.least_burst)
    }

    /// Ends a burst, because all of its segments have left in one packet.
    pub fn end_burst(&mut self) {
        self.burst.0 = 0;
    }
}

/// Returns a percentage of window / RTT, in B/s. The percentage depends on whether the flow is in
/// early slow start.
#[inline(always)]
fn rate_of(ratios: [u32; 2], view: View<'_>, window: &Window) -> u64 {
    let late = usize::from(window.cwnd >= window.ssthresh / 2);
    let segments = window.cwnd.max(view.flight.packets_out());
    let bytes = u128::from(segments) * u128::from(view.mss);
    let percent = u128::from(ratios[late]);
    (bytes * percent * 10_000_000 / u128::from(view.srtt.ns())) as u64
}

/// Returns the number of segments in a burst (Linux `tcp_tso_autosize`). A burst has as many
/// segments as the rate sends in a millisecond, and more if the RTT is short.
fn joined(pacing_rate: u64, view: View<'_>, least: u32) -> u32 {
    let halvings = (view.min_rtt.ns() / 1000) >> RTT_LOG;
    let short = GSO_MAX.checked_shr(halvings.min(64) as u32).unwrap_or(0);
    let bytes = ((pacing_rate >> MILLISECOND) + short).min(GSO_MAX);
    (bytes / u64::from(view.mss)).max(u64::from(least)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{Conn, Flight, INFINITE_SSTHRESH};
    use crate::plan::Growth;

    fn pacer(pacing: Pacing, own_rate: bool) -> Pacer {
        let plan = TcpPlan {
            pacing,
            pacing_ss_ratio: 200,
            pacing_ca_ratio: 120,
            ..TcpPlan::default()
        };
        Pacer::new(&plan, own_rate)
    }

    fn window(cwnd: u32, ssthresh: u32) -> Window {
        Window::new(cwnd, ssthresh, Growth::Segments)
    }

    /// Returns the pacing rate and the burst, for an RTT of 40 ms and `out` segments in flight.
    fn updated(pacer: &Pacer, mut window: Window, out: u64) -> (u64, u32) {
        let conn = Conn {
            srtt: Time::from_ms(40),
            min_rtt: Time::from_ms(1),
            ..Conn::default()
        };
        let flight = Flight {
            nxt: out,
            ..Flight::default()
        };
        pacer.update_rate(conn.view(&flight), &mut window);
        (window.pacing_rate, window.pacing_burst)
    }

    #[test]
    fn the_rate_is_a_percentage_of_the_window_over_the_rtt() {
        let fq = pacer(Pacing::Fq, false);
        // The rate of 100 segments of 1448 bytes in 40 ms is 3,620,000 B/s.
        let slow = window(100, INFINITE_SSTHRESH);
        assert_eq!(updated(&fq, slow.clone(), 0), (7_240_000, 1));
        assert_eq!(updated(&fq, window(100, 202), 0), (7_240_000, 1));
        assert_eq!(updated(&fq, window(100, 200), 0), (4_344_000, 1));
        let more = updated(&fq, window(100, 200), 150);
        assert_eq!(
            more,
            (6_516_000, 1),
            "the segments in flight count if they are more"
        );

        let mut own = slow.clone();
        own.pacing_rate = 5;
        let by_control = pacer(Pacing::Fq, true);
        assert_eq!(updated(&by_control, own.clone(), 0).0, 5);
        own.paced_by_stack = true;
        assert_eq!(updated(&by_control, own, 0).0, 7_240_000);
        for off in [pacer(Pacing::Off, false), pacer(Pacing::Auto, false)] {
            assert_eq!(updated(&off, slow.clone(), 0).0, 0);
        }
        // At this rate, 7070 bytes leave in a millisecond. An RTT of 1 ms adds 65,536 / 2 bytes.
        let joined = pacer(Pacing::FqGso, false);
        assert_eq!(updated(&joined, slow, 0), (7_240_000, 27));
    }

    /// A congestion control with its own rate, such as BBR, is also paced in bursts, unless it sets
    /// the length of bursts itself.
    #[test]
    fn joined_segments_follow_the_rate_of_the_control() {
        let burst = |pacing, least| {
            let mut own = window(100, 50);
            (own.pacing_rate, own.least_burst) = (12_500_000, least);
            own.pacing_burst = 3;
            // At this rate, 12,207 bytes leave in a millisecond. An RTT of 1 ms adds 32,768 bytes.
            updated(&pacer(pacing, true), own, 0)
        };
        assert_eq!(burst(Pacing::Auto, 2), (12_500_000, 3));
        assert_eq!(burst(Pacing::Fq, 2), (12_500_000, 3));
        assert_eq!(burst(Pacing::Gso, 2), (12_500_000, 31));
        assert_eq!(burst(Pacing::FqGso, 2), (12_500_000, 31));
        assert_eq!(burst(Pacing::Gso, 0), (12_500_000, 3), "its own burst");
        let slow = Conn {
            min_rtt: Time::from_ms(40),
            ..Conn::default()
        };
        for least in [1, 2] {
            let found = joined(100_000, slow.view(&Flight::default()), least);
            assert_eq!(found, least, "the control sets the smallest burst");
        }
        let unpaced = pacer(Pacing::Gso, false);
        assert_eq!(updated(&unpaced, window(100, 50), 0), (0, 1));
    }

    /// Linux `tcp_tso_autosize` with `tcp_tso_rtt_log` 9: a burst has additional bytes if the RTT
    /// is short. The number of additional bytes is halved for every 512 us of RTT.
    #[test]
    fn segments_are_joined_by_rate_and_rtt() {
        for (rate, min_rtt, segments) in [
            (1_250_000, Time::from_ms(40), 2),
            (12_500_000, Time::from_ms(40), 8),
            (12_500_000, Time::from_us(1024), 19),
            (12_500_000, Time::from_us(1023), 31),
            (0, Time::ZERO, 45),
            (125_000_000, Time::from_ms(40), 45),
            (125_000_000, Time::ZERO, 45),
            (12_500_000, Time::NEVER, 8),
        ] {
            let conn = Conn {
                min_rtt,
                ..Conn::default()
            };
            let found = joined(rate, conn.view(&Flight::default()), 2);
            assert_eq!(found, segments, "{rate} B/s, {min_rtt:?}");
        }
    }

    #[test]
    fn gaps_bursts_and_lateness() {
        let us = Time::from_us;
        let mut window = window(100, 50);
        // The rate is 1448 bytes in a millisecond.
        window.pacing_rate = 1_448_000;
        let mut pacer = pacer(Pacing::Fq, false);
        pacer.first = 5;
        pacer.sent(us(100), 1448, 15, &window);
        assert_eq!(pacer.until, us(100), "the first ten are not paced");
        pacer.sent(us(100), 1448, 16, &window);
        assert_eq!(pacer.until, us(1100));
        assert!(!pacer.may_leave(us(1099)) && pacer.may_leave(us(1100)));
        assert!(!pacer.is_due(us(1099)) && pacer.is_due(us(1100)));
        pacer.sent(us(1400), 1448, 17, &window);
        assert_eq!(
            pacer.until,
            us(2100),
            "300 us late, all of them made up for"
        );
        pacer.sent(us(3000), 1448, 18, &window);
        assert_eq!(pacer.until, us(3500), "900 us late, half a gap of them");

        window.pacing_burst = 3;
        pacer.sent(us(3500), 1448, 19, &window);
        assert_eq!(pacer.until, us(4500));
        for (until, more) in [(5500, true), (6500, false)] {
            assert!(pacer.may_leave(us(3500)), "two more leave at once");
            pacer.sent(us(3500), 1448, 20, &window);
            assert_eq!((pacer.until, pacer.may_leave(us(3500))), (us(until), more));
        }
        pacer.sent(us(3500), 724, 21, &window);
        assert_eq!(pacer.until, us(7000), "half the payload, half the gap");
    }

    #[test]
    fn a_control_may_pace_its_first_segments() {
        let mut window = window(100, 50);
        (window.pacing_rate, window.pace_first) = (1_448_000, true);
        for (own_rate, until) in [(true, 1000), (false, 0)] {
            let mut pacer = pacer(Pacing::Fq, own_rate);
            pacer.sent(Time::ZERO, 1448, 1, &window);
            assert_eq!(pacer.until, Time::from_us(until));
        }
        let mut off = pacer(Pacing::Off, true);
        off.sent(Time::ZERO, 1448, 50, &window);
        assert_eq!((off.until, off.is_due(Time::ZERO)), (Time::ZERO, false));
        let mut unknown = pacer(Pacing::Auto, true);
        window.pacing_rate = 0;
        unknown.sent(Time::ZERO, 1448, 50, &window);
        assert_eq!(unknown.until, Time::ZERO, "there is no rate yet");
    }
}
