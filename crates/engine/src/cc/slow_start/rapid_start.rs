//! Rapid Start (draft-kazuho-ccwg-rapid-start, 2026). While there is no queue, the window triples
//! in each round. After the first reduction, the window is beta times the number of segments that
//! the path delivers in one round trip.
//!
//! - The first window is paced over one RTT. Later rounds are paced at 5/3 of cwnd/srtt. At this
//!   rate, a sender uses the whole window even if the window triples each round.
//! - Rapid Start compares the smallest RTT of a round with that of the connection. There is a queue
//!   if the RTT of the round is larger by more than 10 %, or by more than 4 ms. The window then
//!   doubles in the round instead of tripling.
//! - In the first recovery, ssthresh begins at (beta + K (1 - beta)) times the window, with K =
//!   2/3. Each delivered segment lowers ssthresh by K (1 - beta), and each lost segment by beta + K
//!   (1 - beta). ssthresh never falls below beta / 3 of the window. This recovery ends when all
//!   segments that were in flight have been delivered or lost. CUBIC then sets its last maximum to
//!   twice the estimate of the path's capacity. Without fast convergence, CUBIC sets its last
//!   maximum to the estimate itself.
//!
//! Deviations: windows are in segments. The draft reduces the window at once. In tailback, only
//! ssthresh gets the reduced value at once. Linux's PRR then reduces the window to ssthresh, so
//! that sending does not pause. After a mark, the option `beta_ecn` replaces beta.

use crate::cc::view::{Ack, View};
use crate::cc::window::Window;
use crate::units::Time;

/// A rise of the RTT by this time, or by a tenth of the smallest RTT, indicates a queue.
const RISE: Time = Time::from_ms(4);
/// Pacing rate after the first window, as a multiple of cwnd/srtt. The two numbers are numerator
/// and denominator.
const PACE: (u64, u64) = (5, 3);
const MIN_WINDOW: u64 = 2;

/// Counts the segments of a window that have been delivered or lost since the first reduction.
#[derive(Clone, Copy, Debug)]
struct Convergence {
    /// The window at the reduction, in segments.
    before: u64,
    /// The window at the reduction multiplied by beta, in segments.
    reduced: u64,
    /// The value of [`crate::cc::Conn::delivered`] at the reduction.
    delivered: u64,
    /// Segments in flight at the reduction.
    flight: u64,
    /// Number of segments that have been lost since the reduction. `lost_out` is the number of
    /// segments that were marked as lost at the last ACK.
    lost: u64,
    lost_out: u32,
}

impl Convergence {
    /// Returns ssthresh when `delivered` and `lost` segments have been counted since the reduction.
    fn ssthresh(&self, delivered: u64, lost: u64) -> u32 {
        // All terms are multiplied by 3 and by the window. So only the result is rounded.
        let cut = self.before - self.reduced;
        let silence = 3 * self.reduced + 2 * cut;
        let (all, less) = (silence * self.before, 2 * cut * delivered + silence * lost);
        let least = (self.reduced / 3).max(MIN_WINDOW);
        (all.saturating_sub(less) / (3 * self.before)).max(least) as u32
    }
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The first slow start.
    Growth,
    /// The first recovery.
    Convergence(Convergence),
    /// Rapid Start has ended.
    Normal,
}

#[derive(Debug)]
pub(in crate::cc) struct RapidStart {
    phase: Phase,
    /// The initial ssthresh. While ssthresh has this value, the connection is in its first slow
    /// start.
    first_ssthresh: u32,
    /// The first segment that was sent in this round. When this segment is acknowledged, the round
    /// ends.
    round_end: u64,
    /// Whether the first window is still in flight.
    first_round: bool,
    /// Smallest RTT of this round; `NEVER` before its first sample.
    floor: Time,
    /// Estimate of the path's capacity, in segments. CUBIC sets its last maximum to a value that
    /// depends on this estimate.
    path: Option<u32>,
}

impl Default for RapidStart {
    fn default() -> RapidStart {
        RapidStart {
            phase: Phase::Growth,
            first_ssthresh: 0,
            round_end: 0,
            first_round: true,
            floor: Time::NEVER,
            path: None,
        }
    }
}

impl RapidStart {
    pub fn init(&mut self, view: View<'_>, window: &mut Window) {
        *self = RapidStart {
            first_ssthresh: window.ssthresh,
            round_end: view.flight.nxt + u64::from(window.cwnd),
            ..RapidStart::default()
        };
        window.pace_first = true;
        window.pacing_rate = super::over_rtt(view, window.cwnd);
    }

    fn is_active(&self, window: &Window) -> bool {
        matches!(self.phase, Phase::Growth)
            && window.in_slow_start()
            && window.ssthresh == self.first_ssthresh
    }

    pub fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let active = self.is_active(window);
        match &mut self.phase {
            Phase::Normal => {}
            Phase::Growth if !active => self.finish(window),
            Phase::Growth => {
                if view.flight.una > self.round_end {
                    self.round_end = view.flight.nxt;
                    self.first_round = false;
                    self.floor = Time::NEVER;
                }
                self.floor = self.floor.min(ack.rtt.unwrap_or(Time::NEVER));
                if !self.first_round {
                    window.pacing_rate = super::over_rtt(view, window.cwnd) * PACE.0 / PACE.1;
                }
            }
            Phase::Convergence(convergence) => {
                window.paced_by_stack = true;
                let found = view.flight.lost_out.saturating_sub(convergence.lost_out);
                convergence.lost_out = view.flight.lost_out;
                convergence.lost += u64::from(found);
                let delivered = view.delivered - convergence.delivered;
                let lost = convergence.lost;
                window.ssthresh = convergence.ssthresh(delivered, lost);
                if delivered + lost >= convergence.flight || !view.ca_state.is_reduction() {
                    // ssthresh is now beta times the capacity of the path. So divide ssthresh by
                    // beta.
                    let path = u64::from(window.ssthresh) * convergence.before
                        / convergence.reduced.max(1);
                    self.path = Some(path as u32);
                    self.phase = Phase::Normal;
                }
            }
        }
    }

    fn finish(&mut self, window: &mut Window) {
        self.phase = Phase::Normal;
        window.paced_by_stack = true;
    }

    /// Returns ssthresh for the first reduction. `otherwise` is the ssthresh of the congestion
    /// control, which is beta times the window.
    pub fn ssthresh(&mut self, view: View<'_>, window: &Window, otherwise: u32) -> u32 {
        if !self.is_active(window) {
            return otherwise;
        }
        let lost = u64::from(view.flight.lost_out);
        let convergence = Convergence {
            before: u64::from(window.cwnd),
            reduced: u64::from(otherwise.min(window.cwnd)),
            delivered: view.delivered,
            flight: u64::from(view.flight.packets_out() - view.flight.sacked_out),
            lost,
            lost_out: view.flight.lost_out,
        };
        self.phase = Phase::Convergence(convergence);
        convergence.ssthresh(0, lost)
    }

    /// Returns by how many segments an ACK of `acked` segments increases the window: `acked`, or
    /// twice as many while there is no queue.
    pub fn counted(&self, view: View<'_>, window: &Window, acked: u32) -> u32 {
        if !self.is_active(window) || self.floor == Time::NEVER {
            return acked;
        }
        let least = view.min_rtt;
        let queue = least + RISE.min(Time(least.ns() / 10));
        match self.floor <= queue {
            true => 2 * acked,
            false => acked,
        }
    }

    /// Once the first recovery has ended, removes and returns the estimate of the path's capacity
    /// in segments.
    pub fn take_path(&mut self) -> Option<u32> {
        self.path.take()
    }

    /// Ends Rapid Start at a timeout. ssthresh becomes beta times the window before the timeout.
    pub fn timeout(&mut self, window: &mut Window) {
        if let Phase::Convergence(convergence) = self.phase {
            window.ssthresh = convergence.reduced.max(MIN_WINDOW) as u32;
        }
        self.finish(window);
    }
}
