//! What both ends of a connection need from the network.

use crate::packet::Packet;

/// Where an end point sends packets: its entrance to the network.
pub trait Port {
    /// Sends a packet now.
    fn send(&mut self, packet: Packet);
}

/// Bytes a SYN or SYN-ACK is longer than a bare header: the options Linux
/// sends (MSS, SACK permitted, timestamps, window scale) less the timestamps.
pub(super) const SYN_EXTRA: u16 = 8;
