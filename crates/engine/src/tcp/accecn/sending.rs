//! The sender's side. From each ACK, the sender computes how many more segments were marked.

use super::option::{CE, Counters, change};
use super::{ACE_MASK, CEP_INIT, ace};
use crate::packet::Packet;

/// The mean number of segments per ACK is a moving average in which a new ACK has weight 2^-6. The
/// mean has `STRETCH_DIGITS` fractional bits.
const STRETCH_WEIGHT: u32 = 6;
const STRETCH_DIGITS: u32 = 6;
/// If the mean number of segments per ACK exceeds this number, the sender assumes that the path
/// thins out ACKs. In this case, the sender also assumes that the CE counter has not wrapped, even
/// if an ACK covers many segments.
const THINNED: u32 = 4;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Delivered {
    /// Number of segments that the ACK delivers, including the duplicates that it reports.
    pub segments: u32,
    /// How many of these segments are duplicates. The byte counters do not include duplicates.
    pub duplicates: u32,
}

#[derive(Clone, Debug, Default)]
pub(in crate::tcp) struct Sending {
    /// The sender's estimate of the bytes that arrived with each ECN field.
    pub bytes: [u32; 3],
    /// The counter that the sender increases when an ACK has no option (Linux `est_ecnfield`).
    growing: Option<usize>,
    seen: bool,
    /// Mean number of segments that an ACK delivers, scaled by 2^6.
    stretch: u32,
}

impl Sending {
    /// Returns how many segments an ACK newly reports as marked. The sender has already counted
    /// `counted` segments as marked (Linux `__tcp_accecn_process`).
    #[inline(never)]
    pub fn process(&mut self, ack: &Packet, news: Delivered, counted: u64, mss: u16) -> u32 {
        let delivered = news.segments;
        let bytes = delivered
            .saturating_sub(news.duplicates)
            .saturating_mul(u32::from(mss));
        let before = self.bytes[CE];
        let valid = self.take_option(ack, bytes);
        if delivered > 0 {
            let news = delivered << STRETCH_DIGITS;
            self.stretch = if self.stretch == 0 {
                news
            } else {
                ((self.stretch << STRETCH_WEIGHT) - self.stretch + news) >> STRETCH_WEIGHT
            }
            .min(0xFFFF);
        }
        let ace = ace(ack.flags).wrapping_sub(CEP_INIT);
        let delta = ace.wrapping_sub(counted as u32) & ACE_MASK;
        let told = valid.then(|| (self.bytes[CE].wrapping_sub(before), bytes));
        let thinned = self.stretch > THINNED << STRETCH_DIGITS;
        marked(delivered, delta, told, thinned, mss)
    }

    /// Reads the byte counters of an ACK. If the ACK has no option, estimates the counters. Returns
    /// whether the result is reliable (Linux `tcp_accecn_process_option`).
    fn take_option(&mut self, ack: &Packet, delivered: u32) -> bool {
        let growing = self.growing;
        let Some(option) = Counters::of(ack) else {
            return match growing.filter(|_| self.seen) {
                Some(field) => {
                    self.bytes[field] = self.bytes[field].wrapping_add(delivered);
                    true
                }
                None => false,
            };
        };
        self.seen = true;
        let mut valid = growing.is_some();
        let mut ambiguous = false;
        let mut changed = false;
        for (field, (known, value)) in self.bytes.iter_mut().zip(option.0).enumerate() {
            let Some(value) = value else { continue };
            let news = change(*known, value);
            *known = known.wrapping_add_signed(news);
            if news < 0 {
                (valid, ambiguous) = (false, true);
            }
            if news != 0 && Some(field) != growing {
                if changed {
                    (valid, ambiguous) = (false, true);
                } else {
                    self.growing = Some(field);
                    changed = true;
                }
            }
        }
        if ambiguous {
            self.growing = None;
        }
        valid
    }
}

/// Returns how many marks an ACK reports. The packet counter may have wrapped (RFC 9768 appendix
/// A.2). The ACK delivers `delivered` segments, and its ACE field has advanced by `delta`, modulo
/// 8. If an option reports bytes, `told` contains the bytes that arrived with CE and the bytes that
///    the ACK delivers.
fn marked(delivered: u32, delta: u32, told: Option<(u32, u32)>, thinned: bool, mss: u16) -> u32 {
    if delivered <= ACE_MASK {
        return delta;
    }
    let mss = u32::from(mss);
    // Find the largest number of marks that agrees with `delta`.
    let most = delivered - ((delivered - delta) & ACE_MASK);
    match told {
        Some((0, _)) => delta,
        Some((ce, bytes)) if delivered >= 2 * (ACE_MASK + 1) => {
            if bytes <= ce {
                return most;
            }
            let share = (u64::from(ce) * u64::from(delivered)).div_ceil(u64::from(bytes));
            most.min(delta + (share as u32 & !ACE_MASK))
        }
        Some((ce, _)) if ce <= delta * mss && ce < (most * mss) >> 1 => delta,
        None if thinned => delta,
        _ => most,
    }
}

#[cfg(test)]
mod tests {
    use super::super::receiving::Receiving;
    use super::*;
    use crate::packet::Ecn;
    use crate::plan::{AccEcnOption, TcpPlan};
    use crate::units::Time;

    /// Tests the rules of RFC 9768 appendix A.2 where Linux chooses among alternatives, for
    /// segments of 1000 bytes.
    #[test]
    fn wraps_by_table() {
        // Each row has the arguments of `marked` without `mss`, and the expected number of marks.
        // If an option reports bytes, `told` is (CE bytes, delivered bytes).
        type Told = Option<(u32, u32)>;
        let table: [(u32, u32, Told, bool, u32); 18] = [
            // With at most seven segments the counter cannot have wrapped.
            (7, 7, None, false, 7),
            (7, 0, None, false, 0),
            (0, 0, None, false, 0),
            // With more segments, the counter may have wrapped. It is safe to assume the largest
            // possible number of marks.
            (8, 0, None, false, 8),
            (9, 1, None, false, 9),
            (9, 2, None, false, 2),
            (20, 3, None, false, 19),
            // If ACKs usually deliver many segments, it is unlikely that the counter has wrapped.
            (20, 3, None, true, 3),
            // With the option, the CE bytes show whether the counter has wrapped.
            (15, 0, Some((0, 15_000)), false, 0),
            (15, 1, Some((1_000, 15_000)), false, 1),
            (15, 7, Some((7_000, 15_000)), false, 7),
            (15, 7, Some((15_000, 15_000)), false, 15),
            (8, 0, Some((8_000, 8_000)), false, 8),
            // There are more CE bytes than the counter would report without a wrap, so the counter
            // has wrapped once.
            (15, 1, Some((2_000, 15_000)), false, 9),
            (15, 1, Some((1_001, 15_000)), false, 9),
            // The CE bytes can also show several wraps.
            (40, 1, Some((17_000, 40_000)), false, 17),
            (40, 0, Some((40_000, 40_000)), false, 40),
            (40, 7, Some((31_000, 40_000)), true, 31),
        ];
        for (delivered, delta, told, thinned, marks) in table {
            assert_eq!(
                marked(delivered, delta, told, thinned, 1000),
                marks,
                "{delivered} delivered, {delta} on, {told:?}"
            );
        }
    }

    fn of_option(accecn_option: AccEcnOption) -> Receiving {
        Receiving::new(&TcpPlan {
            accecn_option,
            ..TcpPlan::default()
        })
    }

    fn one(segments: u32) -> Delivered {
        Delivered {
            segments,
            duplicates: 0,
        }
    }

    /// Linux `tcp_accecn_process`: if ACKs deliver more than four segments on average, the sender
    /// assumes no wrap of the counter. The sender assumes this even for an ACK that delivers many
    /// segments.
    #[test]
    fn a_long_stride_is_believed_where_all_are_long() {
        let mut receiver = of_option(AccEcnOption::Off);
        for _ in 0..3 {
            receiver.on_data(Ecn::Ce, 1448);
        }
        let mut ack = Packet::new(0, 66, Ecn::NotEct);
        receiver.on_ack(&mut ack, 0, Time::ZERO, Time::ZERO);
        let marks = |stretch| {
            let mut sender = Sending {
                stretch,
                ..Sending::default()
            };
            (sender.process(&ack, one(20), 0, 1448), sender.stretch)
        };
        // If the old mean is 240, the new mean (63 x 240 + 20 x 64) / 64 is four segments, rounded
        // down. If the old mean is 242, the new mean is above four segments.
        assert_eq!(marks(240), (19, 4 << STRETCH_DIGITS));
        assert_eq!(marks(242), (3, (4 << STRETCH_DIGITS) + 2));
    }

    #[test]
    fn counters_survive_the_wire() {
        let mut receiver = of_option(AccEcnOption::Full);
        receiver.on_syn(Ecn::Ect1);
        assert!(!receiver.on_data(Ecn::Ect1, 1448), "nothing has changed");
        assert!(receiver.on_data(Ecn::Ce, 1000));
        assert!(!receiver.on_data(Ecn::Ce, 1000));
        assert!(receiver.on_data(Ecn::Ect1, 1448));
        let mut ack = Packet::new(0, 66, Ecn::NotEct);
        receiver.on_ack(&mut ack, 0, Time::ZERO, Time::ZERO);
        assert_eq!((ace(ack.flags), ack.len), (5 + 2, 78));
        let counters = Counters::of(&ack).expect("an option");
        assert_eq!(counters, Counters([Some(2896), Some(2000), Some(0)]));
        assert_eq!(*counters.on_the_wire(), [2897, 2000, 1]);
        let mut sender = Sending::default();
        assert_eq!(sender.process(&ack, one(4), 0, 1448), 2);
        assert_eq!(sender.process(&ack, one(1), 2, 1448), 0);
        assert_eq!(sender.bytes, [2896, 2000, 0]);
    }

    /// Each ECN field has a counter. If a second counter grows too, the sender no longer knows
    /// which counter to increase when an ACK has no option (Linux `est_ecnfield`).
    #[test]
    fn which_counter_grows() {
        let mut sender = Sending::default();
        let ack = |told: [u32; 3]| {
            let mut ack = Packet::new(0, 66, Ecn::NotEct);
            Counters(told.map(Some)).put(&mut ack);
            ack
        };
        let bare = Packet::new(0, 66, Ecn::NotEct);
        sender.process(&ack([0, 0, 1000]), one(1), 0, 1000);
        sender.process(&bare, one(1), 0, 1000);
        assert_eq!(sender.bytes, [0, 0, 2000], "what grew goes on");
        sender.process(&ack([1000, 0, 2000]), one(1), 0, 1000);
        sender.process(&bare, one(2), 0, 1000);
        assert_eq!(sender.bytes, [3000, 0, 2000]);
        // The option reports less than the sender had estimated. From then on, the sender does not
        // estimate the counters.
        sender.process(&ack([2000, 1000, 2000]), one(1), 0, 1000);
        sender.process(&bare, one(9), 0, 1000);
        assert_eq!(sender.bytes, [2000, 1000, 2000]);
        // Duplicates do not add bytes.
        sender.process(&ack([2000, 1000, 3000]), one(1), 0, 1000);
        let duplicate = Delivered {
            segments: 3,
            duplicates: 1,
        };
        sender.process(&bare, duplicate, 0, 1000);
        assert_eq!(sender.bytes, [2000, 1000, 5000]);
    }
}
