//! The SACK blocks of ACKs (RFC 2018, RFC 2883).

use crate::packet::{Packet, Sack, flags};

/// How many blocks fit into every ACK in addition to a D-SACK and the timestamp (Linux
/// `TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;

/// The SACK blocks that the next ACK reports.
#[derive(Clone, Debug, Default)]
pub(super) struct SackBlocks {
    /// The most recent blocks, the newest first (RFC 2018 section 4).
    recent: [(u64, u64); 4],
    recent_len: usize,
    /// A duplicate segment that the next ACK reports (RFC 2883).
    pub dsack: Option<u64>,
    /// Number of segments after `dsack` that are duplicates, too, because they were in the same
    /// packet (offloads).
    pub more_duplicates: u32,
}

impl SackBlocks {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.recent_len == 0 && self.dsack.is_none()
    }

    /// Returns whether a new block `start..end` would push out a block that a pending ACK must
    /// still report. An ACK has space for [`BLOCKS_EXPECTED`] blocks.
    pub fn displaces(&self, start: u64, end: u64) -> bool {
        self.touched_by(start, end) >= BLOCKS_EXPECTED
    }

    /// Returns the index of the newest block that overlaps or adjoins `start..end` (Linux
    /// `tcp_sack_extend`). If no block overlaps or adjoins the range, returns the number of blocks.
    fn touched_by(&self, start: u64, end: u64) -> usize {
        let recent = &self.recent[..self.recent_len];
        let touched = recent.iter().position(|b| start <= b.1 && b.0 <= end);
        touched.unwrap_or(recent.len())
    }

    /// Adds the segments `start..end`, which have just arrived, to a block. Moves this block to the
    /// front (Linux `tcp_sack_new_ofo_skb`). If there are now more than four blocks, discards the
    /// oldest. A later segment that adjoins a discarded block begins a new block.
    pub fn put(&mut self, start: u64, end: u64) {
        let at = self.touched_by(start, end);
        let mut block = (start, end);
        if at < self.recent_len {
            let known = self.recent[at];
            block = (known.0.min(start), known.1.max(end));
        } else {
            self.recent_len = (at + 1).min(self.recent.len());
        }
        // Use a loop to move at most three blocks, because a function call would take longer.
        for place in (0..at.min(self.recent_len - 1)).rev() {
            self.recent[place + 1] = self.recent[place];
        }
        self.recent[0] = block;
        self.coalesce();
    }

    /// Merges into the first block all blocks that adjoin it (Linux `tcp_sack_maybe_coalesce`).
    fn coalesce(&mut self) {
        let mut kept = 1;
        for i in 1..self.recent_len {
            let (first, block) = (self.recent[0], self.recent[i]);
            if block.0 <= first.1 && first.0 <= block.1 {
                self.recent[0] = (first.0.min(block.0), first.1.max(block.1));
            } else {
                self.recent[kept] = block;
                kept += 1;
            }
        }
        self.recent_len = kept;
    }

    #[cold]
    pub fn fill(&mut self, ack: &mut Packet) {
        let mut blocks = 0;
        if let Some(duplicate) = self.dsack.take() {
            ack.flags |= flags::DSACK;
            ack.sack[0] = Sack {
                offset: duplicate.wrapping_sub(ack.seq) as u32,
                len: 1 + std::mem::take(&mut self.more_duplicates),
            };
            blocks = 1;
        }
        let most = ack.sack.len();
        for &(start, end) in self.recent[..self.recent_len].iter().take(most - blocks) {
            ack.sack[blocks] = Sack {
                offset: (start - ack.seq) as u32,
                len: (end - start) as u32,
            };
            blocks += 1;
        }
        // RFC 2018: the option takes 2 bytes, plus 8 bytes for each block, padded to a multiple of
        // 4.
        ack.len += 4 + 8 * blocks as u16;
    }

    /// Discards all blocks below `rcv_nxt`.
    pub fn drop_below(&mut self, rcv_nxt: u64) {
        let mut n = 0;
        for i in 0..self.recent_len {
            if self.recent[i].1 > rcv_nxt {
                self.recent[n] = self.recent[i];
                n += 1;
            }
        }
        self.recent_len = n;
    }
}
