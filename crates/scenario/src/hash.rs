//! Hashes that identify runs, sweeps and traces.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Returns the first 20 hexadecimal digits of a SHA-256 hash.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize(), 10)
}

/// Hashes the content of a file or folder. Add entries in the order of their relative paths.
#[derive(Default)]
pub struct Contents(Sha256);

impl Contents {
    /// Adds a file: its path in the folder, whether it is executable, and its length. The path of a
    /// single file is empty. After this call, add the file's bytes with [`Contents::bytes`].
    pub fn file(&mut self, path: &str, executable: bool, len: u64) {
        self.entry(if executable { "x" } else { "f" }, path);
        self.0.update(len.to_le_bytes());
    }

    /// Adds a symbolic link: its path in the folder, and its target.
    pub fn link(&mut self, path: &str, target: &str) {
        self.entry("l", path);
        self.entry("", target);
    }

    /// Adds a folder, for hashes that include folders.
    pub fn folder(&mut self, path: &str) {
        self.entry("d", path);
    }

    /// For hashes that include modes, adds the mode of an entry. Call this function before adding
    /// the entry.
    pub fn mode(&mut self, mode: u32) {
        self.entry("m", "");
        self.0.update(mode.to_le_bytes());
    }

    /// Adds bytes of the file that was added last.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash.
    pub fn hash(self) -> String {
        hex(&self.0.finalize(), 32)
    }

    fn entry(&mut self, kind: &str, text: &str) {
        for part in [kind, text] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part.as_bytes());
        }
    }
}

pub(crate) fn hex(bytes: &[u8], len: usize) -> String {
    bytes
        .iter()
        .take(len)
        .fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        })
}

pub(crate) fn run_id(canonical: &str, seed: u64, engine_version: &str) -> String {
    digest(&[canonical, &seed.to_string(), engine_version])
}

pub(crate) fn sweep_id<'a>(runs: impl Iterator<Item = &'a str>) -> String {
    let runs: Vec<&str> = runs.collect();
    digest(&runs)
}
