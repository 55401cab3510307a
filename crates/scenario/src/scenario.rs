//! A scenario with its sweep expanded.

use std::sync::Arc;

use tailback_engine::keys::EngineKind;
use tailback_engine::plan::Plan;

use crate::declare::Assert;
use crate::hash;
use crate::read::Diagnostic;
use crate::request::Override;

/// A scenario, valid at every point.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's name, for messages.
    pub file: String,
    /// Its title.
    pub title: String,
    /// The engine it was loaded for.
    pub engine: EngineKind,
    /// Version of that engine; if its points have several, each once.
    pub engine_version: String,
    /// Names the sweep: a hash of the runs it consists of.
    pub id: String,
    /// What is swept, slowest first; seeds are not an axis.
    pub axes: Vec<Axis>,
    /// The runs: last axis fastest, then seeds.
    pub points: Vec<Point>,
    /// What must hold.
    pub asserts: Vec<Assert>,
    /// Settings that are allowed but unusual.
    pub warnings: Vec<Diagnostic>,
    /// The source that it was read from.
    pub source: Arc<Source>,
}

/// The source of a scenario: reading it again gives the same scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The file's content.
    pub text: String,
    /// `--set`, in order.
    pub overrides: Vec<Override>,
    /// The value that replaced `sweep.seeds`.
    pub seeds: Option<u64>,
    /// Traces that it names, as it names them.
    pub files: Vec<String>,
    /// `[sweep]` with the values that are set in it, as JSON in the order of the file; a table
    /// without keys if the file has no sweep.
    pub sweep: String,
}

impl Scenario {
    /// Returns the same scenario for other versions of its engine, by the kernel that a point
    /// names: only names change.
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

/// An axis of a sweep: one key, or several that advance together.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The paths, as they are written.
    pub keys: Vec<String>,
    /// The values: one for each key, position by position. A number that depends on the point (a
    /// multiple of the bdp) is shown as in the file.
    pub values: Vec<Vec<Param>>,
}

/// A value of a swept key.
#[derive(Clone, Debug, PartialEq)]
pub enum Param {
    /// Base units: ns, bytes, bit/s.
    Number(f64),
    /// A name, or a table as TOML.
    Name(String),
}

/// One run. It shares data with the other seeds of its point.
#[derive(Clone, Debug)]
pub struct Point {
    /// The swept keys and their values here.
    pub params: Arc<[(String, Param)]>,
    /// The same values as in the file, for people: "10Mbit", "0.5bdp".
    pub labels: Arc<[String]>,
    /// The seed.
    pub seed: u64,
    /// Names the run: a hash of `canonical`, the seed and the engine's version.
    pub run_id: String,
    /// Version of the engine that runs it.
    pub engine_version: Arc<str>,
    /// JSON: everything but the seed, with defaults filled in, base units and sorted keys.
    pub canonical: Arc<str>,
    /// The point with the same seed in which every flow has its standard backoff, by its index in
    /// the sweep: the baseline of gains. `None` if no flow has its own backoff for ECN-Echo, or if
    /// this point does not exist.
    pub baseline: Option<usize>,
    /// The input of the engine, with the seed.
    pub plan: Arc<Plan>,
}
