//! The state of a handshake, and the RTT that the handshake measures.

use super::rtt::{INITIAL_RTO, MAX_RTO};
use super::timestamps;
use crate::packet::Packet;
use crate::units::Time;

/// How often a SYN is retransmitted before the timeout begins to double (Linux
/// `tcp_syn_linear_timeouts`).
const SYN_LINEAR_TIMEOUTS: u32 = 4;

/// Returns the timeout of a SYN that has been retransmitted this many times. The first timeouts are
/// not doubled (Linux `tcp_syn_linear_timeouts`, since 6.5).
pub fn syn_timeout(retransmits: u32) -> Time {
    let doublings = retransmits.saturating_sub(SYN_LINEAR_TIMEOUTS);
    Time(INITIAL_RTO.ns() << doublings.min(7)).min(MAX_RTO)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    SynSent,
    Established,
    Done,
}

#[derive(Clone, Debug)]
pub(super) struct Handshake {
    pub phase: Phase,
    pub retransmits: u32,
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

    /// Records that the first SYN is sent.
    pub fn begin(&mut self, now: Time) {
        self.phase = Phase::SynSent;
        self.first_sent = now;
    }

    /// Records that the SYN is sent again.
    pub fn repeat(&mut self) {
        self.retransmits += 1;
    }

    /// Returns the RTT from a SYN-ACK. If the SYN was retransmitted, computes the RTT from the
    /// timestamp.
    pub fn rtt(&self, syn_ack: &Packet, now: Time) -> Time {
        match self.retransmits {
            0 => now - syn_ack.sent,
            _ => timestamps::rtt(now, syn_ack.sent),
        }
    }

    /// Returns how long the current SYN waits for its answer.
    pub fn timeout(&self) -> Time {
        syn_timeout(self.retransmits)
    }

    /// Returns whether the SYN-ACK gives an RTT sample (RFC 6298 section 5.7).
    pub fn tells_rtt(&self, timestamps: bool) -> bool {
        self.retransmits == 0 || timestamps
    }

    /// Returns whether lost SYNs reduce the initial window to one segment. According to RFC 5681
    /// section 3.1, one lost SYN is enough to reduce the window. Linux requires more than one lost
    /// SYN (`tcp_init_transfer`). If the SYN-ACK answers the first SYN, no SYN counts as lost.
    pub fn lost_syns(&self, syn_ack: &Packet, timestamps: bool) -> bool {
        self.retransmits > 1 && !(timestamps && syn_ack.sent == self.first_sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;

    fn answer_to(sent: Time) -> Packet {
        let mut packet = Packet::new(0, 74, Ecn::NotEct);
        packet.sent = sent;
        packet
    }

    /// With Linux `tcp_syn_linear_timeouts` = 4, the first five timeouts last one second each. The
    /// later timeouts double, up to two minutes.
    #[test]
    fn timeouts_of_a_syn() {
        let seconds = [1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64, 120, 120];
        for (retransmits, seconds) in (0..).zip(seconds) {
            assert_eq!(
                syn_timeout(retransmits),
                Time::from_secs(seconds),
                "{retransmits}"
            );
        }
        let mut handshake = Handshake::new();
        (0..5).for_each(|_| handshake.repeat());
        assert_eq!(handshake.timeout(), Time::from_secs(2));
    }

    #[test]
    fn what_a_syn_ack_tells() {
        let us = Time::from_us;
        let mut handshake = Handshake::new();
        handshake.begin(us(500));
        assert_eq!(handshake.phase, Phase::SynSent);
        assert_eq!(handshake.rtt(&answer_to(us(500)), us(20_750)), us(20_250));
        // After a retransmission, the RTT is computed from timestamps, in ticks of a millisecond.
        let mut tells = Vec::new();
        for _ in 0..3 {
            let lost = handshake.lost_syns(&answer_to(us(900)), true);
            tells.push((handshake.tells_rtt(false), handshake.tells_rtt(true), lost));
            handshake.repeat();
        }
        assert_eq!(
            tells,
            [
                (true, true, false),
                (false, true, false),
                (false, true, true)
            ]
        );
        assert_eq!(handshake.rtt(&answer_to(us(500)), us(20_750)), us(20_000));
        assert!(
            !handshake.lost_syns(&answer_to(us(500)), true),
            "the first arrived"
        );
        assert!(
            handshake.lost_syns(&answer_to(us(500)), false),
            "which nothing tells"
        );
    }
}
