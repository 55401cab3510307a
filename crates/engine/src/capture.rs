//! Records every packet at every link if a plan asks for it; packet captures are made from the
//! records. The engine only keeps records; its caller takes them between slices of a run
//! ([`crate::network::Network::take_packets`]).

use tailback_record::Seen;

use crate::packet::Packet;
use crate::units::Time;

/// A packet at a link.
#[derive(Clone, Copy, Debug)]
pub struct PacketEvent {
    /// When.
    pub time: Time,
    /// Index of the link in the plan.
    pub link: u32,
    /// What happened.
    pub seen: Seen,
    /// The packet as it then was.
    pub packet: Packet,
}
