//! Writes the captured packets to `packets.pcapng`. Interfaces have the same names as in captures
//! of the simulator. For a link NAME, `NAME.in` captures before the queue, and before the schedule
//! of marks and drops. `NAME.out` captures after the queue. `NAME.drop` contains the dropped
//! packets, with the cause of each drop as a comment.
//!
//! Records are not created in order of time. A drop is detected only when a later packet overtakes
//! the dropped packet. In addition, the captures of the links are read one after the other. Records
//! therefore wait until no older record can follow. The records are then written in order of time.
//! The TCP and UDP checksums are incomplete, because the guest's devices leave them to the
//! hardware.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use tailback_guest::job::Job;
use tailback_record::pcapng::PacketCapture;
use tailback_record::{Cause, PacketCount, Seen};

use super::frame::{Frame, KEY_PAYLOAD};
use super::queue::{Lost, Packet, at};
use super::ring::{Captured, PROGRAM_SNAPLEN as ROOM};

/// Path at which the host expects the file.
const FILE: &str = "/results/packets.pcapng";

/// Largest number of records that wait for older records. If there are more records, the oldest are
/// written early. A drop that is detected late may then be written after newer packets.
const MAX_WAITING: usize = 1 << 17;

/// Bytes per write. Each write is a call to the host, so a few large writes are faster than many
/// small writes.
const BUFFER: usize = 1 << 20;

/// Number of stored payload bytes of a datagram. These first bytes contain the datagram's number.
const DATAGRAM_NUMBER: u32 = 8;

/// The stored first bytes of a packet.
#[derive(Clone, Copy)]
pub struct Head {
    /// Frame length, in bytes.
    len: u32,
    kept: u8,
    bytes: [u8; ROOM as usize],
}

impl Head {
    /// Returns the headers of a packet and, for a datagram, the beginning of its payload.
    pub fn of(packet: &Packet, captured: &Captured<'_>, frame: &Frame) -> Head {
        // Also store the beginning of a datagram's payload, which distinguishes it from other
        // datagrams.
        let number = match (packet.tuple.is_some(), frame.is_tcp()) {
            (_, true) => 0,
            (false, false) => DATAGRAM_NUMBER,
            (true, false) => KEY_PAYLOAD as u32,
        };
        let wanted = captured
            .len
            .saturating_sub(frame.payload.saturating_sub(number))
            .min(ROOM);
        let kept = captured.bytes.len().min(wanted as usize);
        let mut bytes = [0; ROOM as usize];
        bytes[..kept].copy_from_slice(&captured.bytes[..kept]);
        if frame.is_tcp() {
            // The queue may have split the captured packet into segments. The frame is one of these
            // segments.
            frame.write_to(&mut bytes[..kept]);
        }
        Head {
            len: captured.len,
            kept: kept as u8,
            bytes,
        }
    }
}

/// A captured packet that waits to be written.
struct Record {
    time_ns: u64,
    link: u32,
    seen: Seen,
    head: Head,
}

/// The packet file of a run.
pub struct Packets<W: Write = BufWriter<File>> {
    file: PacketCapture<W>,
    waiting: Vec<Record>,
    /// The packets in each queue with their keys, by link and slot (see [`super::queue`]).
    queued: Vec<Vec<VecDeque<(u64, Head)>>>,
}

/// Removes a packet from its slot. The packet is usually the first packet of the slot.
fn take(queued: &mut VecDeque<(u64, Head)>, key: u64) -> Option<Head> {
    let place = queued.iter().position(|(other, _)| *other == key)?;
    queued.remove(place).map(|(_, head)| head)
}

impl Packets {
    pub fn create(job: &Job) -> io::Result<Option<Packets>> {
        if !job.record.packets {
            return Ok(None);
        }
        let writer = BufWriter::with_capacity(BUFFER, File::create(FILE)?);
        let names: Vec<&str> = job.links.iter().map(|l| l.name.as_str()).collect();
        let lanes = 2 * job.owners().len();
        Packets::new(writer, &names, lanes).map(Some)
    }
}

impl<W: Write> Packets<W> {
    fn new(writer: W, links: &[&str], lanes: usize) -> io::Result<Packets<W>> {
        Ok(Packets {
            file: PacketCapture::create(writer, links.iter().copied())?,
            waiting: Vec::new(),
            queued: links.iter().map(|_| vec![VecDeque::new(); lanes]).collect(),
        })
    }

    fn add(&mut self, link: usize, seen: Seen, time_ns: u64, head: Head) {
        self.waiting.push(Record {
            time_ns,
            link: link as u32,
            seen,
            head,
        });
    }

    pub fn arrived(
        &mut self,
        link: usize,
        packet: &Packet,
        captured: &Captured<'_>,
        frame: &Frame,
    ) {
        let head = Head::of(packet, captured, frame);
        self.add(link, Seen::Arrived, packet.time_ns, head);
    }

    pub fn dropped(
        &mut self,
        link: usize,
        packet: &Packet,
        captured: &Captured<'_>,
        frame: &Frame,
    ) {
        let head = Head::of(packet, captured, frame);
        self.add(link, Seen::Dropped(Cause::Scheduled), packet.time_ns, head);
    }

    pub fn entered(
        &mut self,
        link: usize,
        packet: &Packet,
        captured: &Captured<'_>,
        frame: &Frame,
    ) {
        let head = Head::of(packet, captured, frame);
        at(&mut self.queued[link], packet.slot).push_back((packet.key, head));
    }

    /// Records that a packet left a queue. `slot` is its slot at entry, if the entry was captured.
    pub fn left(
        &mut self,
        (link, slot): (usize, Option<usize>),
        packet: &Packet,
        captured: &Captured<'_>,
        frame: &Frame,
    ) {
        if let Some(slot) = slot {
            take(at(&mut self.queued[link], slot), packet.key);
        }
        let head = Head::of(packet, captured, frame);
        self.add(link, Seen::Left, packet.time_ns, head);
    }

    /// Records that the wire after a link lost a packet, which reached the wire at `at_ns`.
    pub fn lost_behind(&mut self, link: usize, head: Head, cause: Cause, at_ns: u64) {
        self.add(link, Seen::Dropped(cause), at_ns, head);
    }

    /// Records newly detected drops of a link's queue.
    pub fn lost(&mut self, link: usize, lost: &mut Vec<Lost>) {
        for lost in lost.drain(..) {
            if let Some(head) = take(at(&mut self.queued[link], lost.slot), lost.key) {
                self.add(link, Seen::Dropped(lost.cause), lost.at_ns, head);
            }
        }
    }

    /// Writes the records that are older than `horizon_ns`. All records to come are newer than
    /// `horizon_ns`.
    pub fn write(&mut self, horizon_ns: u64) -> io::Result<()> {
        // A stable sort keeps simultaneous packets in the order of the captures.
        self.waiting.sort_by_key(|r| r.time_ns);
        let due = self.waiting.partition_point(|r| r.time_ns < horizon_ns);
        let due = due.max(self.waiting.len().saturating_sub(MAX_WAITING));
        for record in self.waiting.drain(..due) {
            let head = &record.head;
            let bytes = &head.bytes[..usize::from(head.kept)];
            self.file
                .packet(record.link, record.seen, record.time_ns, head.len, bytes)?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<PacketCount> {
        self.write(u64::MAX)?;
        let (_, count) = self.file.finish()?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the interface and time of each packet in a file.
    fn written(file: &[u8]) -> Vec<(u32, u64)> {
        let word =
            |at: usize| u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]]);
        let (mut at, mut found) = (0, Vec::new());
        while at < file.len() {
            if word(at) == 6 {
                let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
                found.push((word(at + 8), time));
            }
            at += word(at + 4) as usize;
        }
        found
    }

    #[test]
    fn a_drop_found_late_stands_where_it_happened() {
        let mut file = Vec::new();
        let mut packets = Packets::new(&mut file, &["a", "b"], 2).expect("in memory");
        let bytes = [0_u8; 66];
        let captured = Captured {
            time_ns: 0,
            device: 0,
            outgoing: false,
            len: 1514,
            segment: 0,
            bytes: &bytes,
        };
        let segment = super::super::frame::tests::segment();
        let mut frame = super::super::frame::parse(&segment).expect("TCP");
        frame.payload = 1448;
        let packet = |time_ns| Packet {
            time_ns,
            lane: 0,
            slot: 0,
            tuple: None,
            key: time_ns,
            len: 1514,
            ecn: 0,
        };
        let leaves = |key, time_ns| Packet {
            key,
            ..packet(time_ns)
        };
        for time in [10, 20, 30] {
            packets.arrived(0, &packet(time), &captured, &frame);
            packets.entered(0, &packet(time), &captured, &frame);
        }
        packets.left((0, Some(0)), &leaves(10, 25), &captured, &frame);
        packets.arrived(1, &packet(25), &captured, &frame);
        // The second packet must wait, because an older record may still follow. For example, a
        // drop at time 20 may be detected later.
        packets.write(20).expect("in memory");
        let mut lost = vec![Lost {
            slot: 0,
            key: 20,
            at_ns: 20,
            cause: Cause::Aqm,
        }];
        packets.lost(0, &mut lost);
        packets.left((0, Some(0)), &leaves(30, 40), &captured, &frame);
        let count = packets.finish().expect("in memory");
        assert_eq!((count.recorded, count.lost), (7, 0));
        assert_eq!(
            written(&file),
            [
                (0, 10),
                (0, 20),
                (2, 20),
                (1, 25),
                (3, 25),
                (0, 30),
                (1, 40)
            ]
        );
    }
}
