//! TCP as Linux 7.3 does it (`net/ipv4/tcp_*.c`): sender, receiver and what
//! they share.
//!
//! | file | what |
//! |---|---|
//! | [`sender`] | handshake, transmission, timers |
//! | `ack` | what an ACK does (`tcp_ack`) |
//! | `recovery` | congestion states, PRR, RACK, undo (`tcp_fastretrans_alert`) |
//! | [`scoreboard`] | sent segments |
//! | [`receiver`] | acknowledgement, SACK, ECN echo |
//! | [`accecn`] | Accurate ECN: negotiation, counters, option |
//! | [`sce`] | the receiver's echo of SCE |
//! | [`rtt`], [`ranges`] | estimator, sets of segments |
//! | [`rate`] | samples of the delivery rate |
//!
//! Known deviations from Linux (what the kernel's packetdrill scripts say of
//! this code stands in docs/packetdrill.md):
//! - Sequence numbers count segments, which keep the boundaries of their first transmission; no
//!   Nagle, no urgent data, no window scaling limits, no FIN exchange.
//! - The third packet of the handshake is not sent apart from the first data.
//! - Offloads are off: no TSO autosizing (so pacing spaces segments, not bursts), no GRO; no TCP
//!   small queues.
//! - The receive window is constant: the receiving application reads at once. A closed window is
//!   not probed.
//! - SACK is always in use: no recovery by counting duplicate ACKs.
//! - ACKs of data never sent, or long ago, are passed over (Linux answers with a challenge ACK).
//! - A connection never gives up (Linux: after 15 timeouts of data, 10 of a SYN), and keeps ECN
//!   when its SYN is lost (Linux then connects without).
//! - A window that the application, not the network, limits does not decay
//!   (`tcp_cwnd_application_limited`); that of an idle sender does.
//! - Without timestamps an ACK has room for four SACK blocks; here it carries three.
//! - A lost probe that RACK or a timeout finds is simply lost; what Linux leaks there is not copied.
//! - Timestamps compare send times in ns, where Linux has ms: spurious retransmissions
//!   within one ms are told apart here.

pub mod accecn;
mod ack;
pub mod ranges;
pub mod rate;
pub mod receiver;
mod recovery;
pub mod rtt;
pub mod sce;
pub mod scoreboard;
pub mod sender;
#[cfg(test)]
mod tests;

use crate::packet::Packet;

/// Where an end point puts packets: its way into the network.
pub trait Port {
    /// Sends a packet now.
    fn send(&mut self, packet: Packet);
}

/// Bytes a SYN or SYN-ACK is longer than a bare header: the options Linux
/// sends (MSS, SACK permitted, timestamps, window scale) less the timestamps.
pub const SYN_EXTRA: u16 = 8;
