//! Hashes that name runs, sweeps and traces.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The first 20 digits of a SHA-256 hash.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize(), 10)
}

/// The first bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8], len: usize) -> String {
    bytes
        .iter()
        .take(len)
        .fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        })
}

/// Names a run.
pub(crate) fn run_id(canonical: &str, seed: u64, engine_version: &str) -> String {
    digest(&[canonical, &seed.to_string(), engine_version])
}

/// Names a sweep by the runs it consists of.
pub(crate) fn sweep_id<'a>(runs: impl Iterator<Item = &'a str>) -> String {
    let runs: Vec<&str> = runs.collect();
    digest(&runs)
}
