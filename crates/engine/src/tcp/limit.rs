//! Determines what limits a sender (window, pacing, application, ...). At any time, exactly one
//! limit applies (as in Linux `tcp_chrono_start`, but with more kinds of limits).

use tailback_record::account::{Limit, Reason};

use super::handshake::Phase;
use super::sender::Sender;
use super::states::Event;
use crate::cc::{CaState, Control};

impl Sender {
    /// Records which limit applies after the sender has sent everything that it may send.
    #[inline]
    pub fn note_limit(&mut self) {
        let limit = self.limit();
        if limit != self.account.limit {
            self.account.turn(limit, self.conn.now.ns());
        }
    }

    #[inline]
    fn limit(&self) -> Limit {
        if self.handshake.phase != Phase::Established {
            return match self.handshake.phase {
                Phase::SynSent => Limit::Handshake,
                _ => Limit::Off,
            };
        }
        if self.conn.ca_state >= CaState::Recovery {
            Limit::Recovery
        } else if self.queue.is_empty() {
            Limit::Application
        } else if self.board.flight.in_flight() >= self.window.cwnd {
            Limit::Cwnd
        } else if self.rwnd_limited() {
            Limit::Rwnd
        } else if self.pacer.until > self.conn.now {
            Limit::Pacing
        } else {
            Limit::Cwnd
        }
    }

    /// Records a timeout, which means that the sender has been waiting since its last packet.
    pub(super) fn note_wait(&mut self) {
        let (sent, now) = (self.conn.last_sent.ns(), self.conn.now.ns());
        self.account.waited(sent, now);
    }

    /// Records that the window is being reduced from `from` to ssthresh.
    pub(super) fn account_reduction(&mut self, reason: Reason, from: u32) {
        // A congestion control that sets the window itself may reduce it at any time. `account_own`
        // records such reductions.
        if self.needs.control != Control::Window {
            let (now, to) = (self.conn.now.ns(), self.window.ssthresh);
            self.account.reduced(now, reason, from, to);
            self.reduce_in_slow_start(reason, from);
        }
    }

    /// Records that the congestion control itself has reduced the window from `from`, after an ACK.
    #[cold]
    pub(super) fn account_own(&mut self, from: u32, event: &Event) {
        let own = self.needs.control == Control::Window;
        let state = self.conn.ca_state;
        if event.esce && state <= CaState::Disorder {
            self.account_step(Reason::Sce, from);
        } else if own && (event.ece || state == CaState::Cwr) {
            self.account_part(Reason::Ece, from);
        } else if own && state >= CaState::Recovery && self.account.limit != Limit::Recovery {
            // The previous limit was not `Recovery`, so this ACK is the first one of a recovery.
            self.account_part(self.loss(), from);
        } else if own && self.window.cwnd <= from - from / 4 {
            self.account_step(Reason::Model, from);
        } else if self.account.is_stepping() {
            self.account_part(self.loss(), from);
        }
    }

    /// Records that the window was reduced from `from`, as one step of a longer reduction. For
    /// example, Prague reduces the window by one segment with each ACK.
    fn account_part(&mut self, reason: Reason, from: u32) {
        let (now, to) = (self.conn.now.ns(), self.window.cwnd);
        if self.account.stepped(now, reason, from, to) {
            self.reduce_in_slow_start(reason, from);
        }
    }

    /// Records that the window was changed from `from`.
    pub(super) fn account_step(&mut self, reason: Reason, from: u32) {
        let (now, to) = (self.conn.now.ns(), self.window.cwnd);
        self.account.reduced(now, reason, from, to);
        self.reduce_in_slow_start(reason, from);
    }
}
