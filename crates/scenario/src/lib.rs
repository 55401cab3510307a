//! Reads scenario files (TOML) and makes a complete plan for each run.
//!
//! [`load()`] parses a file, applies `--set`, expands the sweep and validates every sweep point
//! (combination of swept values and seed). `load()` reports all errors at once, each with its
//! position. This crate does no I/O. The caller reads the scenario file, and provides
//! [`Request::loader`] to read the files to which the scenario refers.
//!
//! The modules, in the order of the data flow:
//!
//! | module | purpose |
//! |---|---|
//! | `read` | text as a tree with spans, paths, diagnostics |
//! | `declare` | what a file may contain: keys and options by kind, their reader; the schema |
//! | `expand` | the sweep: its points, seeds, assertions, baselines |
//! | `plan` | a sweep point's tree as the plan of a run |
//! | `canonical`, `hash` | the canonical form of a sweep point, and the ids of runs |
//! | `memory`, `cost`, `response` | estimates of a run's memory and packets |
//! | [`outline`] | the values of a file with their positions, for editors |
//! | [`registry`] | the registries as JSON |

mod canonical;
mod cost;
mod declare;
mod expand;
mod hash;
mod load;
mod memory;
pub mod outline;
mod plan;
mod read;
pub mod registry;
mod request;
mod response;
mod scenario;

pub use tailback_engine::keys::EngineKind;
pub use tailback_engine::plan::Refusal;

pub use cost::estimate_packets;
pub use declare::{Assert, KeyPath, MetricName, json_schema, key_paths, metrics};
pub use hash::Contents;
pub use load::{MAX_FILE, load, load_request, load_with, named_plugins};
pub use memory::{check_memory, estimate_memory};
pub use read::{Diagnostic, Place};
pub use request::{FileLoader, Found, Judge, Loader, Override, Request};
pub use scenario::{Axis, Param, Point, ReplacedSweep, Scenario, Source};
