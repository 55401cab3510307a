//! Proportional rate reduction (RFC 6937 with Linux's reduction bound; Linux
//! `tcp_cwnd_reduction`).

/// A reduction under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// Window when it began.
    pub prior_cwnd: u32,
    /// Segments delivered since.
    delivered: u32,
    /// Segments sent since.
    out: u32,
}

impl Prr {
    /// A reduction of this window begins.
    pub fn of(prior_cwnd: u32) -> Prr {
        Prr {
            prior_cwnd,
            ..Prr::default()
        }
    }

    /// A segment was sent.
    #[inline]
    pub fn sent(&mut self) {
        self.out += 1;
    }

    /// The window after an ACK that delivered this many segments; `None`: the window stays. `safe`:
    /// the ACK advanced, and found nothing lost.
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
        // One segment at least goes out on entering fast recovery.
        let send = send.max(i64::from(self.out == 0));
        Some((i64::from(in_flight) + send).max(1) as u32)
    }
}
