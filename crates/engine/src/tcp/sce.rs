//! The receiver's part of SCE (Some Congestion Experienced). A packet that was sent with ECT(0) and
//! arrives with ECT(1) was marked by a queue. The receiver reports this mark to the sender by the
//! ESCE bit of ACKs (formerly the NS bit).
//!
//! By default, the receiver behaves as in the kernel tree github.com/chromi/sce (`tcp_input.c`).
//! When marks begin or end while an ACK is being delayed, the receiver first sends an ACK for the
//! earlier packets only. So every ACK covers either only marked or only unmarked packets. Then the
//! receiver immediately acknowledges the first packet after the change. Some versions of the kernel
//! tree delay this second ACK (`SplitDelayed`). In these versions, the first ACK does not change
//! the delayed-ACK timer. But the receiver then counts the first packet after the change as
//! acknowledged, too. So this packet and the next may wait for a third packet, or for the timer.
//!
//! `Dither` implements the alternative in draft-grimes-tcpm-tcpsce. ACKs are sent at the same times
//! as without SCE. The receiver decides for each ACK whether to set ESCE. The number of segments
//! acknowledged with ESCE stays as close as possible to the number of marked segments.
//!
//! SCE does not change the echo of CE (draft-morton-tsvwg-sce section 4).

use crate::cc::EcnNeed;
use crate::plan::SceReceiver;

/// How a receiver reports SCE marks in the ESCE bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SceEcho {
    /// The receiver ignores SCE marks: it treats ECT(1) as ECT(0).
    #[default]
    Off,
    /// The receiver sends an extra ACK when marks begin or end, so no ACK covers both marked and
    /// unmarked packets.
    Split,
    /// Like `Split`, but the first packet after the change is not acknowledged at once.
    SplitDelayed,
    /// The receiver chooses the ACKs with ESCE so that these ACKs acknowledge as many segments as
    /// were marked.
    Dither,
}

impl SceEcho {
    /// Returns how a receiver echoes SCE marks if the connection has negotiated ECN.
    pub fn of(wanted: SceReceiver, need: EcnNeed) -> SceEcho {
        match (wanted, need) {
            (SceReceiver::Auto, EcnNeed::Sce) | (SceReceiver::Split, _) => SceEcho::Split,
            (SceReceiver::SplitDelayed, _) => SceEcho::SplitDelayed,
            (SceReceiver::Dither, _) => SceEcho::Dither,
            (SceReceiver::Auto | SceReceiver::Off, _) => SceEcho::Off,
        }
    }
}

/// A receiver's state for the echo of SCE.
#[derive(Clone, Debug, Default)]
pub(super) struct Sce {
    pub echo: SceEcho,
    /// Whether the last packet with ECT(0) or ECT(1) was SCE-marked. Packets with CE do not count.
    marked: bool,
    /// Whether the next ACK carries ESCE (`Split`).
    pending: bool,
    /// Number of marked segments minus the number of segments acknowledged with ESCE (`Dither`).
    owed: i64,
    /// The value of `rcv_nxt` after the last packet.
    pub prior_rcv_nxt: u64,
}

impl Sce {
    /// Returns whether the earlier packets must be acknowledged first, because marks begin or end
    /// with this packet while an ACK is delayed.
    pub fn splits(&self, marked: bool, delayed: bool) -> bool {
        let splits = matches!(self.echo, SceEcho::Split | SceEcho::SplitDelayed);
        splits && self.marked != marked && delayed
    }

    /// Records a packet with ECT(0) or ECT(1). `marked` is true if the packet is SCE-marked.
    pub fn note(&mut self, marked: bool) {
        match self.echo {
            SceEcho::Off => {}
            SceEcho::Split | SceEcho::SplitDelayed => {
                self.marked = marked;
                self.pending = marked;
            }
            SceEcho::Dither => self.owed += i64::from(marked),
        }
    }

    /// Returns whether the next ACK carries ESCE. The ACK newly acknowledges `segments` segments.
    pub fn on_ack(&mut self, segments: u64) -> bool {
        match self.echo {
            SceEcho::Off => false,
            SceEcho::Split | SceEcho::SplitDelayed => std::mem::take(&mut self.pending),
            SceEcho::Dither => {
                let segments = segments.max(1) as i64;
                let set = 2 * self.owed >= segments;
                if set {
                    self.owed -= segments;
                }
                set
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether each of these ACKs carries ESCE. Each ACK covers two segments. `marks`
    /// contains, for each ACK, how many of its segments are marked.
    fn dithered(marks: &[u32]) -> Vec<bool> {
        let mut sce = Sce {
            echo: SceEcho::Dither,
            ..Sce::default()
        };
        marks
            .iter()
            .map(|&n| {
                for i in 0..2 {
                    sce.note(i < n);
                }
                sce.on_ack(2)
            })
            .collect()
    }

    #[test]
    fn dithering_keeps_the_share() {
        // Half of the segments are marked, which is one per ACK. So every second ACK carries ESCE.
        assert_eq!(dithered(&[1, 1, 1, 1]), [true, false, true, false]);
        assert_eq!(dithered(&[2, 2, 0, 0]), [true, true, false, false]);
        assert_eq!(dithered(&[0, 0, 2, 0]), [false, false, true, false]);
        // One segment in eight is marked. So ACKs for one segment in eight carry ESCE.
        let one_in_eight = dithered(&[1, 0, 0, 0].repeat(25));
        assert_eq!(one_in_eight.iter().filter(|e| **e).count(), 13);
    }

    #[test]
    fn who_is_told() {
        let of = |wanted, need| SceEcho::of(wanted, need);
        assert_eq!(of(SceReceiver::Auto, EcnNeed::Sce), SceEcho::Split);
        assert_eq!(of(SceReceiver::Auto, EcnNeed::Optional), SceEcho::Off);
        assert_eq!(of(SceReceiver::Off, EcnNeed::Sce), SceEcho::Off);
        assert_eq!(of(SceReceiver::Split, EcnNeed::Optional), SceEcho::Split);
        assert_eq!(of(SceReceiver::Dither, EcnNeed::Sce), SceEcho::Dither);
    }
}
