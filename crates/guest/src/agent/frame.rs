//! Parses captured frames.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The SACK blocks of a segment, in the order of the TCP option.
pub type Sack = [(u32, u32); 4];

pub mod flag {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
}

/// The ECN field of a packet that is marked CE.
pub const CE: u8 = 3;
/// The ECN field of an SCE-marked packet.
pub const ECT1: u8 = 1;
/// The ECN field of an ECN-capable packet without a mark.
pub const ECT0: u8 = 2;

pub mod protocol {
    pub const ICMP: u8 = 1;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const ICMPV6: u8 = 58;
}

/// Number of payload bytes in [`Frame::content_key`]. More than 8 bytes are necessary, because the
/// first 8 bytes of most QUIC packets are equal. In tailback's test captures, no two packets had
/// the same first 22 bytes.
pub const KEY_PAYLOAD: usize = 54;

/// An IPv4 or IPv6 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub protocol: u8,
    /// Whether the packet is a fragment without a transport header. Only the first fragment has a
    /// transport header.
    pub fragment: bool,
    /// Destination port, or the identifier of an ICMP echo. 0 for other packets.
    pub port: u16,
    /// Source port, or the identifier of an ICMP echo. 0 for other packets.
    pub source_port: u16,
    pub ecn: u8,
    /// A key that no other packet of the same flow and direction has. Only TCP segments and
    /// datagrams of the agent have such a key.
    pub key: u64,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    /// Payload, in bytes. For ICMP, the bytes after the first 8.
    pub payload: u32,
    /// SACK blocks (TCP). Unused blocks are empty.
    pub sack: Sack,
    /// IP's identification, or IPv6's flow label.
    id: u32,
    /// Where the transport header begins in the frame. The next field is where the payload begins.
    transport_at: u16,
    payload_at: u16,
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

const ETHERNET: usize = 14;
/// Length of the IPv6 header, in bytes.
const IPV6: usize = 40;

struct Network {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    fragment: bool,
    ecn: u8,
    id: u32,
    /// Length of the packet, in bytes. `header` is the length of its headers.
    total: u32,
    header: usize,
}

fn ipv4(ip: &[u8]) -> Option<Network> {
    Some(Network {
        source: Ipv4Addr::from(word(ip, 12)?).into(),
        destination: Ipv4Addr::from(word(ip, 16)?).into(),
        protocol: *ip.get(9)?,
        fragment: half(ip, 6)? & 0x1fff != 0,
        ecn: ip[1] & 3,
        id: u32::from(half(ip, 4)?),
        total: u32::from(half(ip, 2)?),
        header: usize::from(ip[0] & 0x0f) * 4,
    })
}

fn ipv6(ip: &[u8]) -> Option<Network> {
    let address = |at: usize| {
        let bytes: [u8; 16] = ip.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::from(Ipv6Addr::from(bytes)))
    };
    let first = word(ip, 0)?;
    let mut network = Network {
        source: address(8)?,
        destination: address(24)?,
        protocol: *ip.get(6)?,
        fragment: false,
        ecn: (first >> 20) as u8 & 3,
        id: first & 0xf_ffff,
        total: IPV6 as u32 + u32::from(half(ip, 4)?),
        header: IPV6,
    };
    // Skip these extension headers: hop by hop, routing, fragment, destination options.
    while let 0 | 43 | 44 | 60 = network.protocol {
        let [next, length] = half(ip, network.header)?.to_be_bytes();
        let is_fragment = network.protocol == 44;
        if is_fragment {
            network.fragment |= half(ip, network.header + 2)? & 0xfff8 != 0;
            network.id = word(ip, network.header + 4)?;
        }
        network.protocol = next;
        network.header += if is_fragment {
            8
        } else {
            8 + 8 * usize::from(length)
        };
        if network.fragment {
            break;
        }
    }
    Some(network)
}

/// Parses an Ethernet frame. Returns `None` if the frame is too short, or does not contain an IP
/// packet.
pub fn parse(bytes: &[u8]) -> Option<Frame> {
    let ip = bytes.get(ETHERNET..)?;
    let network = match half(bytes, 12)? {
        0x0800 => ipv4(ip)?,
        0x86dd => ipv6(ip)?,
        _ => return None,
    };
    let transport = ip.get(network.header..)?;
    let behind = |header: usize| {
        network
            .total
            .saturating_sub((network.header + header) as u32)
    };
    let mut frame = Frame {
        source: network.source,
        destination: network.destination,
        protocol: network.protocol,
        fragment: network.fragment,
        port: 0,
        source_port: 0,
        ecn: network.ecn,
        key: 0,
        seq: 0,
        ack: 0,
        flags: 0,
        payload: behind(0),
        sack: Sack::default(),
        id: network.id,
        transport_at: (ETHERNET + network.header) as u16,
        payload_at: (ETHERNET + network.header) as u16,
    };
    if network.fragment {
        return Some(frame);
    }
    let mut header = 0;
    match frame.protocol {
        protocol::TCP => {
            frame.source_port = half(transport, 0)?;
            frame.port = half(transport, 2)?;
            frame.seq = word(transport, 4)?;
            frame.ack = word(transport, 8)?;
            frame.flags = *transport.get(13)?;
            header = usize::from(*transport.get(12)? >> 4) * 4;
            if frame.flags & flag::ACK != 0 && header > 20 {
                frame.sack = sack(transport.get(20..header.min(transport.len()))?);
            }
            frame.payload = behind(header);
            frame.key = frame.tcp_key();
        }
        protocol::UDP => {
            frame.source_port = half(transport, 0)?;
            frame.port = half(transport, 2)?;
            header = 8;
            // The agent writes a number into each datagram.
            if let (Some(high), Some(low)) = (word(transport, 8), word(transport, 12)) {
                frame.key = mix(u64::from(high) << 32 | u64::from(low));
            }
        }
        protocol::ICMP | protocol::ICMPV6 => {
            header = 8;
            let echo = match frame.protocol {
                protocol::ICMP => [8, 0],
                _ => [128, 129],
            };
            if echo.contains(transport.first()?) {
                frame.port = half(transport, 4)?;
                frame.source_port = frame.port;
            }
        }
        _ => {}
    }
    frame.payload = behind(header);
    frame.payload_at += header as u16;
    Some(frame)
}

impl Frame {
    pub fn is_tcp(&self) -> bool {
        self.protocol == protocol::TCP && !self.fragment
    }

    /// Returns the key of a TCP segment. The key does not depend on ECE, CWR and the ECN field,
    /// because a queue may change these fields.
    fn tcp_key(&self) -> u64 {
        let rest =
            u64::from(self.ack) ^ u64::from(self.flags & 0x3f) << 32 ^ u64::from(self.id) << 40;
        mix(u64::from(self.seq) << 32 | u64::from(self.payload)) ^ mix(!rest)
    }

    /// Returns the frames into which a queue splits a GSO packet (Linux `tcp_gso_segment`,
    /// `inet_gso_segment`). Each frame but the last has `size` bytes of payload.
    pub fn segments(&self, size: u16) -> impl Iterator<Item = Frame> + use<> {
        let (whole, size) = (*self, u32::from(size).max(1));
        let last = whole.payload.div_ceil(size).saturating_sub(1);
        (0..=last).map(move |index| {
            let mut part = whole;
            part.seq = whole.seq.wrapping_add(index * size);
            part.payload = size.min(whole.payload - index * size);
            if whole.source.is_ipv4() {
                part.id = (whole.id + index) & 0xffff;
            }
            if index < last {
                part.flags &= !(flag::FIN | flag::PSH);
            }
            part.key = part.tcp_key();
            part
        })
    }

    /// Overwrites header fields in `bytes`, the beginning of a GSO packet, with the values of this
    /// segment.
    pub fn write_to(&self, bytes: &mut [u8]) {
        let at = usize::from(self.transport_at);
        let mut put = |at: usize, value: &[u8]| {
            if let Some(place) = bytes.get_mut(at..at + value.len()) {
                place.copy_from_slice(value);
            }
        };
        let headers = u32::from(self.payload_at) - ETHERNET as u32;
        if self.source.is_ipv4() {
            put(
                ETHERNET + 2,
                &((headers + self.payload) as u16).to_be_bytes(),
            );
            put(ETHERNET + 4, &(self.id as u16).to_be_bytes());
        } else {
            let length = (headers - IPV6 as u32 + self.payload) as u16;
            put(ETHERNET + 4, &length.to_be_bytes());
        }
        put(at + 4, &self.seq.to_be_bytes());
        put(at + 13, &[self.flags]);
    }

    pub fn is_udp(&self) -> bool {
        self.protocol == protocol::UDP && !self.fragment
    }

    /// Returns a key that no other packet of the same hosts and direction has, for any protocol.
    /// The key is a hash of the headers and the beginning of the payload. Fields that routers
    /// change are left out. `bytes` is the frame.
    pub fn content_key(&self, bytes: &[u8]) -> u64 {
        let ports = u64::from(self.source_port) << 16 | u64::from(self.port);
        let mut key = mix(ports << 8 | u64::from(self.protocol));
        key = mix(key ^ (u64::from(self.id) << 32 | u64::from(self.payload)));
        let (from, to) = if self.is_tcp() {
            // The hash includes `self.key`, which covers ports, sequence numbers and flags. Also
            // hash the options.
            key ^= self.key;
            let from = usize::from(self.transport_at) + 20;
            (from, usize::from(self.payload_at))
        } else if self.is_udp() || self.fragment {
            let from = usize::from(self.payload_at);
            (from, from + KEY_PAYLOAD)
        } else {
            let from = usize::from(self.transport_at);
            (from, from + 8 + KEY_PAYLOAD)
        };
        let to = to.min(bytes.len());
        for part in bytes.get(from..to).unwrap_or(&[]).chunks(8) {
            let mut eight = [0; 8];
            eight[..part.len()].copy_from_slice(part);
            key = mix(key.rotate_left(5) ^ u64::from_le_bytes(eight));
        }
        key
    }
}

fn mix(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn sack(mut options: &[u8]) -> Sack {
    let mut blocks = Sack::default();
    while let [kind, rest @ ..] = options {
        match (kind, rest.first()) {
            (0, _) => break,
            (1, _) => options = rest,
            (_, None) => break,
            (kind, Some(&length)) => {
                let length = usize::from(length).max(2);
                if *kind == 5 {
                    for (i, block) in blocks.iter_mut().enumerate() {
                        let at = 2 + 8 * i;
                        if at + 8 > length {
                            break;
                        }
                        if let (Some(from), Some(to)) = (word(options, at), word(options, at + 4)) {
                            *block = (from, to);
                        }
                    }
                }
                options = options.get(length..).unwrap_or_default();
            }
        }
    }
    blocks
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a CE-marked data segment with timestamps, two SACK blocks and 100 bytes of payload.
    pub fn segment() -> Vec<u8> {
        let mut bytes = vec![0; 12];
        bytes.extend([0x08, 0x00]);
        let total: u16 = 20 + 20 + 12 + 20 + 100;
        bytes.extend([
            0x45,
            3,
            (total >> 8) as u8,
            total as u8,
            0x12,
            0x34,
            0x40,
            0,
            64,
            6,
            0,
            0,
        ]);
        bytes.extend([10, 1, 0, 1, 10, 2, 0, 1]);
        bytes.extend([0x13, 0x89, 0x13, 0x8a]);
        bytes.extend(1000_u32.to_be_bytes());
        bytes.extend(77_u32.to_be_bytes());
        bytes.extend([(52 / 4) << 4, 0x50, 1, 0, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        bytes.extend([1, 1, 5, 18]);
        for edge in [500_u32, 600, 700, 900] {
            bytes.extend(edge.to_be_bytes());
        }
        bytes
    }

    #[test]
    fn reads_a_segment() {
        let frame = parse(&segment()).expect("TCP over IPv4");
        assert_eq!(frame.source, Ipv4Addr::new(10, 1, 0, 1));
        assert_eq!(frame.destination, Ipv4Addr::new(10, 2, 0, 1));
        assert_eq!((frame.port, frame.ecn, frame.is_tcp()), (5002, CE, true));
        assert_eq!(frame.source_port, 5001);
        assert_eq!((frame.seq, frame.ack, frame.payload), (1000, 77, 100));
        assert_eq!(frame.sack, [(500, 600), (700, 900), (0, 0), (0, 0)]);
    }

    #[test]
    fn the_key_is_of_what_a_queue_does_not_change() {
        let before = parse(&segment()).expect("TCP");
        let mut bytes = segment();
        bytes[15] = 2; // the ECN field
        bytes[22] = 63; // time to live
        assert_eq!(parse(&bytes).expect("TCP").key, before.key);
        bytes[19] = 0x35; // identification, which differs in a retransmission
        assert_ne!(parse(&bytes).expect("TCP").key, before.key);
    }

    /// If a queue splits a packet, each segment has the same key as the frame that leaves the
    /// queue.
    #[test]
    fn segments_have_the_keys_of_their_frames() {
        let mut bytes = segment();
        bytes[47] |= flag::PSH | flag::FIN;
        let parts: Vec<Frame> = parse(&bytes).expect("TCP").segments(48).collect();
        let (psh, fin) = (flag::PSH, flag::FIN);
        let found = parts
            .iter()
            .map(|p| (p.seq, p.payload, p.flags & (psh | fin)));
        let expected = [(1000, 48, 0), (1048, 48, 0), (1096, 4, psh | fin)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        for part in parts {
            let mut own = bytes.clone();
            part.write_to(&mut own);
            let read = parse(&own).expect("TCP");
            assert_eq!(read, part);
            assert_eq!(read.content_key(&own), part.content_key(&bytes));
        }
    }

    #[test]
    fn cut_frames_are_not_read() {
        let bytes = segment();
        for n in 0..54 {
            assert_eq!(parse(&bytes[..n]), None, "{n} bytes");
        }
    }
}
