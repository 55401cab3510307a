//! The moving average alpha of the fraction of marked segments. Both versions of Prague compute
//! alpha in the same way. The versions differ in the number of binary digits and in the initial
//! value of alpha.

use super::fallback::Fallback;
use crate::cc::view::View;
use crate::registry::Options;
use crate::units::Time;

/// alpha, with the counters of the current round. The next alpha is computed from these counters.
#[derive(Debug)]
pub(super) struct Alpha {
    /// Number of binary digits of alpha.
    pub bits: u32,
    /// The weight g of a new round is 2^-shift_g.
    shift_g: u32,
    /// The initial value of alpha, in units of 2^-bits.
    pub init: u64,
    /// Moving average of the marked fraction, divided by g, in units of 2^-bits.
    upscaled: u64,
    /// When alpha was last updated.
    pub stamp: Time,
    /// Detects queues with classic ECN (option `ecn_fallback`).
    fallback: Option<Box<Fallback>>,
    /// Whether a mark has been reported. A reported mark shows that an AQM on the path marks
    /// packets.
    pub saw_ce: bool,
    /// Number of segments that had been delivered when the round began.
    old_delivered: u64,
    /// Number of marked segments that had been delivered when the round began.
    old_delivered_ce: u64,
    /// The round ends when all segments below this one have been acknowledged.
    next_seq: u64,
}

impl Alpha {
    pub fn new(options: &Options, shift_g: u32) -> Alpha {
        let bits = options.int("alpha_bits") as u32;
        let one = (1_u64 << bits) as f64;
        Alpha {
            bits,
            shift_g,
            init: libm::round(options.float("alpha_init") * one) as u64,
            upscaled: 0,
            stamp: Time::ZERO,
            fallback: match options.word("ecn_fallback") {
                "off" => None,
                word => Some(Box::new(Fallback::new(bits, word == "unscaled"))),
            },
            saw_ce: false,
            old_delivered: 0,
            old_delivered_ce: 0,
            next_seq: 0,
        }
    }

    /// Starts the first round when the connection begins.
    pub fn begin(&mut self, view: View<'_>) {
        self.upscaled = self.init << self.shift_g;
        self.stamp = view.now;
        self.saw_ce = view.delivered_ce > 0;
        if let Some(fallback) = &mut self.fallback {
            fallback.begin(view.srtt);
        }
    }

    pub fn begin_round(&mut self, view: View<'_>) {
        self.next_seq = view.flight.nxt;
        self.old_delivered = view.delivered;
        self.old_delivered_ce = view.delivered_ce;
    }

    pub fn is_round_over(&self, view: View<'_>) -> bool {
        view.flight.una >= self.next_seq
    }

    /// Updates alpha with the marks of a round. Before the first mark, alpha does not change.
    pub fn update(&mut self, view: View<'_>) {
        if !self.saw_ce {
            return;
        }
        if let Some(fallback) = &mut self.fallback {
            fallback.update(view);
        }
        let marked = view.delivered_ce - self.old_delivered_ce;
        let delivered = (view.delivered - self.old_delivered).max(1);
        let upscaled =
            self.upscaled - (self.upscaled >> self.shift_g) + (marked << self.bits) / delivered;
        self.upscaled = upscaled.min(1 << (self.bits + self.shift_g));
        self.stamp = view.now;
    }

    /// Returns the value that determines reductions after marks. The result is alpha, or a larger
    /// value if the queue seems to use classic ECN.
    pub fn limited(&self) -> u64 {
        let alpha = self.upscaled >> self.shift_g;
        self.fallback
            .as_ref()
            .map_or(alpha, |fallback| fallback.limited(alpha))
    }

    /// Returns alpha as a number from 0 to 1.
    pub fn share(&self) -> f64 {
        let alpha = self.upscaled >> self.shift_g;
        alpha as f64 / (1_u64 << self.bits) as f64
    }

    /// Passes an RTT sample to the detection of classic ECN.
    pub fn sample(&mut self, rtt: Option<Time>) {
        if let (Some(fallback), Some(rtt)) = (&mut self.fallback, rtt) {
            fallback.sample(rtt);
        }
    }

    /// Tells the detection of classic ECN that a reduction to `ssthresh` begins.
    pub fn reduced(&mut self, ssthresh: u32) {
        if let Some(fallback) = &mut self.fallback {
            fallback.rescale(ssthresh);
        }
    }
}
