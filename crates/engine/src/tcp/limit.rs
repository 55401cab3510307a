//! Finds what limits a sender. At any time, exactly one limit applies (as in Linux
//! `tcp_chrono_start`, but with more kinds of limits).

use tailback_record::account::{Limit, Reason};

use super::handshake::Phase;
use super::sender::Sender;
use super::states::Event;
use crate::cc::{CaState, Control};

impl Sender {
    /// Records what limits the sender, after it has sent all data that it may send.
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

    /// Records that a timer has expired. Until now, the sender has waited for an answer to its last
    /// packet.
    pub(super) fn note_wait(&mut self) {
        let (sent, now) = (self.conn.last_sent.ns(), self.conn.now.ns());
        self.account.waited(sent, now);
    }

    /// Records a reduction of the window from `from` to ssthresh.
    pub(super) fn account_reduction(&mut self, reason: Reason, from: u32) {
        // A congestion control that itself sets the window may reduce it at any time. `account_own`
        // records such reductions.
        if self.needs.control != Control::Window {
            let (now, to) = (self.conn.now.ns(), self.window.ssthresh);
            self.account.reduced(now, reason, from, to);
            self.reduce_in_slow_start(reason, from);
        }
    }

    /// Records that an ACK has made the window smaller than `from` without PRR.
    #[cold]
    pub(super) fn account_own(&mut self, from: u32, event: &Event) {
        let own = self.needs.control == Control::Window;
        let state = self.conn.ca_state;
        if event.esce && state <= CaState::Disorder {
            self.account_step(Reason::Sce, from);
        } else if own && (event.ece || state == CaState::Cwr) {
            self.account_part(Reason::Ece, from);
        } else if own && state >= CaState::Recovery && self.account.limit != Limit::Recovery {
            // This is the first ACK in this recovery.
            self.account_part(self.loss(), from);
        } else if own && self.window.cwnd <= from - from / 4 {
            self.account_step(Reason::Model, from);
        } else if self.account.is_stepping() {
            self.account_part(self.loss(), from);
        }
    }

    /// Records a step of a reduction, from `from` to the window's current size. More steps may
    /// follow in this congestion state, because for example Prague reduces the window by one
    /// segment with each ACK.
    fn account_part(&mut self, reason: Reason, from: u32) {
        let (now, to) = (self.conn.now.ns(), self.window.cwnd);
        if self.account.stepped(now, reason, from, to) {
            self.reduce_in_slow_start(reason, from);
        }
    }

    /// Records a change of the window from `from` to its current size.
    pub(super) fn account_step(&mut self, reason: Reason, from: u32) {
        let (now, to) = (self.conn.now.ns(), self.window.cwnd);
        self.account.reduced(now, reason, from, to);
        self.reduce_in_slow_start(reason, from);
    }
}
