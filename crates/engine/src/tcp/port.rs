//! The interface of both ends of a connection to the network.

use crate::packet::Packet;

/// How an endpoint puts packets into the network.
pub trait Port {
    /// Sends a packet now.
    fn send(&mut self, packet: Packet);
}

/// Number of bytes by which the header of a SYN or SYN-ACK is longer than other headers. It
/// contains the options MSS, SACK permitted and window scale. (Other packets also carry
/// timestamps.)
pub(super) const SYN_EXTRA: u16 = 8;
