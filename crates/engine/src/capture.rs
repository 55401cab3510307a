//! Records every packet at every link, if the plan requires packet captures. The caller takes the
//! records while the run is paused ([`crate::network::Network::take_packets`]). With the feature
//! `pcapng`, `PacketWriter` writes the records in Wireshark's format.

#[cfg(feature = "pcapng")]
mod headers;
#[cfg(feature = "pcapng")]
mod writer;

use tailback_record::Seen;

use crate::packet::Packet;
use crate::units::Time;

#[cfg(feature = "pcapng")]
pub use writer::PacketWriter;

/// A packet at a link.
#[derive(Clone, Copy, Debug)]
pub struct PacketEvent {
    /// When the event happened.
    pub time: Time,
    /// Index of the link in the plan.
    pub link: u32,
    /// What happened to the packet at the link.
    pub seen: Seen,
    /// The packet as it was at that time.
    pub packet: Packet,
}
