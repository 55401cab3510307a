//! Provides the environment that endpoints of the QUIC interop runner expect, and checks their
//! downloads.
//!
//! The agent prepares all files of the server before the server starts. The program openssl makes
//! the certificates, as in the script of the interop runner. The contents of files are computed
//! from the files' names, so the agent can check whether the files arrive unchanged.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde_json::json;
use tailback_guest::job::{Interop, Program};

use super::bare::{self, at, bind, own_folder};
use crate::agent::io;
use crate::agent::sys::{self, process};

pub const HOSTS: [&str; 2] = ["server", "client"];

/// Port of the runner's network simulator. Clients wait until this port accepts connections.
const SIM_PORT: u16 = 57832;

/// Mount options that limit the size and the number of the files in memory.
const OPTIONS: &str = "mode=755,size=1200m,nr_inodes=20k";

/// Replaces the image's own setup script, which would configure the network of the interop runner.
const SETUP: &str = "mkdir -p /logs/qlog\n";

/// Shell commands that make a certificate, its key, and the certificate that signs it.
const CERTIFICATES: &str = "cd /out
{
openssl req -x509 -sha256 -nodes -days 365 -newkey rsa:2048 -keyout /tmp/ca.key -out ca.pem \
    -subj '/O=interop root' -addext keyUsage=critical,keyCertSign,cRLSign &&
openssl req -new -newkey rsa:2048 -nodes -keyout priv.key -out /tmp/leaf.csr \
    -subj '/O=interop leaf' &&
echo subjectAltName=DNS:server,DNS:server4,DNS:server6,DNS:server46 > /tmp/names &&
openssl x509 -req -sha256 -days 365 -in /tmp/leaf.csr -CA ca.pem -CAkey /tmp/ca.key \
    -set_serial 1 -extfile /tmp/names -out cert.pem &&
chmod 644 ca.pem cert.pem priv.key
} > /tmp/log 2>&1 || { cat /tmp/log >&2; exit 1; }
";

/// Returns the path of a file that both sides of an entry in `[[programs]]` share. `number` is the
/// index of the entry.
fn place(number: usize, name: &str) -> String {
    format!("/run/programs/interop{number}/{name}")
}

/// Mounts a tmpfs for the files that both sides of an entry share.
pub fn make(number: usize) -> Result<(), String> {
    let whole = place(number, "");
    fs::create_dir_all(&whole).map_err(io(&whole))?;
    sys::mount("tmpfs", &whole, "tmpfs", OPTIONS).map_err(io(&whole))?;
    for name in ["certs", "www", "downloads"] {
        let place = place(number, name);
        fs::create_dir(&place).map_err(io(&place))?;
    }
    Ok(())
}

pub fn prepare(number: usize, program: &Program, interop: &Interop) -> Result<(), String> {
    let certs = place(number, "certs");
    let status = process::apart(|| {
        if let Err(error) = bare::enter_packages(&program.root, &certs) {
            eprintln!("tailback: {error}");
            return 1;
        }
        let words = ["sh", "-c", CERTIFICATES].map(str::to_owned);
        let environment = ["PATH=/usr/sbin:/usr/bin".to_owned()];
        let error = process::execute("/usr/bin/sh", &words, &environment);
        eprintln!("tailback: {error}");
        1
    });
    match status.map_err(io("certificates"))? {
        0 => {}
        status => return Err(format!("certificates: openssl ended with status {status}")),
    }
    for (name, bytes) in &interop.files {
        let path = format!("{}/{name}", place(number, "www"));
        let write = || {
            let mut file = BufWriter::new(File::create(&path)?);
            for piece in Content::of(name, *bytes) {
                file.write_all(&piece)?;
            }
            file.flush()
        };
        write().map_err(io(&path))?;
    }
    Ok(())
}

/// Adds the files that both sides of an entry share to one side's new root folder. `output` becomes
/// `/logs`.
pub fn show(number: usize, side: usize, output: &str) -> Result<(), String> {
    let writable = [
        ("logs", output.to_owned()),
        ("downloads", place(number, "downloads")),
    ];
    let read_only = [
        ("certs", place(number, "certs")),
        ("www", place(number, "www")),
    ];
    for (name, place) in &writable[..=side] {
        own_folder(&at(name))?;
        process::mount(place, &at(name), "", libc::MS_BIND, "").map_err(io(name))?;
    }
    for (name, place) in &read_only[..2 - side] {
        own_folder(&at(name))?;
        bind(place, &at(name))?;
    }
    let setup = at("setup.sh");
    let Ok(found) = fs::read(&setup) else {
        return Ok(());
    };
    // Keep the first line of the image's script, because it names the shell that runs the script.
    let first = found
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let first = String::from_utf8_lossy(match first {
        shell if shell.starts_with(b"#!") => shell,
        _ => b"#!/bin/sh",
    });
    fs::remove_file(&setup)
        .and_then(|()| fs::write(&setup, format!("{first}\n{SETUP}")))
        .and_then(|()| fs::set_permissions(&setup, fs::Permissions::from_mode(0o755)))
        .map_err(io("/setup.sh"))
}

pub fn hosts(pair: [(Ipv4Addr, Ipv6Addr); 2]) -> String {
    let mut text = "127.0.0.1 sim\n".to_owned();
    for ((four, six), name) in pair.into_iter().zip(HOSTS) {
        text += &format!("{four} {name} {name}4 {name}46\n{six} {name} {name}6 {name}46\n");
    }
    text
}

/// Listens on the port of the runner's network simulator until this process ends, because clients
/// wait for this port.
pub fn listen() -> Result<TcpListener, String> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, SIM_PORT)).map_err(io("the port of sim"))
}

/// The result of a client's downloads.
#[derive(Clone, Debug, Default)]
pub struct Downloads {
    /// Error messages about the first few files that are incomplete or wrong.
    pub wrong: Vec<String>,
    /// Number of files that are complete and correct.
    whole: usize,
    files: usize,
    bytes: u64,
    /// The latest modification time of the correct files, in ns on the guest's wall clock.
    last_ns: i64,
}

impl Downloads {
    /// Checks the files that the client of an entry in `[[programs]]` has downloaded.
    pub fn of(number: usize, interop: &Interop) -> Downloads {
        Downloads::in_folder(Path::new(&place(number, "downloads")), interop)
    }

    fn in_folder(folder: &Path, interop: &Interop) -> Downloads {
        let mut found = Downloads {
            files: interop.files.len(),
            ..Downloads::default()
        };
        for (name, bytes) in &interop.files {
            match arrived(&folder.join(name), name, *bytes) {
                Ok(at) => {
                    found.whole += 1;
                    found.bytes += bytes;
                    found.last_ns = found.last_ns.max(at);
                }
                Err(what) if found.wrong.len() < 5 => found.wrong.push(format!("{name} {what}")),
                Err(_) => {}
            }
        }
        found
    }

    pub fn complete(&self) -> bool {
        self.whole == self.files
    }

    pub fn said(&self) -> String {
        let (whole, files, wrong) = (self.whole, self.files, self.wrong.join(", "));
        format!("{whole} of {files} files arrived complete in /downloads: {wrong}")
    }

    /// Returns the downloads as JSON for a result file. `began_ns` is when the client started, in
    /// ns on the guest's wall clock.
    pub fn report(&self, began_ns: u64) -> String {
        let mut report = json!({
            "files": self.files,
            "whole_files": self.whole,
            "bytes": self.bytes,
        });
        let took = self.last_ns - began_ns.cast_signed();
        if self.complete() && took > 0 {
            let seconds = took as f64 / 1e9;
            report["seconds"] = json!(seconds);
            report["goodput_mbit"] = json!(self.bytes as f64 * 8e-6 / seconds);
        }
        format!("{report:#}\n")
    }
}

/// Returns the modification time of a file if its content is correct. Otherwise returns what is
/// wrong with the file.
fn arrived(path: &Path, name: &str, bytes: u64) -> Result<i64, String> {
    let found = fs::symlink_metadata(path).map_err(|_| "is not there".to_owned())?;
    if !found.is_file() {
        return Err("is no file".to_owned());
    }
    if found.len() != bytes {
        return Err(format!("has {} of {bytes} bytes", found.len()));
    }
    let same = || -> std::io::Result<bool> {
        let mut file = BufReader::new(File::open(path)?);
        for piece in Content::of(name, bytes) {
            let mut read = vec![0; piece.len()];
            file.read_exact(&mut read)?;
            if read != piece {
                return Ok(false);
            }
        }
        Ok(true)
    };
    match same() {
        Ok(true) => Ok(found.mtime() * 1_000_000_000 + found.mtime_nsec()),
        Ok(false) => Err("has other bytes".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Generates the content of a file piece by piece. The content consists of numbers from the
/// generator SplitMix64 (Steele, Lea and Flood 2014). The seed is a hash of the file's name.
struct Content {
    state: u64,
    left: u64,
}

impl Content {
    const PIECE: u64 = 1 << 16;

    fn of(name: &str, bytes: u64) -> Content {
        // The hash FNV-1a.
        let state = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Content { state, left: bytes }
    }
}

impl Iterator for Content {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let len = self.left.min(Self::PIECE) as usize;
        self.left -= len as u64;
        let mut piece = Vec::with_capacity(len + 8);
        while piece.len() < len {
            self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            piece.extend((z ^ (z >> 31)).to_le_bytes());
        }
        piece.truncate(len);
        (len > 0).then_some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrived_is_compared_with_what_was_asked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["a", "b", "c", "d"].map(|name| (name.to_owned(), 100_001));
        let interop = Interop {
            files: files.to_vec(),
        };
        for (name, bytes) in &files[..3] {
            let content: Vec<u8> = Content::of(name, *bytes).flatten().collect();
            assert_eq!(content.len(), 100_001);
            fs::write(folder.path().join(name), content).expect("a file");
        }
        fs::copy(folder.path().join("a"), folder.path().join("b")).expect("a file");
        fs::write(folder.path().join("c"), "short").expect("a file");
        let found = Downloads::in_folder(folder.path(), &interop);
        let expected = "1 of 4 files arrived complete in /downloads: b has other bytes, \
            c has 5 of 100001 bytes, d is not there";
        assert_eq!(found.said(), expected);
        let report: serde_json::Value = serde_json::from_str(&found.report(0)).expect("JSON");
        assert_eq!(
            (&report["whole_files"], &report["seconds"]),
            (&json!(1), &json!(null))
        );
        let one = Interop {
            files: files[..1].to_vec(),
        };
        let mut found = Downloads::in_folder(folder.path(), &one);
        found.last_ns = 3_000_000_000;
        let report: serde_json::Value =
            serde_json::from_str(&found.report(1_000_000_000)).expect("JSON");
        assert_eq!(report["seconds"], json!(2.0));
    }

    #[test]
    fn names_are_of_their_families() {
        let pair = [3, 4].map(|n| {
            (
                Ipv4Addr::new(10, n, 0, 1),
                Ipv6Addr::new(0xFD00, n.into(), 0, 0, 0, 0, 0, 1),
            )
        });
        let text = hosts(pair);
        assert!(
            text.contains("10.3.0.1 server server4 server46\n"),
            "{text}"
        );
        assert!(
            text.contains("fd00:4::1 client client6 client46\n"),
            "{text}"
        );
    }
}
