//! The AccECN option (RFC 9768 section 3.2.3): its counters, how an ACK carries the counters, and
//! how many counters fit into an ACK.

use crate::packet::{Packet, Sack, flags};

/// Initial value of the byte counters for ECT(0) and ECT(1) on the wire.
const ECT_INIT: u32 = 1;
/// Mask for the bits of a byte counter on the wire.
const BYTES_MASK: u32 = 0xFF_FFFF;
/// Length of an option with all three counters, without padding, in bytes.
const OPTION: u16 = 11;
const COUNTER: u16 = 3;
/// [`Packet::sack`] stores the option in its third block. The CE counter uses 24 bits of this
/// block. The three bits above these 24 bits show which counters are present.
const PRESENT_SHIFT: u32 = 24;

/// Index of the counter of bytes that arrived with ECT(1).
pub const ECT1: usize = 0;
/// Index of the counter of bytes that arrived with CE.
pub const CE: usize = 1;
/// Index of the counter of bytes that arrived with ECT(0).
pub const ECT0: usize = 2;

/// The initial value of each counter on the wire. Two of the values are not 0. So an end can detect
/// a path that sets the counters to 0 (RFC 9768 section 3.2.1).
const INIT: [u32; 3] = [ECT_INIT, 0, ECT_INIT];

/// The byte counters in an option, in the order ECT(1), CE, ECT(0). The counters are modulo 2^24,
/// and their initial values have been subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters(pub [Option<u32>; 3]);

/// The values of the counters on the wire, and how many of these values the option contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireCounters([u32; 3], usize);

impl std::ops::Deref for WireCounters {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0[..self.1]
    }
}

impl Counters {
    /// Returns an option with the first `fields` of these counters.
    pub fn first(bytes: &[u32; 3], fields: u8) -> Counters {
        let known = |at: usize| (at < usize::from(fields)).then_some(bytes[at] & BYTES_MASK);
        Counters([known(ECT1), known(CE), known(ECT0)])
    }

    /// Reads the option of an ACK.
    pub fn of(ack: &Packet) -> Option<Counters> {
        ack.has(flags::ACCECN).then(|| {
            let Sack { offset, len } = ack.sack[2];
            let value = |at: usize, value: u32| {
                let present = offset >> (PRESENT_SHIFT + at as u32) & 1 != 0;
                present.then_some(value & BYTES_MASK)
            };
            Counters([value(ECT1, len), value(CE, offset), value(ECT0, ack.ect0)])
        })
    }

    /// Stores the option in an ACK, in place of the third SACK block.
    pub fn put(self, ack: &mut Packet) {
        let present = |at: usize| u32::from(self.0[at].is_some()) << (PRESENT_SHIFT + at as u32);
        let value = |at: usize| self.0[at].unwrap_or(0) & BYTES_MASK;
        ack.flags |= flags::ACCECN;
        ack.sack[2] = Sack {
            offset: value(CE) | present(ECT1) | present(CE) | present(ECT0),
            len: value(ECT1),
        };
        ack.ect0 = value(ECT0);
    }

    /// Returns the values on the wire, from ECT(1) to the last counter that the option contains.
    pub fn on_the_wire(self) -> WireCounters {
        let mut all = [0; 3];
        let mut fields = 0;
        for (at, (to, init)) in all.iter_mut().zip(INIT).enumerate() {
            *to = self.0[at].unwrap_or(0).wrapping_add(init) & BYTES_MASK;
            if self.0[at].is_some() {
                fields = at + 1;
            }
        }
        WireCounters(all, fields)
    }

    /// Converts values on the wire, in the order ECT(1), CE, ECT(0), to counters.
    pub fn from_the_wire(values: [Option<u32>; 3]) -> Counters {
        let less = |at: usize| values[at].map(|v| v.wrapping_sub(INIT[at]) & BYTES_MASK);
        Counters([less(ECT1), less(CE), less(ECT0)])
    }
}

/// Returns by how much a counter has changed, as a signed number of 24 bits. A decrease means that
/// the sender's estimate was too high (Linux `tcp_update_ecn_bytes`).
pub(super) fn change(known: u32, told: u32) -> i32 {
    let news = told.wrapping_sub(known) & BYTES_MASK;
    ((news << 8) as i32) >> 8
}

/// Computes how much of the option fits into an ACK with SACK blocks. The option must have at least
/// `required` counters. Returns the number of counters, the number of SACK blocks that remain, and
/// the length of the option (Linux `tcp_options_fit_accecn`).
pub(super) fn fit(mut blocks: usize, required: u8, room: u16) -> Option<(u8, usize, u16)> {
    let mut fields = 3;
    let mut size = OPTION;
    loop {
        let sack = if blocks > 0 { 4 + 8 * blocks as u16 } else { 0 };
        // The SACK option has two bytes of padding. The AccECN option may use these bytes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::tcp::accecn::receiving::ROOM;

    /// For all numbers of blocks, counters and bytes, the option fits and contains every required
    /// counter.
    #[test]
    fn every_fit() {
        for blocks in 0..=4_usize {
            for required in 0..=3 {
                for room in 0..=ROOM {
                    let Some((fields, kept, size)) = fit(blocks, required, room) else {
                        // `None` is correct only if the required counters do not fit even if at
                        // most two SACK blocks remain.
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

    /// The results equal those of Linux `tcp_options_fit_accecn` with timestamps. Timestamps leave
    /// 28 bytes for other options.
    #[test]
    fn room_for_the_option() {
        // Each row has the number of SACK blocks, the number of required counters, and the expected
        // result (counters, remaining blocks, bytes of the option).
        for (blocks, required, fits) in [
            (0, 0, Some((3, 0, 12))),
            (1, 3, Some((3, 1, 12))),
            // SACK takes 20 bytes and leaves eight bytes, which are enough for two counters.
            (2, 2, Some((2, 2, 8))),
            (2, 3, None),
            // If two counters are required, one of the three SACK blocks is left out.
            (3, 2, Some((2, 2, 8))),
            (3, 3, None),
            // An option without counters fits into the padding of the SACK option.
            (3, 0, Some((0, 3, 0))),
        ] {
            assert_eq!(fit(blocks, required, 28), fits, "{blocks} blocks");
        }
        assert_eq!(fit(3, 3, 40), Some((3, 3, 12)), "without timestamps");
    }

    #[test]
    fn an_option_is_read_as_it_was_written() {
        let some = [None, Some(0), Some(1), Some(BYTES_MASK)];
        for a in some {
            for b in some {
                for c in some {
                    let counters = Counters([a, b, c]);
                    let mut ack = Packet::new(0, 66, Ecn::NotEct);
                    assert_eq!(Counters::of(&ack), None);
                    counters.put(&mut ack);
                    assert_eq!(Counters::of(&ack), Some(counters));
                    let wire = counters.on_the_wire();
                    let told = [0, 1, 2].map(|at| wire.get(at).copied());
                    let read = Counters::from_the_wire(told);
                    for (read, was) in read.0.iter().zip(counters.0) {
                        assert!(was.is_none_or(|was| *read == Some(was)));
                    }
                }
            }
        }
    }
}
