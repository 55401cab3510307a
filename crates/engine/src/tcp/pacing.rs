//! When the next packet may leave.

use crate::cc::{View, Window};
use crate::plan::{Pacing, TcpPlan};
use crate::units::{Rate, Time};

/// Data segments of a connection that are not paced (`fq`'s initial quantum, in segments).
const UNPACED: u64 = 10;
/// Bytes of the largest packet of joined segments (Linux `sk_gso_max_size` over a NIC).
const GSO_MAX: u64 = 65_536;
/// log2 of the RTT, in microseconds, that halves the bytes added for it (`tcp_tso_rtt_log`).
const RTT_LOG: u64 = 9;
/// Nearly a millisecond of a rate, as a shift (`sk_pacing_shift`).
const MILLISECOND: u32 = 10;

/// Pacing.
#[derive(Clone, Debug)]
pub(super) struct Pacer {
    /// Packets are paced.
    on: bool,
    /// The congestion control sets their rate itself.
    own_rate: bool,
    /// Segments that TCP joins leave as one.
    joined: bool,
    /// Percent of cwnd/srtt that is the rate otherwise, in early slow start and after it.
    ratios: [u32; 2],
    /// Number of the first data segment.
    pub first: u64,
    /// No packet before this.
    pub until: Time,
    /// Segments that may still leave with the last one, and when that was (Linux: in one
    /// TSO segment).
    burst: (u32, Time),
}

impl Pacer {
    pub fn new(plan: &TcpPlan, own_rate: bool) -> Pacer {
        Pacer {
            on: match plan.pacing {
                Pacing::Fq | Pacing::FqGso => true,
                Pacing::Off => false,
                Pacing::Auto => own_rate,
            },
            own_rate,
            joined: plan.pacing == Pacing::FqGso,
            ratios: match plan.pacing {
                // Without a rate of the congestion control packets are not paced.
                Pacing::Auto => [0, 0],
                _ => [plan.pacing_ss_ratio, plan.pacing_ca_ratio],
            },
            first: 0,
            until: Time::ZERO,
            burst: (0, Time::NEVER),
        }
    }

    /// Whether a packet that waited may leave now. Without pacing none waits.
    pub fn is_due(&self, now: Time) -> bool {
        self.on && self.until <= now
    }

    /// Whether a packet may leave.
    #[inline]
    pub fn may_leave(&self, now: Time) -> bool {
        self.until <= now || self.burst.0 > 0 && self.burst.1 == now
    }

    /// A packet with this payload leaves; `nxt` is the next new segment.
    #[inline]
    pub fn sent(&mut self, now: Time, payload: u16, nxt: u64, window: &Window) {
        if self.on && window.pacing_rate > 0 {
            self.pace(now, payload, nxt, window);
        }
    }

    #[inline(never)]
    fn pace(&mut self, now: Time, payload: u16, nxt: u64, window: &Window) {
        // As fq, the first window goes out at once.
        if nxt <= self.first + UNPACED && !(self.own_rate && window.pace_first) {
            // A packet that need not wait cannot be late.
            self.until = now.max(self.until);
            return;
        }
        // Linux `tcp_update_skb_after_send`, which fq follows as well: only the payload counts, and
        // a late packet makes up for at most half of the gap. Segments of a burst leave together.
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

    /// Linux `tcp_update_pacing_rate`: by default twice cwnd/srtt in early slow
    /// start, 1.2 times after that. A congestion control that needs pacing sets its own.
    #[inline]
    pub fn update_rate(&self, view: View<'_>, window: &mut Window) {
        let left_alone = self.own_rate && !window.paced_by_stack;
        if !self.on || left_alone || view.srtt == Time::ZERO {
            return;
        }
        let late = usize::from(window.cwnd >= window.ssthresh / 2);
        let segments = window.cwnd.max(view.flight.packets_out());
        let bytes = u128::from(segments) * u128::from(view.mss);
        let percent = u128::from(self.ratios[late]);
        window.pacing_rate = (bytes * percent * 10_000_000 / u128::from(view.srtt.ns())) as u64;
        if self.joined {
            window.pacing_burst = joined(window.pacing_rate, view);
        }
    }
}

/// Segments that TCP joins (Linux `tcp_tso_autosize`): what the rate sends in a millisecond, more
/// where the round-trip time is short.
fn joined(pacing_rate: u64, view: View<'_>) -> u32 {
    let halvings = (view.min_rtt.ns() / 1000) >> RTT_LOG;
    let short = GSO_MAX.checked_shr(halvings.min(64) as u32).unwrap_or(0);
    let bytes = ((pacing_rate >> MILLISECOND) + short).min(GSO_MAX);
    (bytes / u64::from(view.mss)).max(2) as u32
}
