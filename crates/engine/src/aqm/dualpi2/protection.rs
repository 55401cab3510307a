//! Queue protection of DOCSIS (RFC 9957). Queue protection moves packets from L to C if their flow
//! builds a queue in L.
//!
//! Each flow has a queuing score. Every packet increases its flow's score by the packet's bytes
//! times a probability. This probability is the value of a ramp at the current delay of L. The
//! score decays at 2^19 bytes a second. A packet goes to C if the delay is above 1 ms and the
//! product of delay and score is above 1 ms times 4 ms. The packet also goes to C if the score has
//! reached its maximum, which takes 5 s to decay. A flow that adds less than 2^19 bytes a second
//! (4.2 Mbit/s) to its score always stays in L.
//!
//! A score is stored as the time at which it will reach 0. There are 32 buckets. A hash assigns two
//! buckets to each flow. The flow uses one of these buckets. If other flows use both buckets, the
//! flow uses a 33rd bucket, which all flows without a bucket share.
//!
//! Deviations: the delay is the sojourn time of the oldest packet in L. DOCSIS computes the delay
//! as the length of the queue divided by the queue's rate. In C, the classic probability also
//! applies to packets that were moved to C. If these packets are ECN-capable, the queue marks them.
//! In contrast, the classic queue of DOCSIS does not mark packets. As in DOCSIS, packets of a flow
//! may be reordered if the flow has packets in both queues.

use super::super::fair;
use crate::packet::Packet;
use crate::registry::{Kind, Opt};
use crate::units::{Rate, Time};

pub(super) const OPTION: Opt = Opt {
    name: "queue_protection",
    doc: "Whether packets of flows that build a queue in L are redirected to C (RFC 9957, DOCSIS; not in Linux).",
    kind: Kind::Bool,
    default: Some("false"),
    tc: None,
};

/// If the delay of L is above this value, packets may go to C. The ramp ends at this delay
/// (`MAXTH`).
const CRITICAL: Time = Time::from_ms(1);
/// Length of the ramp, as a time (`1 << LG_RANGE`).
const RANGE: Time = Time(1 << 19);
/// The largest score with which a packet stays in L at the delay [`CRITICAL`] (`CRITICALqLSCORE`).
const CRITICAL_SCORE: Time = Time::from_ms(4);
const CEILING: Time = Time::from_secs(5);
/// By how many bytes a score decays in a second.
const AGING: u64 = 1 << 19;
/// Length of the largest packet, in bytes. The delay at which the ramp begins is at least the
/// transmission time of two such packets.
const LARGEST: u64 = 2_000;
/// Number of buckets, without the shared bucket.
const BUCKETS: usize = 32;
/// Number of buckets that a flow may use.
const ATTEMPTS: u32 = 2;

/// A flow, and the time at which the flow's score will reach 0.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    flow: u64,
    expires: Time,
}

#[derive(Debug)]
pub(super) struct Protection {
    key: u64,
    /// Delay of L at which the ramp begins.
    min: Time,
    buckets: [Bucket; BUCKETS + 1],
    pub redirected: u64,
}

impl Protection {
    /// Returns the protection for a link with this rate. All scores are 0. `key` seeds the hash of
    /// flows.
    pub fn new(rate: Rate, key: u64) -> Protection {
        // If the link follows a very slow trace, the nominal rate may be 0.
        let floor = match rate.0 {
            0 => Time::ZERO,
            _ => rate.time_for(2 * LARGEST),
        };
        Protection {
            key,
            min: Time(CRITICAL.ns() - RANGE.ns()).max(floor),
            buckets: [Bucket::default(); BUCKETS + 1],
            redirected: 0,
        }
    }

    /// Returns the bucket of the packet's flow. If the flow has no bucket yet, assigns one of its
    /// two buckets to it. The score of this bucket must have decayed to 0. If neither bucket is
    /// available, returns the shared bucket.
    fn bucket(&mut self, packet: &Packet, now: Time) -> &mut Bucket {
        // In a bucket, 0 means that no flow uses the bucket.
        let flow = fair::number(packet) + 1;
        let mut hash = fair::hash(self.key, packet) as usize;
        let mut free = BUCKETS;
        for _ in 0..ATTEMPTS {
            let index = hash % BUCKETS;
            hash /= BUCKETS;
            if self.buckets[index].flow == flow {
                return &mut self.buckets[index];
            }
            if free == BUCKETS && self.buckets[index].expires <= now {
                free = index;
            }
        }
        if free < BUCKETS {
            self.buckets[free] = Bucket {
                flow,
                expires: Time::ZERO,
            };
        }
        &mut self.buckets[free]
    }

    /// Adds a packet to the score of its flow. `delay` is the current delay of L. Returns whether
    /// the packet may enter L.
    pub fn admits(&mut self, packet: &Packet, delay: Time, now: Time) -> bool {
        let above = delay.ns().saturating_sub(self.min.ns()).min(RANGE.ns());
        let bytes = u64::from(packet.len);
        // Compute by how much the score increases (bytes times probability), and convert this to ns
        // at the aging rate.
        let added = u128::from(bytes) * u128::from(above) * 1_000_000_000
            / (u128::from(RANGE.ns()) * u128::from(AGING));
        let bucket = self.bucket(packet, now);
        let score = Time(bucket.expires.ns().saturating_sub(now.ns()) + added as u64).min(CEILING);
        bucket.expires = now + score;
        let product = |a: Time, b: Time| u128::from(a.ns()) * u128::from(b.ns());
        let too_much = delay > CRITICAL
            && product(delay, score) > product(CRITICAL, CRITICAL_SCORE)
            || score >= CEILING;
        self.redirected += u64::from(too_much);
        !too_much
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;

    fn protection() -> Protection {
        Protection::new(Rate(1_000_000_000), 7)
    }

    fn packet(flow: u32) -> Packet {
        Packet::new(flow, 1500, Ecn::Ect1)
    }

    /// At a delay of 2 ms the probability is 1, so 1048 bytes add 1.999 ms to the score. The limit
    /// at this delay is 1 ms * 4 ms / 2 ms = 2 ms.
    #[test]
    fn a_score_above_the_product_sends_a_packet_to_c() {
        let (mut queue, at) = (protection(), Time::from_secs(1));
        let mut small = packet(1);
        small.len = 1_048;
        assert!(queue.admits(&small, Time::from_ms(2), at), "1.999 ms");
        assert!(!queue.admits(&small, Time::from_ms(2), at), "3.998 ms");
        let mut other = packet(2);
        other.len = 1_048;
        assert!(queue.admits(&other, Time::from_ms(2), at), "its own score");
        assert_eq!(queue.redirected, 1);
    }

    /// Below the ramp (476 us), packets do not increase the score. Up to the critical delay, every
    /// packet stays in L.
    #[test]
    fn short_delays_are_free() {
        let mut queue = protection();
        for i in 0..1_000 {
            let now = Time::from_secs(1) + Time::from_us(i);
            assert!(queue.admits(&packet(1), Time::from_us(475), now));
        }
        assert!(queue.admits(&packet(1), Time::from_us(1_001), Time::from_secs(1)));
        for _ in 0..1_000 {
            assert!(queue.admits(&packet(2), Time::from_us(1_000), Time::from_secs(2)));
        }
    }

    /// A flow that sends less than 2^19 bytes a second stays in L. A flow that sends 1.5 times 2^19
    /// bytes a second is moved to C.
    #[test]
    fn the_rate_of_aging_is_safe() {
        for (rate, safe) in [(AGING - 4_096, true), (AGING * 3 / 2, false)] {
            let mut queue = protection();
            let gap = Time(1_500 * 1_000_000_000 / rate);
            let mut now = Time::from_secs(1);
            let all = (0..2_000).all(|_| {
                now += gap;
                queue.admits(&packet(1), Time::from_us(1_030), now)
            });
            assert_eq!(all, safe, "{rate} bytes/s");
        }
    }

    /// A score decays from its maximum to 0 in five seconds.
    #[test]
    fn a_score_decays() {
        let (mut queue, start) = (protection(), Time::from_secs(1));
        for _ in 0..10_000 {
            queue.admits(&packet(1), Time::from_ms(50), start);
        }
        assert!(
            !queue.admits(&packet(1), Time::ZERO, start),
            "at its ceiling"
        );
        assert!(queue.admits(&packet(1), Time::ZERO, start + Time(1)));
        assert!(!queue.admits(&packet(1), Time::from_us(1_001), start + Time::from_secs(4)));
        assert!(queue.admits(&packet(1), Time::from_us(1_001), start + Time::from_secs(6)));
    }

    #[test]
    fn a_link_without_a_rate_is_protected() {
        let queue = Protection::new(Rate(0), 7);
        assert_eq!(queue.min, Time(CRITICAL.ns() - RANGE.ns()));
    }

    /// A hundred flows do not fit into 32 buckets, so the flows without a bucket share one score.
    #[test]
    fn flows_without_a_bucket_share_one() {
        let (mut queue, now) = (protection(), Time::from_secs(1));
        for flow in 0..100 {
            queue.admits(&packet(flow), Time::from_us(900), now);
        }
        let shared = queue.buckets[BUCKETS];
        let single = queue.buckets[..BUCKETS].iter().map(|b| b.expires).max();
        assert!(
            shared.expires > single.expect("buckets"),
            "many scores in one"
        );
    }
}
