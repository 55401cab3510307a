//! HyStart++ (RFC 9406). When the RTT rises, HyStart++ first lets the window grow more slowly for
//! five rounds, and then ends slow start. If the RTT falls again during these five rounds, normal
//! slow start continues.
//!
//! In this module, windows are in segments. Quarters of a segment are carried over to the next ACK.
//! As section 4.3 recommends, HyStart++ acts only in the first slow start.

use crate::cc::view::{Ack, View};
use crate::cc::window::Window;
use crate::units::Time;

/// Lower and upper limit for the rise of the RTT that HyStart++ detects (section 4.2).
const THRESHOLD: (Time, Time) = (Time::from_ms(4), Time::from_ms(16));
const MIN_RTT_DIVISOR: u64 = 8;
/// After this many RTT samples of a round, HyStart++ compares the round's smallest RTT with that of
/// the previous round.
const SAMPLES: u32 = 8;
/// In conservative slow start, each increase of the window by one segment takes this many
/// acknowledged segments.
const CSS_GROWTH_DIVISOR: u32 = 4;
/// Number of rounds of conservative slow start, including the round in which it begins.
const CSS_ROUNDS: u32 = 5;
/// Largest number of segments by which one ACK may increase the window if packets are not paced
/// (`L`).
const MOST_UNPACED: u32 = 8;

#[derive(Debug)]
pub(in crate::cc) struct HyStartPlusPlus {
    /// The initial ssthresh. While ssthresh has this value, the connection is in its first slow
    /// start.
    first_ssthresh: u32,
    /// The first segment that was sent in this round. When this segment is acknowledged, the round
    /// ends.
    round_end: u64,
    /// Smallest RTT of the previous round. `current_rtt` is the smallest RTT of this round. Both
    /// RTTs are `NEVER` before their first sample.
    last_rtt: Time,
    current_rtt: Time,
    samples: u32,
    /// State of conservative slow start. `None` outside conservative slow start.
    conservative: Option<Conservative>,
}

#[derive(Debug)]
struct Conservative {
    /// The smallest RTT before the rise. If a later RTT is below this RTT, conservative slow start
    /// ends and normal slow start continues.
    baseline: Time,
    rounds: u32,
    /// Acknowledged segments that have not yet increased the window.
    left: u32,
}

impl Default for HyStartPlusPlus {
    fn default() -> HyStartPlusPlus {
        HyStartPlusPlus {
            first_ssthresh: 0,
            round_end: 0,
            last_rtt: Time::NEVER,
            current_rtt: Time::NEVER,
            samples: 0,
            conservative: None,
        }
    }
}

impl HyStartPlusPlus {
    pub fn init(&mut self, view: View<'_>, window: &Window) {
        *self = HyStartPlusPlus {
            first_ssthresh: window.ssthresh,
            round_end: view.flight.nxt,
            ..HyStartPlusPlus::default()
        };
    }

    fn is_active(&self, window: &Window) -> bool {
        window.in_slow_start() && window.ssthresh == self.first_ssthresh
    }

    pub fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        if !self.is_active(window) {
            return;
        }
        if view.flight.una > self.round_end {
            self.round_end = view.flight.nxt;
            self.last_rtt = self.current_rtt;
            self.current_rtt = Time::NEVER;
            self.samples = 0;
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
                if conservative.rounds >= CSS_ROUNDS {
                    window.ssthresh = window.cwnd;
                    window.left_slow_start = Some("hystart++");
                    return;
                }
            }
        }
        let Some(rtt) = ack.rtt else {
            return;
        };
        self.current_rtt = self.current_rtt.min(rtt);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match &self.conservative {
            Some(conservative) if self.current_rtt < conservative.baseline => {
                self.conservative = None;
            }
            None if self.last_rtt != Time::NEVER => {
                let (least, most) = THRESHOLD;
                let rise = Time(self.last_rtt.ns() / MIN_RTT_DIVISOR).clamp(least, most);
                if self.current_rtt >= self.last_rtt + rise {
                    self.conservative = Some(Conservative {
                        baseline: self.current_rtt,
                        rounds: 0,
                        left: 0,
                    });
                }
            }
            _ => {}
        }
    }

    pub fn counted(&mut self, window: &Window, acked: u32) -> u32 {
        if !self.is_active(window) {
            return acked;
        }
        let acked = match window.pacing_rate {
            0 => acked.min(MOST_UNPACED),
            _ => acked,
        };
        let Some(conservative) = &mut self.conservative else {
            return acked;
        };
        conservative.left += acked;
        let counted = conservative.left / CSS_GROWTH_DIVISOR;
        conservative.left %= CSS_GROWTH_DIVISOR;
        counted
    }
}
