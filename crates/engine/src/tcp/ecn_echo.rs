//! How a receiver echoes CE.

use crate::cc::{CeEcho, EcnNeed};
use crate::packet::Ecn;
use crate::plan::EcnFeedback;

/// How the receiver echoes CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// The receiver does not echo CE, because ECN was not negotiated.
    None,
    /// Every ACK after a CE mark carries ECE, until a packet with CWR arrives (RFC 3168 section
    /// 6.1.3).
    Sticky,
    /// ECE tells whether the acknowledged packet arrived with CE. An ACK is sent at once when CE
    /// starts or ends (RFC 8257 section 3.2).
    PerPacket,
    /// Like `PerPacket`, but packets with ECT(1) do not change the echo. A kernel that checks for
    /// SCE marks before CE marks behaves like this.
    PerPacketButEct1,
    /// Every ACK carries the counters of Accurate ECN (RFC 9768).
    Accurate {
        /// The ECN codepoint with which the ACKs are sent.
        acks: Ecn,
        /// Whether the receiver acknowledges delayed packets first when CE starts or ends. DCTCP's
        /// receiver acknowledges delayed packets first with every kind of feedback (Linux
        /// `dctcp_cwnd_event`).
        splits: bool,
    },
}

impl EcnEcho {
    /// Returns the kind of echo that a connection uses.
    pub fn of(ecn: bool, feedback: EcnFeedback, need: EcnNeed) -> EcnEcho {
        match (feedback, need) {
            _ if !ecn => EcnEcho::None,
            (EcnFeedback::None, _) => EcnEcho::None,
            (EcnFeedback::AccEcn | EcnFeedback::Auto, EcnNeed::Accurate) => EcnEcho::Accurate {
                acks: Ecn::Ect1,
                splits: false,
            },
            (EcnFeedback::AccEcn, need) => EcnEcho::Accurate {
                acks: Ecn::Ect0,
                splits: need == EcnNeed::Dctcp(CeEcho::Precise),
            },
            (EcnFeedback::Rfc3168, _)
            | (_, EcnNeed::Optional | EcnNeed::Sce | EcnNeed::Dctcp(CeEcho::Sticky)) => {
                EcnEcho::Sticky
            }
            (_, EcnNeed::Dctcp(CeEcho::Precise)) => EcnEcho::PerPacket,
            (_, EcnNeed::Dctcp(CeEcho::SceHoldsCe)) => EcnEcho::PerPacketButEct1,
        }
    }

    pub(super) fn is_per_packet(self) -> bool {
        matches!(
            self,
            EcnEcho::PerPacket | EcnEcho::PerPacketButEct1 | EcnEcho::Accurate { splits: true, .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow without ECN has no echo. A congestion control that needs Accurate ECN gets it, unless
    /// the scenario sets another `ecn_feedback`. DCTCP gets an echo for each packet.
    #[test]
    fn the_echo_of_each_feedback_and_need() {
        use CeEcho::{Precise, SceHoldsCe};
        use EcnEcho::{PerPacket, PerPacketButEct1, Sticky};
        use EcnFeedback::{AccEcn, Auto, Rfc3168};
        use EcnNeed::{Accurate, Dctcp, Optional, Sce};
        let accurate = |acks, splits| EcnEcho::Accurate { acks, splits };
        for (feedback, need, expected) in [
            (Auto, Optional, Sticky),
            (Auto, Sce, Sticky),
            (Auto, Dctcp(CeEcho::Sticky), Sticky),
            (Auto, Dctcp(Precise), PerPacket),
            (Auto, Dctcp(SceHoldsCe), PerPacketButEct1),
            (Auto, Accurate, accurate(Ecn::Ect1, false)),
            (Rfc3168, Optional, Sticky),
            (Rfc3168, Dctcp(Precise), Sticky),
            (Rfc3168, Accurate, Sticky),
            (AccEcn, Accurate, accurate(Ecn::Ect1, false)),
            (AccEcn, Optional, accurate(Ecn::Ect0, false)),
            (AccEcn, Dctcp(Precise), accurate(Ecn::Ect0, true)),
            (AccEcn, Dctcp(CeEcho::Sticky), accurate(Ecn::Ect0, false)),
            (EcnFeedback::None, Accurate, EcnEcho::None),
        ] {
            assert_eq!(
                EcnEcho::of(true, feedback, need),
                expected,
                "{feedback:?} {need:?}"
            );
            assert_eq!(EcnEcho::of(false, feedback, need), EcnEcho::None);
        }
        for (echo, per_packet) in [
            (EcnEcho::None, false),
            (Sticky, false),
            (PerPacket, true),
            (PerPacketButEct1, true),
            (accurate(Ecn::Ect0, true), true),
            (accurate(Ecn::Ect1, false), false),
        ] {
            assert_eq!(echo.is_per_packet(), per_packet, "{echo:?}");
        }
    }
}
