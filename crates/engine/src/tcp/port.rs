//! What both ends of a connection need from the network.

use crate::packet::Packet;

/// How an end point puts packets into the network.
pub trait Port {
    /// Sends a packet now.
    fn send(&mut self, packet: Packet);
}

/// Bytes that a SYN or SYN-ACK has in addition to other packets' headers: the options MSS, SACK
/// permitted and window scale. (Timestamps are in other packets, too.)
pub(super) const SYN_EXTRA: u16 = 8;
