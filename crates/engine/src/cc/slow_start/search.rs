//! SEARCH (draft-chung-ccwg-search-09). SEARCH ends slow start when fewer segments are delivered
//! than were sent a round trip earlier. While the path has free capacity, all segments that are
//! sent are delivered a round trip later. Once the path is full, some of the segments wait in the
//! queue.
//!
//! Sent and delivered segments are counted in bins. A bin lasts 0.35 of the first RTT. At the end
//! of a bin, SEARCH compares two numbers of segments. The first number was delivered in the last
//! ten bins, and the second number was sent in ten bins one RTT earlier. For this comparison,
//! SEARCH uses the latest RTT sample. Slow start ends if at least 26 % fewer segments have been
//! delivered than sent. The window then shrinks to the number of segments that were delivered in
//! the latest period of the same length as the first RTT. The window does not shrink below the
//! initial window.
//!
//! In the following points, the draft specifies nothing, or tailback differs from the draft:
//! - If the RTT is not a multiple of a bin, the ten bins of sent segments would begin and end
//!   within bins. tailback interpolates to the time one RTT before the end of the current bin. The
//!   draft's pseudo-code interpolates in the other direction.
//! - If more than ten bins pass without an ACK, SEARCH discards all bins. The draft does not
//!   specify how long SEARCH keeps bins without ACKs.
//! - While the window shrinks, the sender sends one segment for every two that are delivered. If a
//!   reduction begins, this phase ends.

use crate::cc::view::{Ack, View};
use crate::cc::window::Window;
use crate::units::Time;

/// Number of bins over which sent and delivered segments are compared.
const BINS: u64 = 10;
/// Number of additional bins for which the number of sent segments is stored. If the RTT is longer
/// than these bins, no comparison is possible.
const EXTRA_BINS: u64 = 15;
const KEPT: usize = (BINS + EXTRA_BINS + 2) as usize;
/// Length of a bin as a fraction of the first RTT: 3.5 / 10.
const BIN: (u64, u64) = (35, 100);
/// Slow start ends if at least this share of the sent segments was not delivered.
const THRESHOLD: f64 = 0.26;

#[derive(Debug)]
pub(in crate::cc) struct Search {
    /// The initial ssthresh and the initial window. The window does not shrink below the initial
    /// window.
    first_ssthresh: u32,
    first_cwnd: u32,
    /// The first RTT, or zero before the first ACK.
    first_rtt: Time,
    bin: Time,
    /// When the bin that is being filled ends, and the number of this bin.
    end: Time,
    index: u64,
    /// How many segments were sent and how many were delivered, from the start of the connection to
    /// the end of each bin. The index is the bin's number modulo [`KEPT`].
    sent: [u64; KEPT],
    delivered: [u64; KEPT],
    /// The ssthresh to which the window shrinks.
    target: Option<u32>,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            first_ssthresh: 0,
            first_cwnd: 0,
            first_rtt: Time::ZERO,
            bin: Time::ZERO,
            end: Time::ZERO,
            index: 0,
            sent: [0; KEPT],
            delivered: [0; KEPT],
            target: None,
        }
    }
}

/// Returns the number stored for bin `index`.
fn at(bins: &[u64; KEPT], index: u64) -> u64 {
    bins[(index % KEPT as u64) as usize]
}

impl Search {
    pub fn init(&mut self, window: &Window) {
        *self = Search {
            first_ssthresh: window.ssthresh,
            first_cwnd: window.cwnd,
            ..Search::default()
        };
    }

    pub fn drains(&self) -> bool {
        self.target.is_some()
    }

    pub fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        if let Some(target) = self.target {
            return self.drain(target, view, window, ack);
        }
        if !window.in_slow_start() || window.ssthresh != self.first_ssthresh {
            return;
        }
        if self.first_rtt == Time::ZERO {
            if let Some(rtt) = ack.rtt {
                self.begin(rtt, view);
            }
        } else if view.now > self.end {
            let rtt = ack.rtt.unwrap_or(view.srtt);
            if self.turn(view) && self.lag(rtt).is_some_and(|lag| lag >= THRESHOLD) {
                self.leave(window);
            }
        }
    }

    /// Starts the first bin, when the first RTT is known.
    fn begin(&mut self, rtt: Time, view: View<'_>) {
        let (part, whole) = BIN;
        self.first_rtt = rtt;
        self.bin = Time((rtt.ns() * part / whole).max(1));
        self.end = view.now + self.bin;
        self.index = 0;
        self.note(0, view);
    }

    fn note(&mut self, index: u64, view: View<'_>) {
        let i = (index % KEPT as u64) as usize;
        self.sent[i] = view.flight.nxt;
        self.delivered[i] = view.delivered;
    }

    /// Ends one or more bins. Returns whether a comparison is possible.
    fn turn(&mut self, view: View<'_>) -> bool {
        let passed = (view.now - self.end).ns() / self.bin.ns() + 1;
        if passed > BINS {
            self.begin(self.first_rtt, view);
            return false;
        }
        for skipped in 1..passed {
            let i = ((self.index + skipped) % KEPT as u64) as usize;
            self.sent[i] = at(&self.sent, self.index);
            self.delivered[i] = at(&self.delivered, self.index);
        }
        self.index += passed;
        self.end += Time(self.bin.ns() * passed);
        self.note(self.index, view);
        true
    }

    /// Returns which fraction of the segments that were sent one RTT earlier has not been
    /// delivered. Returns `None` if no bins from one RTT earlier are stored.
    fn lag(&self, rtt: Time) -> Option<f64> {
        let back = rtt.ns() / self.bin.ns();
        let before = self.index.checked_sub(back)?;
        if before <= BINS || back >= EXTRA_BINS {
            return None;
        }
        let part = (rtt.ns() % self.bin.ns()) as f64 / self.bin.ns() as f64;
        let sent_until = |index: u64| (at(&self.sent, index) - at(&self.sent, index - BINS)) as f64;
        let sent = sent_until(before) * (1.0 - part) + sent_until(before - 1) * part;
        let delivered =
            (at(&self.delivered, self.index) - at(&self.delivered, self.index - BINS)) as f64;
        (sent > 0.0).then(|| (sent - delivered) / sent)
    }

    /// Ends slow start. Sets ssthresh to the number of segments that were delivered in the latest
    /// period of the same length as the first RTT.
    fn leave(&mut self, window: &mut Window) {
        let bins = self.first_rtt.ns().div_ceil(self.bin.ns()).min(BINS);
        let delivered = at(&self.delivered, self.index) - at(&self.delivered, self.index - bins);
        let least = self.first_cwnd.min(window.cwnd);
        let target = u32::try_from(delivered)
            .unwrap_or(u32::MAX)
            .clamp(least, window.cwnd);
        window.ssthresh = target;
        window.left_slow_start = Some("search");
        self.target = (target < window.cwnd).then_some(target);
    }

    fn drain(&mut self, target: u32, view: View<'_>, window: &mut Window, ack: &Ack) {
        // If ssthresh no longer equals the target, a reduction has begun, and PRR sets the window.
        if window.ssthresh != target || view.ca_state.is_reduction() {
            self.target = None;
            return;
        }
        window.cwnd = (window.cwnd - ack.delivered.div_ceil(2).min(window.cwnd)).max(target);
        if window.cwnd <= target {
            self.target = None;
        }
    }
}
