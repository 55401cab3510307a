//! The ACK filter. The filter drops queued ACKs of a flow if a newer ACK of that flow makes them
//! redundant.
//!
//! The filter may drop a pure ACK if the newly appended ACK repeats the information of the pure
//! ACK. This information is the cumulative acknowledgement, the timestamp and the SACK blocks.
//! The filter always keeps ACKs with ESCE (the former NS bit), with a D-SACK, or with an option
//! that the filter does not know (AccECN). If ECE or CWR differs between two queued ACKs, the
//! filter keeps an ACK from before the change. This ACK shows the change to the sender. With `on`,
//! the filter drops an ACK only if at least two ACKs are redundant. The filter then drops the
//! oldest of these ACKs. So one redundant ACK always remains. With `aggressive`, the filter also
//! drops the only redundant ACK if it is directly before the new ACK and has the same flags.

use std::cmp::Ordering;

use crate::packet::{Packet, flags};
use crate::ring::Ring;

/// The mode of the ACK filter (tc's `ack-filter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckFilter {
    Off,
    /// The filter drops all redundant ACKs except one.
    On,
    /// The filter drops all redundant ACKs.
    Aggressive,
}

/// The TCP flags whose changes the filter must not hide from the sender.
const ECN: u16 = flags::ECE | flags::CWR;

/// Returns the SACK blocks of an ACK as absolute segment numbers.
fn blocks(ack: &Packet) -> impl Iterator<Item = (u64, u64)> + Clone {
    let seq = ack.seq;
    ack.sack
        .into_iter()
        .take_while(|s| s.len > 0)
        .map(move |s| {
            // A D-SACK may be below the cumulative acknowledgement. The offset of such a D-SACK is
            // negative.
            let start = seq.wrapping_add_signed(i64::from(s.offset as i32));
            (start, start + u64::from(s.len))
        })
}

/// Compares the SACK blocks of two ACKs. Returns `Less` if `newer` leaves out segments of `older`,
/// and `Greater` if `newer` adds segments. Otherwise returns `Equal`.
fn compare(older: &Packet, newer: &Packet) -> Ordering {
    let size = |ack: &Packet| blocks(ack).map(|(a, b)| b - a).sum::<u64>();
    let (old, new) = (blocks(older), blocks(newer));
    if old.clone().next().is_none() {
        return if new.clone().next().is_none() {
            Ordering::Equal
        } else {
            Ordering::Greater
        };
    }
    for (start, end) in old {
        let covered = new.clone().any(|(a, b)| a <= start && end <= b);
        if start < older.seq || older.has(flags::DSACK) || !covered {
            return Ordering::Less;
        }
    }
    size(newer).cmp(&size(older)).max(Ordering::Equal)
}

/// Returns whether `new` repeats the cumulative acknowledgement, the timestamp and the SACK blocks
/// of `old`.
fn redundant(old: &Packet, new: &Packet) -> bool {
    let unsafe_flags = flags::SYN | flags::ESCE | flags::ACCECN | flags::DATAGRAM;
    if old.flags & unsafe_flags != 0 || old.payload > 0 || old.sent > new.sent || old.seq > new.seq
    {
        return false;
    }
    match compare(old, new) {
        Ordering::Less => false,
        Ordering::Equal => old.seq != new.seq,
        Ordering::Greater => true,
    }
}

/// Returns the position of the ACK that the packet at the end of the queue has made redundant.
pub fn redundant_ack(queue: &Ring<Packet>, filter: AckFilter) -> Option<usize> {
    let last = queue.len().checked_sub(1).filter(|last| *last > 0)?;
    let new = queue.back()?;
    if filter == AckFilter::Off || !new.has(flags::ACK) || new.has(flags::SYN) {
        return None;
    }
    let mut found: Option<usize> = None;
    let mut before = 0;
    for (i, old) in queue.iter().take(last).enumerate() {
        if old.flow != new.flow || !old.has(flags::ACK) {
            continue;
        }
        if let Some(f) = found
            && old.flags & ECN != queue.get(f)?.flags & ECN
        {
            found = None;
            before -= 1;
        }
        if !redundant(old, new) {
            continue;
        }
        found = found.or(Some(i));
        before += 1;
        if before > 1 {
            return found;
        }
    }
    let flags = queue.get(found?)?.flags;
    let adjacent = |f: &usize| f + 1 == last && flags & ECN == new.flags & ECN;
    found.filter(|f| filter == AckFilter::Aggressive && adjacent(f))
}
