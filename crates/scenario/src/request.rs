//! The request to load a scenario.

use tailback_engine::keys::EngineKind;
use tailback_engine::plan::{Plan, Refusal};

/// A function that returns the text of a file to which a scenario refers, or an error. The path of
/// this file is relative to the scenario file.
pub type Loader<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// A file or folder to which a scenario refers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Absolute path of the file or folder.
    pub path: String,
    /// Hash of the content (see [`crate::Contents`]).
    pub hash: String,
}

/// A function that finds a file or folder to which a scenario refers, or returns an error. The path
/// of the file or folder is relative to the scenario file.
pub type FileLoader<'a> = dyn Fn(&str) -> Result<Found, String> + 'a;

/// The option `--set key=value`. The value is TOML, or a bare word, which stands for a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// A path as in `[sweep]`: `bottleneck.rate`, `flows[0].rtt`, `flows.cubic.cc`.
    pub key: String,
    /// The value as TOML, or as a bare word.
    pub value: String,
}

/// A function that returns the settings of a plan that an engine does not support. The function is
/// called for every sweep point, even if the plan has errors. In a plan with errors, defaults
/// replace the wrong values. A plan with errors also omits parts that cannot run, such as a flow
/// without a route, or a flow with an unknown congestion control.
pub type Judge<'a> = dyn Fn(&Plan) -> Vec<Refusal> + 'a;

/// A request to load a scenario.
pub struct Request<'a> {
    /// The file's content.
    pub text: &'a [u8],
    /// Name of the file, for messages.
    pub file: &'a str,
    /// The overrides (`--set`), in order. Overrides replace values of the file and of its sweep. An
    /// overridden key is no longer swept.
    pub overrides: &'a [Override],
    /// Number of seeds, if this number overrides `sweep.seeds`.
    pub seeds: Option<u64>,
    /// The function that reads the files to which the scenario refers.
    pub loader: &'a Loader<'a>,
    /// The function that finds and hashes files for the scenario's programs.
    pub files: &'a FileLoader<'a>,
    /// The function that finds and hashes root folders of programs.
    pub roots: &'a FileLoader<'a>,
    /// Memory that a run may use, in bytes. A scenario with too many flows is rejected before
    /// memory for the flows is allocated.
    pub memory: Option<u64>,
    /// The engine that will run the scenario.
    pub engine: EngineKind,
    /// Version of the engine, which is part of the ids of runs.
    pub engine_version: &'a str,
    /// Whether the caller attaches endpoints to the entries of `[[programs]]`, and the entries
    /// therefore run in the simulator without programs.
    pub endpoints: bool,
    /// The function that returns the settings that the engine does not support. This function need
    /// not check limits that are declared together with keys or registry entries.
    pub judge: Option<&'a Judge<'a>>,
}

impl<'a> Request<'a> {
    /// Makes a request for the simulator with default settings and an empty engine version.
    pub fn new(text: &'a [u8], file: &'a str, loader: &'a Loader<'a>) -> Request<'a> {
        Request {
            text,
            file,
            overrides: &[],
            seeds: None,
            loader,
            files: &|_| Err("there are no other files here".to_owned()),
            roots: &|_| Err("there are no other files here".to_owned()),
            memory: None,
            engine: EngineKind::Sim,
            engine_version: EngineKind::Sim.name(),
            endpoints: false,
            judge: None,
        }
    }
}
