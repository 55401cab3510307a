//! The receiver's part of SCE (Some Congestion Experienced). A packet that left with ECT(0) and
//! comes with ECT(1) was marked by a queue. The ESCE bit of ACKs (once NS) tells the sender.
//!
//! By default this is as in the kernel tree github.com/chromi/sce (`tcp_input.c`). When marks begin
//! or end while an ACK is being delayed, the earlier packets are acknowledged first, on their own.
//! So every ACK reports packets of one kind. The packet that brought the change is then
//! acknowledged at once. Some versions of that tree delay this second ACK (`SplitDelayed`). There
//! the first ACK leaves the timer alone but counts for the two segments that trigger the next ACK.
//! So two packets may wait for a third, or for the timer.
//!
//! `Dither` is tailback's form of the alternative in draft-grimes-tcpm-tcpsce. ACKs come when they
//! would without SCE. ESCE is set such that the number of segments acknowledged with it stays
//! nearest to the number marked.
//!
//! The echo of CE does not change (draft-morton-tsvwg-sce section 4).

use crate::cc::EcnNeed;
use crate::plan::SceReceiver;

/// How marks are reported by ESCE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SceEcho {
    /// There is no echo. ECT(1) counts as ECT(0).
    #[default]
    Off,
    /// ACKs are split when marks begin or end.
    Split,
    /// As `Split`, but the first packet after the change does not trigger an ACK.
    SplitDelayed,
    /// As many segments are acknowledged with ESCE as were marked.
    Dither,
}

impl SceEcho {
    /// The echo for a connection with ECN.
    pub fn of(wanted: SceReceiver, need: EcnNeed) -> SceEcho {
        match (wanted, need) {
            (SceReceiver::Auto, EcnNeed::Sce) | (SceReceiver::Split, _) => SceEcho::Split,
            (SceReceiver::SplitDelayed, _) => SceEcho::SplitDelayed,
            (SceReceiver::Dither, _) => SceEcho::Dither,
            (SceReceiver::Auto | SceReceiver::Off, _) => SceEcho::Off,
        }
    }
}

/// State of the echo.
#[derive(Clone, Debug, Default)]
pub(super) struct Sce {
    /// The kind of echo.
    pub echo: SceEcho,
    /// Whether the last ECN-capable packet that was not CE was marked.
    marked: bool,
    /// Whether the next ACK carries ESCE (`Split`).
    pending: bool,
    /// Marked segments minus those acknowledged with ESCE (`Dither`).
    owed: i64,
    /// `rcv_nxt` after the last packet.
    pub prior_rcv_nxt: u64,
}

impl Sce {
    /// Whether a packet, marked or not, ends a run of the other kind that must still be
    /// acknowledged by itself. `delayed`: whether an ACK is being delayed.
    pub fn splits(&self, marked: bool, delayed: bool) -> bool {
        let splits = matches!(self.echo, SceEcho::Split | SceEcho::SplitDelayed);
        splits && self.marked != marked && delayed
    }

    /// Notes an ECN-capable packet that is not CE. `marked`: whether it has an SCE mark.
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

    /// Whether an ACK that newly acknowledges this many segments carries ESCE.
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

    /// Whether each ACK of two segments carries ESCE, if this many of the two were marked.
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
        // Half of the segments are marked, one for each ACK. So every other ACK carries ESCE.
        assert_eq!(dithered(&[1, 1, 1, 1]), [true, false, true, false]);
        assert_eq!(dithered(&[2, 2, 0, 0]), [true, true, false, false]);
        assert_eq!(dithered(&[0, 0, 2, 0]), [false, false, true, false]);
        // One segment in eight is marked, so one ACK in eight carries ESCE.
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
