//! The SACK blocks of ACKs (RFC 2018, RFC 2883).

use crate::packet::{Packet, Sack, flags};

/// What the next ACK reports.
#[derive(Clone, Debug, Default)]
pub(super) struct SackBlocks {
    /// Most recent blocks, the newest first (RFC 2018 section 4).
    recent: [(u64, u64); 4],
    recent_len: usize,
    /// A duplicate (RFC 2883).
    pub dsack: Option<u64>,
}

impl SackBlocks {
    /// There is nothing to report.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.recent_len == 0 && self.dsack.is_none()
    }

    /// Puts a block first and drops those it swallowed.
    pub fn put(&mut self, merged: (u64, u64)) {
        let mut kept = [(0, 0); 4];
        kept[0] = merged;
        let mut n = 1;
        for &block in &self.recent[..self.recent_len] {
            let swallowed = merged.0 <= block.0 && block.1 <= merged.1;
            if !swallowed && n < kept.len() {
                kept[n] = block;
                n += 1;
            }
        }
        self.recent = kept;
        self.recent_len = n;
    }

    /// Puts the blocks into an ACK.
    #[cold]
    pub fn fill(&mut self, ack: &mut Packet) {
        let mut blocks = 0;
        if let Some(duplicate) = self.dsack.take() {
            ack.flags |= flags::DSACK;
            ack.sack[0] = Sack {
                offset: duplicate.wrapping_sub(ack.seq) as u32,
                len: 1,
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
        // RFC 2018: 2 bytes and 8 for each block, padded to a multiple of 4.
        ack.len += 4 + 8 * blocks as u16;
    }

    /// Drops the blocks below a segment.
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
