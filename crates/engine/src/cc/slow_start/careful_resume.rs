//! Careful Resume (RFC 9959). A connection jumps to half of the window that an earlier connection
//! over the same path had. If the path cannot carry this window, the connection undoes the jump.
//!
//! | phase | what happens |
//! |---|---|
//! | Reconnaissance | slow start until the initial window is acknowledged; a loss, a mark, or an RTT outside 0.5 to 10 times the saved RTT cancels the jump |
//! | Unvalidated | the window is half of the saved window and does not grow; packets are paced over one RTT |
//! | Validating | slow start continues, until the last packet of the Unvalidated phase is
//! acknowledged |
//! | Safe Retreat | after a loss or a mark in Unvalidated or Validating: the window is half of PipeSize (segments in flight at the jump, plus those acknowledged since); at the end, ssthresh is half of PipeSize |
//!
//! Deviations: windows are in segments. In Safe Retreat, PRR lowers the window step by step,
//! whereas the RFC sets the window at once. Saved parameters do not expire, because a scenario sets
//! them.

use crate::cc::view::{Ack, CaState, View};
use crate::cc::window::Window;
use crate::units::Time;

/// If the RTT exceeds the saved RTT by more than this factor, the path counts as a different path
/// (section 4.2).
const MAX_RTT_RATIO: u64 = 10;
/// The smallest window after a reduction, in segments (RFC 5681).
const MIN_WINDOW: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waits for the ACK of the initial window. `end` is the number of the segment after the
    /// initial window.
    Reconnaissance { end: u64 },
    /// Sends the segments of the jump. `first` is the first of these segments, and `since` is the
    /// time at which the jump began.
    Unvalidated { first: u64, since: Time },
    /// Waits until every segment below `end` has been acknowledged.
    Validating { end: u64 },
    /// After a reduction, waits until every segment below `end` has been acknowledged.
    SafeRetreat { end: u64 },
    /// Careful Resume has ended.
    Normal,
}

#[derive(Debug)]
pub(in crate::cc) struct CarefulResume {
    saved_window: u32,
    saved_rtt: Time,
    phase: Phase,
    /// How many segments the path has demonstrably carried (`PipeSize`).
    pipe: u32,
}

impl CarefulResume {
    pub fn new(saved_window: u32, saved_rtt: Time) -> CarefulResume {
        CarefulResume {
            saved_window,
            saved_rtt,
            phase: Phase::Normal,
            pipe: 0,
        }
    }

    pub fn init(&mut self, view: View<'_>, window: &Window) {
        let end = view.flight.nxt + u64::from(window.cwnd);
        self.phase = Phase::Reconnaissance { end };
    }

    pub fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        let una = view.flight.una;
        match self.phase {
            Phase::Normal => {}
            Phase::Reconnaissance { end } => {
                let confirmed = |rtt: Time| {
                    rtt.ns() > self.saved_rtt.ns() / 2
                        && rtt.ns() <= MAX_RTT_RATIO * self.saved_rtt.ns()
                };
                if view.ca_state > CaState::Disorder || !ack.rtt.is_none_or(confirmed) {
                    self.finish(window);
                } else if una >= end {
                    self.jump(view, window);
                }
            }
            Phase::Unvalidated { first, since } => {
                self.pipe += ack.delivered;
                // The segments of this ACK are no longer in `packets_out`. So add these segments
                // before the comparison with the window.
                let sent = view.flight.packets_out() + ack.acked >= window.cwnd;
                if una > first || sent || view.now.since(since) > view.srtt {
                    self.validate(view, window);
                }
            }
            Phase::Validating { end } => {
                self.pipe += ack.delivered;
                if una >= end {
                    self.finish(window);
                }
            }
            Phase::SafeRetreat { end } => {
                window.paced_by_stack = true;
                self.pipe += ack.delivered;
                if una >= end {
                    window.ssthresh = self.half();
                    self.finish(window);
                }
            }
        }
    }

    /// Begins the Unvalidated phase. Does nothing if the window is already as large as the jump, or
    /// if the application does not fill the window.
    fn jump(&mut self, view: View<'_>, window: &mut Window) {
        let jump = self.saved_window / 2;
        if jump <= window.cwnd || !view.is_cwnd_limited(window) {
            return self.finish(window);
        }
        self.pipe = view.flight.packets_out();
        self.phase = Phase::Unvalidated {
            first: view.flight.nxt,
            since: view.now,
        };
        window.cwnd = jump;
        window.pacing_rate = super::over_rtt(view, jump);
    }

    /// Ends the Unvalidated phase. The window becomes the number of segments that were sent in this
    /// phase.
    fn validate(&mut self, view: View<'_>, window: &mut Window) {
        let flight = view.flight.packets_out();
        window.paced_by_stack = true;
        window.cwnd = flight.max(self.pipe);
        if flight > self.pipe {
            self.phase = Phase::Validating {
                end: view.flight.nxt,
            };
        } else {
            self.finish(window);
        }
    }

    fn finish(&mut self, window: &mut Window) {
        self.phase = Phase::Normal;
        window.paced_by_stack = true;
    }

    /// Returns ssthresh after a reduction. During the jump, ssthresh is half of PipeSize.
    /// Otherwise, ssthresh is the congestion control's own value, `otherwise`.
    pub fn ssthresh(&mut self, view: View<'_>, otherwise: u32) -> u32 {
        if !matches!(
            self.phase,
            Phase::Unvalidated { .. } | Phase::Validating { .. }
        ) {
            return otherwise;
        }
        self.phase = Phase::SafeRetreat {
            end: view.flight.nxt,
        };
        self.half()
    }

    fn half(&self) -> u32 {
        (self.pipe / 2).max(MIN_WINDOW)
    }

    /// Returns how many of `acked` segments increase the window. In the Unvalidated phase, the
    /// result is 0.
    pub fn counted(&self, acked: u32) -> u32 {
        match self.phase {
            Phase::Unvalidated { .. } => 0,
            _ => acked,
        }
    }
}
