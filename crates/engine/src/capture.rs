//! Every packet at every link, where a plan asks for it: what a packet capture
//! is made from. The engine only keeps records; its caller takes them between
//! slices of a run ([`crate::network::Network::take_packets`]).

use tailback_record::Cause;

use crate::packet::Packet;
use crate::units::Time;

/// What happened to a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It arrived; the queue has not seen it yet.
    Arrived,
    /// It left the queue, with the ECN field it leaves with.
    Left,
    /// The queue dropped it, or the link lost it behind the queue.
    Dropped(Cause),
}

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
