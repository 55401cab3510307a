//! Accurate ECN (RFC 9768) as Linux 7.3 has it (`include/net/tcp_ecn.h`,
//! `tcp_accecn_process`, `tcp_options_fit_accecn`): the receiver counts the
//! packets that came with CE, and the bytes by ECN field; the last three bits
//! of the first stand in the ACE field of every ACK, 24 bits of the others in an
//! option. The sender infers from them how many of its segments were marked.
//!
//! The Linux 5.10 of the L4S team, with which the results of 2022 were made,
//! has the same rules but for one sysctl not offered here (`tcp_ecn_unsafe_cep`:
//! an ACK of eight and more segments is never taken for a wrap).
//!
//! Deviations:
//! - Of the two byte counters of ECT(0) and ECT(1) the sum is kept: a sender uses one of them,
//!   and the option has room for it as for that one.
//! - Data packets carry no ACE field: their receiver would send no ACKs that are counted.
//! - No option goes with three SACK blocks (Linux sends one that is empty, or, without
//!   timestamps, a whole one).
//! - The SYN-ACK has no option; a CE mark of the SYN counts on both ends when its echo comes.
//! - ACKs that are not ECN-capable data count for nothing (Linux counts CE on pure ACKs; here
//!   nobody acknowledges those).

use crate::packet::{Ecn, Packet, Sack, flags};
use crate::plan::AccEcnOption;
use crate::units::Time;

/// Where the packet counter begins on the wire (RFC 9768 section 3.2.1).
const CEP_INIT: u32 = 5;
/// Where the byte counters of ECT begin on the wire.
const ECT_INIT: u32 = 1;
/// Bits of the packet counter on the wire.
const ACE_MASK: u32 = 7;
/// Bits of a byte counter on the wire.
const BYTES_MASK: u32 = 0xFF_FFFF;
/// Bytes of an option of all three counters, of a counter, and of the timestamp option.
const OPTION: u16 = 11;
const COUNTER: u16 = 3;
const TIMESTAMPS: u16 = 12;
/// Room for options in a header, bytes.
const ROOM: u16 = 40;
/// Options in a round trip at least, in [`AccEcnOption::Minimum`] (Linux `tcp_ecn_option_beacon`).
const BEACON: u64 = 3;
/// Where the flag bits of the ACE field begin.
const ACE_SHIFT: u32 = flags::ECE.trailing_zeros();

/// The ACE field of flags.
#[inline]
pub fn ace(flags: u16) -> u32 {
    u32::from((flags & flags::ACE) >> ACE_SHIFT)
}

/// Flags with an ACE field.
fn flags_of(ace: u32) -> u16 {
    ((ace & ACE_MASK) as u16) << ACE_SHIFT
}

/// ACE on a SYN that asks for Accurate ECN.
pub const REQUEST: u16 = flags::ACE;

/// ACE on the SYN-ACK that accepts: the ECN field with which the SYN came
/// (RFC 9768 table 2).
pub fn accepted(syn: Ecn) -> u16 {
    flags_of(match syn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// What a SYN-ACK answers to a request for Accurate ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No ECN at all.
    None,
    /// RFC 3168.
    Rfc3168,
    /// Accurate ECN; whether the SYN was marked.
    AccEcn {
        /// It was.
        syn_ce: bool,
    },
}

/// Reads the ACE field of a SYN-ACK (RFC 9768 table 2).
pub fn answer(syn_ack: u16) -> Answer {
    match ace(syn_ack) {
        0 | 7 => Answer::None,
        1 => Answer::Rfc3168,
        ace => Answer::AccEcn {
            syn_ce: ace == 0b110,
        },
    }
}

/// Bytes of the counters in the last SACK slot: presence in the high bits.
const PRESENT: u32 = 1 << 31;
/// The counter of ECT is that of ECT(0).
const OF_ECT0: u32 = 1 << 30;
/// Number of counters on the wire.
const FIELDS_SHIFT: u32 = 24;

/// The values of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireCounters([u32; 3], u8);

impl std::ops::Deref for WireCounters {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0[..usize::from(self.1.min(3))]
    }
}

/// The counters of an option, as they stand on the wire but for their initial values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that came with CE, modulo 2^24.
    pub ce: Option<u32>,
    /// Bytes that came with ECT, modulo 2^24.
    pub ect: Option<u32>,
    /// They came with ECT(0).
    pub ect0: bool,
    /// Counters on the wire, in the order ECT(1), CE, ECT(0).
    pub fields: u8,
}

impl Counters {
    /// The option of an ACK.
    pub fn of(ack: &Packet) -> Option<Counters> {
        ack.has(flags::ACCECN).then(|| {
            let Sack { offset, len } = ack.sack[2];
            Counters {
                ce: (offset & PRESENT != 0).then_some(offset & BYTES_MASK),
                ect: (len & PRESENT != 0).then_some(len & BYTES_MASK),
                ect0: len & OF_ECT0 != 0,
                fields: (len >> FIELDS_SHIFT & 3) as u8,
            }
        })
    }

    /// The values on the wire, in the order ECT(1), CE, ECT(0) (RFC 9768 section 3.2.3).
    pub fn on_the_wire(self) -> WireCounters {
        let ect = self.ect.unwrap_or(0);
        let (ect1, ect0) = if self.ect0 { (0, ect) } else { (ect, 0) };
        let all = [
            ect1.wrapping_add(ECT_INIT) & BYTES_MASK,
            self.ce.unwrap_or(0),
            ect0.wrapping_add(ECT_INIT) & BYTES_MASK,
        ];
        WireCounters(all, self.fields)
    }

    fn put(self, ack: &mut Packet) {
        let word = |value: Option<u32>| value.map_or(0, |v| PRESENT | (v & BYTES_MASK));
        ack.flags |= flags::ACCECN;
        ack.sack[2] = Sack {
            offset: word(self.ce),
            len: word(self.ect)
                | if self.ect0 { OF_ECT0 } else { 0 }
                | u32::from(self.fields) << FIELDS_SHIFT,
        };
    }
}

/// Counters that fit into an option beside SACK blocks, those blocks, and the bytes it takes
/// (Linux `tcp_options_fit_accecn`): `required` counters at least.
fn fit(mut blocks: usize, required: u8, room: u16) -> Option<(u8, usize, u16)> {
    let mut fields = 3;
    let mut size = OPTION;
    loop {
        let sack = if blocks > 0 { 4 + 8 * blocks as u16 } else { 0 };
        // SACK is padded by two bytes that the option may use.
        let spare = if blocks > 0 { 2 } else { 0 };
        let aligned = if size & 3 > spare {
            size.next_multiple_of(4)
        } else {
            size & !3
        };
        if sack + aligned <= room {
            return Some((fields, blocks, aligned));
        }
        if fields == required {
            if blocks <= 2 || required == 0 {
                return None;
            }
            blocks -= 1;
            (fields, size) = (3, OPTION);
        } else {
            fields -= 1;
            size -= COUNTER;
        }
    }
}

/// The receiver's side.
#[derive(Clone, Debug)]
pub(super) struct Receiving {
    /// Packets that came with CE.
    packets: u32,
    /// Bytes that came with CE, and with ECT.
    bytes: [u32; 2],
    /// They came with ECT(0).
    ect0: bool,
    /// The ECN field of the last packet.
    last: Ecn,
    /// ACKs that are to carry the option.
    demand: u8,
    /// Counters that changed since the last option, in their order on the wire.
    required: u8,
    /// When the last option was sent.
    sent: Time,
    option: AccEcnOption,
    /// Room for options.
    room: u16,
}

impl Receiving {
    pub fn new(option: AccEcnOption, timestamps: bool) -> Receiving {
        Receiving {
            packets: 0,
            bytes: [0; 2],
            ect0: false,
            last: Ecn::NotEct,
            demand: 1,
            required: 0,
            sent: Time::ZERO,
            option,
            room: ROOM - if timestamps { TIMESTAMPS } else { 0 },
        }
    }

    /// The SYN has come.
    pub fn on_syn(&mut self, ecn: Ecn) {
        self.last = ecn;
        self.packets = u32::from(ecn == Ecn::Ce);
    }

    /// A data packet has come: whether it is to be acknowledged at once, since the
    /// ECN field has changed (Linux `tcp_ecn_received_counters`).
    // Out of line, as its other hooks: receivers without it pay a test, no more.
    #[inline(never)]
    pub fn on_data(&mut self, ecn: Ecn, payload: u16) -> bool {
        let ce = ecn == Ecn::Ce;
        let required = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ce => 2,
            Ecn::Ect0 => 3,
        };
        if ecn != Ecn::NotEct {
            self.packets = self.packets.wrapping_add(u32::from(ce));
            self.ect0 |= ecn == Ecn::Ect0;
            let bytes = &mut self.bytes[usize::from(!ce)];
            let before = *bytes;
            *bytes = before.wrapping_add(u32::from(payload));
            self.required = self.required.max(required);
            // At least once in 4 MiB, before the counter could turn.
            if (*bytes ^ before) >> 22 != 0 {
                self.demand = self.demand.max(1);
            }
        }
        let edge = self.last != ecn;
        if edge || ce {
            self.last = ecn;
            // Two ACKs tell of the new field for sure.
            self.demand = 2;
        }
        edge
    }

    /// Fills in an ACK that has `blocks` SACK blocks.
    #[inline(never)]
    pub fn on_ack(&mut self, ack: &mut Packet, blocks: usize, now: Time, rtt: Time) {
        ack.flags |= flags_of(self.packets.wrapping_add(CEP_INIT));
        let due = match self.option {
            AccEcnOption::Off => false,
            AccEcnOption::Minimum => {
                self.demand > 0 || now.since(self.sent).ns() * BEACON >= rtt.ns()
            }
            AccEcnOption::Full => true,
        };
        if due {
            self.put_option(ack, blocks, now);
        }
    }

    fn put_option(&mut self, ack: &mut Packet, blocks: usize, now: Time) {
        let Some((fields, kept, size)) = fit(blocks, self.required, self.room) else {
            return;
        };
        if kept > 2 {
            return; // the third slot is taken
        }
        for slot in &mut ack.sack[kept..] {
            *slot = Sack::default();
        }
        ack.len -= 8 * (blocks - kept) as u16;
        ack.len += size;
        let known = |needs: u8, bytes: u32| (fields >= needs).then_some(bytes);
        Counters {
            ce: known(2, self.bytes[0]),
            ect: known(if self.ect0 { 3 } else { 1 }, self.bytes[1]),
            ect0: self.ect0,
            fields,
        }
        .put(ack);
        self.required = 0;
        self.sent = now;
        self.demand = self.demand.saturating_sub(1);
    }
}

/// The field whose bytes grow while no option tells otherwise (Linux `est_ecnfield`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Ce,
    Ect,
}

/// Weight of an ACK in the mean of segments per ACK, and the digits of that mean.
const STRETCH_WEIGHT: u32 = 6;
const STRETCH_DIGITS: u32 = 6;
/// Segments per ACK, on average, beyond which ACKs are thinned and a counter that seems
/// to have turned probably has not.
const THINNED: u32 = 4;

/// The sender's side.
#[derive(Clone, Debug, Default)]
pub(super) struct Sending {
    /// Bytes that arrived with CE, and with ECT, as far as is known.
    bytes: [u32; 2],
    growing: Option<Field>,
    /// An option was seen.
    seen: bool,
    /// Mean of the segments delivered by an ACK, scaled by 2^6.
    stretch: u32,
}

impl Sending {
    /// How many segments an ACK newly tells to have been marked; `counted` of
    /// them are known, and it delivers so many (Linux `__tcp_accecn_process`).
    #[inline(never)]
    pub fn process(&mut self, ack: &Packet, delivered: u32, counted: u64, mss: u16) -> u32 {
        let bytes = delivered.saturating_mul(u32::from(mss));
        let before = self.bytes[0];
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
        let told = valid.then(|| (self.bytes[0].wrapping_sub(before), bytes));
        let thinned = self.stretch > THINNED << STRETCH_DIGITS;
        marked(delivered, delta, told, thinned, mss)
    }

    /// Takes the byte counters; whether they can be relied on (Linux
    /// `tcp_accecn_process_option`).
    fn take_option(&mut self, ack: &Packet, delivered: u32) -> bool {
        let growing = self.growing;
        let Some(option) = Counters::of(ack) else {
            return match growing.filter(|_| self.seen) {
                Some(field) => {
                    let bytes = &mut self.bytes[usize::from(field == Field::Ect)];
                    *bytes = bytes.wrapping_add(delivered);
                    true
                }
                None => false,
            };
        };
        self.seen = true;
        let mut valid = growing.is_some();
        let mut ambiguous = false;
        let mut changed = false;
        // The order on the wire; where ECT is that of ECT(0) it comes last.
        let mut fields = [(Field::Ect, option.ect), (Field::Ce, option.ce)];
        if option.ect0 {
            fields.swap(0, 1);
        }
        for (field, value) in fields {
            let Some(value) = value else { continue };
            let known = &mut self.bytes[usize::from(field == Field::Ect)];
            let news = value.wrapping_sub(*known) & BYTES_MASK;
            // An estimate too high is taken back: 24 bits with a sign.
            let news = ((news << 8) as i32) >> 8;
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

/// How often the counter of packets has turned: the marks of an ACK that delivers so many
/// segments and whose ACE field is `delta` on, modulo 8. `told`: bytes that came with CE, and
/// bytes delivered, where the option tells (RFC 9768 appendix A.2).
fn marked(delivered: u32, delta: u32, told: Option<(u32, u32)>, thinned: bool, mss: u16) -> u32 {
    if delivered <= ACE_MASK {
        return delta;
    }
    let mss = u32::from(mss);
    // As many as there can be.
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
    use super::*;

    /// Whatever the blocks, the counters and the room: what fits does, and nothing that
    /// is required is left out.
    #[test]
    fn every_fit() {
        for blocks in 0..=4_usize {
            for required in 0..=3 {
                for room in 0..=ROOM {
                    let Some((fields, kept, size)) = fit(blocks, required, room) else {
                        // Not even the required counters beside the blocks that must stay.
                        let sack = if blocks > 0 {
                            4 + 8 * blocks.min(2) as u16
                        } else {
                            0
                        };
                        let least = (2 + COUNTER * u16::from(required)).next_multiple_of(4);
                        assert!(sack + least > room || required == 0);
                        continue;
                    };
                    let sack = if kept > 0 { 4 + 8 * kept as u16 } else { 0 };
                    assert!(sack + size <= room, "{blocks} {required} {room}");
                    assert!((required..=3).contains(&fields));
                    assert!(kept <= blocks && (kept == blocks || kept >= 2));
                    assert!(size + 2 >= 2 + COUNTER * u16::from(fields));
                }
            }
        }
    }

    /// RFC 9768 table 2.
    #[test]
    fn the_handshake() {
        for (ecn, bits) in [
            (Ecn::NotEct, 0b010),
            (Ecn::Ect1, 0b011),
            (Ecn::Ect0, 0b100),
            (Ecn::Ce, 0b110),
        ] {
            assert_eq!(ace(accepted(ecn)), bits);
            let syn_ce = ecn == Ecn::Ce;
            assert_eq!(answer(accepted(ecn)), Answer::AccEcn { syn_ce });
        }
        assert_eq!(answer(0), Answer::None);
        assert_eq!(
            answer(REQUEST),
            Answer::None,
            "a host that echoes the request"
        );
        assert_eq!(answer(flags::ECE), Answer::Rfc3168);
    }

    /// RFC 9768 appendix A.2 with Linux's choices, at segments of 1000 bytes.
    #[test]
    fn wraps_by_table() {
        // delivered, delta, (CE bytes, bytes) where an option tells, thinned; marks
        type Told = Option<(u32, u32)>;
        let table: [(u32, u32, Told, bool, u32); 16] = [
            // Up to seven segments nothing can have wrapped.
            (7, 7, None, false, 7),
            (7, 0, None, false, 0),
            (0, 0, None, false, 0),
            // Beyond that as many as there can be: the safe side.
            (8, 0, None, false, 8),
            (9, 1, None, false, 9),
            (9, 2, None, false, 2),
            (20, 3, None, false, 19),
            // Who gets such ACKs all the time is not so afraid.
            (20, 3, None, true, 3),
            // The option tells: no CE bytes, one turn or none, ...
            (15, 0, Some((0, 15_000)), false, 0),
            (15, 1, Some((1_000, 15_000)), false, 1),
            (15, 7, Some((7_000, 15_000)), false, 7),
            (15, 7, Some((15_000, 15_000)), false, 15),
            (8, 0, Some((8_000, 8_000)), false, 8),
            // ... or how many.
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

    /// Linux `tcp_options_fit_accecn` with timestamps: 28 bytes are left.
    #[test]
    fn room_for_the_option() {
        // SACK blocks, counters required; counters, blocks kept, bytes
        for (blocks, required, fits) in [
            (0, 0, Some((3, 0, 12))),
            (1, 3, Some((3, 1, 12))),
            // 20 bytes of SACK: eight are left, two counters.
            (2, 2, Some((2, 2, 8))),
            (2, 3, None),
            // A block goes where a counter must be told.
            (3, 2, Some((2, 2, 8))),
            (3, 3, None),
            // An option without counters, in the padding of SACK.
            (3, 0, Some((0, 3, 0))),
        ] {
            assert_eq!(fit(blocks, required, 28), fits, "{blocks} blocks");
        }
        assert_eq!(fit(3, 3, 40), Some((3, 3, 12)), "without timestamps");
    }

    #[test]
    fn counters_survive_the_wire() {
        let mut receiver = Receiving::new(AccEcnOption::Full, true);
        receiver.on_syn(Ecn::Ect1);
        assert!(!receiver.on_data(Ecn::Ect1, 1448), "nothing has changed");
        assert!(receiver.on_data(Ecn::Ce, 1000));
        assert!(!receiver.on_data(Ecn::Ce, 1000));
        assert!(receiver.on_data(Ecn::Ect1, 1448));
        let mut ack = Packet::new(0, 66, Ecn::NotEct);
        receiver.on_ack(&mut ack, 0, Time::ZERO, Time::ZERO);
        assert_eq!((ace(ack.flags), ack.len), (5 + 2, 78));
        let counters = Counters::of(&ack).expect("an option");
        assert_eq!((counters.ce, counters.ect), (Some(2000), Some(2896)));
        assert_eq!(*counters.on_the_wire(), [2897, 2000, 1]);
        let mut sender = Sending::default();
        assert_eq!(sender.process(&ack, 4, 0, 1448), 2);
        assert_eq!(sender.process(&ack, 1, 2, 1448), 0);
    }

    #[test]
    fn the_option_on_demand_follows_changes_and_the_clock() {
        let mut receiver = Receiving::new(AccEcnOption::Minimum, true);
        let ms = Time::from_ms;
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
            let mut ack = Packet::new(0, 66, Ecn::NotEct);
            receiver.on_ack(&mut ack, 0, ms(at), ms(27));
            seen.push(ack.has(flags::ACCECN));
        }
        // Two after each change, then one in 9 ms.
        assert_eq!(seen, [false, true, true, true, false, true, false]);
    }
}
