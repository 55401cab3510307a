//! The timer of a sender, and what to do when it expires (Linux `icsk_pending`, `tcp_timer.c`). A
//! sender has only one timer.

use super::rtt::{INITIAL_RTO, Rtt};
use super::scoreboard::Scoreboard;
use crate::cc::{CaState, Conn};
use crate::plan::TcpPlan;
use crate::units::Time;
use crate::wheel::TimerClock;

/// Shortest timeout (Linux `TCP_TIMEOUT_MIN`): two jiffies at HZ 1000.
pub(super) const TIMEOUT_MIN: Time = Time::from_ms(2);

/// What to do when the timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No deadline.
    None,
    /// Retransmission timeout.
    Retransmit,
    /// Tail loss probe (RFC 8985 section 7).
    Probe,
    /// RACK's reordering window (RFC 8985 section 6.3).
    Reorder,
}

#[derive(Clone, Debug)]
pub(super) struct Timer {
    pub kind: Kind,
    pub deadline: Time,
    /// When the timer was set. `NEVER` once `deadline` has been rounded to a tick of the timer
    /// wheel.
    set: Time,
    pub clock: TimerClock,
    /// Extra time before a tail loss probe if only one segment is in flight. The receiver may delay
    /// the ACK of this segment.
    slack: Time,
}

impl Timer {
    pub fn new(plan: &TcpPlan) -> Timer {
        Timer {
            kind: Kind::None,
            deadline: Time::NEVER,
            set: Time::NEVER,
            clock: TimerClock::new(plan),
            slack: plan.min_rto,
        }
    }

    #[inline]
    pub fn set(&mut self, kind: Kind, now: Time, after: Time) {
        self.kind = kind;
        self.deadline = now + after;
        self.set = now;
    }

    pub fn clear(&mut self) {
        self.kind = Kind::None;
        self.deadline = Time::NEVER;
    }

    /// If the timer has expired, returns its kind. Later calls return `None`.
    pub fn take_due(&mut self, now: Time) -> Option<Kind> {
        if self.deadline <= now && self.set < Time::NEVER && self.clock.is_coarse() {
            // Round the deadline only now, because most timers are set again before they expire.
            self.deadline = self.clock.fires(self.set, self.deadline);
            self.set = Time::NEVER;
        }
        (self.deadline <= now).then(|| std::mem::replace(&mut self.kind, Kind::None))
    }

    /// Sets the retransmission timer (Linux `tcp_rearm_rto`).
    pub fn rearm_rto(&mut self, now: Time, board: &Scoreboard, rtt: &Rtt) {
        if board.flight.packets_out() == 0 {
            return self.clear();
        }
        let after = match self.kind {
            // The timeout is measured from the transmission of the first segment, not from now.
            Kind::Probe | Kind::Reorder => until_rto(now, board, rtt).max(Time(1)),
            Kind::None | Kind::Retransmit => rtt.timeout(),
        };
        self.set(Kind::Retransmit, now, after);
    }

    /// Schedules a tail loss probe (RFC 8985 section 7.2; Linux `tcp_schedule_loss_probe`).
    /// `progress` is true if an ACK has just restarted the retransmission timeout. Returns whether
    /// a probe is scheduled.
    pub fn schedule_probe(
        &mut self,
        conn: &Conn,
        board: &Scoreboard,
        rtt: &Rtt,
        progress: bool,
    ) -> bool {
        let open = matches!(conn.ca_state, CaState::Open | CaState::Cwr);
        let out = board.flight.packets_out();
        if out == 0 || !open {
            return false;
        }
        let mut after = if conn.srtt > Time::ZERO {
            let slack = if out == 1 { self.slack } else { TIMEOUT_MIN };
            Time(2 * conn.srtt.ns()) + slack
        } else {
            INITIAL_RTO
        };
        let until_rto = if progress {
            rtt.timeout()
        } else {
            until_rto(conn.now, board, rtt)
        };
        if until_rto > Time::ZERO {
            after = after.min(until_rto);
        }
        self.set(Kind::Probe, conn.now, after);
        true
    }
}

/// Returns the time until the first unacknowledged segment times out, or zero if this time has
/// passed.
fn until_rto(now: Time, board: &Scoreboard, rtt: &Rtt) -> Time {
    let sent = board.get(board.flight.una).sent;
    (sent + rtt.timeout()).since(now)
}
