//! Seals JSON files with a hash of their own content, and computes hashes of other files.
//!
//! The last entry of a sealed object is `"sha256"`, the SHA-256 of every byte before this entry. If
//! the file was truncated or a bit has changed, the seal does not match the content. The seal
//! detects damage, but not forgery, because anyone can compute a seal.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

const BEFORE: &str = "  \"sha256\": \"";
const AFTER: &str = "\"\n}\n";
const DIGITS: usize = 64;

/// Seals the text of a JSON object, which must not be empty.
pub fn seal(object: &str) -> Vec<u8> {
    let open = object.trim_end();
    let open = open.strip_suffix('}').unwrap_or(open).trim_end();
    let mut sealed = format!("{open},\n").into_bytes();
    let digest = sha256(&sealed);
    sealed.extend_from_slice(format!("{BEFORE}{digest}{AFTER}").as_bytes());
    sealed
}

/// Returns whether a sealed file is unchanged since it was written.
pub fn is_whole(sealed: &[u8]) -> bool {
    let line = BEFORE.len() + DIGITS + AFTER.len();
    let Some((body, tail)) = sealed.len().checked_sub(line).map(|at| sealed.split_at(at)) else {
        return false;
    };
    tail.strip_prefix(BEFORE.as_bytes())
        .and_then(|rest| rest.strip_suffix(AFTER.as_bytes()))
        .is_some_and(|digits| digits == sha256(body).as_bytes())
}

/// Returns the SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Size of a file, in bytes, and its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Size, in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

impl Mark {
    /// Returns the size and the hash of the given bytes.
    pub fn of_bytes(bytes: &[u8]) -> Mark {
        Mark {
            bytes: bytes.len() as u64,
            sha256: sha256(bytes),
        }
    }

    /// Returns the size and the hash of all data from a reader.
    pub fn of(mut reader: impl Read) -> io::Result<Mark> {
        let mut hashing = Hashing::new(io::sink());
        let mut buffer = vec![0; 1 << 16];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(hashing.mark()),
                Ok(n) => hashing.write_all(&buffer[..n])?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// A writer that also hashes the data.
pub struct Hashing<W> {
    inner: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Hashing<W> {
    /// Creates a writer that hashes the data and writes it to `inner`.
    pub fn new(inner: W) -> Hashing<W> {
        Hashing {
            inner,
            hash: Sha256::new(),
            bytes: 0,
        }
    }

    /// Returns the size and the hash of the data written so far.
    pub fn mark(&self) -> Mark {
        Mark {
            bytes: self.bytes,
            sha256: hex(self.hash.clone().finalize().as_slice()),
        }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hash.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_object_is_json_and_every_bit_counts() {
        let sealed = seal("{\n  \"a\": [1, 2],\n  \"b\": {}\n}\n");
        let value: serde_json::Value = serde_json::from_slice(&sealed).expect("JSON");
        assert_eq!(value["a"][1], 2);
        assert!(is_whole(&sealed));
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_whole(&flipped), "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert!(!is_whole(&sealed[..length]), "{length} bytes");
        }
    }

    #[test]
    fn a_hash_is_that_of_what_was_written() {
        let mut hashing = Hashing::new(Vec::new());
        hashing.write_all(b"ab").expect("memory");
        hashing.write_all(b"c").expect("memory");
        let mark = hashing.mark();
        assert_eq!(mark.bytes, 3);
        // The expected hash is the example of FIPS 180-4.
        assert!(mark.sha256.starts_with("ba7816bf8f01cfea"), "{mark:?}");
        assert_eq!(Mark::of(&b"abc"[..]).expect("memory"), mark);
        assert_eq!(Mark::of_bytes(b"abc"), mark);
    }

    /// A reader that returns one byte at a time. An interruption precedes each byte. After the last
    /// byte, the reader fails or ends.
    struct Hesitant {
        bytes: Vec<u8>,
        interrupted: bool,
        fails: bool,
    }

    impl Read for Hesitant {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupted = !self.interrupted;
            if self.interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match self.bytes.pop() {
                Some(byte) => {
                    buffer[0] = byte;
                    Ok(1)
                }
                None if self.fails => Err(io::ErrorKind::UnexpectedEof.into()),
                None => Ok(0),
            }
        }
    }

    #[test]
    fn a_reader_that_is_interrupted_is_read_on_and_one_that_fails_is_not() {
        let reader = |fails| Hesitant {
            bytes: b"cba".to_vec(),
            interrupted: false,
            fails,
        };
        let mark = Mark::of(reader(false)).expect("it ends");
        assert_eq!(mark, Mark::of_bytes(b"abc"));
        let error = Mark::of(reader(true)).expect_err("it fails");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
