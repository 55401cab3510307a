//! What the versions of BBR share: units, the bandwidth-delay product, ACK
//! aggregation, the windowed maximum (Linux 7.3 `tcp_bbr.c` and
//! `lib/win_minmax.c`).
//!
//! Bandwidth is in segments per us, scaled by 2^24, as in Linux; gains are in
//! 1/256.

use super::view::{Ack, View};
use super::window::Window;
use crate::registry::{Kind, Opt};
use crate::units::Time;

/// A gain of one.
pub(super) const UNIT: u32 = 256;
/// One segment per us.
pub(super) const BW_UNIT: u64 = 1 << 24;
/// The largest bandwidth, as in Linux's 32 bits: 3 Tbit/s.
pub(super) const MAX_BW: u64 = u32::MAX as u64;
/// No RTT was measured yet.
pub(super) const NO_RTT: u64 = u64::MAX;
/// Linux `TCP_INIT_CWND`.
pub(super) const INIT_CWND: u32 = 10;
/// Linux `bbr_extra_acked_max_us`.
const EXTRA_ACKED_MAX_US: u64 = 100_000;
/// Linux `bbr_ack_epoch_acked_reset_thresh`.
const EPOCH_RESET: u32 = 1 << 20;
/// No window grows beyond.
const WINDOW_MAX: u64 = 1 << 30;

/// A number within bounds.
pub(super) const fn number(
    name: &'static str,
    doc: &'static str,
    (min, max): (f64, f64),
    default: &'static str,
) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Float { min, max },
        default: Some(default),
        tc: None,
    }
}

/// A whole number within bounds.
pub(super) const fn whole(
    name: &'static str,
    doc: &'static str,
    (min, max): (i64, i64),
    default: &'static str,
) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Int { min, max },
        default: Some(default),
        tc: None,
    }
}

/// A time of at least `min`.
pub(super) const fn time(
    name: &'static str,
    doc: &'static str,
    min: Time,
    default: &'static str,
) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Time { min },
        default: Some(default),
        tc: None,
    }
}

/// A yes or no.
pub(super) const fn switch(name: &'static str, doc: &'static str, default: &'static str) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Bool,
        default: Some(default),
        tc: None,
    }
}

/// Segments of a burst.
pub(super) const TSO_SEGS: Opt = Opt {
    name: "tso_segs",
    doc: "Segments of a burst that the window leaves room for; auto: what leaves in 1 ms, as Linux.",
    kind: Kind::WordOrInt {
        words: &["auto"],
        min: 1,
        max: 127,
    },
    default: Some("auto"),
    tc: None,
};

/// A gain or share in units of [`UNIT`].
pub(super) fn gain(value: f64) -> u32 {
    libm::round(value * f64::from(UNIT)) as u32
}

/// Time in us, as Linux's TCP clock counts.
pub(super) fn us(time: Time) -> u64 {
    time.ns() / 1000
}

/// The smallest RTT of a connection, us.
pub(super) fn min_rtt_us(view: View<'_>) -> u64 {
    if view.min_rtt == Time::NEVER {
        NO_RTT
    } else {
        us(view.min_rtt)
    }
}

/// `bw` times `gain`, less `margin` percent, in bytes/s; at least 1.
pub(super) fn bytes_per_second(bw: u64, mss: u16, gain: u32, margin: u32) -> u64 {
    let rate = u128::from(bw) * u128::from(mss) * u128::from(gain) / u128::from(UNIT);
    let rate = rate * u128::from(10_000 * (100 - margin.min(99))) / u128::from(BW_UNIT);
    (rate as u64).max(1)
}

/// `gain` times the bandwidth-delay product, segments, rounded up;
/// `unknown` without an RTT.
pub(super) fn bdp(bw: u64, min_rtt_us: u64, gain: u32, unknown: u32) -> u32 {
    if min_rtt_us == NO_RTT {
        return unknown;
    }
    let product = u128::from(bw) * u128::from(min_rtt_us) * u128::from(gain) / u128::from(UNIT);
    product
        .div_ceil(u128::from(BW_UNIT))
        .min(u128::from(WINDOW_MAX)) as u32
}

/// The bandwidth of a rate sample.
pub(super) fn sampled(delivered: u32, interval_us: u64) -> u64 {
    (u64::from(delivered) * BW_UNIT / interval_us).min(MAX_BW)
}

/// How many packets will be in the network when the next one may leave
/// (Linux `bbr_packets_in_net_at_edt`); `burst` leaves with it.
pub(super) fn in_network_at_departure(view: View<'_>, in_flight: u32, bw: u64, burst: u32) -> u32 {
    let wait = us(view.rate.next_send.since(view.now));
    let delivered = (u128::from(bw) * u128::from(wait) / u128::from(BW_UNIT)).min(1 << 31) as u32;
    (in_flight + burst).saturating_sub(delivered)
}

/// The data a host sends as one burst, segments (Linux `tcp_tso_autosize` with
/// `sk_pacing_shift` 10): what leaves in 1 ms, and `extra` bytes.
pub(super) fn burst(view: View<'_>, window: &Window, extra: u64, least: u32) -> u32 {
    // GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER.
    const LIMIT: u64 = 65_536 - 1 - 320;
    let bytes = ((window.pacing_rate >> 10) + extra).min(LIMIT);
    ((bytes / u64::from(view.mss.max(1))) as u32)
        .max(least)
        .min(127)
}

/// Which mode BBR is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Kathleen Nichols' windowed maximum: the best of the window, of its last
/// three quarters and of its last half.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter([(u32, u64); 3]);

impl MaxFilter {
    /// The maximum.
    pub(super) fn get(&self) -> u64 {
        self.0[0].1
    }

    /// Takes a value at time `t` (rounds) into a window of so many.
    pub(super) fn update(&mut self, window: u32, t: u32, value: u64) {
        let new = (t, value);
        let age = |s: (u32, u64)| t.wrapping_sub(s.0);
        let s = &mut self.0;
        if value >= s[0].1 || age(s[2]) > window {
            *s = [new; 3];
            return;
        }
        if value >= s[1].1 {
            s[1] = new;
            s[2] = new;
        } else if value >= s[2].1 {
            s[2] = new;
        }
        if age(s[0]) > window {
            // The best is too old: the next ones move up.
            *s = [s[1], s[2], new];
            if age(s[0]) > window {
                *s = [s[1], s[2], new];
            }
        } else if s[1].0 == s[0].0 && age(s[0]) > window / 4 {
            s[1] = new;
            s[2] = new;
        } else if s[2].0 == s[1].0 && age(s[0]) > window / 2 {
            s[2] = new;
        }
    }
}

/// How many more segments are acknowledged at once than the bandwidth lets
/// expect (Linux `bbr_update_ack_aggregation`).
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    epoch_at: Time,
    epoch_acked: u32,
    extra: [u32; 2],
    index: usize,
    age: u32,
}

impl Aggregation {
    /// A new epoch begins.
    pub(super) fn restart(&mut self, now: Time) {
        self.epoch_at = now;
        self.epoch_acked = 0;
    }

    /// An ACK with a valid sample; each half of the window lasts `rounds`.
    pub(super) fn update(
        &mut self,
        view: View<'_>,
        window: &Window,
        ack: &Ack,
        bw: u64,
        new_round: bool,
        rounds: u32,
    ) {
        if ack.delivered == 0 || view.rate.interval_us == 0 {
            return;
        }
        if new_round {
            self.age += 1;
            if self.age >= rounds {
                self.age = 0;
                self.index ^= 1;
                self.extra[self.index] = 0;
            }
        }
        let at = view.rate.delivered_at;
        let expected = |from: Time| {
            let epoch = us(at).saturating_sub(us(from));
            (u128::from(bw) * u128::from(epoch) / u128::from(BW_UNIT)).min(1 << 31) as u32
        };
        let mut due = expected(self.epoch_at);
        if self.epoch_acked <= due || self.epoch_acked.saturating_add(ack.delivered) >= EPOCH_RESET
        {
            self.restart(at);
            due = 0;
        }
        self.epoch_acked = (self.epoch_acked + ack.delivered.min(EPOCH_RESET)).min(EPOCH_RESET - 1);
        let extra = self.epoch_acked.saturating_sub(due).min(window.cwnd);
        let best = &mut self.extra[self.index];
        *best = (*best).max(extra);
    }

    /// What the window grows by for it, segments: what comes in 100 ms at most.
    pub(super) fn window(&self, bw: u64) -> u32 {
        let most = bw * EXTRA_ACKED_MAX_US / BW_UNIT;
        u64::from(self.extra[0].max(self.extra[1])).min(most) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Stack;
    use super::*;

    #[test]
    fn the_maximum_of_the_last_ten_rounds() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 100);
        let mut seen = Vec::new();
        // A best value, then lower and lower ones.
        for t in 1..=13 {
            filter.update(10, t, 100 - u64::from(t));
            seen.push(filter.get());
        }
        // It is remembered for ten rounds; then comes the best of those that the
        // filter kept: one of each quarter after the first.
        assert_eq!(seen[..10], [100; 10]);
        assert_eq!(seen[10..], [97, 97, 97]);
        filter.update(10, 14, 98);
        assert_eq!(filter.get(), 98);
        // Nothing for longer than the window: the new value, whatever it is.
        filter.update(10, 40, 3);
        assert_eq!(filter.get(), 3);
    }

    #[test]
    fn rates_and_products() {
        // 1000 segments in 100 ms.
        let bw = sampled(1000, 100_000);
        assert_eq!(bytes_per_second(bw, 1448, UNIT, 0), 14_479_986);
        assert_eq!(bytes_per_second(bw, 1448, UNIT, 1), 14_335_186);
        assert_eq!(bdp(bw, 40_000, UNIT, 10), 400);
        assert_eq!(bdp(bw, 40_000, 2 * UNIT, 10), 800);
        assert_eq!(bdp(bw, 40_010, UNIT, 10), 401);
        assert_eq!(bdp(bw, NO_RTT, UNIT, 10), 10);
        assert_eq!((gain(2.885), gain(1.25), gain(0.3)), (739, 320, 77));
    }

    #[test]
    fn bursts_of_acks_are_provided_for() {
        // A segment per ms (and a little, for what is rounded down), but ACKs
        // come for 20 at once.
        let bw = sampled(1001, 1_000_000);
        let mut aggregation = Aggregation::default();
        let mut stack = Stack::new(100);
        let ack = Ack {
            delivered: 20,
            ..Ack::default()
        };
        stack.conn.rate.interval_us = 1;
        for n in 1..=10 {
            stack.conn.rate.delivered_at = Time::from_ms(20 * n);
            stack.with(|view, window| aggregation.update(view, window, &ack, bw, false, 5));
        }
        assert_eq!(aggregation.window(bw), 20);
        // Two halves of five rounds later it is forgotten.
        let ack = Ack {
            delivered: 1,
            ..Ack::default()
        };
        for n in 1..=10 {
            stack.conn.rate.delivered_at = Time::from_ms(200 + 10 * n);
            stack.with(|view, window| aggregation.update(view, window, &ack, bw, true, 5));
        }
        assert_eq!(aggregation.window(bw), 1);
    }
}
