//! Errors of a simulation.

use std::fmt;

use tailback_engine::endpoint::{FaultKind, Side};
use tailback_engine::units::Time;
use tailback_scenario::Diagnostic;

/// Why a simulation failed or could not be created.
///
/// `Debug` prints the text of `Display`, so that `unwrap` in a test prints a readable message.
#[non_exhaustive]
pub enum Error {
    /// The scenario is invalid.
    Scenario(Vec<Diagnostic>),
    /// The scenario has a sweep with the given number of runs.
    Sweep(usize),
    /// The scenario contains `[[assert]]`, which only the command line evaluates.
    Asserts,
    /// No entry of `[[programs]]` has the given name.
    Entry {
        /// The name that does not exist.
        name: String,
        /// The names of all entries.
        known: Vec<String>,
    },
    /// A [`crate::Capture`] selects a link, flow, entry or other traffic that does not exist.
    Captured {
        /// The name that does not exist.
        name: String,
        /// The names of all links, or of all flows, other traffic and entries.
        known: Vec<String>,
    },
    /// Some entries of `[[programs]]` have no endpoints. The list contains their names.
    Unattached(Vec<String>),
    /// The scenario has the given number of entries of `[[programs]]`, but a [`crate::Bottleneck`]
    /// needs exactly one entry.
    Entries(usize),
    /// An endpoint violated a rule. Without this error, the run would not end, or would fill the
    /// memory.
    Fault {
        /// Name of the endpoint's entry.
        name: String,
        /// Side of the endpoint.
        side: Side,
        /// Simulated time at which the endpoint violated the rule.
        at: Time,
        /// The rule that the endpoint violated.
        kind: FaultKind,
    },
    /// An endpoint or the engine panicked with the given message.
    Panic(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Scenario(diagnostics) => {
                for (number, diagnostic) in diagnostics.iter().enumerate() {
                    if number > 0 {
                        writeln!(f)?;
                    }
                    write_diagnostic(f, diagnostic)?;
                }
                Ok(())
            }
            Error::Sweep(points) => write!(
                f,
                "the scenario has a sweep of {points} runs; remove [sweep], and set values with \
                 `Simulation::from_toml_with`"
            ),
            Error::Asserts => write!(
                f,
                "the scenario has [[assert]], which only the command line checks; assert on \
                 `Results` instead"
            ),
            Error::Entry { name, known } => {
                write!(f, "there is no entry of [[programs]] named \"{name}\"; ")?;
                match known.as_slice() {
                    [] => write!(f, "add [[programs]] with name = \"{name}\""),
                    known => write!(f, "use one of {}", known.join(", ")),
                }
            }
            Error::Captured { name, known } => write!(
                f,
                "there is no \"{name}\" to capture; use one of {}",
                known.join(", ")
            ),
            Error::Unattached(names) => write!(
                f,
                "no endpoints are attached to {}; call `Simulation::attach`",
                names.join(", ")
            ),
            Error::Entries(count) => write!(
                f,
                "a bottleneck needs one entry of [[programs]] for its datagrams, and the scenario \
                 has {count}; write [[programs]] with name = \"mine\""
            ),
            Error::Fault {
                name,
                side,
                at,
                kind,
            } => write!(
                f,
                "the {} of \"{name}\" {} (at {:.6} s)",
                side.name(),
                kind.describe(),
                at.as_secs_f64()
            ),
            Error::Panic(message) => write!(f, "the run panicked: {message}"),
        }
    }
}

/// Writes an error with the line of the file, a caret, and advice on how to correct the error.
fn write_diagnostic(f: &mut fmt::Formatter<'_>, diagnostic: &Diagnostic) -> fmt::Result {
    write!(f, "error: {diagnostic}")?;
    let place = &diagnostic.place;
    if !place.text.is_empty() {
        let carets = "^".repeat(place.width.max(1));
        let indent = place.column.saturating_sub(1);
        write!(f, "\n  {}\n  {:indent$}{carets}", place.text, "")?;
    }
    if let Some(help) = &diagnostic.help {
        write!(f, "\n  help: {help}")?;
    }
    Ok(())
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
