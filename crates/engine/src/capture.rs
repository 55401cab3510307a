//! Records every packet at every link if a plan requires it. tailback makes packet captures from
//! the records. The engine only stores the records. The caller takes them while the run is paused
//! ([`crate::network::Network::take_packets`]).

use tailback_record::Seen;

use crate::packet::Packet;
use crate::units::Time;

/// A packet at a link.
#[derive(Clone, Copy, Debug)]
pub struct PacketEvent {
    /// When the link saw the packet.
    pub time: Time,
    /// Index of the link in the plan.
    pub link: u32,
    /// What the link did with the packet.
    pub seen: Seen,
    /// The packet with the content that it had at that time.
    pub packet: Packet,
}
