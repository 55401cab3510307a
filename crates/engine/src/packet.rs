//! The packet: one small `Copy` struct for data, ACKs and datagrams.

use crate::units::Time;

/// The ECN field of the IP header (RFC 3168 section 5, RFC 8311).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct = 0,
    /// ECT(1): the sender uses L4S, or a queue has set an SCE mark.
    Ect1 = 1,
    /// ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Returns whether a queue may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// The properties of a flow that queues may use: the numbers of its two hosts, and the DSCP that
/// its packets carry in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowInfo {
    /// Number of the host that sends data.
    pub source: u32,
    /// Number of the host that receives data.
    pub destination: u32,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
}

/// The bits of [`Packet::flags`].
pub mod flags {
    /// The packet is an acknowledgement from the receiver to the sender.
    pub const ACK: u16 = 1;
    /// TCP SYN (with `ACK`: SYN-ACK).
    pub const SYN: u16 = 2;
    /// TCP ECN-Echo.
    pub const ECE: u16 = 4;
    /// TCP Congestion Window Reduced.
    pub const CWR: u16 = 8;
    /// Echo of an SCE mark (in the former NS bit).
    pub const ESCE: u16 = 16;
    /// The segment is a retransmission.
    pub const RETRANSMIT: u16 = 32;
    /// This is the same bit as [`RETRANSMIT`], but on an ACK from a receiver that divides ACKs. The
    /// ACK acknowledges only a part of a segment. The sender must not treat such an ACK as a
    /// duplicate ACK.
    pub const PARTIAL: u16 = RETRANSMIT;
    /// The first SACK block is a D-SACK (RFC 2883).
    pub const DSACK: u16 = 64;
    /// A datagram, not TCP.
    pub const DATAGRAM: u16 = 128;
    /// Bit 2 of the ACE field of Accurate ECN. This bit was formerly the NS bit. `CWR` is bit 1 and
    /// `ECE` is bit 0 of this field (RFC 9768 section 3.2.2).
    pub const AE: u16 = ESCE;
    /// The bits of the ACE field.
    pub const ACE: u16 = AE | CWR | ECE;
    /// The packet is an ACK with the AccECN option. The option's counters are in the last block of
    /// [`super::Packet::sack`] and in [`super::Packet::ect0`].
    pub const ACCECN: u16 = 256;
    /// The packet is an ACK whose timestamp is newer than that of the previous ACK. Only hosts that
    /// write the current time into each ACK's timestamp set this flag. The sender reads the marks
    /// that such an ACK reports even if the ACK reports nothing else (Linux `FLAG_TS_PROGRESS`).
    /// The simulator's receivers do not send such ACKs.
    pub const NEWER: u16 = 512;
    /// The packet is an ACK with payload. With this payload, the receiver requests more data.
    pub const REQUEST: u16 = 1024;
    /// A queue on the path has cleared the packet's DSCP.
    pub const WASHED: u16 = 1 << 12;
    /// The packet is in a tunnel, and [`super::Packet::ecn`] is the ECN field of the outer header.
    pub const TUNNELLED: u16 = 1 << 11;
    /// The two bits that hold the ECN field of the inner header while the packet is in a tunnel.
    pub const INNER: u16 = 3 << 13;
    /// DualPI2 sets this flag on arrival if the step threshold applies to the packet. The flag has
    /// no meaning outside the queue.
    pub const NOTED: u16 = 1 << 15;
}

/// A SACK block of `len` segments. The block begins `offset` segments after the cumulative
/// acknowledgement. If `len` is 0, there is no block. A D-SACK block may lie below the cumulative
/// acknowledgement. The offset of such a block wraps around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// Number of segments from the cumulative acknowledgement to the block.
    pub offset: u32,
    /// Number of segments in the block.
    pub len: u32,
}

/// A packet. Sequence numbers count segments, not bytes. Counting segments is possible because a
/// retransmitted segment has the same boundaries as the original segment.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// In a queue: when the packet was enqueued (set by the link before
    /// [`crate::aqm::Queue::enqueue`]). In a pipe: when the packet leaves.
    pub stamp: Time,
    /// In a data packet: index of the segment. In an ACK: all segments below this index have
    /// arrived.
    pub seq: u64,
    /// In a data packet: the time when it was sent (TSval). In an ACK: the echo of a data packet's
    /// time (TSecr).
    pub sent: Time,
    /// In an ACK: selective acknowledgements, the most recent first. With [`flags::ACCECN`] there
    /// are at most two blocks, and the third entry holds two counters of the AccECN option. In a
    /// data packet: see [`Packet::segments`].
    pub sack: [Sack; 3],
    /// In an ACK with [`flags::ACCECN`]: the third counter of the AccECN option, for ECT(0).
    pub ect0: u32,
    /// Index of the packet's two endpoints, which belong to a flow, to a traffic source, or to a
    /// slot for a source's connections ([`crate::plan::Plan::owners`]).
    pub flow: u32,
    /// Frame length in bytes. The link's rate applies to this length.
    pub len: u16,
    /// Payload bytes.
    pub payload: u16,
    /// The bits of [`flags`].
    pub flags: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// How many links of its route the packet has passed.
    pub hop: u8,
}

const _: () = assert!(size_of::<Packet>() <= 64);

impl Packet {
    /// Creates a packet with this flow, frame length and ECN field, for traffic sources and tests.
    pub const fn new(flow: u32, len: u16, ecn: Ecn) -> Packet {
        Packet {
            stamp: Time::ZERO,
            seq: 0,
            sent: Time::ZERO,
            sack: [Sack { offset: 0, len: 0 }; 3],
            ect0: 0,
            flow,
            len,
            payload: 0,
            flags: 0,
            ecn,
            hop: 0,
        }
    }

    /// Turns a data packet into one that combines `segments` segments, as with segmentation
    /// offload. `payload` and `len` are those of all segments together. The frame length is the sum
    /// of the frame lengths of the segments, as in Linux (`qdisc_pkt_len_init`). `mss` is the
    /// payload of a full segment.
    pub(crate) fn join(&mut self, segments: u32, mss: u16) {
        self.sack[0] = Sack {
            offset: segments - 1,
            len: u32::from(mss),
        };
    }

    /// Splits a packet of several segments into one packet for each segment (Linux
    /// `tcp_gso_segment`).
    pub(crate) fn split(&self) -> impl Iterator<Item = Packet> + use<> {
        let (whole, segments) = (*self, self.segments());
        let header = (whole.len - whole.payload) / segments as u16;
        let mss = whole.sack[0].len as u16;
        (0..segments).map(move |index| {
            let mut part = whole;
            part.sack[0] = Sack::default();
            part.seq += u64::from(index);
            part.payload = mss.min(whole.payload - index as u16 * mss);
            part.len = part.payload + header;
            if index > 0 {
                part.flags &= !flags::CWR;
            }
            part
        })
    }

    /// Returns the number of TCP segments in a data packet. The number exceeds 1 only with
    /// segmentation offload. The number minus 1 and the payload of a full segment are stored where
    /// an ACK has its first SACK block. All segments but the last are full.
    pub const fn segments(&self) -> u32 {
        match self.flags & (flags::ACK | flags::DATAGRAM) {
            0 => self.sack[0].offset + 1,
            _ => 1,
        }
    }

    /// Returns the ECN field of the inner header, or `None` if the packet is not in a tunnel.
    pub const fn inner_ecn(&self) -> Option<Ecn> {
        if !self.has(flags::TUNNELLED) {
            return None;
        }
        Some(
            match (self.flags & flags::INNER) >> flags::INNER.trailing_zeros() {
                0 => Ecn::NotEct,
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                _ => Ecn::Ce,
            },
        )
    }

    /// Stores the ECN field of the inner header. `None` means that the packet is not in a tunnel.
    pub fn set_inner_ecn(&mut self, inner: Option<Ecn>) {
        self.flags &= !(flags::TUNNELLED | flags::INNER);
        if let Some(inner) = inner {
            self.flags |= flags::TUNNELLED | ((inner as u16) << flags::INNER.trailing_zeros());
        }
    }

    /// Returns whether this flag of [`flags`] is set.
    #[inline]
    pub const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splitting keeps the payload bytes, and gives each segment its own headers. Only the first
    /// segment carries CWR.
    #[test]
    fn a_packet_is_split_into_its_segments() {
        let mut whole = Packet::new(7, 2 * 1514 + 67, Ecn::Ect0);
        (whole.seq, whole.payload, whole.flags) = (40, 2 * 1448 + 1, flags::CWR);
        whole.join(3, 1448);
        let parts: Vec<Packet> = whole.split().collect();
        let found = parts
            .iter()
            .map(|p| (p.seq, p.len, p.payload, p.flags, p.segments()));
        let expected = [
            (40, 1514, 1448, flags::CWR, 1),
            (41, 1514, 1448, 0, 1),
            (42, 67, 1, 0, 1),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert!(parts.iter().all(|p| (p.flow, p.ecn) == (7, Ecn::Ect0)));
    }
}
