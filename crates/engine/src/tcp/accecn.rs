//! Accurate ECN (RFC 9768) as in Linux 7.3 (`include/net/tcp_ecn.h`, `tcp_accecn_process`,
//! `tcp_options_fit_accecn`). The receiver counts the packets that arrived with CE, and the bytes
//! that arrived with each ECN field. The ACE field of every ACK carries the lowest three bits of
//! the packet counter. A TCP option carries 24 bits of each byte counter. The sender uses these
//! values to compute how many of its segments were marked.
//!
//! The L4S team measured its results of 2022 with its own Linux 5.10, whose rules are the same as
//! in Linux 7.3. The team's kernel also has the sysctl `tcp_ecn_unsafe_cep`, which tailback does
//! not support. With this sysctl, the sender never assumes that the counter has wrapped, even if an
//! ACK covers eight or more segments.
//!
//! The team's Linux 5.15 acknowledges more segments at once, because a maximum and a minimum are
//! mixed up in `tcp_ecn_received_counters` ([`crate::plan::AccEcnReceiver`]).
//!
//! Deviations:
//! - The ACE field and the option of data packets are not modelled, except for the space that the
//!   option takes ([`of_sender`]). In data packets, the field and the option report the ECN fields
//!   of ACKs, but the simulator's ACKs are not ECN-capable. (If options seem to get lost, Linux
//!   uses this space for payload again.)
//! - An ACK with three SACK blocks does not carry the option. (Linux sends an option without
//!   counters or, if timestamps are off, a full option.)
//! - The SYN-ACK does not carry the option. A CE mark on the SYN is counted when its echo in the
//!   handshake arrives.
//! - CE marks on pure ACKs are not counted. (Linux counts them, but here no host acknowledges pure
//!   ACKs.)
//! - The CE counter of an ACK that reports only a duplicate is always evaluated. (Linux evaluates
//!   it only if the ACK's timestamp, in ms, is newer than that of the previous ACK.)
//! - ECN stays on even if ECN packets seem to get lost in the handshake. The exception is a sender
//!   with [`super::sender::Sender::ecn_fallback`]. (In the kernel engine's guests,
//!   `tcp_ecn_fallback` is 0.)

mod option;
mod receiving;
mod sending;

pub use option::{Counters, WireCounters};
pub(super) use receiving::Receiving;
pub(super) use sending::{Delivered, Sending};

use super::ecn_echo::EcnEcho;
use crate::packet::{Ecn, flags};
use crate::plan::{AccEcnOption, TcpPlan};

/// Length of an option with all three counters, including padding, in bytes.
pub const OPTION_LEN: u16 = 12;

/// Returns the TCP settings with the sender's segment size and header length. With Accurate ECN,
/// each segment also carries the option, which takes space from the payload (Linux
/// `tcp_established_options`, `tcp_current_mss`). With [`AccEcnOption::Minimum`], the payload is
/// not reduced, because few data segments carry the option.
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

/// Initial value of the packet counter (RFC 9768 section 3.2.1).
const CEP_INIT: u32 = 5;
/// Mask for the three bits of the packet counter on the wire.
const ACE_MASK: u32 = 7;
/// Position of the lowest bit of the ACE field in the flags.
const ACE_SHIFT: u32 = flags::ECE.trailing_zeros();

/// Returns the ACE field in these flags.
#[inline]
pub fn ace(flags: u16) -> u32 {
    u32::from((flags & flags::ACE) >> ACE_SHIFT)
}

/// Returns flags with this value of the ACE field.
pub fn flags_of(ace: u32) -> u16 {
    ((ace & ACE_MASK) as u16) << ACE_SHIFT
}

/// The ACE field of a SYN that requests Accurate ECN.
pub const REQUEST: u16 = flags::ACE;

/// Returns whether the ACE field of a SYN requests Accurate ECN. Values that are reserved for later
/// standards also request Accurate ECN (RFC 9768 section 3.1.2).
pub fn requests(syn: u16) -> bool {
    !matches!(ace(syn), 0 | 3)
}

/// Returns the ACE field with which a SYN-ACK accepts Accurate ECN. An ACK that answers such a
/// SYN-ACK uses the same values. The field reports with which ECN field the answered packet arrived
/// (RFC 9768 tables 2 and 3).
pub fn accepted(syn: Ecn) -> u16 {
    flags_of(match syn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// How a SYN-ACK answers a request for Accurate ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// ECN is not used.
    None,
    /// ECN as in RFC 3168 is used.
    Rfc3168,
    /// Accurate ECN is used.
    AccEcn {
        /// Whether the SYN arrived with CE.
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

    /// The option takes its bytes from the payload, so the frame length stays the same.
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

    /// Every value of the ACE field requests Accurate ECN, except the values for no ECN and for RFC
    /// 3168.
    #[test]
    fn what_asks_for_it() {
        let asking: Vec<u32> = (0..8).filter(|ace| requests(flags_of(*ace))).collect();
        assert_eq!(asking, [1, 2, 4, 5, 6, 7]);
    }
}
