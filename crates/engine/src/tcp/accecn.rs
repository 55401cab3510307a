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
//! - ACE field and option of data packets are not modelled but for the room they take
//!   ([`of_sender`]): what they count is ACKs, which bear no ECN. Linux lets that room go where
//!   options seem to get lost.
//! - No option goes with three SACK blocks (Linux sends one that is empty, or, without
//!   timestamps, a whole one).
//! - The SYN-ACK has no option; a CE mark of the SYN counts on both ends when its echo comes.
//! - ACKs that are not ECN-capable data count for nothing (Linux counts CE on pure ACKs; here
//!   nobody acknowledges those).
//! - An ACK that tells of a duplicate and of nothing else is counted, whatever its timestamp
//!   (Linux wants one newer than the last, in ms).
//! - ECN does not fall back where it seems to get lost in the handshake (`tcp_ecn_fallback` is 0,
//!   as in the kernel engine's guests), unless [`super::sender::Sender::ecn_fallback`] is set.

mod option;
mod receiving;
mod sending;

pub use option::{Counters, WireCounters};
pub(super) use receiving::Receiving;
pub(super) use sending::{Delivered, Sending};

use super::ecn_echo::EcnEcho;
use crate::packet::{Ecn, flags};
use crate::plan::{AccEcnOption, TcpPlan};

/// Bytes of an option with all counters, padded.
pub const OPTION_LEN: u16 = 12;

/// The stack by which a sender cuts its data: with Accurate ECN each segment carries the option
/// too, and has so much less payload (Linux `tcp_established_options`, `tcp_current_mss`). Without
/// the demand of every ACK, [`AccEcnOption::Minimum`], data carries it too rarely to count.
pub fn of_sender(tcp: &TcpPlan, echo: EcnEcho) -> TcpPlan {
    let each = matches!(
        tcp.accecn_option,
        AccEcnOption::Full | AccEcnOption::Persist
    );
    let room = match echo {
        EcnEcho::Accurate { .. } if each => OPTION_LEN,
        _ => 0,
    };
    TcpPlan {
        mss: tcp.mss - room,
        header: tcp.header + room,
        ..tcp.clone()
    }
}

/// Where the packet counter begins on the wire (RFC 9768 section 3.2.1).
const CEP_INIT: u32 = 5;
/// Bits of the packet counter on the wire.
const ACE_MASK: u32 = 7;
/// Where the flag bits of the ACE field begin.
const ACE_SHIFT: u32 = flags::ECE.trailing_zeros();

/// The ACE field of flags.
#[inline]
pub fn ace(flags: u16) -> u32 {
    u32::from((flags & flags::ACE) >> ACE_SHIFT)
}

/// Flags with an ACE field.
pub fn flags_of(ace: u32) -> u16 {
    ((ace & ACE_MASK) as u16) << ACE_SHIFT
}

/// ACE on a SYN that asks for Accurate ECN.
pub const REQUEST: u16 = flags::ACE;

/// Whether an ACE field on a SYN asks for Accurate ECN: also what a later standard may make of
/// it (RFC 9768 section 3.1.2).
pub fn requests(syn: u16) -> bool {
    !matches!(ace(syn), 0 | 3)
}

/// ACE on the SYN-ACK that accepts, and on the ACK of that: the ECN field with which what is
/// answered came (RFC 9768 tables 2 and 3).
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

#[cfg(test)]
mod tests {
    use super::*;

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

    /// A frame stays as long as it is, and what the option takes is payload.
    #[test]
    fn the_option_takes_its_room_from_the_payload() {
        let accurate = EcnEcho::Accurate {
            acks: Ecn::Ect0,
            splits: false,
        };
        let payload = |echo, accecn_option| {
            let plan = TcpPlan {
                accecn_option,
                ..TcpPlan::default()
            };
            let cut = of_sender(&plan, echo);
            assert_eq!(cut.mss + cut.header, plan.mss + plan.header);
            cut.mss
        };
        assert_eq!(payload(accurate, AccEcnOption::Full), 1436);
        assert_eq!(payload(accurate, AccEcnOption::Persist), 1436);
        assert_eq!(payload(accurate, AccEcnOption::Minimum), 1448);
        assert_eq!(payload(EcnEcho::Sticky, AccEcnOption::Full), 1448);
    }

    /// All but no ECN and RFC 3168.
    #[test]
    fn what_asks_for_it() {
        let asking: Vec<u32> = (0..8).filter(|ace| requests(flags_of(*ace))).collect();
        assert_eq!(asking, [1, 2, 4, 5, 6, 7]);
    }
}
