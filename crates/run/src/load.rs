//! Loads a scenario file, and the files to which it refers.

use std::path::Path;

use tailback_engine::plan::Plan;
use tailback_guest::map::{Kit, judge};
use tailback_record::foreign::read_text;
use tailback_scenario::{
    Diagnostic, EngineKind, Judge, Override, Request, Scenario, check_memory, load_request,
};

use crate::{VERSION, crates, files};

/// Largest size of a trace, bytes. For comparison, a trace of ten million lines is 90 MB long.
const MAX_TRACE: u64 = 128 << 20;

/// A scenario and the engine that will run it.
pub struct Source<'a> {
    /// The file's content.
    pub text: &'a [u8],
    /// Name of the file, for messages.
    pub file: &'a str,
    /// Folder to which relative file names in the scenario refer.
    pub folder: &'a Path,
    /// The overrides (`--set`), in order.
    pub overrides: &'a [Override],
    /// Number of seeds, if this number overrides `sweep.seeds`.
    pub seeds: Option<u64>,
    /// Memory that a run may use, bytes. `None` disables the check.
    pub memory: Option<u64>,
    /// The engine that will run the scenario.
    pub engine: EngineKind,
    /// Version of the engine. `None` stands for [`VERSION`], or for "kernel" if the kernel is
    /// unknown.
    pub engine_version: Option<&'a str>,
    /// The contents of the guest kernel, if known.
    pub kit: Option<&'a Kit>,
}

/// Reads and checks a scenario and expands its sweep.
///
/// # Errors
/// Returns all errors in the scenario.
pub fn load(source: &Source<'_>) -> Result<Scenario, Vec<Diagnostic>> {
    let refusals = |plan: &Plan| source.kit.map_or_else(Vec::new, |kit| judge(plan, kit));
    let version = source.engine_version.unwrap_or(match source.engine {
        EngineKind::Sim => VERSION,
        EngineKind::Kernel => EngineKind::Kernel.name(),
    });
    let beside = |name: &str| read_text(&source.folder.join(name), MAX_TRACE);
    let files = |name: &str| files::find(&source.folder.join(name));
    let roots = |name: &str| files::find_root(&source.folder.join(name));
    let scenario = load_request(&Request {
        overrides: source.overrides,
        seeds: source.seeds,
        memory: source.memory,
        engine: source.engine,
        engine_version: &crates::versioned(version),
        files: &files,
        roots: &roots,
        judge: source.kit.map(|_| &refusals as &Judge<'_>),
        ..Request::new(source.text, source.file, &beside)
    })?;
    if let Some(available) = source.memory {
        check_memory(&scenario, available).map_err(|diagnostic| vec![diagnostic])?;
    }
    Ok(scenario)
}
