//! Negotiates ECN between the endpoint that the script plays and the host under test. Also converts
//! ECN fields in scripts to the simulator's ECN fields.

use tailback_engine::packet::{Ecn, Packet};
use tailback_engine::plan::EcnFeedback;
use tailback_engine::tcp::accecn::{self, Answer, Counters};

use crate::script::Segment;

/// The forms of ECN that an endpoint may support, the simplest form first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Much {
    None,
    Rfc3168,
    Accurate,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// The form of ECN that the host under test requests or accepts.
    pub ours: Much,
    /// The form of ECN on which both endpoints agree.
    pub ecn: Much,
    /// Whether the ECN flags of the handshake are to be read as an ACE field.
    pub negotiates: bool,
}

impl Agreed {
    /// Returns the result of the negotiation when the host under test, as the client, receives a
    /// SYN-ACK.
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

    /// Returns the result of the negotiation when the host under test, as the server, receives a
    /// SYN.
    pub fn as_server(ours: Much, syn: &Segment) -> Agreed {
        let asks = accecn::requests(accecn::flags_of(syn.ace()));
        let ecn = match asks {
            true if ours == Much::Accurate => Much::Accurate,
            // A SYN may request a newer form of ECN than RFC 3168. A server that does not support
            // this form treats the SYN as an RFC 3168 SYN.
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

pub(crate) fn codepoint(packet: &Segment) -> Ecn {
    match packet.ecn.as_deref() {
        Some("ect0") => Ecn::Ect0,
        Some("ect1") => Ecn::Ect1,
        Some("ce") => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

/// Returns the counters of a packet's AccECN option.
pub(crate) fn on_the_wire(packet: &Packet) -> Option<[Option<u32>; 3]> {
    let wire = Counters::of(packet)?.on_the_wire();
    Some([0, 1, 2].map(|at| wire.get(at).copied()))
}
