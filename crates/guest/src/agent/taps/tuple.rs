//! A 5-tuple of a program, in both directions.

use std::net::IpAddr;

use tailback_record::{Counts, Histogram, Measures};

use crate::agent::frame::{Frame, flag, protocol};
use crate::agent::rtt::RttTracker;

/// The state of a 5-tuple, inferred from its packets.
pub struct Tuple {
    pub program: u32,
    /// Index of the record that counts the packets of this 5-tuple.
    pub record: usize,
    pub protocol: u8,
    pub is_tcp: bool,
    /// Address and port at the sender's host, then address and port at the receiver's host.
    pub ends: [(IpAddr, u16); 2],
    /// How long the last packet waited at each link, in ns. The links of the forward direction come
    /// first in this list.
    pub waited: Box<[u64]>,
    /// Bytes of the sender's payload that TCP has delivered.
    pub delivered: u64,
    /// The stream from the sender's host, and the stream from the receiver's host.
    streams: [Stream; 2],
}

#[derive(Default)]
struct Stream {
    /// The segments in flight, as captured at the sending host.
    segments: RttTracker,
    own_first: Option<u32>,
    /// First sequence number of the data. `None` until a segment reaches the other host.
    first: Option<u32>,
    /// The other host has received all bytes before this sequence number.
    in_order: Option<u32>,
    /// Sequence number at which the stream ends.
    end: Option<u32>,
    closed: bool,
}

impl Stream {
    fn sends(&mut self, frame: &Frame, at_ns: u64) {
        if frame.flags & flag::SYN != 0 {
            // If the sequence number differs, a new connection uses the ports of an earlier
            // connection.
            if self.own_first.is_some_and(|first| first != frame.seq) {
                self.segments = RttTracker::default();
            }
            self.own_first = Some(frame.seq);
        } else if frame.payload > 0 {
            self.segments.sent(frame.seq, frame.payload, at_ns);
        }
    }

    fn reaches(&mut self, frame: &Frame) {
        if frame.flags & flag::SYN != 0 {
            let first = frame.seq.wrapping_add(1);
            if self.first != Some(first) {
                (self.first, self.in_order) = (Some(first), Some(first));
                (self.end, self.closed) = (None, false);
            }
        }
        if frame.flags & flag::FIN != 0 {
            self.end = Some(frame.seq.wrapping_add(frame.payload));
        }
        self.closed |= frame.flags & (flag::FIN | flag::RST) != 0;
    }

    /// Records that the other host acknowledges all data up to a sequence number. Returns how many
    /// bytes are newly acknowledged.
    fn acknowledged(&mut self, ack: u32) -> u64 {
        let before = |a: u32, b: u32| (a.wrapping_sub(b) as i32) < 0;
        // A FIN uses one sequence number, like a byte of data. Do not count this sequence number.
        let ack = match self.end {
            Some(end) if before(end, ack) => end,
            _ => ack,
        };
        let known = *self.in_order.get_or_insert(ack);
        if !before(known, ack) {
            return 0;
        }
        self.in_order = Some(ack);
        u64::from(ack.wrapping_sub(known))
    }
}

impl Tuple {
    /// Creates the 5-tuple of a packet. The caller then sets the addresses and ports of the
    /// 5-tuple.
    pub fn new(program: u32, record: usize, frame: &Frame, links: usize) -> Tuple {
        Tuple {
            program,
            record,
            protocol: frame.protocol,
            is_tcp: frame.protocol == protocol::TCP,
            ends: [(frame.source, 0), (frame.destination, 0)],
            waited: vec![0; links].into(),
            delivered: 0,
            streams: Default::default(),
        }
    }

    /// Returns how long the last packet of each direction waited at the links, as one sum in ns.
    pub fn sojourns(&self) -> u64 {
        self.waited.iter().sum()
    }

    /// Records that a TCP segment is sent. Returns how many bytes of data in the other direction
    /// the segment newly acknowledges.
    pub fn sent(&mut self, back: bool, frame: &Frame, at_ns: u64) -> u64 {
        self.streams[usize::from(back)].sends(frame, at_ns);
        if frame.flags & flag::ACK == 0 || frame.flags & flag::RST != 0 {
            return 0;
        }
        self.streams[usize::from(!back)].acknowledged(frame.ack)
    }

    /// Records that a TCP segment has arrived. Returns a round-trip time of data in the other
    /// direction, if the segment provides an RTT sample.
    pub fn arrived(&mut self, back: bool, frame: &Frame, at_ns: u64) -> Option<u64> {
        self.streams[usize::from(back)].reaches(frame);
        if frame.flags & flag::ACK == 0 {
            return None;
        }
        let other = &mut self.streams[usize::from(!back)];
        other.segments.acknowledged(frame.ack, &frame.sack, at_ns)
    }

    /// Returns whether a TCP connection has ended, that is, whether a FIN or RST has arrived in
    /// either direction.
    pub fn is_closed(&self) -> bool {
        self.is_tcp && self.streams.iter().any(|stream| stream.closed)
    }
}

/// The counts of one 5-tuple, or of all 5-tuples beyond the limit.
#[derive(Default)]
pub struct Record {
    /// Number of packets from the sender's host, by ECN field.
    pub sent: [u64; 4],
    /// Number of packets from the sender's host that arrived.
    pub arrived: u64,
    pub delay: Histogram,
    pub counts: Counts,
    /// When the first packet with payload was sent, and when the last packet with payload arrived,
    /// in ns.
    pub payload: Option<(u64, u64)>,
    /// When the first packet was sent, and when the last packet arrived, in ns. These times also
    /// cover packets without payload.
    any: Option<(u64, u64)>,
    /// Payload that arrived at the receiver's host and at the sender's host, in bytes.
    delivered: [u64; 2],
    /// Round-trip times of data from the sender's host and from the receiver's host.
    rtt: [Histogram; 2],
    estimated: bool,
}

impl Record {
    /// Extends the times of the first and last packet to include `at_ns`.
    pub fn span(&mut self, at_ns: u64, payload: bool) {
        let wider = |span: &mut Option<(u64, u64)>| {
            let (first, last) = span.unwrap_or((at_ns, at_ns));
            *span = Some((first.min(at_ns), last.max(at_ns)));
        };
        wider(&mut self.any);
        if payload {
            wider(&mut self.payload);
        }
    }

    pub fn deliver(&mut self, back: bool, bytes: u64, measured: bool) {
        if measured {
            self.delivered[usize::from(back)] += bytes;
        }
    }

    pub fn rtt(&mut self, back: bool, rtt_ns: u64, measured: bool, estimated: bool) {
        if measured {
            self.rtt[usize::from(back)].record(rtt_ns);
            self.estimated |= estimated;
        }
    }

    pub fn has_no_rtt(&self, back: bool) -> bool {
        self.rtt[usize::from(back)].count() == 0
    }

    /// Returns the measurements, with the round-trip times of only one direction.
    pub fn measures(&self, (from, to): (u64, u64), back: bool) -> Measures {
        let (first, last) = self.any.unwrap_or((from, from));
        let from_ns = first.clamp(from, to);
        let rtt = self.rtt[usize::from(back)].clone();
        Measures {
            from_ns,
            to_ns: last.clamp(from_ns, to),
            sent_packets: self.sent.iter().sum(),
            received_packets: self.arrived,
            delivered_bytes: self.delivered[0],
            back_bytes: self.delivered[1],
            rtt_estimated: self.estimated && rtt.count() > 0,
            rtt,
            delay: self.delay.clone(),
            counts: self.counts,
            ecn_sent: self.sent,
            completion_ns: self.payload.map(|(first, last)| last - first),
        }
    }
}
