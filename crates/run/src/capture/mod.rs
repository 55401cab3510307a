//! Writes packets of the simulator to `packets.pcapng`, for Wireshark.

mod headers;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use tailback_engine::capture::PacketEvent;
use tailback_engine::plan::Plan;
use tailback_record::PacketCount;
use tailback_record::folder::at;
use tailback_record::pcapng::PacketCapture;

use headers::{Conversation, conversations};

/// Name of the packet capture in a run folder.
pub const FILE: &str = "packets.pcapng";

/// A capture that is being written.
pub struct Capture {
    path: PathBuf,
    file: PacketCapture<BufWriter<File>>,
    conversations: Vec<Conversation>,
    frame: Vec<u8>,
}

impl Capture {
    /// Begins the capture of a run.
    pub fn create(path: PathBuf, plan: &Plan) -> io::Result<Capture> {
        let links = plan.links.iter().map(|link| link.name.as_str());
        let file = File::create(&path)
            .and_then(|file| PacketCapture::create(BufWriter::new(file), links))
            .map_err(|e| at(&path, e))?;
        Ok(Capture {
            path,
            file,
            conversations: conversations(plan),
            frame: Vec::with_capacity(128),
        })
    }

    /// Appends packets, in the order of time.
    pub fn write(&mut self, events: &[PacketEvent]) -> io::Result<()> {
        for event in events {
            let packet = &event.packet;
            let conversation = &self.conversations[packet.flow as usize];
            let payload = conversation.headers(packet, &mut self.frame);
            // The scenario's frame length may be shorter than the headers.
            let length = usize::from(packet.len).max(self.frame.len() + usize::from(payload));
            let (link, time_ns) = (event.link, event.time.ns());
            self.file
                .packet(link, event.seen, time_ns, length as u32, &self.frame)
                .map_err(|e| at(&self.path, e))?;
        }
        Ok(())
    }

    /// Returns the number of packets in the capture.
    pub fn finish(self) -> io::Result<PacketCount> {
        let (path, file) = (self.path, self.file);
        let finish = || {
            let (writer, count) = file.finish()?;
            let file = writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?;
            file.sync_all().map(|()| count)
        };
        finish().map_err(|e| at(&path, e))
    }
}
