//! The ACK filter: of a flow's waiting ACKs, it drops old ones whose information a newer one
//! repeats.
//!
//! The filter may drop an ACK if it is pure, and if the newly appended one acknowledges at least as
//! much (cumulative, timestamp, SACK). The ACK must carry no ESCE (the former NS bit), no D-SACK
//! and no option that the filter does not know (AccECN). Where ECE or CWR changes between waiting
//! ACKs, an ACK stays, so that the sender sees the change. Of two ACKs that could be dropped, the
//! filter drops the older, so one stays. `aggressive` drops that one too, if it is right before the
//! new ACK and has the same flags.

use std::cmp::Ordering;

use crate::packet::{Packet, flags};
use crate::ring::Ring;

/// How much the filter drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckFilter {
    /// Drops no ACK.
    Off,
    /// Drops all redundant ACKs but one.
    On,
    /// Drops all redundant ACKs.
    Aggressive,
}

/// Flags whose changes must reach the sender.
const ECN: u16 = flags::ECE | flags::CWR;

/// The SACK blocks of an ACK as absolute segment numbers.
fn blocks(ack: &Packet) -> impl Iterator<Item = (u64, u64)> + Clone {
    let seq = ack.seq;
    ack.sack
        .into_iter()
        .take_while(|s| s.len > 0)
        .map(move |s| {
            // A D-SACK below the cumulative acknowledgement has a wrapping offset.
            let start = seq.wrapping_add_signed(i64::from(s.offset as i32));
            (start, start + u64::from(s.len))
        })
}

/// Compares the segments that two ACKs selectively acknowledge: `Less` if `newer` leaves out some
/// of `older`, `Greater` if it adds some, otherwise `Equal`.
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

/// Whether `new` contains all information of `old`.
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
