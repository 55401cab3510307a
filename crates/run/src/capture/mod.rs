//! Packets of the simulator as `packets.pcapng`: what Wireshark shows of a run.

mod headers;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use tailback_engine::capture::{PacketEvent, Seen};
use tailback_engine::plan::Plan;
use tailback_record::PacketCount;
use tailback_record::folder::at;
use tailback_record::pcapng::{PacketFile, interfaces_of};

use headers::{Conversation, conversations};

/// Packets of a capture at most, counted at every interface: some 2 GB.
const MAX_PACKETS: u64 = 20_000_000;

/// Name of the packet capture in a run folder.
pub const FILE: &str = "packets.pcapng";

/// A capture that is being written.
pub struct Capture {
    path: PathBuf,
    file: PacketFile<BufWriter<File>>,
    conversations: Vec<Conversation>,
    frame: Vec<u8>,
    count: PacketCount,
}

impl Capture {
    /// Begins the capture of a run.
    pub fn create(path: PathBuf, plan: &Plan) -> io::Result<Capture> {
        let interfaces: Vec<_> = plan
            .links
            .iter()
            .flat_map(|link| interfaces_of(&link.name))
            .collect();
        let file = File::create(&path)
            .and_then(|file| PacketFile::create(BufWriter::new(file), &interfaces))
            .map_err(|e| at(&path, e))?;
        Ok(Capture {
            path,
            file,
            conversations: conversations(plan),
            frame: Vec::with_capacity(128),
            count: PacketCount::default(),
        })
    }

    /// Appends packets, in the order of time.
    pub fn write(&mut self, events: &[PacketEvent]) -> io::Result<()> {
        for event in events {
            if self.count.recorded >= MAX_PACKETS {
                self.count.lost += 1;
                continue;
            }
            self.count.recorded += 1;
            let (side, comment) = match event.seen {
                Seen::Arrived => (0, None),
                Seen::Left => (1, None),
                Seen::Dropped(cause) => (2, Some(cause.name())),
            };
            let packet = &event.packet;
            let conversation = &self.conversations[packet.flow as usize];
            let payload = conversation.headers(packet, &mut self.frame);
            // A scenario may count fewer bytes than a frame has.
            let length = usize::from(packet.len).max(self.frame.len() + usize::from(payload));
            self.file
                .packet(
                    event.link * 3 + side,
                    event.time.ns(),
                    length as u32,
                    &self.frame,
                    comment,
                )
                .map_err(|e| at(&self.path, e))?;
        }
        Ok(())
    }

    /// Completes the file; how many packets it holds.
    pub fn finish(self) -> io::Result<PacketCount> {
        let written = self.file.finish();
        written
            .and_then(|writer| writer.into_inner().map_err(io::IntoInnerError::into_error))
            .and_then(|file| file.sync_all())
            .map_err(|e| at(&self.path, e))?;
        Ok(self.count)
    }
}
