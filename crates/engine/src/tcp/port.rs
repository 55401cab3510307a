//! The interface by which both ends of a connection send packets into the network.

use crate::packet::Packet;

/// How an end of a connection sends packets.
pub trait Port {
    /// Sends a packet now.
    fn send(&mut self, packet: Packet);
}

/// By how many bytes the header of a SYN or SYN-ACK is longer than the header of other packets. In
/// addition to timestamps, which all packets have, a SYN or SYN-ACK has the options MSS, SACK
/// permitted and window scale.
pub(super) const SYN_EXTRA: u16 = 8;
