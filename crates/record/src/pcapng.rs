//! Writes packet captures for both engines as pcapng (draft-ietf-opsawg-pcapng), Wireshark's
//! format.
//!
//! A file has one section. Each link has three interfaces: `NAME.in` (packets that arrive at the
//! queue), `NAME.out` (packets that leave the queue) and `NAME.drop` (packets that the queue
//! dropped or the link lost, with the cause as a comment). Times are in nanoseconds from the start
//! of the run. Packets are Ethernet frames, cut after their headers.
//!
//! This module replaces the crate pcap-file 2.0, which writes the same bytes, but takes 400
//! instructions per packet instead of 258. The crate would also add eight crates (among them a
//! second version of syn) to the guest of the kernel engine.

use std::io::{self, Write};

use crate::{PacketCount, Seen};

/// Largest number of packets in a capture, over all interfaces. A file with this number of packets
/// is about 2 GB long.
const MAX_PACKETS: u64 = 20_000_000;

/// The three interfaces of a link: the suffix of the name, and a description of the packets
/// captured there.
const INTERFACES: [(&str, &str); 3] = [
    ("in", "as packets arrive, before the queue"),
    ("out", "as packets leave the queue"),
    ("drop", "what the queue dropped or the link lost behind it"),
];

/// The capture of a run: packets at every link.
pub struct PacketCapture<W: Write> {
    file: PacketFile<W>,
    count: PacketCount,
}

impl<W: Write> PacketCapture<W> {
    /// Begins the capture of links with the given names.
    pub fn create<'a>(
        writer: W,
        links: impl IntoIterator<Item = &'a str>,
    ) -> io::Result<PacketCapture<W>> {
        let interfaces: Vec<Interface> = links.into_iter().flat_map(interfaces_of).collect();
        Ok(PacketCapture {
            file: PacketFile::create(writer, &interfaces)?,
            count: PacketCount::default(),
        })
    }

    /// Appends a packet of `len` bytes on the wire. `bytes` contains the first bytes of the packet.
    /// If the capture has reached its limit, the packet is counted, but not stored. Call this
    /// function in the order of time.
    pub fn packet(
        &mut self,
        link: u32,
        seen: Seen,
        time_ns: u64,
        len: u32,
        bytes: &[u8],
    ) -> io::Result<()> {
        if self.count.recorded >= MAX_PACKETS {
            self.count.lost += 1;
            return Ok(());
        }
        self.count.recorded += 1;
        let (interface, comment) = match seen {
            Seen::Arrived => (0, None),
            Seen::Left => (1, None),
            Seen::Dropped(cause) => (2, Some(cause.name())),
        };
        let interface = link * INTERFACES.len() as u32 + interface;
        self.file.packet(interface, time_ns, len, bytes, comment)
    }

    /// Returns the writer. The data written so far is always a complete file.
    pub fn get_ref(&self) -> &W {
        &self.file.writer
    }

    /// Completes the file. Returns the writer and the number of packets.
    pub fn finish(self) -> io::Result<(W, PacketCount)> {
        Ok((self.file.finish()?, self.count))
    }
}

fn interfaces_of(link: &str) -> [Interface; 3] {
    INTERFACES.map(|(suffix, what)| Interface {
        name: format!("{link}.{suffix}"),
        description: format!("{link}, {what}"),
    })
}

/// A point at which packets are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Interface {
    /// Name, e.g. `bottleneck.in`.
    name: String,
    description: String,
}

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const ETHERNET: u16 = 1;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;

/// A capture that is being written.
///
/// This struct buffers only the current block, so `writer` should be a `BufWriter`.
#[derive(Debug)]
struct PacketFile<W: Write> {
    writer: W,
    interfaces: u32,
    block: Vec<u8>,
}

impl<W: Write> PacketFile<W> {
    /// Begins a file with the given interfaces, which are numbered from 0.
    fn create(writer: W, interfaces: &[Interface]) -> io::Result<PacketFile<W>> {
        let mut file = PacketFile {
            writer,
            interfaces: interfaces.len() as u32,
            block: Vec::with_capacity(256),
        };
        file.begin(SECTION_HEADER);
        file.u32(BYTE_ORDER);
        file.u16(1);
        file.u16(0);
        // The length of the section is unknown when the section begins.
        file.u32(u32::MAX);
        file.u32(u32::MAX);
        file.option(SHB_USERAPPL, b"tailback")?;
        file.end_of_options();
        file.end()?;
        for interface in interfaces {
            file.begin(INTERFACE);
            file.u16(ETHERNET);
            file.u16(0);
            // The snap length is 0 (unlimited), because packets are cut to different lengths.
            file.u32(0);
            file.option(IF_NAME, interface.name.as_bytes())?;
            file.option(IF_DESCRIPTION, interface.description.as_bytes())?;
            // Timestamps are in units of 10^-9 s.
            file.option(IF_TSRESOL, &[9])?;
            file.end_of_options();
            file.end()?;
        }
        Ok(file)
    }

    /// Appends a packet. The arguments are the number of the packet's interface, the time since the
    /// start of the run in ns, the length on the wire, and the bytes to store.
    pub fn packet(
        &mut self,
        interface: u32,
        time_ns: u64,
        original_len: u32,
        bytes: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        if interface >= self.interfaces || bytes.len() > original_len as usize {
            let message = format!(
                "interface {interface} of {}, {} of {original_len} bytes kept",
                self.interfaces,
                bytes.len()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.begin(ENHANCED_PACKET);
        self.u32(interface);
        self.u32((time_ns >> 32) as u32);
        self.u32(time_ns as u32);
        self.u32(bytes.len() as u32);
        self.u32(original_len);
        self.padded(bytes);
        if let Some(comment) = comment {
            self.option(OPT_COMMENT, comment.as_bytes())?;
            self.end_of_options();
        }
        self.end()
    }

    /// Completes the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.writer.flush()?;
        Ok(self.writer)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.u32(kind);
        // Write a placeholder for the block's length, which `end` replaces.
        self.u32(0);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = self.block.len() as u32 + 4;
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.u32(length);
        self.writer.write_all(&self.block)
    }

    fn u16(&mut self, value: u16) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        let whole = self.block.len().next_multiple_of(4);
        self.block.resize(whole, 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let length = u16::try_from(value.len()).map_err(|_| {
            let message = format!("an option of {} bytes", value.len());
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        self.u16(code);
        self.u16(length);
        self.padded(value);
        Ok(())
    }

    fn end_of_options(&mut self) {
        self.u32(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;

    /// Returns the kind and the body of each block. Also checks the two length fields of each
    /// block.
    fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
        let word = |at: &[u8]| u32::from_le_bytes([at[0], at[1], at[2], at[3]]);
        let mut found = Vec::new();
        while !file.is_empty() {
            let length = word(&file[4..]) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(&file[length - 4..]) as usize, length);
            found.push((word(file), &file[8..length - 4]));
            file = &file[length..];
        }
        found
    }

    #[test]
    fn packets_beyond_the_limit_are_counted() {
        let mut capture = PacketCapture::create(Vec::new(), ["b"]).expect("in memory");
        capture.count.recorded = MAX_PACKETS - 1;
        for at in 0..3 {
            let packet = capture.packet(0, Seen::Left, at, 60, &[]);
            packet.expect("in memory");
        }
        let (bytes, count) = capture.finish().expect("in memory");
        assert_eq!((count.recorded, count.lost), (MAX_PACKETS, 2));
        assert_eq!(
            blocks(&bytes).iter().filter(|block| block.0 == 6).count(),
            1
        );
    }

    #[test]
    fn a_file_has_the_bytes_of_the_draft() {
        let mut file = PacketCapture::create(Vec::new(), ["b"]).expect("in memory");
        file.packet(0, Seen::Arrived, 0x1_0000_0002, 1514, &[1, 2, 3, 4, 5])
            .expect("in memory");
        file.packet(0, Seen::Dropped(Cause::Aqm), 7, 60, &[])
            .expect("in memory");
        let (bytes, count) = file.finish().expect("in memory");
        assert_eq!((count.recorded, count.lost), (2, 0));
        let blocks = blocks(&bytes);
        let kinds: Vec<u32> = blocks.iter().map(|b| b.0).collect();
        assert_eq!(kinds, [0x0A0D_0D0A, 1, 1, 1, 6, 6]);
        assert_eq!(blocks[0].1[..4], [0x4D, 0x3C, 0x2B, 0x1A]);
        // The fields are: link type Ethernet, reserved, no snap length, and the option `if_name` of
        // 4 bytes.
        assert_eq!(blocks[1].1[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(blocks[1].1[8..16], [2, 0, 4, 0, b'b', b'.', b'i', b'n']);
        // The option `if_tsresol` with the value 9, and the end of options.
        let end = blocks[1].1.len() - 12;
        assert_eq!(blocks[1].1[end..], [9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            blocks[4].1,
            [
                0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 0xEA, 5, 0, 0, 1, 2, 3, 4, 5, 0, 0,
                0
            ]
        );
        assert_eq!(
            blocks[5].1[20..],
            [1, 0, 3, 0, b'a', b'q', b'm', 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let mut file = PacketFile::create(Vec::new(), &interfaces_of("b")).expect("in memory");
        let before = file.writer.len();
        assert!(file.packet(3, 0, 60, &[], None).is_err());
        assert!(file.packet(0, 0, 1, &[0, 0], None).is_err());
        let long = "x".repeat(70_000);
        assert!(file.packet(0, 0, 60, &[], Some(&long)).is_err());
        assert_eq!(file.writer.len(), before);
    }
}
