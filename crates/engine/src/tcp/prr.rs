//! Proportional rate reduction (RFC 6937; Linux `tcp_cwnd_reduction`), with the reduction bound
//! that Linux uses.

/// A reduction in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    pub prior_cwnd: u32,
    delivered: u32,
    out: u32,
}

impl Prr {
    pub fn of(prior_cwnd: u32) -> Prr {
        Prr {
            prior_cwnd,
            ..Prr::default()
        }
    }

    #[inline]
    pub fn sent(&mut self) {
        self.out += 1;
    }

    /// Returns the window after an ACK that delivers this many segments. Returns `None` if the
    /// window does not change. `safe` means that the ACK advances the cumulative acknowledgement
    /// and does not show a loss.
    pub fn window(
        &mut self,
        delivered: u32,
        safe: bool,
        in_flight: u32,
        ssthresh: u32,
    ) -> Option<u32> {
        if delivered == 0 || self.prior_cwnd == 0 {
            return None;
        }
        self.delivered += delivered;
        let room = i64::from(ssthresh) - i64::from(in_flight);
        let send = if room < 0 {
            let product = u64::from(ssthresh) * u64::from(self.delivered);
            product.div_ceil(u64::from(self.prior_cwnd)) as i64 - i64::from(self.out)
        } else {
            let owed = i64::from(self.delivered) - i64::from(self.out);
            (owed.max(i64::from(delivered)) + i64::from(safe)).min(room)
        };
        // At the start of recovery (nothing sent yet), send at least one segment.
        let send = send.max(i64::from(self.out == 0));
        Some((i64::from(in_flight) + send).max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a reduction that began at a window of 10 segments. So far, `delivered` segments were
    /// delivered and `out` segments were sent.
    fn under_way(delivered: u32, out: u32) -> Prr {
        Prr {
            prior_cwnd: 10,
            delivered,
            out,
        }
    }

    /// RFC 6937 section 3: while the window is above ssthresh, one segment is sent for every
    /// prior_cwnd / ssthresh delivered segments. Below ssthresh, segments are sent until the window
    /// reaches ssthresh.
    #[test]
    fn in_proportion_above_ssthresh_and_bounded_below() {
        for (before, delivered, safe, in_flight, expected, why) in [
            ((0, 0), 1, false, 9, 10, "ceil(5 / 10) of the first"),
            ((1, 1), 1, false, 9, 9, "ceil(10 / 10) are out already"),
            ((2, 1), 1, true, 8, 9, "ceil(15 / 10), one of them out"),
            ((1, 1), 3, false, 6, 7, "ceil(20 / 10), one of them out"),
            (
                (0, 0),
                1,
                false,
                5,
                6,
                "one goes out on entry, with or without room",
            ),
            ((4, 4), 1, false, 5, 5, "no room at ssthresh"),
            ((3, 4), 1, false, 3, 4, "as many as were delivered"),
            ((3, 4), 1, true, 3, 5, "one more if the ACK is safe"),
            ((3, 4), 9, true, 3, 5, "up to ssthresh"),
            ((7, 4), 1, false, 1, 5, "what PRR owes: 8 - 4"),
            (
                (9, 9),
                1,
                false,
                12,
                12,
                "segments sent in excess are not taken back",
            ),
        ] {
            let mut prr = under_way(before.0, before.1);
            let window = prr.window(delivered, safe, in_flight, 5);
            assert_eq!(window, Some(expected), "{why}");
            assert_eq!(prr.delivered, before.0 + delivered);
        }
        assert_eq!(under_way(20, 9).window(1, false, 0, 0), Some(1), "not 0");
    }

    #[test]
    fn without_deliveries_or_a_reduction_the_window_stays() {
        assert_eq!(under_way(3, 1).window(0, true, 4, 5), None);
        assert_eq!(Prr::default().window(1, true, 4, 5), None);
        let mut prr = Prr::of(8);
        assert_eq!((prr.prior_cwnd, prr.delivered, prr.out), (8, 0, 0));
        prr.sent();
        prr.sent();
        assert_eq!(prr.out, 2);
    }
}
