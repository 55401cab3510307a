//! Stores the standard output or standard error of a program.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Number of bytes that are stored from the beginning of the output.
const MOST: usize = 1 << 20;

/// Number of bytes that are stored from the end of the output.
const TAIL: usize = 4 << 10;

/// Number of lines that an error message quotes from the output.
const LINES: usize = 10;

/// The reading end of a pipe, and the output that was read from the pipe.
#[derive(Default)]
pub struct Kept {
    pipe: Option<File>,
    pub bytes: Vec<u8>,
    /// The last bytes of the output, if the output does not fit into `bytes`.
    tail: VecDeque<u8>,
    /// Whether the output did not fit into `bytes`.
    pub cut: bool,
}

impl Kept {
    pub fn of(pipe: OwnedFd) -> Kept {
        Kept {
            pipe: Some(File::from(pipe)),
            ..Kept::default()
        }
    }

    /// Returns the descriptor to poll, or `None` if the pipe is closed.
    pub fn fd(&self) -> Option<RawFd> {
        self.pipe.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Reads the available data. Closes the pipe at the end of the data.
    pub fn read(&mut self) {
        let mut buffer = [0; 16 << 10];
        loop {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => self.add(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.pipe = None,
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = MOST - self.bytes.len();
        let (first, rest) = bytes.split_at(bytes.len().min(room));
        self.bytes.extend_from_slice(first);
        self.cut |= !rest.is_empty();
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
    }

    pub fn has(&self, text: &str) -> bool {
        let text = text.as_bytes();
        self.bytes.windows(text.len()).any(|part| part == text)
    }

    pub fn last(&self) -> String {
        let missing = TAIL - self.tail.len().min(TAIL);
        let from = self.bytes.len().saturating_sub(missing);
        let mut bytes = self.bytes[from..].to_vec();
        bytes.extend(&self.tail);
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.trim_end().lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_kept_and_the_last_is_known() {
        let mut kept = Kept::default();
        kept.add(b"listening\n");
        assert!(kept.has("listening") && !kept.has("ready"));
        assert_eq!((kept.last().as_str(), kept.cut), ("listening", false));
        for n in 0..200_000 {
            kept.add(format!("line {n}\n").as_bytes());
        }
        assert_eq!((kept.bytes.len(), kept.cut), (MOST, true));
        let last = kept.last();
        assert_eq!(last.lines().next_back(), Some("line 199999"));
        assert_eq!(last.lines().count(), LINES);
    }
}
