//! A wire that loses packets after a link. To find the lost packets, this module compares the
//! packets that enter the wire with the packets that leave the wire.
//!
//! The wire keeps the order of packets, even if it has delay and jitter. A packet that a later
//! packet overtakes must therefore have been lost. The queue discipline decided to lose this packet
//! when the packet entered. A wire that drops redundant ACKs keeps the order only within a flow and
//! direction. A wire of this kind drops an ACK when a newer ACK enters.

use std::collections::VecDeque;

use tailback_engine::impairments::Discipline;
use tailback_record::Cause;

use super::frame::CE;
use super::packets::Head;
use super::queue::Packet;
use super::ring::Ring;

/// A packet on the wire, with its headers if packets are recorded.
pub type OnWire = (Packet, Option<Head>);

pub struct LossTap {
    /// The ring that captures packets as they enter and leave the wire.
    pub ring: Ring,
    /// Interface index of the device at the far end of the wire.
    pub out: i32,
    pub wire: Wire,
}

/// The packets on a wire, including lost packets that no later packet has overtaken yet.
pub struct Wire {
    /// The queue discipline that loses the packets.
    discipline: Discipline,
    waiting: VecDeque<OnWire>,
    /// The lost packets that [`Wire::leave`] returns next, if the wire keeps the order only within
    /// a flow.
    overtaken: VecDeque<OnWire>,
    /// Number of lost packets, including packets lost during the warm-up.
    lost: u64,
}

impl Wire {
    pub fn new(discipline: Discipline) -> Wire {
        Wire {
            discipline,
            waiting: VecDeque::new(),
            overtaken: VecDeque::new(),
            lost: 0,
        }
    }

    pub fn cause(&self) -> Cause {
        self.discipline.loss()
    }

    fn find(&self, packet: &Packet) -> Option<usize> {
        let is_it = |(other, _): &OnWire| other.key == packet.key && other.lane == packet.lane;
        self.waiting.iter().position(is_it)
    }

    /// Returns whether a packet that left was CE-marked on the wire.
    pub fn marked(&self, packet: &Packet) -> bool {
        if self.discipline != Discipline::Police || packet.ecn != CE {
            return false;
        }
        let entered = self.find(packet).map(|place| &self.waiting[place].0);
        entered.is_some_and(|entered| entered.ecn != CE)
    }

    pub fn enter(&mut self, packet: Packet, head: Option<Head>) {
        self.waiting.push_back((packet, head));
    }

    /// Records that a packet left. Returns the packets that were in front of the packet. The
    /// packets in front of a packet that leaves were lost.
    pub fn leave(&mut self, packet: &Packet) -> impl Iterator<Item = OnWire> + use<'_> {
        let ahead = self.find(packet);
        if self.discipline.overtakes() {
            if let Some(ahead) = ahead {
                self.waiting.remove(ahead);
                self.overtake(ahead, packet.lane);
            }
            let count = self.overtaken.len();
            return self.overtaken.drain(..).take(count);
        }
        let count = ahead.unwrap_or(0);
        self.lost += count as u64;
        let with = ahead.map_or(0, |ahead| ahead + 1);
        self.waiting.drain(..with).take(count)
    }

    /// Moves the packets of a lane to `overtaken`, if they are among the first `before` packets.
    /// The moved packets were lost, because a later packet of the lane has left.
    fn overtake(&mut self, mut before: usize, lane: usize) {
        let mut place = 0;
        while place < before {
            if self.waiting[place].0.lane != lane {
                place += 1;
                continue;
            }
            self.overtaken.extend(self.waiting.remove(place));
            self.lost += 1;
            before -= 1;
        }
    }

    /// At the end of the run, returns the lost packets that no later packet has overtaken. `queued`
    /// is the number of packets in the wire's netem, as netem reports it. The packets in netem are
    /// the newest packets.
    pub fn finish(&mut self, queued: u64) -> impl Iterator<Item = OnWire> + use<'_> {
        if self.discipline.overtakes() {
            // If the queue discipline lets packets overtake each other, the queue discipline holds
            // only the newest packet of each lane.
            let mut last = self.waiting.len();
            while last > 0 {
                last -= 1;
                let before = self.waiting.len();
                let lane = self.waiting[last].0.lane;
                self.overtake(last, lane);
                last -= before - self.waiting.len();
            }
            let count = self.overtaken.len();
            return self.overtaken.drain(..).take(count);
        }
        let count = self.waiting.len().saturating_sub(queued as usize);
        self.lost += count as u64;
        self.waiting.drain(..).take(count)
    }

    pub fn oldest_ns(&self) -> Option<u64> {
        self.waiting.front().map(|(packet, _)| packet.time_ns)
    }

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
        let mut wire = Wire::new(Discipline::Netem);
        (1..=7).for_each(|key| wire.enter(packet(key), None));
        assert_eq!(keys(wire.leave(&packet(1))), [0_u64; 0]);
        assert_eq!(keys(wire.leave(&packet(4))), [2, 3]);
        assert_eq!(wire.oldest_ns(), Some(5));
        // Packet 9 was not captured when it entered the wire. The exit of packet 9 therefore does
        // not show which packets were lost.
        assert_eq!(keys(wire.leave(&packet(9))), [0_u64; 0]);
        assert_eq!(keys(wire.finish(1)), [5, 6]);
        assert_eq!(wire.lost(), 4);
    }

    #[test]
    fn a_policer_marks() {
        let mut wire = Wire::new(Discipline::Police);
        let out = |key, ecn| Packet { ecn, ..packet(key) };
        for (key, ecn) in [(1, 2), (2, 2), (3, CE)] {
            wire.enter(out(key, ecn), None);
        }
        let marked = [(1, 2), (2, CE), (3, CE)].map(|(key, ecn)| {
            let packet = out(key, ecn);
            let marked = wire.marked(&packet);
            assert_eq!(wire.leave(&packet).count(), 0);
            marked
        });
        // A packet that entered with a mark does not count as marked on the wire.
        assert_eq!(marked, [false, true, false]);
        assert_eq!((wire.lost(), wire.cause()), (0, Cause::Policed));
    }

    #[test]
    fn a_newer_ack_of_the_same_flow_shows_a_loss() {
        let mut wire = Wire::new(Discipline::AckBatch);
        let of = |key, lane| Packet {
            lane,
            ..packet(key)
        };
        let all = [
            (1, 1),
            (2, 3),
            (3, 1),
            (4, 3),
            (5, 1),
            (6, 3),
            (7, 1),
            (8, 5),
        ];
        (all.iter()).for_each(|&(key, lane)| wire.enter(of(key, lane), None));
        // A packet of lane 3 overtakes packets of lane 1, but this does not show that the packets
        // of lane 1 were lost.
        assert_eq!(keys(wire.leave(&of(4, 3))), [2]);
        assert_eq!(keys(wire.leave(&of(3, 1))), [1]);
        // All other packets were lost, except the newest packet of each lane, which the queue
        // discipline still holds.
        assert_eq!(keys(wire.finish(3)), [5]);
        assert_eq!((wire.lost(), wire.oldest_ns()), (3, Some(6)));
    }
}
