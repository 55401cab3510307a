//! Computes the engine's version, which is its release and a hash of everything that can change a
//! result. With this version, tailback detects whether the current code would produce the same
//! results as a stored run.

mod sources;

use sources::{Hash, files, hash_rust};

/// Root files of all code that determines results: the simulator, the measurements, and the writers
/// of captures and run folders. The code that reads scenario files does not count, because the
/// canonical form of a sweep point contains everything that this code reads. The crate `wasm`
/// includes this script and must compute the same version. The paths therefore begin outside this
/// crate.
const ROOTS: [&str; 3] = [
    "../engine/src/lib.rs",
    "../record/src/lib.rs",
    "../run/src/lib.rs",
];

/// The lock file of the workspace. This file exists both in a checkout and in maturin's source
/// distribution.
const LOCK: &str = "../../Cargo.lock";

/// Libraries whose releases may change the bytes of results: elementary functions, the random
/// number generator, and the writers of tables and numbers.
const LIBRARIES: [&str; 4] = ["libm", "parquet", "rand_pcg", "serde_json"];

fn main() {
    let mut hash = Hash::default();
    for root in ROOTS {
        for file in files(root.as_ref()) {
            println!("cargo:rerun-if-changed={}", file.display());
            let text = std::fs::read_to_string(&file).expect("a module that was just found");
            hash_rust(&text, &mut hash);
        }
    }
    println!("cargo:rerun-if-changed={LOCK}");
    let lock = std::fs::read_to_string(LOCK)
        .unwrap_or_else(|e| panic!("{LOCK} is part of the engine's version: {e}"));
    for name in LIBRARIES {
        let lines = locked(&lock, name);
        assert!(!lines.is_empty(), "{LOCK} has no package {name}");
        lines.iter().for_each(|line| hash.update(line));
    }
    let release = std::env::var("CARGO_PKG_VERSION").expect("set by cargo");
    let hash = hash.value();
    println!("cargo:rustc-env=TAILBACK_ENGINE_VERSION={release}+{hash:016x}");
}

/// Returns the entry of a package in a lock file, with name, version, origin and checksum.
fn locked<'l>(lock: &'l str, name: &str) -> Vec<&'l str> {
    let head = format!("name = \"{name}\"");
    lock.split("[[package]]")
        .map(|entry| entry.trim().lines())
        .filter(|lines| lines.clone().next() == Some(&head))
        .flat_map(|lines| lines.take_while(|line| !line.starts_with("dependencies")))
        .collect()
}
