//! Hashes the sources of the engine and of the measurements, and the versions
//! of the libraries that numbers come from, into the engine's version, so that
//! a stored result never outlives the code it came from.

#![allow(
    clippy::disallowed_methods,
    reason = "the bans are for the engine, this runs when it is built"
)]

use std::path::{Path, PathBuf};

/// What the workspace builds with, wherever it is built from: a checkout and
/// maturin's source distribution both have it.
const LOCK: &str = "../../Cargo.lock";

/// Another release of these may give other numbers: the elementary functions
/// and the random generator.
const NUMERIC: [&str; 2] = ["libm", "rand_pcg"];

fn main() {
    let mut files = Vec::new();
    for dir in ["src", "../record/src"] {
        println!("cargo:rerun-if-changed={dir}");
        collect(Path::new(dir), &mut files);
    }
    files.sort();
    let mut hash = Fnv::default();
    for file in files {
        hash.update(&std::fs::read(&file).expect("a source file that was just listed"));
    }
    println!("cargo:rerun-if-changed={LOCK}");
    let lock = std::fs::read_to_string(LOCK)
        .unwrap_or_else(|e| panic!("{LOCK} is part of the engine's version: {e}"));
    for name in NUMERIC {
        let lines = locked(&lock, name);
        assert!(!lines.is_empty(), "{LOCK} has no package {name}");
        lines.iter().for_each(|line| hash.update(line.as_bytes()));
    }
    let release = std::env::var("CARGO_PKG_VERSION").expect("set by cargo");
    let hash = hash.0;
    println!("cargo:rustc-env=TAILBACK_ENGINE_VERSION={release}+{hash:016x}");
}

/// What a lock file says of a package: name, version, origin and checksum.
fn locked<'l>(lock: &'l str, name: &str) -> Vec<&'l str> {
    let head = format!("name = \"{name}\"");
    lock.split("[[package]]")
        .map(|entry| entry.trim().lines())
        .filter(|lines| lines.clone().next() == Some(&head))
        .flat_map(|lines| lines.take_while(|line| !line.starts_with("dependencies")))
        .collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// FNV-1a, 64 bits: an accidental collision between two states of the sources
/// is out of reach, and nothing here is adversarial.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
