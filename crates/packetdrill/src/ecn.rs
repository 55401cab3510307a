//! The negotiation of ECN between two ends, and its notation in scripts and in the simulator.

use tailback_engine::packet::{Ecn, Packet};
use tailback_engine::plan::EcnFeedback;
use tailback_engine::tcp::accecn::{self, Answer, Counters};

use crate::script::Segment;

/// How much of ECN an end supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Much {
    None,
    Rfc3168,
    Accurate,
}

/// The result of the negotiation; each end asks for, or grants, as much as it is set to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// The setting of this end.
    pub ours: Much,
    /// What is agreed on.
    pub ecn: Much,
    /// The handshake has an ACE field.
    pub negotiates: bool,
}

impl Agreed {
    /// This end connects and gets this SYN-ACK.
    pub fn as_client(ours: Much, syn_ack: &Segment) -> Agreed {
        let answer = accecn::answer(accecn::flags_of(syn_ack.ace()));
        let ecn = match (ours, answer) {
            (Much::Accurate, Answer::AccEcn { .. }) => Much::Accurate,
            (Much::Accurate | Much::Rfc3168, Answer::Rfc3168) => Much::Rfc3168,
            _ => Much::None,
        };
        Agreed {
            ours,
            ecn,
            negotiates: ours == Much::Accurate,
        }
    }

    /// The other end connects with this SYN.
    pub fn as_server(ours: Much, syn: &Segment) -> Agreed {
        let asks = accecn::requests(accecn::flags_of(syn.ace()));
        let ecn = match asks {
            true if ours == Much::Accurate => Much::Accurate,
            // An end that does not know this future extension treats it as RFC 3168.
            _ if syn.has('E') && syn.has('W') => ours.min(Much::Rfc3168),
            _ => Much::None,
        };
        Agreed {
            ours,
            ecn,
            negotiates: asks,
        }
    }

    pub fn feedback(self) -> EcnFeedback {
        match self.ecn {
            Much::Accurate => EcnFeedback::AccEcn,
            _ => EcnFeedback::Auto,
        }
    }
}

/// The ECN field of a script's packet.
pub(crate) fn codepoint(packet: &Segment) -> Ecn {
    match packet.ecn.as_deref() {
        Some("ect0") => Ecn::Ect0,
        Some("ect1") => Ecn::Ect1,
        Some("ce") => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

/// The counters of a packet's AccECN option.
pub(crate) fn on_the_wire(packet: &Packet) -> Option<[Option<u32>; 3]> {
    let wire = Counters::of(packet)?.on_the_wire();
    Some([0, 1, 2].map(|at| wire.get(at).copied()))
}
