//! What a captured frame says.

use std::net::Ipv4Addr;

/// SACK blocks of a segment, in the order of the option.
pub type Sack = [(u32, u32); 4];

/// TCP flags.
pub mod flag {
    /// SYN.
    pub const SYN: u8 = 0x02;
    /// ACK.
    pub const ACK: u8 = 0x10;
}

/// Codepoint of a packet that met congestion.
pub const CE: u8 = 3;
/// Codepoint of a packet that SCE has marked.
pub const ECT1: u8 = 1;
/// Capable of ECN.
pub const ECT0: u8 = 2;

/// An IPv4 packet of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Sender.
    pub source: Ipv4Addr,
    /// Destination port.
    pub port: u16,
    /// Source port.
    pub source_port: u16,
    /// Whether it is UDP.
    pub udp: bool,
    /// The ECN field.
    pub ecn: u8,
    /// What tells it from every other packet of its flow and direction.
    pub key: u64,
    /// Sequence number (TCP).
    pub seq: u32,
    /// Acknowledgement number (TCP).
    pub ack: u32,
    /// Flags (TCP).
    pub flags: u8,
    /// Payload, bytes.
    pub payload: u32,
    /// Blocks (TCP), as many as are not empty.
    pub sack: Sack,
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads an Ethernet frame; `None`: neither TCP nor UDP over IPv4.
pub fn parse(bytes: &[u8]) -> Option<Frame> {
    const ETHERNET: usize = 14;
    if half(bytes, 12)? != 0x0800 {
        return None;
    }
    let ip = bytes.get(ETHERNET..)?;
    let ip_header = usize::from(*ip.first()? & 0x0f) * 4;
    let total = u32::from(half(ip, 2)?);
    let id = u64::from(half(ip, 4)?);
    let protocol = *ip.get(9)?;
    let transport = ip.get(ip_header..)?;
    let mut frame = Frame {
        source: Ipv4Addr::from(word(ip, 12)?),
        port: half(transport, 2)?,
        source_port: half(transport, 0)?,
        udp: protocol == 17,
        ecn: ip[1] & 3,
        key: 0,
        seq: 0,
        ack: 0,
        flags: 0,
        payload: 0,
        sack: Sack::default(),
    };
    match protocol {
        6 => {
            frame.seq = word(transport, 4)?;
            frame.ack = word(transport, 8)?;
            frame.flags = *transport.get(13)?;
            let header = usize::from(*transport.get(12)? >> 4) * 4;
            frame.payload = total.saturating_sub((ip_header + header) as u32);
            if frame.flags & flag::ACK != 0 && header > 20 {
                frame.sack = sack(transport.get(20..header.min(transport.len()))?);
            }
            // ECE and CWR are not part of the key, as the ECN field is not.
            let rest = u64::from(frame.ack) ^ u64::from(frame.flags & 0x3f) << 32 ^ id << 40;
            frame.key = mix(u64::from(frame.seq) << 32 | u64::from(frame.payload)) ^ mix(!rest);
        }
        17 => {
            frame.payload = total.saturating_sub((ip_header + 8) as u32);
            // The agent numbers its datagrams.
            let number = u64::from(word(transport, 8)?) << 32 | u64::from(word(transport, 12)?);
            frame.key = mix(number);
        }
        _ => return None,
    }
    Some(frame)
}

/// SplitMix64's finaliser.
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

    /// A data segment with timestamps and two SACK blocks, CE, 100 bytes of payload.
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
        assert_eq!((frame.port, frame.ecn, frame.udp), (5002, CE, false));
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
        bytes[19] = 0x35; // identification: a retransmission
        assert_ne!(parse(&bytes).expect("TCP").key, before.key);
    }

    #[test]
    fn cut_frames_are_not_read() {
        let bytes = segment();
        for n in 0..54 {
            assert_eq!(parse(&bytes[..n]), None, "{n} bytes");
        }
    }
}
