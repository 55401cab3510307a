//! Hashes the sources of the engine and of the measurements into the engine's
//! version, so that a stored result never outlives the code it came from.

#![allow(
    clippy::disallowed_methods,
    reason = "the bans are for the engine, this runs when it is built"
)]

use std::path::{Path, PathBuf};

fn main() {
    let mut files = Vec::new();
    for dir in ["src", "../record/src"] {
        println!("cargo:rerun-if-changed={dir}");
        collect(Path::new(dir), &mut files);
    }
    files.sort();
    // FNV-1a, 64 bits: an accidental collision between two states of the
    // sources is out of reach, and nothing here is adversarial.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        for byte in std::fs::read(&file).expect("a source file that was just listed") {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    let release = std::env::var("CARGO_PKG_VERSION").expect("set by cargo");
    println!("cargo:rustc-env=TAILBACK_ENGINE_VERSION={release}+{hash:016x}");
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
