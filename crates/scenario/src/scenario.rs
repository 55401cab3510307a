//! A scenario with its sweep expanded.

use std::sync::Arc;

use tailback_engine::keys::EngineKind;
use tailback_engine::plan::Plan;

use crate::declare::Assert;
use crate::hash;
use crate::read::Diagnostic;
use crate::request::Override;

/// A scenario whose sweep points are all valid.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name of the file, for messages.
    pub file: String,
    /// Title of the scenario.
    pub title: String,
    /// The engine for which the scenario was loaded.
    pub engine: EngineKind,
    /// Version of the engine, or a list of versions if the sweep points use different versions.
    pub engine_version: String,
    /// Id of the sweep: a hash of the ids of its runs.
    pub id: String,
    /// Axes of the sweep, without the seeds. The axis that varies slowest comes first.
    pub axes: Vec<Axis>,
    /// The runs. The seeds vary fastest, and then the values of the last axis.
    pub points: Vec<Point>,
    /// The assertions to check after the runs.
    pub asserts: Vec<Assert>,
    /// Settings that are allowed but unusual.
    pub warnings: Vec<Diagnostic>,
    /// The texts from which the scenario was read.
    pub source: Arc<Source>,
}

/// The texts from which a scenario was read. If these texts are loaded again, the result is the
/// same scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The file's content.
    pub text: String,
    /// The overrides (`--set`), in order.
    pub overrides: Vec<Override>,
    /// Number of seeds, if this number overrode `sweep.seeds`.
    pub seeds: Option<u64>,
    /// Names of the traces and of the files with lists of values, as written in the scenario.
    pub files: Vec<String>,
    /// `[sweep]` after overrides, as JSON in file order, or `{}` without a sweep.
    pub sweep: String,
    /// The keys of `[sweep]` that overrides replaced with one value.
    pub replaced: Vec<ReplacedSweep>,
}

/// A swept key that an override replaced with one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedSweep {
    /// Index of the override in [`Source::overrides`].
    pub set: usize,
    /// The key in the form in which `[sweep]` contains it.
    pub key: String,
    /// Number of values that the sweep lists.
    pub values: usize,
}

impl Scenario {
    /// Replaces the version of the engine. `version_of` returns the version for a sweep point's
    /// kernel. Only the ids of the runs and of the sweep change with the version.
    pub fn versioned(mut self, version_of: impl Fn(Option<&str>) -> Arc<str>) -> Scenario {
        let mut versions: Vec<Arc<str>> = Vec::new();
        for point in &mut self.points {
            let version = version_of(point.plan.kernel.as_deref());
            point.run_id = hash::run_id(&point.canonical, point.seed, &version);
            if !versions.contains(&version) {
                versions.push(Arc::clone(&version));
            }
            point.engine_version = version;
        }
        self.id = hash::sweep_id(self.points.iter().map(|point| point.run_id.as_str()));
        self.engine_version = versions.join(", ");
        self
    }
}

/// An axis of a sweep: one key, or several keys that advance together.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The paths of the keys, as the user wrote them in the file.
    pub keys: Vec<String>,
    /// The values of all keys of the axis, for each position on the axis. A multiple of the bdp
    /// depends on the sweep point, so it is stored in the form in which the user wrote it.
    pub values: Vec<Vec<Param>>,
}

/// A value of a swept key.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// A number in base units (ns, bytes or bit/s).
    Number(f64),
    /// A name, or a table as TOML.
    Name(String),
}

/// One run: a combination of swept values and a seed. Runs that differ only in their seeds share
/// data.
#[derive(Clone, Debug)]
pub struct Point {
    /// The swept keys, with their values at this sweep point.
    pub params: Arc<[(String, Param)]>,
    /// The values of `params` in the form in which the user wrote them, such as "10Mbit" and
    /// "0.5bdp".
    pub labels: Arc<[String]>,
    /// Seed of the run.
    pub seed: u64,
    /// Id of the run: a hash of `canonical`, the seed and the engine's version.
    pub run_id: String,
    /// Version of the engine that will run the sweep point.
    pub engine_version: Arc<str>,
    /// The canonical form as JSON. The canonical form contains all settings except the seed, with
    /// defaults, base units and sorted keys.
    pub canonical: Arc<str>,
    /// Index of the baseline, which is the run that is compared with this run to compute gains. The
    /// baseline has the same seed, and all its flows have the standard response to marks. `None` if
    /// all flows of this run have the standard response, or if the sweep contains no baseline for
    /// this run.
    pub baseline: Option<usize>,
    /// The engine's input, without the seed.
    pub plan: Arc<Plan>,
}
