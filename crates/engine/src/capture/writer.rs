//! Writes recorded packets as pcapng.

use std::io::{self, Write};

use tailback_record::PacketCount;
use tailback_record::pcapng::PacketCapture;

use super::PacketEvent;
use super::headers::{Conversation, conversations};
use crate::plan::Plan;

/// A capture of a run, while it is being written. The capture contains the headers of packets and
/// no payloads.
pub struct PacketWriter<W: Write> {
    file: PacketCapture<W>,
    conversations: Vec<Conversation>,
    frame: Vec<u8>,
    snap_length: usize,
}

impl<W: Write> PacketWriter<W> {
    /// Begins a capture of the links in the plan.
    ///
    /// # Errors
    /// Returns the errors of the writer.
    pub fn create(writer: W, plan: &Plan) -> io::Result<PacketWriter<W>> {
        let links = plan.links.iter().map(|link| link.name.as_str());
        Ok(PacketWriter {
            file: PacketCapture::create(writer, links)?,
            conversations: conversations(plan),
            frame: Vec::with_capacity(128),
            snap_length: usize::MAX,
        })
    }

    /// Sets the maximum number of bytes to write for each packet. By default, all headers are
    /// written.
    #[must_use]
    pub fn snap_length(mut self, bytes: usize) -> PacketWriter<W> {
        self.snap_length = bytes;
        self
    }

    /// Appends packets, which must be in the order of time.
    ///
    /// # Errors
    /// Returns the errors of the writer.
    pub fn write(&mut self, events: &[PacketEvent]) -> io::Result<()> {
        for event in events {
            let packet = &event.packet;
            let conversation = &self.conversations[packet.flow as usize];
            let payload = conversation.headers(packet, &mut self.frame);
            // The frame length in the scenario may be shorter than the headers.
            let least = self.frame.len() + usize::from(payload);
            let length = match packet.segments() {
                1 => usize::from(packet.len).max(least),
                _ => least,
            };
            let (link, time_ns) = (event.link, event.time.ns());
            let kept = &self.frame[..self.frame.len().min(self.snap_length)];
            self.file
                .packet(link, event.seen, time_ns, length as u32, kept)?;
        }
        Ok(())
    }

    /// Returns the writer. The data that the writer has received so far is always a complete file.
    pub fn get_ref(&self) -> &W {
        self.file.get_ref()
    }

    /// Writes the end of the file. Returns the writer and the number of packets.
    ///
    /// # Errors
    /// Returns the errors of the writer.
    pub fn finish(self) -> io::Result<(W, PacketCount)> {
        self.file.finish()
    }
}
