//! A wire behind a link that loses packets: finds the lost packets from the packets that entered
//! and left.
//!
//! The wire keeps the order of packets, whatever its delay and jitter. So if a later packet
//! overtakes a packet, the earlier one was lost. netem decided this when the packet entered.

use std::collections::VecDeque;

use super::packets::Head;
use super::queue::Packet;
use super::ring::Ring;

/// A packet on the wire, with its headers if packets are recorded.
pub type OnWire = (Packet, Option<Head>);

/// The captures of a wire.
pub struct LossTap {
    /// The ring with the packets that enter and leave.
    pub ring: Ring,
    /// The device at the far end of the wire.
    pub out: i32,
    /// The packets that are on the wire.
    pub wire: Wire,
}

/// The packets on a wire, including lost packets that no later packet has overtaken yet.
#[derive(Default)]
pub struct Wire {
    waiting: VecDeque<OnWire>,
    /// Packets lost so far, including the warm-up.
    lost: u64,
}

impl Wire {
    /// Notes that a packet entered.
    pub fn enter(&mut self, packet: Packet, head: Option<Head>) {
        self.waiting.push_back((packet, head));
    }

    /// Notes that a packet left. Returns the packets that were lost before it.
    pub fn leave(&mut self, packet: &Packet) -> impl Iterator<Item = OnWire> + use<'_> {
        let is_it = |(other, _): &OnWire| other.key == packet.key && other.lane == packet.lane;
        let ahead = self.waiting.iter().position(is_it);
        let count = ahead.unwrap_or(0);
        self.lost += count as u64;
        // The packet itself is removed, too, but was not lost.
        let with = ahead.map_or(0, |ahead| ahead + 1);
        self.waiting.drain(..with).take(count)
    }

    /// Ends the run. A packet that did not leave is still on its way, or was lost and no later
    /// packet has shown this. `queued` is the number of packets that netem reports to hold. These
    /// are the newest.
    pub fn finish(&mut self, queued: u64) -> impl Iterator<Item = OnWire> + use<'_> {
        let count = self.waiting.len().saturating_sub(queued as usize);
        self.lost += count as u64;
        self.waiting.drain(..).take(count)
    }

    /// Returns when the oldest packet on the wire entered, ns.
    pub fn oldest_ns(&self) -> Option<u64> {
        self.waiting.front().map(|(packet, _)| packet.time_ns)
    }

    /// Returns how many packets were lost over the whole run.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(key: u64) -> Packet {
        Packet {
            time_ns: key,
            lane: 0,
            slot: 0,
            tuple: None,
            key,
            len: 1514,
            ecn: 0,
        }
    }

    fn keys(lost: impl Iterator<Item = OnWire>) -> Vec<u64> {
        lost.map(|(packet, _)| packet.key).collect()
    }

    #[test]
    fn what_does_not_come_out_was_lost() {
        let mut wire = Wire::default();
        (1..=7).for_each(|key| wire.enter(packet(key), None));
        assert_eq!(keys(wire.leave(&packet(1))), [0_u64; 0]);
        assert_eq!(keys(wire.leave(&packet(4))), [2, 3]);
        assert_eq!(wire.oldest_ns(), Some(5));
        // A packet that was not captured entering does not show that others were lost.
        assert_eq!(keys(wire.leave(&packet(9))), [0_u64; 0]);
        assert_eq!(keys(wire.finish(1)), [5, 6]);
        assert_eq!(wire.lost(), 4);
    }
}
