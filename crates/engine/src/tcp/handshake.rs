//! The state of a handshake, and what its SYN measures.

use super::rtt::{INITIAL_RTO, MAX_RTO};
use super::timestamps;
use crate::packet::Packet;
use crate::units::Time;

/// Linux `tcp_syn_linear_timeouts`.
const SYN_LINEAR_TIMEOUTS: u32 = 4;

/// How long a SYN waits for its answer after this many retransmissions. The first timeouts do not
/// double (Linux `tcp_syn_linear_timeouts`, since 6.5).
pub fn syn_timeout(retransmits: u32) -> Time {
    let doublings = retransmits.saturating_sub(SYN_LINEAR_TIMEOUTS);
    Time(INITIAL_RTO.ns() << doublings.min(7)).min(MAX_RTO)
}

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    SynSent,
    Established,
    Done,
}

/// The opening of a connection.
#[derive(Clone, Debug)]
pub(super) struct Handshake {
    pub phase: Phase,
    /// SYNs sent again.
    pub retransmits: u32,
    /// When the first SYN was sent.
    first_sent: Time,
}

impl Handshake {
    pub fn new() -> Handshake {
        Handshake {
            phase: Phase::Waiting,
            retransmits: 0,
            first_sent: Time::ZERO,
        }
    }

    /// The first SYN is sent.
    pub fn begin(&mut self, now: Time) {
        self.phase = Phase::SynSent;
        self.first_sent = now;
    }

    /// The SYN is sent again.
    pub fn repeat(&mut self) {
        self.retransmits += 1;
    }

    /// The RTT that a SYN-ACK measures. If the SYN was sent again, the RTT comes from the
    /// timestamp.
    pub fn rtt(&self, syn_ack: &Packet, now: Time) -> Time {
        match self.retransmits {
            0 => now - syn_ack.sent,
            _ => timestamps::rtt(now, syn_ack.sent),
        }
    }

    /// How long the SYN waits for its answer.
    pub fn timeout(&self) -> Time {
        syn_timeout(self.retransmits)
    }

    /// Whether the answer measures the RTT (RFC 6298 section 5.7).
    pub fn tells_rtt(&self, timestamps: bool) -> bool {
        self.retransmits == 0 || timestamps
    }

    /// Whether the window begins at one segment (RFC 5681 section 3.1), relaxed to more than one
    /// SYN sent again (Linux `tcp_init_transfer`). It does not if the answer is to the first SYN,
    /// which then was not lost.
    pub fn lost_syns(&self, syn_ack: &Packet, timestamps: bool) -> bool {
        self.retransmits > 1 && !(timestamps && syn_ack.sent == self.first_sent)
    }
}
