//! Records when and why a connection's first slow start ended, and how many segments were lost
//! afterwards. `tailback explain` shows these data. This code does not change the behaviour of the
//! sender.

use tailback_record::account::{Reason, SlowStart};

use super::sender::Sender;
use crate::cc::{Control, INFINITE_SSTHRESH};

impl Sender {
    /// Records the end of slow start. Call this function after each ACK, because a congestion
    /// control can end slow start without a reduction.
    #[inline]
    pub(super) fn note_slow_start(&mut self) {
        if self.first_ssthresh != 0 && !self.window.in_slow_start() {
            self.note_its_end();
        }
    }

    #[cold]
    fn note_its_end(&mut self) {
        match &self.account.slow_start {
            None => self.end_slow_start(None, self.window.cwnd),
            Some(end) if end.settled => self.first_ssthresh = 0,
            // All segments that were in flight when slow start ended have been acknowledged.
            Some(_) if self.board.flight.una >= self.overshoot_end => {
                self.first_ssthresh = 0;
                self.settle_slow_start();
            }
            Some(_) => {}
        }
    }

    /// Records that this reduction of a window of `cwnd` segments ends the first slow start.
    #[inline]
    pub(super) fn reduce_in_slow_start(&mut self, reason: Reason, cwnd: u32) {
        let ends = !matches!(
            reason,
            Reason::Idle | Reason::Model | Reason::UndoDsack | Reason::UndoOriginal
        );
        if self.first_ssthresh == 0 || !ends || self.account.slow_start.is_some() {
            return;
        }
        // With `Control::Window`, a reduction ends slow start only if the window has reached
        // ssthresh.
        if self.needs.control != Control::Window || !self.window.in_slow_start() {
            self.end_slow_start(Some(reason), cwnd);
        }
    }

    #[cold]
    fn end_slow_start(&mut self, reason: Option<Reason>, cwnd: u32) {
        let first = self.first_ssthresh;
        let why = match (self.window.left_slow_start, reason) {
            (Some(why), _) => why,
            (None, Some(reason)) => reason.name(),
            (None, None) if self.window.ssthresh == first => SlowStart::THRESHOLD,
            (None, None) => SlowStart::OWN,
        };
        let min_rtt = self.conn.min_rtt.min(self.conn.srtt);
        self.account.left_slow_start(SlowStart {
            at_ns: self.conn.now.ns(),
            why: why.to_owned(),
            cwnd,
            srtt_ns: self.conn.srtt.ns(),
            min_rtt_ns: min_rtt.ns(),
            lost: self.board.lost_marks,
            settled: false,
        });
        self.overshoot_end = self.board.flight.nxt;
        // Connections of traffic sources have no such record, so do not wait for later losses.
        if self.account.slow_start.is_none() {
            self.first_ssthresh = 0;
        }
    }

    /// Completes the record with the number of lost segments, after a recovery or when all segments
    /// that were in flight at the end of slow start have been acknowledged.
    pub(super) fn settle_slow_start(&mut self) {
        if let Some(end) = &mut self.account.slow_start
            && !end.settled
        {
            end.lost = self.board.lost_marks;
            end.settled = true;
        }
    }

    /// Corrects the record after a reduction has been undone. If ssthresh is infinite again, slow
    /// start continues, so this function removes the record of the end of slow start.
    pub(super) fn reopen_slow_start(&mut self) {
        if self.needs.control != Control::Window
            && self.window.ssthresh >= INFINITE_SSTHRESH
            && self.account.slow_start.take().is_some()
        {
            self.first_ssthresh = self.window.ssthresh;
        }
    }
}
