//! Writes recorded packets as pcapng.

use std::io::{self, Write};

use tailback_record::PacketCount;
use tailback_record::pcapng::PacketCapture;

use super::PacketEvent;
use super::headers::{Conversation, conversations};
use crate::plan::Plan;

/// A capture of a run that is being written. It has the headers of packets, without payloads.
pub struct PacketWriter<W: Write> {
    file: PacketCapture<W>,
    conversations: Vec<Conversation>,
    frame: Vec<u8>,
    snap_length: usize,
}

impl<W: Write> PacketWriter<W> {
    /// Begins a capture of the plan's links.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn create(writer: W, plan: &Plan) -> io::Result<PacketWriter<W>> {
        let links = plan.links.iter().map(|link| link.name.as_str());
        Ok(PacketWriter {
            file: PacketCapture::create(writer, links)?,
            conversations: conversations(plan),
            frame: Vec::with_capacity(128),
            snap_length: usize::MAX,
        })
    }

    /// Sets the largest number of bytes to write of each packet. The default is all headers.
    #[must_use]
    pub fn snap_length(mut self, bytes: usize) -> PacketWriter<W> {
        self.snap_length = bytes;
        self
    }

    /// Appends packets, in the order of time.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write(&mut self, events: &[PacketEvent]) -> io::Result<()> {
        for event in events {
            let packet = &event.packet;
            let conversation = &self.conversations[packet.flow as usize];
            let payload = conversation.headers(packet, &mut self.frame);
            // The scenario's frame length may be shorter than the headers.
            let length = usize::from(packet.len).max(self.frame.len() + usize::from(payload));
            let (link, time_ns) = (event.link, event.time.ns());
            let kept = &self.frame[..self.frame.len().min(self.snap_length)];
            self.file
                .packet(link, event.seen, time_ns, length as u32, kept)?;
        }
        Ok(())
    }

    /// Returns the writer. What it has received so far is always a complete file.
    pub fn get_ref(&self) -> &W {
        self.file.get_ref()
    }

    /// Completes the file. Returns the writer and the number of packets.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn finish(self) -> io::Result<(W, PacketCount)> {
        self.file.finish()
    }
}
