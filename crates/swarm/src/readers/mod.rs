//! Wraps each reader of the Rust crates in a function that takes bytes. Each function contains
//! checks that must hold for all input bytes. The fuzz targets in `fuzz/` call these functions, and
//! the tests of this crate call them with the seeds in `fuzz/seeds/`.

mod guest;
mod packetdrill;
mod scenario;

/// A function that reads untrusted bytes and checks the result.
pub struct Reader {
    /// Name of the fuzz target, and of the folder with its seeds.
    pub name: &'static str,
    /// Description of the input.
    pub doc: &'static str,
    /// Reads the bytes. Panics if a check fails.
    pub read: fn(&[u8]),
}

/// All readers.
pub const READERS: &[Reader] = &[
    Reader {
        name: "scenario",
        doc: "scenario files",
        read: scenario::read,
    },
    Reader {
        name: "packetdrill",
        doc: "packetdrill scripts, parsed and judged",
        read: packetdrill::read,
    },
    Reader {
        name: "kit",
        doc: "the manifest of a guest kernel",
        read: guest::kit,
    },
    Reader {
        name: "job",
        doc: "the guest's job",
        read: guest::job,
    },
    Reader {
        name: "result",
        doc: "what a guest hands back",
        read: guest::result,
    },
    Reader {
        name: "frame",
        doc: "captured frames",
        read: guest::frames,
    },
    Reader {
        name: "xstats",
        doc: "statistics of queue disciplines from rtnetlink",
        read: guest::statistics,
    },
    Reader {
        name: "accecn",
        doc: "TCP options on their way through a capture, Accurate ECN's among them",
        read: guest::options,
    },
];

/// Returns the reader with the given name.
///
/// # Panics
/// If no reader has the given name.
pub fn reader(name: &str) -> fn(&[u8]) {
    let found = READERS.iter().find(|reader| reader.name == name);
    found.unwrap_or_else(|| panic!("no reader {name}")).read
}
