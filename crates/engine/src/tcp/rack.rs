//! RACK detects losses by time (RFC 8985 section 6; Linux `tcp_recovery.c`).

use super::rate::Rates;
use super::scoreboard::{Scoreboard, Segment, Walk, state};
use crate::cc::{CaState, Conn};
use crate::units::Time;

/// Number of duplicate ACKs that indicate a loss while no reordering has been seen.
pub(super) const REORDERING: u32 = 3;
/// Largest value of `reordering` (Linux `tcp_max_reordering`).
const MAX_REORDERING: u64 = 300;
/// For this many recoveries, a widened reordering window stays in effect (RFC 8985 section 6.2).
const PERSIST: u32 = 16;

#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// When the newest delivery was sent. The newest delivery is the delivered segment that was
    /// sent last.
    sent: Time,
    /// The sequence number after that of the newest delivery. If transmission times are equal, this
    /// number decides which delivery is newer.
    end: u64,
    rtt: Time,
    /// Whether a segment has been delivered since losses were last detected.
    pub advanced: bool,
    pub reordering_seen: bool,
    /// The largest number of later segments that have overtaken a segment so far (Linux
    /// `reordering`). The value is 3 before the first reordering.
    pub reordering: u32,
    /// Length of the reordering window, in quarters of the minimum RTT.
    pub steps: u32,
    /// After how many more recoveries `steps` is reset to 1.
    persist: u32,
    /// The number of the next new segment at the time when a D-SACK last widened the reordering
    /// window.
    dsack_round: u64,
}

impl Rack {
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

    /// Records that a segment was delivered (RFC 8985 section 6.2 step 2; Linux
    /// `tcp_rack_advance`).
    #[inline]
    pub fn advance(&mut self, seq: u64, segment: &Segment, conn: &Conn) {
        let rtt = conn.now.since(segment.sent);
        if segment.flags & state::EVER_RETRANS != 0 && rtt < conn.min_rtt {
            return; // the original may have been delivered instead of the retransmission
        }
        self.advanced = true;
        self.rtt = rtt;
        if (segment.sent, seq + 1) > (self.sent, self.end) {
            self.sent = segment.sent;
            self.end = seq + 1;
        }
    }

    /// Records that all segments below `end` were delivered. These segments were sent only once and
    /// in order. The last of these segments was sent at `sent`.
    #[inline]
    pub fn advance_plain(&mut self, end: u64, sent: Time, now: Time) {
        self.advanced = true;
        self.rtt = now.since(sent);
        if (sent, end) > (self.sent, self.end) {
            self.sent = sent;
            self.end = end;
        }
    }

    /// Records that later segments have overtaken segment `seq` (Linux
    /// `tcp_check_sack_reordering`).
    #[cold]
    pub fn note_reordering(&mut self, seq: u64, board: &Scoreboard) {
        let distance = board.highest_sacked().saturating_sub(seq);
        if distance > 0 {
            self.reordering_seen = true;
            let degree = distance.min(MAX_REORDERING) as u32;
            self.reordering = self.reordering.max(degree);
        }
    }

    /// Returns the reordering window (RFC 8985 section 6.2 step 4; Linux `tcp_rack_reo_wnd`).
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

    /// Adapts the reordering window (RFC 8985 section 6.2 step 4; Linux `tcp_rack_update_reo_wnd`).
    /// `dsack` means that a D-SACK has shown a needless retransmission other than a probe.
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

    /// Records the end of a recovery in which segments were really lost.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Records the end of a recovery in which all retransmissions were needless.
    pub fn was_needless(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// Returns whether a segment was sent before the newest delivery.
    #[inline]
    fn is_overtaken(&self, seq: u64, segment: &Segment) -> bool {
        segment.sent < self.sent || (segment.sent == self.sent && seq + 1 < self.end)
    }

    /// Returns whether [`Rack::detect_loss`] would stop at the segment that it visits first.
    #[inline]
    pub fn finds_no_loss(&self, board: &Scoreboard) -> bool {
        board.first_transmission().is_none_or(|(seq, segment)| {
            let waits = segment.flags & (state::LOST | state::RETRANS) == state::LOST;
            !waits && !self.is_overtaken(seq, segment)
        })
    }

    /// Finds losses (RFC 8985 section 6.2 step 5; Linux `tcp_rack_detect_loss`). If more segments
    /// may turn out to be lost, returns how long to wait before the next check.
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
            if !self.is_overtaken(seq, segment) {
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

    /// After a timeout, marks as lost the first segment and all segments that were sent more than
    /// an RTT ago.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_ms(n)
    }

    /// Returns ten segments that were sent at 100 ms, 101 ms, ..., with an RTT of 40 ms.
    fn board() -> (Scoreboard, Conn) {
        let mut board = Scoreboard::numbered_from(0);
        for at in 100..110 {
            board.push(1448, ms(at));
        }
        let conn = Conn {
            now: ms(140),
            min_rtt: ms(40),
            srtt: ms(40),
            ..Conn::default()
        };
        (board, conn)
    }

    /// Linux `tcp_rack_reo_wnd`: if no reordering has been seen, the window is 0 in recovery or
    /// after three SACKs. In all other cases, the window is a multiple of a quarter of the minimum
    /// RTT, and at most srtt.
    #[test]
    fn the_reordering_window() {
        let (mut board, mut conn) = board();
        for (seen, state, sacked, steps, min_rtt, expected) in [
            (false, CaState::Open, 2, 1, ms(40), ms(10)),
            (false, CaState::Open, 3, 1, ms(40), Time::ZERO),
            (false, CaState::Cwr, 2, 1, ms(40), ms(10)),
            (false, CaState::Recovery, 0, 1, ms(40), Time::ZERO),
            (true, CaState::Recovery, 5, 1, ms(40), ms(10)),
            (true, CaState::Open, 5, 3, ms(40), ms(30)),
            (true, CaState::Open, 5, 9, ms(40), ms(40)),
            (true, CaState::Open, 0, 1, Time::NEVER, Time::ZERO),
        ] {
            let mut rack = Rack::new(0);
            (rack.reordering_seen, rack.steps) = (seen, steps);
            (conn.ca_state, conn.min_rtt) = (state, min_rtt);
            board.flight.sacked_out = sacked;
            let found = rack.window(&conn, &board);
            assert_eq!(found, expected, "{seen} {state:?} {sacked} {steps}");
        }
    }

    /// Linux `tcp_rack_update_reo_wnd`: the first D-SACK of a round widens the window by a quarter
    /// of the minimum RTT. The maximum is 255 quarters. After 16 recoveries, the window is one
    /// quarter again.
    #[test]
    fn d_sacks_widen_it_once_a_round_for_sixteen_recoveries() {
        let (mut board, _) = board();
        let mut rack = Rack::new(0);
        board.flight.una = 5;
        rack.adapt_window(true, &board);
        assert_eq!(rack.steps, 1, "no reordering was seen");
        rack.reordering_seen = true;
        rack.adapt_window(true, &board);
        assert_eq!((rack.steps, rack.persist, rack.dsack_round), (2, 16, 10));
        board.flight.una = 10;
        rack.adapt_window(true, &board);
        assert_eq!(rack.steps, 2, "in the same round");
        for left in (0..16).rev() {
            rack.adapt_window(false, &board);
            assert_eq!(rack.steps, 2);
            rack.recovered();
            assert_eq!(rack.persist, left);
        }
        rack.recovered();
        rack.adapt_window(false, &board);
        assert_eq!((rack.steps, rack.persist), (1, 0));
        for expected in 1..=17_u32 {
            rack.was_needless();
            assert_eq!(rack.persist, expected.min(16));
        }
        (rack.steps, rack.dsack_round) = (255, 0);
        rack.adapt_window(true, &board);
        assert_eq!(rack.steps, 255);
    }

    /// RFC 8985 section 6.2 step 2: the newest delivery is the delivered segment that was sent
    /// last. A retransmission is ignored if its original may have been delivered.
    #[test]
    fn the_newest_delivery_counts() {
        let (board, conn) = board();
        let mut rack = Rack::new(0);
        for (seq, end, sent) in [(3, 4, 103), (1, 4, 103), (7, 8, 107)] {
            rack.advance(seq, board.get(seq), &conn);
            assert_eq!((rack.end, rack.sent), (end, ms(sent)), "{seq}");
            assert_eq!(rack.rtt, ms(40 - seq), "of {seq} itself");
        }
        let mut again = *board.get(8);
        (again.sent, again.flags) = (ms(120), state::EVER_RETRANS);
        rack.advanced = false;
        rack.advance(8, &again, &conn);
        assert!(!rack.advanced, "20 ms are below the minimum of 40");
        again.sent = ms(100);
        rack.advance(8, &again, &conn);
        assert!(rack.advanced && rack.rtt == ms(40) && rack.end == 8);

        let mut rack = Rack::new(0);
        rack.advance_plain(5, ms(104), ms(150));
        rack.advance_plain(4, ms(104), ms(160));
        assert_eq!((rack.end, rack.sent, rack.rtt), (5, ms(104), ms(56)));
    }

    #[test]
    fn the_degree_of_reordering_has_a_ceiling() {
        let mut board = Scoreboard::numbered_from(0);
        for _ in 0..500 {
            board.push(1448, ms(100));
        }
        let mut rack = Rack::new(0);
        board.sack(9, 10, |_, _| {});
        for (seq, degree, seen) in [(10, 3, false), (8, 3, true), (2, 8, true), (5, 8, true)] {
            rack.note_reordering(seq, &board);
            assert_eq!(
                (rack.reordering, rack.reordering_seen),
                (degree, seen),
                "{seq}"
            );
        }
        board.sack(450, 451, |_, _| {});
        rack.note_reordering(0, &board);
        assert_eq!(rack.reordering, 300, "Linux tcp_max_reordering");
    }

    /// A segment is lost if two conditions hold. The segment was sent before the newest delivery,
    /// and longer ago than the RTT plus the window. If a segment was not sent long enough ago, it
    /// is checked again later.
    #[test]
    fn losses_by_time() {
        let (mut board, mut conn) = board();
        let mut rack = Rack::new(0);
        board.sack(6, 7, |_, _| {});
        rack.advance(6, board.get(6), &conn);
        assert_eq!(rack.rtt, ms(34));
        // The window is 10 ms, so the first segment is marked as lost at 144 ms, and the sixth at
        // 149 ms.
        conn.now = ms(146);
        assert_eq!(rack.detect_loss(&conn, &mut board, None), Some(ms(3)));
        assert_eq!(board.flight.lost_out, 3, "those sent at 100, 101 and 102");
        conn.now = ms(149);
        assert_eq!(rack.detect_loss(&conn, &mut board, None), None);
        assert_eq!(board.flight.lost_out, 6);
    }

    /// Linux `tcp_timeout_mark_lost`: the first segment is marked as lost, and so are all segments
    /// that are older than RACK's RTT.
    #[test]
    fn a_timeout_spares_what_is_recent() {
        let (mut board, mut conn) = board();
        let mut rack = Rack::new(0);
        rack.rtt = ms(40);
        board.sack(2, 3, |_, _| {});
        conn.now = ms(145);
        rack.mark_on_timeout(&conn, &mut board, None);
        let lost: Vec<u64> = (0..10)
            .filter(|seq| board.get(*seq).flags & state::LOST != 0)
            .collect();
        assert_eq!(lost, [0, 1, 3, 4, 5]);

        let (mut board, mut conn) = self::board();
        conn.now = ms(101);
        rack.mark_on_timeout(&conn, &mut board, None);
        assert_eq!(board.flight.lost_out, 1, "the first in any case");
    }
}
