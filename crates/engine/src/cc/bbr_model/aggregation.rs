//! ACK aggregation (Linux `bbr_update_ack_aggregation`).

use super::units::{Bandwidth, us};
use crate::cc::view::{Ack, View};
use crate::cc::window::Window;
use crate::units::Time;

const EXTRA_ACKED_MAX_US: u64 = 100_000;
const EPOCH_RESET: u32 = 1 << 20;

/// Counts how many more segments are acknowledged than the path delivers at the estimated bandwidth
/// (Linux `bbr_update_ack_aggregation`).
#[derive(Clone, Debug, Default)]
pub(in crate::cc) struct Aggregation {
    epoch_at: Time,
    epoch_acked: u32,
    extra: [u32; 2],
    index: usize,
    age: u32,
}

impl Aggregation {
    /// Starts a new measuring interval (Linux's `ack_epoch`).
    pub(in crate::cc) fn restart(&mut self, now: Time) {
        self.epoch_at = now;
        self.epoch_acked = 0;
    }

    /// Processes an ACK. The filter looks for the maximum in a window with two halves. Each half
    /// has `rounds` rounds.
    pub(in crate::cc) fn update(
        &mut self,
        view: View<'_>,
        window: &Window,
        ack: &Ack,
        bw: Bandwidth,
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
        let expected = |from: Time| bw.segments_in(us(at).saturating_sub(us(from)));
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

    /// Returns by how many segments ACK aggregation increases the window. The result is at most the
    /// number of segments that the path delivers in 100 ms.
    pub(in crate::cc) fn window(&self, bw: Bandwidth) -> u32 {
        let most = bw.segments_in(EXTRA_ACKED_MAX_US);
        self.extra[0].max(self.extra[1]).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::Stack;

    #[test]
    fn bursts_of_acks_are_provided_for() {
        // One segment per ms is delivered, but each ACK covers 20 segments.
        let bw = Bandwidth::sampled(1001, 1_000_000);
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
        // After two halves of five rounds each, the filter has forgotten the excess.
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
