//! The ACK filter. It drops queued ACKs of a flow if a newer ACK of that flow makes them redundant.
//!
//! The filter may drop a pure ACK if the newly appended ACK repeats the information in the pure
//! ACK. This information is the cumulative acknowledgement, the timestamp and the SACK blocks. The
//! dropped ACK must not carry ESCE (the former NS bit), a D-SACK or an option that the filter does
//! not know (AccECN). If ECE or CWR differs between two queued ACKs, the filter keeps an ACK from
//! before the change, so that the sender sees the change. `on` drops an ACK only if at least two
//! ACKs are redundant, and drops the oldest. So one redundant ACK always stays. `aggressive` also
//! drops this remaining ACK if it is the packet before the new ACK and has the same flags.

use std::cmp::Ordering;

use crate::packet::{Packet, flags};
use crate::ring::Ring;

/// Mode of the filter (tc's `ack-filter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckFilter {
    Off,
    /// Drops all redundant ACKs but one.
    On,
    /// Drops all redundant ACKs.
    Aggressive,
}

/// Flags whose changes must reach the sender.
const ECN: u16 = flags::ECE | flags::CWR;

/// Returns the SACK blocks of an ACK as absolute segment numbers.
fn blocks(ack: &Packet) -> impl Iterator<Item = (u64, u64)> + Clone {
    let seq = ack.seq;
    ack.sack
        .into_iter()
        .take_while(|s| s.len > 0)
        .map(move |s| {
            // The offset of a D-SACK below the cumulative acknowledgement is negative.
            let start = seq.wrapping_add_signed(i64::from(s.offset as i32));
            (start, start + u64::from(s.len))
        })
}

/// Compares the SACK blocks of two ACKs. Returns `Less` if `newer` leaves out segments of `older`,
/// `Greater` if it adds segments, otherwise `Equal`.
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

/// Returns the position of the ACK that became redundant when the last packet was appended.
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
