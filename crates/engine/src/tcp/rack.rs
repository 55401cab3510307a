//! RACK: losses found by time (RFC 8985 section 6; Linux `tcp_recovery.c`).

use super::rate::Rates;
use super::scoreboard::{Scoreboard, Segment, Walk, state};
use crate::cc::{CaState, Conn};
use crate::units::Time;

/// Duplicate ACKs that mean loss while no reordering was seen.
pub(super) const REORDERING: u32 = 3;
/// Linux `tcp_max_reordering`.
const MAX_REORDERING: u64 = 300;
/// Recoveries for which a widened reordering window lasts (RFC 8985 section 6.2).
const PERSIST: u32 = 16;

/// What RACK knows of deliveries and of reordering.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Transmission time of the most recently sent segment that was delivered.
    sent: Time,
    /// One past that segment, to break ties.
    end: u64,
    /// Its RTT.
    rtt: Time,
    /// A delivery has advanced it since the last check.
    pub advanced: bool,
    /// Reordering was seen.
    pub reordering_seen: bool,
    /// By how many segments at most (Linux `reordering`); 3 before any was seen.
    pub reordering: u32,
    /// Quarters of the minimum RTT in the reordering window.
    pub steps: u32,
    /// Recoveries until `steps` falls back to 1.
    persist: u32,
    /// Next new segment when a D-SACK was last answered with a wider window.
    dsack_round: u64,
}

impl Rack {
    /// RACK of a connection whose first segment has this number.
    pub fn new(first: u64) -> Rack {
        Rack {
            sent: Time::ZERO,
            end: first,
            rtt: Time::ZERO,
            advanced: false,
            reordering_seen: false,
            reordering: REORDERING,
            steps: 1,
            persist: 0,
            dsack_round: first,
        }
    }

    /// A segment was delivered (RFC 8985 section 6.2 step 2; Linux `tcp_rack_advance`).
    #[inline]
    pub fn advance(&mut self, seq: u64, segment: &Segment, conn: &Conn) {
        let rtt = conn.now.since(segment.sent);
        if segment.flags & state::EVER_RETRANS != 0 && rtt < conn.min_rtt {
            return; // the original may have been delivered, not the retransmission
        }
        self.advanced = true;
        self.rtt = rtt;
        if (segment.sent, seq + 1) > (self.sent, self.end) {
            self.sent = segment.sent;
            self.end = seq + 1;
        }
    }

    /// The same for all below `end`, which were sent once and in order, the last at `sent`.
    #[inline]
    pub fn advance_plain(&mut self, end: u64, sent: Time, now: Time) {
        self.advanced = true;
        self.rtt = now.since(sent);
        if (sent, end) > (self.sent, self.end) {
            self.sent = sent;
            self.end = end;
        }
    }

    /// Segment `seq` was overtaken by others (Linux `tcp_check_sack_reordering`).
    #[cold]
    pub fn note_reordering(&mut self, seq: u64, board: &Scoreboard) {
        let distance = board.highest_sacked().saturating_sub(seq);
        if distance > 0 {
            self.reordering_seen = true;
            let degree = distance.min(MAX_REORDERING) as u32;
            self.reordering = self.reordering.max(degree);
        }
    }

    /// RFC 8985 section 6.2 step 4; Linux `tcp_rack_reo_wnd`.
    fn window(&self, conn: &Conn, board: &Scoreboard) -> Time {
        if !self.reordering_seen
            && (conn.ca_state >= CaState::Recovery || board.flight.sacked_out >= REORDERING)
        {
            return Time::ZERO;
        }
        if conn.min_rtt == Time::NEVER {
            return Time::ZERO;
        }
        let quarter = conn.min_rtt.ns() / 4;
        Time(quarter.saturating_mul(u64::from(self.steps))).min(conn.srtt)
    }

    /// RFC 8985 section 6.2 step 4, the adaptation; Linux `tcp_rack_update_reo_wnd`.
    /// `dsack`: a D-SACK showed that a retransmission, which was no probe, was needless.
    #[inline]
    pub fn adapt_window(&mut self, dsack: bool, board: &Scoreboard) {
        if dsack && self.reordering_seen && board.flight.una > self.dsack_round {
            self.steps = (self.steps + 1).min(255);
            self.dsack_round = board.flight.nxt;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery was real.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was spurious: its retransmissions were all duplicates.
    pub fn was_needless(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// RFC 8985 section 6.2 step 5; Linux `tcp_rack_detect_loss`. Returns
    /// the time after which to look again, if segments are undecided.
    pub fn detect_loss(
        &self,
        conn: &Conn,
        board: &mut Scoreboard,
        mut rates: Option<&mut Rates>,
    ) -> Option<Time> {
        let window = self.window(conn, board);
        let mut wait = None;
        board.walk_transmissions(|seq, segment| {
            if segment.flags & (state::LOST | state::RETRANS) == state::LOST {
                return Walk::Next;
            }
            let sent_before =
                segment.sent < self.sent || (segment.sent == self.sent && seq + 1 < self.end);
            if !sent_before {
                return Walk::Stop;
            }
            let due = segment.sent + self.rtt + window;
            if due <= conn.now {
                if let Some(rates) = rates.as_mut() {
                    rates.marked.push(seq);
                }
                return Walk::Lost;
            }
            wait = wait.max(Some(due - conn.now));
            Walk::Next
        });
        wait
    }

    /// After a timeout every segment that is not recent is lost.
    pub fn mark_on_timeout(
        &self,
        conn: &Conn,
        board: &mut Scoreboard,
        mut rates: Option<&mut Rates>,
    ) {
        let una = board.flight.una;
        for seq in una..board.flight.nxt {
            let segment = board.get(seq);
            let recent = seq != una && segment.sent + self.rtt > conn.now;
            if !recent && segment.flags & state::SACKED == 0 {
                let marks = board.lost_marks;
                board.mark_lost(seq);
                if let Some(rates) = rates.as_mut()
                    && board.lost_marks > marks
                {
                    rates.marked.push(seq);
                }
            }
        }
    }
}
