//! Writes packets of the simulator to `packets.pcapng`, for Wireshark.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use tailback_engine::capture::{PacketEvent, PacketWriter};
use tailback_engine::plan::Plan;
use tailback_record::PacketCount;
use tailback_record::folder::at;

/// Name of the packet capture in a run folder.
pub const FILE: &str = "packets.pcapng";

/// A capture that is being written.
pub struct Capture {
    path: PathBuf,
    file: PacketWriter<BufWriter<File>>,
}

impl Capture {
    /// Begins the capture of a run.
    pub fn create(path: PathBuf, plan: &Plan) -> io::Result<Capture> {
        let file = File::create(&path)
            .and_then(|file| PacketWriter::create(BufWriter::new(file), plan))
            .map_err(|e| at(&path, e))?;
        Ok(Capture { path, file })
    }

    /// Appends packets, in the order of time.
    pub fn write(&mut self, events: &[PacketEvent]) -> io::Result<()> {
        self.file.write(events).map_err(|e| at(&self.path, e))
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
