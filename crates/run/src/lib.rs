//! Runs the sweep points of a scenario: its combinations of swept values and seeds. This crate
//! simulates in slices, so that a run can be cancelled. The crate also catches panics, and writes
//! packet captures and run folders.
//!
//! | module | purpose |
//! |---|---|
//! | [`load()`] | loads a scenario file with its traces, and checks it for an engine and the available memory |
//! | [`simulate()`] | simulates a plan, without files or clocks |
//! | [`cores`] | simulates a plan on several cores |
//! | [`run()`] | runs a sweep point on the simulator and stores its run folder |
//! | [`guest`] | stores the result of a guest of the kernel engine as a run folder |
//! | [`crates`] | the algorithms that plugins register, and the version of an engine with plugins |
//! | [`capture`] | writes packets of the simulator as pcapng |
//! | [`panics`] | turns panics of a run into errors of that run |

use std::fmt;
use std::io;

pub mod capture;
mod control;
pub mod cores;
pub mod crates;
mod files;
pub mod guest;
mod left;
mod load;
mod machine;
mod manifest;
pub mod panics;
mod sim;
mod simulate;

pub use control::Control;
pub use load::{Source, load};
pub use sim::run;
pub use simulate::{Recorder, simulate};

/// Version of the simulator: its release, and a hash of everything that can change a result.
/// tailback never combines results of two versions.
pub const VERSION: &str = env!("TAILBACK_ENGINE_VERSION");

/// Why a run did not produce a run folder.
#[derive(Debug)]
pub enum Failure {
    /// The caller cancelled the run.
    Cancelled,
    /// The engine panicked, with the given message.
    Panic(String),
    /// A file could not be read or written.
    Io(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Cancelled => f.write_str("cancelled"),
            Failure::Panic(message) => f.write_str(message),
            Failure::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}
