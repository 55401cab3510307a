//! Headers of simulated packets as they would be on the wire: Ethernet, IPv4, and TCP or UDP, with
//! correct lengths and checksums.
//!
//! The simulator's packets contain no bytes, but a capture for Wireshark needs the bytes of the
//! packets' headers. Checksums assume that the payload is zeros. The headers are not followed by
//! the payload.

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// Bytes of an IPv4 header without options.
pub const IPV4: usize = 20;
/// Bytes of a TCP header without options.
pub const TCP: usize = 20;
/// Bytes of a UDP header.
pub const UDP: usize = 8;
/// Largest size of all TCP options of a segment, in bytes.
pub const TCP_OPTIONS: usize = 40;

/// The addresses and the port of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// MAC address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: [u8; 4],
    /// Port.
    pub port: u16,
}

/// The fields that TCP and UDP packets share.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// The endpoint that sends the packet.
    pub from: Host,
    /// The endpoint that receives the packet.
    pub to: Host,
    /// ECN field of the IP header.
    pub ecn: u8,
    /// Number of payload bytes after the TCP or UDP header.
    pub payload: u16,
}

/// Bits of [`Segment::flags`], as in the TCP header.
pub mod flags {
    /// SYN.
    pub const SYN: u16 = 0x002;
    /// ACK.
    pub const ACK: u16 = 0x010;
    /// ECN-Echo.
    pub const ECE: u16 = 0x040;
    /// Congestion Window Reduced.
    pub const CWR: u16 = 0x080;
    /// The flag AE, which was formerly called NS.
    pub const AE: u16 = 0x100;
}

/// The TCP header of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment<'a> {
    /// Sequence number, in bytes.
    pub seq: u32,
    /// Acknowledgement number, in bytes.
    pub ack: u32,
    /// Bits of [`flags`].
    pub flags: u16,
    /// The window field, after window scaling.
    pub window: u16,
    /// The TCP options. The length of all options is a multiple of 4 bytes and at most
    /// [`TCP_OPTIONS`].
    pub options: &'a [u8],
}

/// Builds TCP options within the available space. Like Linux, pads each option at its front to a
/// multiple of 4 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    bytes: [u8; TCP_OPTIONS],
    len: usize,
    room: usize,
    /// Position of the padding of the SACK option, if this option was added.
    sack: Option<usize>,
}

const NOP: u8 = 1;

impl Options {
    /// Creates an empty list of options with space for the given number of bytes.
    pub fn new(room: usize) -> Options {
        Options {
            bytes: [NOP; TCP_OPTIONS],
            len: 0,
            room: room.min(TCP_OPTIONS) / 4 * 4,
            sack: None,
        }
    }

    /// Returns the bytes of the options that have been added so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Adds the maximum segment size, in bytes. Returns whether the option fits.
    pub fn mss(&mut self, mss: u16) -> bool {
        let [high, low] = mss.to_be_bytes();
        self.put(&[2, 4, high, low])
    }

    /// Adds the window scale, in bits.
    pub fn window_scale(&mut self, shift: u8) -> bool {
        self.put(&[3, 3, shift])
    }

    /// Adds SACK permitted.
    pub fn sack_permitted(&mut self) -> bool {
        self.put(&[4, 2])
    }

    /// Adds TSval and TSecr. If `sack_permitted` is true (on a SYN), the SACK-permitted option
    /// takes the place of the padding in front of the timestamps.
    pub fn timestamps(&mut self, value: u32, echo: u32, sack_permitted: bool) -> bool {
        let mut option = [0; 12];
        option[..2].copy_from_slice(if sack_permitted { &[4, 2] } else { &[NOP, NOP] });
        option[2..4].copy_from_slice(&[8, 10]);
        option[4..8].copy_from_slice(&value.to_be_bytes());
        option[8..].copy_from_slice(&echo.to_be_bytes());
        self.put(&option)
    }

    /// Adds SACK blocks. A block is a pair: the sequence number of its first byte, and the sequence
    /// number after its last byte.
    pub fn sack(&mut self, blocks: &[(u32, u32)]) -> bool {
        let blocks = &blocks[..blocks.len().min(4)];
        if blocks.is_empty() {
            return false;
        }
        let mut option = [0; 2 + 4 * 8];
        let len = 2 + 8 * blocks.len();
        option[..2].copy_from_slice(&[5, len as u8]);
        for (edges, (start, end)) in option[2..].chunks_exact_mut(8).zip(blocks) {
            edges[..4].copy_from_slice(&start.to_be_bytes());
            edges[4..].copy_from_slice(&end.to_be_bytes());
        }
        let at = self.len;
        let fits = self.put(&option[..len]);
        self.sack = fits.then_some(at);
        fits
    }

    /// Adds the AccECN option in order 1 (RFC 9768 section 3.2.3). The option has 24-bit byte
    /// counters of ECT(1), CE and ECT(0), or only of ECT(1). The option may replace the SACK
    /// option's padding.
    pub fn accecn(&mut self, counters: &[u32]) -> bool {
        let counters = &counters[..counters.len().min(3)];
        let len = 2 + 3 * counters.len();
        let mut option = [NOP; 2 + 3 * 3];
        option[..2].copy_from_slice(&[174, len as u8]);
        for (bytes, counter) in option[2..].chunks_exact_mut(3).zip(counters) {
            bytes.copy_from_slice(&counter.to_be_bytes()[1..]);
        }
        // The SACK option begins with two bytes of padding.
        let spare = len % 4;
        if let Some(at) = self.sack.filter(|_| spare > 0 && spare <= 2) {
            if self.len + len - spare > self.room {
                return false;
            }
            // Move the SACK option towards the end, and write the AccECN option in front of it,
            // partly over the padding.
            let end = self.len;
            let moved = len - spare;
            self.bytes.copy_within(at + 2..end, at + 2 + moved);
            self.bytes[at..at + 2 + moved].fill(NOP);
            self.bytes[at + 2 - spare..at + 2 + moved].copy_from_slice(&option[..len]);
            self.len += moved;
            return true;
        }
        self.put(&option[..len])
    }

    fn put(&mut self, option: &[u8]) -> bool {
        let whole = option.len().next_multiple_of(4);
        if self.len + whole > self.room {
            return false;
        }
        // All bytes are initially NOPs, so padding does not have to be written.
        self.len += whole;
        self.bytes[self.len - option.len()..self.len].copy_from_slice(option);
        true
    }
}

/// Empties `out`, then writes the headers of a TCP segment into `out`.
pub fn tcp(envelope: &Envelope, segment: &Segment<'_>, out: &mut Vec<u8>) {
    debug_assert!(segment.options.len().is_multiple_of(4));
    let header = TCP + segment.options.len();
    start(envelope, 6, header, out);
    let at = out.len();
    out.extend_from_slice(&envelope.from.port.to_be_bytes());
    out.extend_from_slice(&envelope.to.port.to_be_bytes());
    out.extend_from_slice(&segment.seq.to_be_bytes());
    out.extend_from_slice(&segment.ack.to_be_bytes());
    let offset_and_flags = ((header / 4) as u16) << 12 | (segment.flags & 0x1FF);
    out.extend_from_slice(&offset_and_flags.to_be_bytes());
    out.extend_from_slice(&segment.window.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(segment.options);
    let sum = pseudo_header(envelope, 6, header) + sum_of(&out[at..]);
    out[at + 16..at + 18].copy_from_slice(&folded(sum).to_be_bytes());
}

/// Empties `out`, then writes the headers of a UDP datagram into `out`.
pub fn udp(envelope: &Envelope, out: &mut Vec<u8>) {
    start(envelope, 17, UDP, out);
    let at = out.len();
    let length = UDP as u16 + envelope.payload;
    out.extend_from_slice(&envelope.from.port.to_be_bytes());
    out.extend_from_slice(&envelope.to.port.to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    let sum = pseudo_header(envelope, 17, UDP) + sum_of(&out[at..]);
    // In UDP, a checksum field of 0 means that there is no checksum (RFC 768).
    let checksum = match folded(sum) {
        0 => 0xFFFF,
        other => other,
    };
    out[at + 6..at + 8].copy_from_slice(&checksum.to_be_bytes());
}

fn start(envelope: &Envelope, protocol: u8, header: usize, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&envelope.to.mac);
    out.extend_from_slice(&envelope.from.mac);
    out.extend_from_slice(&[0x08, 0x00]);
    let length = (IPV4 + header) as u16 + envelope.payload;
    out.extend_from_slice(&[0x45, envelope.ecn & 3]);
    out.extend_from_slice(&length.to_be_bytes());
    // The identification field is 0, because packets are never fragmented (RFC 6864). The flag DF
    // is set, and the TTL is 64.
    out.extend_from_slice(&[0, 0, 0x40, 0, 64, protocol, 0, 0]);
    out.extend_from_slice(&envelope.from.ip);
    out.extend_from_slice(&envelope.to.ip);
    let checksum = folded(sum_of(&out[ETHERNET..]));
    out[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
}

fn pseudo_header(envelope: &Envelope, protocol: u8, header: usize) -> u32 {
    let length = header as u32 + u32::from(envelope.payload);
    sum_of(&envelope.from.ip) + sum_of(&envelope.to.ip) + u32::from(protocol) + length
}

/// Returns the sum of 16-bit words (RFC 1071). The length must be even.
fn sum_of(bytes: &[u8]) -> u32 {
    bytes
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(payload: u16) -> Envelope {
        let host = |last, port| Host {
            mac: [2, 0, 0, 0, 0, last],
            ip: [10, last, 0, 1],
            port,
        };
        Envelope {
            from: host(1, 32_768),
            to: host(2, 5_001),
            ecn: 3,
            payload,
        }
    }

    /// Returns whether data that includes its checksum is valid.
    fn sums_up(parts: &[u32]) -> bool {
        folded(parts.iter().sum()) == 0
    }

    #[test]
    fn a_segment_has_right_lengths_and_checksums() {
        let mut options = Options::new(12);
        assert!(options.timestamps(7, 8, false));
        assert!(!options.sack(&[(1, 2)]), "there is no room");
        let segment = Segment {
            seq: 0x0102_0304,
            ack: 1,
            flags: flags::ACK | flags::CWR,
            window: 512,
            options: options.bytes(),
        };
        let mut frame = Vec::new();
        tcp(&envelope(1448), &segment, &mut frame);
        assert_eq!(frame.len(), 66);
        let ip = &frame[14..34];
        assert_eq!(ip[..4], [0x45, 3, 5, 0xDC], "ECN field and total length");
        assert!(sums_up(&[sum_of(ip)]));
        let header = &frame[34..];
        assert_eq!(header[4..8], [1, 2, 3, 4]);
        assert_eq!(header[12..14], [0x80, 0x90]);
        assert_eq!(header[20..], [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 8]);
        assert!(sums_up(&[
            pseudo_header(&envelope(1448), 6, 32),
            sum_of(header)
        ]));
    }

    #[test]
    fn a_syn_of_linux_has_its_options_in_twenty_bytes() {
        let mut options = Options::new(20);
        assert!(options.mss(1460));
        assert!(options.timestamps(1, 0, true));
        assert!(options.window_scale(7));
        assert_eq!(
            options.bytes(),
            [
                2, 4, 5, 0xB4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7
            ]
        );
        assert!(!options.sack_permitted());
    }

    #[test]
    fn accurate_ecn_uses_the_padding_of_sack() {
        let mut options = Options::new(TCP_OPTIONS);
        assert!(options.accecn(&[1, 0x0a_0b_0c, 3]));
        assert_eq!(
            options.bytes(),
            [NOP, 174, 11, 0, 0, 1, 0x0a, 0x0b, 0x0c, 0, 0, 3]
        );
        let mut options = Options::new(TCP_OPTIONS);
        assert!(options.sack(&[(1, 2)]));
        assert!(options.accecn(&[7]), "5 bytes, of which one in the padding");
        assert_eq!(
            options.bytes(),
            [NOP, 174, 5, 0, 0, 7, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]
        );
    }

    #[test]
    fn sack_blocks_are_padded_in_front() {
        let mut options = Options::new(40);
        assert!(options.sack(&[(1, 2), (3, 4)]));
        assert_eq!(options.bytes()[..4], [1, 1, 5, 18]);
        assert_eq!(options.bytes().len(), 20);
    }

    #[test]
    fn a_datagram_has_right_lengths_and_checksums() {
        let mut frame = Vec::new();
        udp(&envelope(1000), &mut frame);
        assert_eq!(frame.len(), 42);
        assert_eq!(frame[38..40], [3, 0xF0]);
        assert!(sums_up(&[sum_of(&frame[14..34])]));
        assert!(sums_up(&[
            pseudo_header(&envelope(1000), 17, 8),
            sum_of(&frame[34..])
        ]));
    }

    #[test]
    fn options_that_have_no_room_are_left_out() {
        let mut options = Options::new(12);
        assert!(!options.sack(&[]), "no block, no option");
        assert!(options.sack(&[(1, 2)]));
        let whole = options.bytes().to_vec();
        assert!(!options.accecn(&[1]), "beside the padding there is no room");
        assert!(!options.accecn(&[1, 2]));
        assert!(!options.accecn(&[1, 2, 3]));
        assert!(!options.sack(&[(1, 2), (3, 4)]));
        assert_eq!(options.bytes(), whole);
    }

    #[test]
    fn no_datagram_says_that_it_has_no_checksum() {
        // Among all ports, exactly one makes the computed checksum 0. If the checksum is 0, UDP
        // sends all ones instead.
        let mut all_ones = 0;
        for port in 0..=u16::MAX {
            let mut envelope = envelope(100);
            envelope.from.port = port;
            let mut frame = Vec::new();
            udp(&envelope, &mut frame);
            let checksum = u16::from_be_bytes([frame[40], frame[41]]);
            assert_ne!(checksum, 0, "port {port}");
            all_ones += u32::from(checksum == 0xFFFF);
        }
        assert!(all_ones > 0);
    }
}
