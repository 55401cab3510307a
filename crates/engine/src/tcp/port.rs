//! What both ends of a connection need from the network.

use crate::packet::Packet;

/// The way by which an end point puts packets into the network.
pub trait Port {
    /// Sends a packet now.
    fn send(&mut self, packet: Packet);
}

/// Bytes by which a SYN or SYN-ACK is longer than a bare header: the options that Linux sends (MSS,
/// SACK permitted, timestamps, window scale) without the timestamps.
pub(super) const SYN_EXTRA: u16 = 8;
