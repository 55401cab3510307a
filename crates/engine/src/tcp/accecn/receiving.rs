//! The receiver's side. The receiver counts packets and bytes by ECN field, and its ACKs report the
//! counts.

use super::option::{CE, Counters, ECT0, ECT1, fit};
use super::{CEP_INIT, flags_of};
use crate::packet::{Ecn, Packet, Sack};
use crate::plan::{AccEcnOption, AccEcnReceiver, TcpPlan};
use crate::units::Time;

const TIMESTAMPS: u16 = 12;
/// Bytes that a TCP header has for options.
pub(super) const ROOM: u16 = 40;
/// How many options the receiver sends at least per round trip with [`AccEcnOption::Minimum`]
/// (Linux `tcp_ecn_option_beacon`).
const BEACON: u64 = 3;

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Receiving {
    /// Number of packets that arrived with CE.
    packets: u32,
    /// Number of bytes that arrived with each ECN field.
    bytes: [u32; 3],
    last: Ecn,
    /// How many of the next ACKs must carry the option.
    demand: u8,
    /// How many counters the next option must contain, so that it includes every counter that has
    /// changed since the last option.
    required: u8,
    sent: Time,
    option: AccEcnOption,
    /// Whether the other end understands the option (Linux `saw_accecn_opt`).
    pub heard: bool,
    /// Whether ECN-capable segments count as marks to be reported, as in the L4S team's Linux 5.15.
    counts_all: bool,
    /// Bytes that an ACK has for options other than timestamps.
    room: u16,
    /// The last segment that arrived twice. `told_duplicate` is true if the last ACK reported this
    /// segment in a D-SACK and carried the option.
    duplicate: Option<u64>,
    told_duplicate: bool,
}

impl Receiving {
    pub fn new(plan: &TcpPlan) -> Receiving {
        let (option, timestamps) = (plan.accecn_option, plan.timestamps);
        // Unless every segment carries the option, Linux handles most segments by header
        // prediction. This fast path does not evaluate the counters.
        let slow_path = matches!(option, AccEcnOption::Full | AccEcnOption::Persist);
        Receiving {
            packets: 0,
            bytes: [0; 3],
            last: Ecn::NotEct,
            demand: 1,
            required: 0,
            sent: Time::ZERO,
            option,
            heard: true,
            counts_all: plan.accecn_receiver == AccEcnReceiver::L4s515 && slow_path && timestamps,
            room: ROOM - if timestamps { TIMESTAMPS } else { 0 },
            duplicate: None,
            told_duplicate: false,
        }
    }

    pub fn on_syn(&mut self, ecn: Ecn) {
        self.last = ecn;
        self.packets = u32::from(ecn == Ecn::Ce);
    }

    /// Counts a packet of the handshake.
    pub fn count(&mut self, ecn: Ecn) {
        self.packets = self.packets.wrapping_add(u32::from(ecn == Ecn::Ce));
    }

    /// Counts further segments of a data packet, which has been counted as one packet.
    pub fn count_more(&mut self, ecn: Ecn, segments: u32) {
        if ecn == Ecn::Ce {
            self.packets = self.packets.wrapping_add(segments);
        }
    }

    /// Counts a data packet. Returns whether the packet must be acknowledged at once because the
    /// ECN field has changed (Linux `tcp_ecn_received_counters`).
    // The functions for Accurate ECN are not inlined. So a receiver without Accurate ECN executes
    // only one test for Accurate ECN.
    #[inline(never)]
    pub fn on_data(&mut self, ecn: Ecn, payload: u16) -> bool {
        let ce = ecn == Ecn::Ce;
        if let Some(at) = field(ecn) {
            self.packets = self.packets.wrapping_add(u32::from(ce));
            let bytes = &mut self.bytes[at];
            let before = *bytes;
            *bytes = before.wrapping_add(u32::from(payload));
            if payload > 0 {
                self.required = self.required.max(at as u8 + 1);
            }
            // Send the option at least once per 4 MiB, so that no counter wraps between two
            // options.
            if (*bytes ^ before) >> 22 != 0 {
                self.demand = self.demand.max(1);
            }
        }
        let edge = self.last != ecn;
        if edge || ce {
            self.last = ecn;
            // Two ACKs carry the option, so that the change is reported even if one of them gets
            // lost.
            self.demand = 2;
        }
        edge
    }

    /// Returns whether a segment that follows the last ACK must be acknowledged at once, because
    /// marks seem to be unreported. `before` is the timestamp that the last ACK echoed.
    ///
    /// In the L4S team's Linux 5.15, each ECN-capable segment raises the number of marks to be
    /// reported to at least 15 (`tcp_ecn_received_counters`). The receiver sends an ACK if that
    /// many marks are unreported. The receiver makes this test only if the segment's timestamp is
    /// newer than the last one (`__tcp_accecn_process`). In contrast, Linux 7.3 limits the number
    /// of marks to be reported to at most 15.
    #[inline]
    pub fn hurries(&self, segment: &Packet, before: Time) -> bool {
        self.counts_all && segment.ecn != Ecn::NotEct && timestamp(segment.sent) > timestamp(before)
    }

    /// Records that segment `seq` has arrived again. If the last ACK reported the same duplicate
    /// and carried the option, then ACKs with the option seem to get lost. The receiver then stops
    /// sending the option (Linux `tcp_rcv_spurious_retrans`, RFC 9768 section 3.2.3.2.2).
    #[cold]
    pub fn on_duplicate(&mut self, seq: u64) {
        let again = self.told_duplicate && self.duplicate == Some(seq);
        if again && self.option != AccEcnOption::Persist {
            self.option = AccEcnOption::Off;
        }
        self.duplicate = Some(seq);
    }

    /// Adds the ACE field and, if it is due, the option to an ACK with `blocks` SACK blocks. The
    /// first of these blocks may be a D-SACK.
    #[inline(never)]
    pub fn on_ack(&mut self, ack: &mut Packet, blocks: usize, now: Time, rtt: Time) {
        ack.flags |= flags_of(self.packets.wrapping_add(CEP_INIT));
        let due = match self.option {
            AccEcnOption::Off => false,
            AccEcnOption::Minimum => {
                self.demand > 0 || now.since(self.sent).ns() * BEACON >= rtt.ns()
            }
            AccEcnOption::Full | AccEcnOption::Persist => true,
        };
        self.told_duplicate = false;
        if due && self.heard {
            self.put_option(ack, blocks, now);
        }
    }

    fn put_option(&mut self, ack: &mut Packet, blocks: usize, now: Time) {
        let Some((fields, kept, size)) = fit(blocks, self.required, self.room) else {
            return;
        };
        if kept > 2 {
            return; // the third SACK slot is in use
        }
        for slot in &mut ack.sack[kept..] {
            *slot = Sack::default();
        }
        ack.len -= 8 * (blocks - kept) as u16;
        ack.len += size;
        Counters::first(&self.bytes, fields).put(ack);
        self.told_duplicate = ack.has(crate::packet::flags::DSACK);
        self.required = 0;
        self.sent = now;
        self.demand = self.demand.saturating_sub(1);
    }
}

/// Returns the value of the timestamp option for a time. The value counts milliseconds.
fn timestamp(time: Time) -> u64 {
    time.ns() / 1_000_000
}

/// Returns the index of the counter for an ECN field.
fn field(ecn: Ecn) -> Option<usize> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect1 => Some(ECT1),
        Ecn::Ce => Some(CE),
        Ecn::Ect0 => Some(ECT0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::flags;

    fn with_option(accecn_option: AccEcnOption) -> Receiving {
        Receiving::new(&TcpPlan {
            accecn_option,
            ..TcpPlan::default()
        })
    }

    fn acknowledge(receiver: &mut Receiving, at: Time, duplicate: bool) -> Packet {
        let mut ack = Packet::new(0, 66, Ecn::NotEct);
        if duplicate {
            ack.flags |= flags::DSACK;
        }
        receiver.on_ack(&mut ack, usize::from(duplicate), at, Time::from_ms(27));
        ack
    }

    #[test]
    fn the_option_on_demand_follows_changes_and_the_clock() {
        let mut receiver = with_option(AccEcnOption::Minimum);
        receiver.on_syn(Ecn::Ect1);
        receiver.demand = 0;
        let mut seen = Vec::new();
        for (at, ecn) in [
            (0, Ecn::Ect1),
            (1, Ecn::Ce),
            (2, Ecn::Ect1),
            (3, Ecn::Ect1),
            (4, Ecn::Ect1),
            (12, Ecn::Ect1),
            (13, Ecn::Ect1),
        ] {
            receiver.on_data(ecn, 1448);
            let ack = acknowledge(&mut receiver, Time::from_ms(at), false);
            seen.push(ack.has(flags::ACCECN));
        }
        // Two ACKs with the option follow each change. After that, the option is sent every 9 ms.
        assert_eq!(seen, [false, true, true, true, false, true, false]);
    }

    /// A segment arrives again, although the ACK just before has reported it as a duplicate. So
    /// ACKs with the option seem to get lost.
    #[test]
    fn an_option_that_gets_lost_is_given_up() {
        // Each row has two parts: the segments that arrive again and are reported by a D-SACK, and
        // whether each ACK carries the option.
        let table: [(&[u64], &[bool]); 4] = [
            (&[3, 3, 3], &[true, false, false]),
            (&[3, 4, 3], &[true, true, true]),
            (&[3, 4, 4], &[true, true, false]),
            (&[7], &[true]),
        ];
        for (duplicates, expected) in table {
            for option in [AccEcnOption::Full, AccEcnOption::Persist] {
                let mut receiver = with_option(option);
                for (seq, goes) in duplicates.iter().zip(expected) {
                    receiver.on_duplicate(*seq);
                    let ack = acknowledge(&mut receiver, Time::ZERO, true);
                    let goes = *goes || option == AccEcnOption::Persist;
                    assert_eq!(ack.has(flags::ACCECN), goes, "{duplicates:?} {option:?}");
                }
            }
        }
        // The last ACK did not report a duplicate, so the receiver continues to send the option.
        let mut receiver = with_option(AccEcnOption::Full);
        receiver.on_duplicate(3);
        acknowledge(&mut receiver, Time::ZERO, true);
        acknowledge(&mut receiver, Time::ZERO, false);
        receiver.on_duplicate(3);
        assert!(acknowledge(&mut receiver, Time::ZERO, true).has(flags::ACCECN));
    }
}
