//! ACK aggregation as in draft-ietf-ccwg-bbr-06 section 5.5.9. The estimate is a maximum over
//! rounds and has no upper limit.

use crate::cc::bbr_model::{Bandwidth, MaxFilter, us};
use crate::cc::view::{Ack, View};
use crate::cc::window::Window;
use crate::units::Time;

/// `BBR.ExtraAckedFilterLen`, rounds.
const ROUNDS: u32 = 10;

/// Counts how many more segments are acknowledged than the path delivers at the estimated
/// bandwidth.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtraAcked {
    since: Time,
    acked: u32,
    filter: MaxFilter<u32>,
}

impl ExtraAcked {
    /// Starts a new measuring interval.
    pub(super) fn restart(&mut self, now: Time) {
        self.since = now;
        self.acked = 0;
    }

    /// Implements `UpdateACKAggregation()`. `filled` is true if the pipe has been full before.
    pub(super) fn update(
        &mut self,
        view: View<'_>,
        window: &Window,
        ack: &Ack,
        bw: Bandwidth,
        round: u32,
        filled: bool,
    ) {
        if ack.delivered == 0 {
            return;
        }
        let mut expected = bw.segments_in(us(view.now).saturating_sub(us(self.since)));
        if self.acked <= expected {
            self.restart(view.now);
            expected = 0;
        }
        self.acked = self.acked.saturating_add(ack.delivered);
        let extra = (self.acked - expected).min(window.cwnd);
        self.filter
            .update(if filled { ROUNDS } else { 1 }, round, extra);
    }

    /// Returns by how many segments ACK aggregation increases the window.
    pub(super) fn segments(&self) -> u32 {
        self.filter.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::Stack;

    #[test]
    fn a_burst_is_remembered_for_ten_rounds() {
        // The path delivers a segment per ms. The ACKs for 50 segments arrive together after 30 ms.
        // In these 30 ms, the path delivers 30 segments, so 20 segments are extra.
        let bw = Bandwidth::sampled(1001, 1_000_000);
        let (mut extra, mut stack) = (ExtraAcked::default(), Stack::new(100));
        let mut acked = |extra: &mut ExtraAcked, at, delivered, round, filled| {
            stack.conn.now = Time::from_ms(at);
            let ack = Ack {
                delivered,
                ..Ack::default()
            };
            stack.with(|view, window| extra.update(view, window, &ack, bw, round, filled));
        };
        acked(&mut extra, 30, 50, 1, true);
        assert_eq!(extra.segments(), 50);
        let mut kept = Vec::new();
        for round in 2..=12 {
            acked(&mut extra, 100 * u64::from(round), 1, round, true);
            kept.push(extra.segments());
        }
        assert_eq!(kept, [50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 1]);
        // In STARTUP, the filter forgets a burst after one round.
        acked(&mut extra, 2000, 40, 20, false);
        acked(&mut extra, 2100, 1, 21, false);
        assert_eq!(extra.segments(), 40);
        acked(&mut extra, 2200, 1, 22, false);
        assert_eq!(extra.segments(), 1);
    }
}
