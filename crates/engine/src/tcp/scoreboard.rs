//! A sender's state of each segment that is sent but not yet cumulatively acknowledged.
//!
//! The scoreboard is a ring of small segments. The slot of a segment is computed from its sequence
//! number. RACK needs the segments in the order of their last transmission. A linked list through
//! the ring keeps the segments in this order (RFC 8985 section 6.2; Linux `tsorted_sent_queue`).
//! The cost of an operation is proportional to the number of segments that it newly acknowledges,
//! SACKs or marks as lost.
//!
//! Most of the time, no segment in flight is SACKed, lost or retransmitted. In this case, the
//! segments were sent in the order of their sequence numbers, so the list is not needed. The list
//! is built when a segment in flight is first SACKed, marked as lost or retransmitted. After the
//! last such event, it exists until all segments then in flight have been acknowledged.
//!
//! The list links slots of the ring instead of sequence numbers. The index of a slot is small even
//! if sequence numbers are large. Also, no index equals the value that marks the end of the list.

use tailback_record::fetch;

use super::ranges::Ranges;
use crate::cc::Flight;
use crate::units::Time;

/// Stands for "no segment": before the first segment of the list, and after the last one. This
/// value is not a valid index, because a ring has at most [`MAX_SLOTS`] slots.
const NIL: u32 = u32::MAX;

/// Largest number of segments in flight. The limit is that of Linux, which counts these segments in
/// an `int`.
const MAX_SLOTS: u64 = 1 << 31;

/// Bits of [`Segment::flags`].
pub mod state {
    /// The segment is selectively acknowledged (SACKed).
    pub const SACKED: u8 = 1;
    /// The segment is marked as lost.
    pub const LOST: u8 = 2;
    /// A retransmission of the segment is in flight.
    pub const RETRANS: u8 = 4;
    /// The segment has been retransmitted at least once.
    pub const EVER_RETRANS: u8 = 8;
    /// The segment is in the linked list of transmissions.
    pub const LISTED: u8 = 16;
    /// The segment is in the same packet as the segment before it (see `tcp/offloads.rs`).
    pub const JOINED: u8 = 32;
}

/// A segment in the scoreboard.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Time of the last transmission.
    pub sent: Time,
    /// Slot of the segment before this one in the linked list. `next` is the slot of the segment
    /// after this one.
    prev: u32,
    next: u32,
    /// Payload, bytes.
    pub len: u16,
    /// Bits of [`state`].
    pub flags: u8,
}

const _: () = assert!(size_of::<Segment>() <= 32);

const EMPTY: Segment = Segment {
    sent: Time::ZERO,
    prev: NIL,
    next: NIL,
    len: 0,
    flags: 0,
};

/// The segments in flight and their counters.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    ring: Vec<Segment>,
    mask: u64,
    /// The range of the segments in flight, and how many of them are SACKed, lost or retransmitted.
    pub flight: Flight,
    /// Number of lost segments that have no retransmission in flight.
    pub lost_pending: u32,
    /// How many times a segment or a retransmission has been marked as lost (Linux `lost`).
    pub lost_marks: u64,
    /// Every lost segment that waits for a retransmission has this number or a higher one.
    retransmit_from: u64,
    sacked: Ranges,
    /// Whether the linked list of transmissions exists.
    linked: bool,
    /// From this number on, every segment was sent only once and is neither SACKed nor lost.
    plain_from: u64,
    /// Slot of the segment whose last transmission is the oldest. `tail` is the slot of the segment
    /// whose last transmission is the newest.
    head: u32,
    tail: u32,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Scoreboard {
            // An initial window fits into 16 slots.
            ring: vec![EMPTY; 16],
            mask: 15,
            flight: Flight::default(),
            lost_pending: 0,
            lost_marks: 0,
            retransmit_from: 0,
            sacked: Ranges::default(),
            linked: false,
            plain_from: 0,
            head: NIL,
            tail: NIL,
        }
    }
}

impl Scoreboard {
    /// Creates an empty scoreboard. The first segment gets the number `first`.
    pub fn numbered_from(first: u64) -> Scoreboard {
        Scoreboard {
            flight: Flight {
                una: first,
                nxt: first,
                ..Flight::default()
            },
            retransmit_from: first,
            ..Scoreboard::default()
        }
    }

    /// Returns segment `seq`, which must be in flight: from `una` to `nxt - 1`.
    #[inline]
    pub fn get(&self, seq: u64) -> &Segment {
        debug_assert!((self.flight.una..self.flight.nxt).contains(&seq));
        &self.ring[(seq & self.mask) as usize]
    }

    /// Prefetches the memory of the oldest and the newest segment.
    #[inline]
    pub fn fetch(&self) {
        for seq in [self.flight.una, self.flight.nxt] {
            if let Some(segment) = self.ring.get((seq & self.mask) as usize) {
                fetch::line(segment);
            }
        }
    }

    #[inline]
    fn slot_of(&self, seq: u64) -> u32 {
        (seq & self.mask) as u32
    }

    #[inline]
    fn seq_of(&self, slot: u32) -> u64 {
        self.flight.una + (u64::from(slot).wrapping_sub(self.flight.una) & self.mask)
    }

    #[inline]
    fn at(&mut self, slot: u32) -> &mut Segment {
        &mut self.ring[slot as usize]
    }

    #[inline]
    fn get_mut(&mut self, seq: u64) -> &mut Segment {
        &mut self.ring[(seq & self.mask) as usize]
    }

    /// Returns the first segment after the highest SACKed segment, or `una` if no segment is
    /// SACKed.
    pub fn highest_sacked(&self) -> u64 {
        self.sacked.end().unwrap_or(self.flight.una)
    }

    /// Appends a segment that is sent now for the first time.
    #[inline]
    pub fn push(&mut self, len: u16, now: Time) {
        if self.flight.nxt - self.flight.una > self.mask {
            self.grow();
        }
        let seq = self.flight.nxt;
        self.flight.nxt += 1;
        *self.get_mut(seq) = Segment {
            sent: now,
            len,
            ..EMPTY
        };
        if self.linked {
            self.link_last(seq);
        }
    }

    /// Returns whether every segment in flight was sent exactly once and is neither SACKed nor
    /// lost.
    #[inline]
    pub fn is_plain(&self) -> bool {
        !self.linked
    }

    /// Builds the linked list, when a segment in flight is first SACKed, marked as lost or
    /// retransmitted.
    #[inline]
    fn trouble(&mut self) {
        if !self.linked {
            self.link_all();
        }
        self.plain_from = self.flight.nxt;
    }

    #[cold]
    fn link_all(&mut self) {
        self.linked = true;
        for seq in self.flight.una..self.flight.nxt {
            self.link_last(seq);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.mask * 2 + 1;
        assert!(
            mask < MAX_SLOTS,
            "more segments in flight than Linux counts"
        );
        // Every segment moves to a new slot, so each link must be changed to the new slot.
        let moved = |slot: u32| match slot {
            NIL => NIL,
            slot => (self.seq_of(slot) & mask) as u32,
        };
        let mut ring = vec![EMPTY; mask as usize + 1];
        for seq in self.flight.una..self.flight.nxt {
            let segment = self.get(seq);
            ring[(seq & mask) as usize] = Segment {
                prev: moved(segment.prev),
                next: moved(segment.next),
                ..*segment
            };
        }
        (self.head, self.tail) = (moved(self.head), moved(self.tail));
        self.ring = ring;
        self.mask = mask;
    }

    #[inline]
    fn link_last(&mut self, seq: u64) {
        let tail = self.tail;
        let slot = self.slot_of(seq);
        let segment = self.at(slot);
        segment.prev = tail;
        segment.next = NIL;
        segment.flags |= state::LISTED;
        if tail == NIL {
            self.head = slot;
        } else {
            self.at(tail).next = slot;
        }
        self.tail = slot;
    }

    #[inline]
    fn unlink(&mut self, seq: u64) {
        let segment = self.get_mut(seq);
        if segment.flags & state::LISTED == 0 {
            return;
        }
        segment.flags &= !state::LISTED;
        let (prev, next) = (segment.prev, segment.next);
        if prev == NIL {
            self.head = next;
        } else {
            self.at(prev).next = next;
        }
        if next == NIL {
            self.tail = prev;
        } else {
            self.at(next).prev = prev;
        }
    }

    /// Removes and returns the first segment, which has been cumulatively acknowledged.
    #[inline]
    pub fn pop(&mut self) -> Segment {
        let seq = self.flight.una;
        if !self.linked {
            self.flight.una += 1;
            return self.ring[(seq & self.mask) as usize];
        }
        self.unlink(seq);
        let segment = *self.get(seq);
        if segment.flags & state::SACKED != 0 {
            self.flight.sacked_out -= 1;
        }
        if segment.flags & state::LOST != 0 {
            self.flight.lost_out -= 1;
            if segment.flags & state::RETRANS == 0 {
                self.lost_pending -= 1;
            }
        }
        if segment.flags & state::RETRANS != 0 {
            self.flight.retrans_out -= 1;
        }
        self.flight.una += 1;
        if self.flight.una >= self.plain_from {
            self.linked = false;
            (self.head, self.tail) = (NIL, NIL);
        }
        segment
    }

    /// Removes all segments below `to`. These segments have been cumulatively acknowledged, and
    /// each was sent only once. Returns when the first and the last of these segments were sent.
    #[inline]
    pub fn pop_plain(&mut self, to: u64) -> (Time, Time) {
        debug_assert!(self.is_plain() && self.flight.una < to && to <= self.flight.nxt);
        let sent = (self.get(self.flight.una).sent, self.get(to - 1).sent);
        self.flight.una = to;
        sent
    }

    /// Call this function after one or more calls of [`Scoreboard::pop`]. Removes the acknowledged
    /// segments from the SACKed ranges, and moves the start of the search for lost segments.
    #[inline]
    pub fn popped(&mut self) {
        if !self.sacked.is_empty() {
            self.sacked.trim_below(self.flight.una);
        }
        self.retransmit_from = self.retransmit_from.max(self.flight.una);
    }

    /// Marks a range as SACKed. For every segment in the range that was not SACKed before, calls
    /// `each` with its number and its previous state.
    pub fn sack(&mut self, start: u64, end: u64, mut each: impl FnMut(u64, Segment)) {
        let (start, end) = (start.max(self.flight.una), end.min(self.flight.nxt));
        if start >= end {
            return;
        }
        self.trouble();
        // Most SACK blocks only repeat what earlier ACKs have reported.
        let known = self.sacked.containing(start);
        if known.is_some_and(|known| end <= known.1) {
            return;
        }
        let mut sacked = std::mem::take(&mut self.sacked);
        sacked.insert(start, end, |from, to| {
            for seq in from..to {
                self.unlink(seq);
                let before = *self.get(seq);
                if before.flags & state::LOST != 0 {
                    self.flight.lost_out -= 1;
                    if before.flags & state::RETRANS == 0 {
                        self.lost_pending -= 1;
                    }
                }
                if before.flags & state::RETRANS != 0 {
                    self.flight.retrans_out -= 1;
                }
                self.flight.sacked_out += 1;
                let segment = self.get_mut(seq);
                segment.flags &= !(state::LOST | state::RETRANS);
                segment.flags |= state::SACKED;
                each(seq, before);
            }
        });
        self.sacked = sacked;
    }

    /// Marks a segment as lost (Linux `tcp_mark_skb_lost`). If a retransmission of the segment was
    /// in flight, the retransmission also counts as lost.
    pub fn mark_lost(&mut self, seq: u64) {
        let segment = *self.get(seq);
        if segment.flags & state::SACKED != 0 {
            return;
        }
        self.trouble();
        let slot = self.get_mut(seq);
        slot.flags |= state::LOST;
        slot.flags &= !state::RETRANS;
        if segment.flags & state::LOST == 0 {
            self.flight.lost_out += 1;
            self.lost_pending += 1;
            self.lost_marks += 1;
        } else if segment.flags & state::RETRANS != 0 {
            self.lost_pending += 1;
            self.lost_marks += 1;
        }
        if segment.flags & state::RETRANS != 0 {
            self.flight.retrans_out -= 1;
        }
        self.retransmit_from = self.retransmit_from.min(seq);
    }

    /// After a spurious recovery, removes the lost mark from all segments.
    pub fn unmark_all_lost(&mut self) {
        for seq in self.flight.una..self.flight.nxt {
            self.get_mut(seq).flags &= !state::LOST;
        }
        self.flight.lost_out = 0;
        self.lost_pending = 0;
    }

    /// Returns the first lost segment that has no retransmission in flight.
    pub fn next_to_retransmit(&mut self) -> Option<u64> {
        if self.lost_pending == 0 {
            return None;
        }
        let mut seq = self.retransmit_from.max(self.flight.una);
        while seq < self.flight.nxt {
            let segment = self.get(seq);
            if segment.flags & (state::LOST | state::RETRANS) == state::LOST {
                self.retransmit_from = seq;
                return Some(seq);
            }
            seq += 1;
        }
        debug_assert!(false, "lost_pending counts a segment that is not there");
        None
    }

    /// Records that a segment was sent in the same packet as the segment before it.
    pub fn join(&mut self, seq: u64) {
        self.get_mut(seq).flags |= state::JOINED;
    }

    /// Records that a segment, if it is in flight, is no longer joined to the segment before it
    /// (Linux `tcp_fragment`).
    pub fn part(&mut self, seq: u64) {
        if seq < self.flight.nxt {
            self.get_mut(seq).flags &= !state::JOINED;
        }
    }

    /// Returns whether a segment must be retransmitted and is joined to the segment before it.
    pub fn continues(&self, seq: u64) -> bool {
        const JOINED_LOSS: u8 = state::LOST | state::JOINED;
        seq < self.flight.nxt && self.get(seq).flags & (JOINED_LOSS | state::RETRANS) == JOINED_LOSS
    }

    /// Records that a segment is retransmitted at `now`.
    pub fn retransmitted(&mut self, seq: u64, now: Time) {
        self.trouble();
        self.unlink(seq);
        let segment = self.get_mut(seq);
        let before = segment.flags;
        segment.sent = now;
        segment.flags |= state::RETRANS | state::EVER_RETRANS;
        if before & state::RETRANS == 0 {
            self.flight.retrans_out += 1;
            if before & state::LOST != 0 {
                self.lost_pending -= 1;
            }
        }
        self.link_last(seq);
    }

    /// Records that a segment is sent again at `now` as a tail loss probe. A probe does not repair
    /// a loss, so it does not count as a retransmission in flight (Linux `__tcp_retransmit_skb`).
    pub fn probed(&mut self, seq: u64, now: Time) {
        self.trouble();
        self.unlink(seq);
        let segment = self.get_mut(seq);
        segment.sent = now;
        segment.flags |= state::EVER_RETRANS;
        if segment.flags & state::SACKED == 0 {
            self.link_last(seq);
        }
    }

    /// Returns the segment that [`Scoreboard::walk_transmissions`] visits first, and its number.
    #[inline]
    pub fn first_transmission(&self) -> Option<(u64, &Segment)> {
        if self.linked {
            let segment = self.ring.get(self.head as usize)?;
            return Some((self.seq_of(self.head), segment));
        }
        let Flight { una, nxt, .. } = self.flight;
        (una < nxt).then(|| (una, self.get(una)))
    }

    /// Visits the segments in the order of their last transmission, the oldest first. The result of
    /// `visit` decides what happens to each segment.
    pub fn walk_transmissions(&mut self, mut visit: impl FnMut(u64, &Segment) -> Walk) {
        if !self.linked {
            let mut all = self.flight.una..self.flight.nxt;
            let lost = all.find_map(|seq| match visit(seq, self.get(seq)) {
                Walk::Next => None,
                Walk::Stop => Some(None),
                Walk::Lost => Some(Some(seq)),
            });
            let Some(Some(seq)) = lost else {
                return;
            };
            // `mark_lost` builds the linked list, so the walk continues along the list.
            self.mark_lost(seq);
            let next = self.get(seq).next;
            self.unlink(seq);
            return self.walk_from(next, visit);
        }
        self.walk_from(self.head, visit);
    }

    fn walk_from(&mut self, mut at: u32, mut visit: impl FnMut(u64, &Segment) -> Walk) {
        while at != NIL {
            let seq = self.seq_of(at);
            let segment = *self.at(at);
            match visit(seq, &segment) {
                Walk::Stop => break,
                Walk::Next => {}
                Walk::Lost => {
                    self.mark_lost(seq);
                    self.unlink(seq);
                }
            }
            at = segment.next;
        }
    }

    /// Checks every counter against the segments in the ring.
    #[cfg(test)]
    pub fn check(&self) {
        let (mut sacked, mut lost, mut retrans, mut pending, mut listed) = (0, 0, 0, 0, 0);
        for seq in self.flight.una..self.flight.nxt {
            let f = self.get(seq).flags;
            sacked += u32::from(f & state::SACKED != 0);
            lost += u32::from(f & state::LOST != 0);
            retrans += u32::from(f & state::RETRANS != 0);
            pending += u32::from(f & (state::LOST | state::RETRANS) == state::LOST);
            listed += u32::from(f & state::LISTED != 0);
            assert!(f & (state::SACKED | state::LOST) != (state::SACKED | state::LOST));
        }
        assert_eq!(
            (sacked, lost, retrans, pending),
            (
                self.flight.sacked_out,
                self.flight.lost_out,
                self.flight.retrans_out,
                self.lost_pending
            )
        );
        if self.is_plain() {
            assert_eq!((sacked, lost, retrans, pending), (0, 0, 0, 0));
            let sent = (self.flight.una..self.flight.nxt).map(|seq| self.get(seq).sent);
            assert!(sent.is_sorted(), "transmissions out of order");
            return;
        }
        let (mut at, mut n, mut last) = (self.head, 0, Time::ZERO);
        while at != NIL {
            let s = &self.ring[at as usize];
            assert!(s.sent >= last, "transmissions out of order");
            last = s.sent;
            n += 1;
            at = s.next;
        }
        assert_eq!(n, listed);
    }
}

/// What [`Scoreboard::walk_transmissions`] does after it has visited a segment.
pub enum Walk {
    /// Continue with the next segment.
    Next,
    /// Mark the segment as lost, and then continue with the next segment.
    Lost,
    /// End the walk.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counters_hold_under_any_sequence(
            first in prop::sample::select(&[0, (1 << 31) - 40, (1 << 32) - 40, 1 << 48][..]),
            ops in prop::collection::vec((0u8..7, any::<u16>(), 1u64..6), 1..400),
        ) {
            let mut board = Scoreboard::numbered_from(first);
            let mut now = Time::ZERO;
            for (op, pick, n) in ops {
                now += Time::from_us(u64::from(pick % 7));
                let span = board.flight.nxt - board.flight.una;
                let seq = board.flight.una + u64::from(pick) % span.max(1);
                match op {
                    0 | 1 => (0..n * 8).for_each(|_| board.push(1448, now)),
                    2 if span > 0 => {
                        (0..n.min(span)).for_each(|_| { board.pop(); });
                        board.popped();
                    }
                    3 if span > 0 => board.sack(seq, seq + n, |_, before| {
                        assert!(before.flags & state::SACKED == 0);
                    }),
                    4 => {
                        let limit = now;
                        let mut left = n;
                        board.walk_transmissions(|_, s| {
                            left -= 1;
                            if left == 0 { Walk::Stop } else if s.sent < limit { Walk::Lost } else { Walk::Next }
                        });
                    }
                    5 => if let Some(seq) = board.next_to_retransmit() {
                        board.retransmitted(seq, now);
                    },
                    6 if span > 0 => board.probed(board.flight.nxt - 1, now),
                    _ => {}
                }
                board.check();
            }
        }
    }
}
