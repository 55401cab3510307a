//! Stores quinn's qlog of a connection in memory.
//!
//! quinn's header does not state to which time the log's times are relative. In this log, times are
//! relative to the start of the run, and the header also contains the date of the start. A program
//! that reads the log can therefore convert the log's times to times of the run.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use quinn_proto::TransportConfig;
use web_time::Instant;

/// Largest size of a log, bytes. tailback rejects longer qlog files.
const MAX_BYTES: usize = 48 << 20;

/// The log of a connection. Clones refer to the same log.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Records>>);

#[derive(Default)]
struct Records {
    bytes: Vec<u8>,
    /// The record that is being written.
    next: Vec<u8>,
    /// Date of the start of the run, seconds since 1970.
    date: u64,
    lost: u64,
}

impl Log {
    /// Returns an empty log of a run that begins at this date, seconds since 1970.
    pub fn begun(date: u64) -> Log {
        Log(Arc::new(Mutex::new(Records {
            date,
            ..Records::default()
        })))
    }

    /// Makes quinn write the log. `origin` is the instant of the start of the run.
    #[cfg(feature = "qlog")]
    pub fn attach(&self, transport: &mut TransportConfig, origin: Instant) {
        let mut config = quinn_proto::QlogConfig::default();
        config.writer(Box::new(self.clone())).start_time(origin);
        transport.qlog_stream(config.into_stream());
    }

    #[cfg(not(feature = "qlog"))]
    pub fn attach(&self, _: &mut TransportConfig, _: Instant) {
        panic!("`Options::qlog` needs the feature `qlog` of this crate");
    }

    /// Returns the log, and empties it.
    pub fn take(&self) -> Vec<u8> {
        mem::take(&mut self.records().bytes)
    }

    /// Returns the number of records for which the log had no space.
    pub fn lost(&self) -> u64 {
        self.records().lost
    }

    fn records(&self) -> std::sync::MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records {
    /// Adds the complete record to the log, if the log has space for it.
    fn keep(&mut self) {
        if self.bytes.is_empty() {
            let dated = dated(&String::from_utf8_lossy(&self.next), self.date);
            self.next = dated.into_bytes();
        }
        if self.bytes.len() + self.next.len() > MAX_BYTES {
            self.lost += 1;
        } else {
            self.bytes.append(&mut self.next);
        }
        self.next.clear();
    }
}

/// Adds the date of the start of the run to the header.
fn dated(header: &str, date: u64) -> String {
    let trace = "\"trace\":{";
    let ms = date * 1000;
    let common = format!(
        "{trace}\"common_fields\":{{\"reference_time\":{ms},\"time_format\":\"relative\"}},"
    );
    header.replacen(trace, &common, 1)
}

impl Write for Log {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let mut records = self.records();
        records.next.extend_from_slice(part);
        if part.ends_with(b"\n") {
            records.keep();
        }
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_do_not_fit_are_counted() {
        let mut log = Log::begun(1);
        log.write_all(b"{\"trace\":{\"a\":1}}\n").expect("memory");
        let header = b"{\"trace\":{\"common_fields\":{\"reference_time\":1000,\
            \"time_format\":\"relative\"},\"a\":1}}\n";
        let long = vec![b' '; MAX_BYTES - header.len() - 1];
        for part in [&long[..], b"\n", b"one too many", b"\n"] {
            log.write_all(part).expect("memory");
        }
        assert_eq!(log.lost(), 1);
        let bytes = log.take();
        assert_eq!(bytes.len(), MAX_BYTES);
        assert_eq!(&bytes[..header.len()], header);
    }
}
