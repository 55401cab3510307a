//! Scenario files: TOML in, runs with everything resolved out.
//!
//! [`load`] parses a file, applies `--set`, expands the sweep and validates
//! every point; all that is wrong is reported at once, each thing at its
//! place. There is no I/O here: who calls reads the file, and hands
//! [`Request::loader`] what reads a trace beside it.

mod asserts;
mod baselines;
mod build;
mod canonical;
mod diagnostic;
mod keys;
mod memory;
mod places;
mod read;
mod schema;
mod sweep;
mod trace;
mod tree;

use std::sync::Arc;

pub use tailback_engine::keys::EngineKind;
use tailback_engine::plan::Plan;
pub use tailback_engine::plan::Refusal;

pub use diagnostic::Diagnostic;
pub use keys::{Assert, METRICS, Scope};
pub use memory::{check_memory, estimate_memory};
pub use schema::json_schema;

use diagnostic::{Problem, render};
use read::Reader;
use sweep::Sweep;
use tree::{Node, Path, Sources, Span};

/// Larger files are refused unread, bytes: a scenario is written by hand or by
/// a script that should have used a sweep, and its errors take up to 300 times
/// its size.
pub const MAX_FILE: usize = 1 << 20;

/// The most flows and sources of all points together.
const MAX_TOTAL_FLOWS: u64 = 2_000_000;

/// The most values of all points together: each point is a copy of the file that
/// is read anew, some 0.5 us and 50 bytes for a value.
const MAX_TOTAL_VALUES: u64 = 20_000_000;

/// Gives the text of a file that a scenario names, relative to the scenario,
/// or what is wrong.
pub type Loader<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// `--set key=value`: the value is TOML, a bare word is a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// A path as in `[sweep]`: `bottleneck.rate`, `flows[0].rtt`, `flows.cubic.cc`.
    pub key: String,
    /// TOML, or a bare word.
    pub value: String,
}

/// Says what an engine cannot play of a plan. It is asked about every point
/// and must cope with plans that have errors: what is wrong in the file has
/// its default there, and what makes no sense (a flow without a known
/// congestion control, a missing route) is left out.
pub type Judge<'a> = dyn Fn(&Plan) -> Vec<Refusal> + 'a;

/// What to load.
pub struct Request<'a> {
    /// The file's content.
    pub text: &'a [u8],
    /// Its name, for messages.
    pub file: &'a str,
    /// Applied in order. They win over the file and over its sweep: a key
    /// that is set is no longer swept.
    pub overrides: &'a [Override],
    /// Replaces `sweep.seeds`.
    pub seeds: Option<u64>,
    /// Reads the files that the scenario names.
    pub loader: &'a Loader<'a>,
    /// Memory that a run may use, bytes. A scenario whose flows do not fit is
    /// refused before they are put into memory.
    pub memory: Option<u64>,
    /// The engine that is to play it.
    pub engine: EngineKind,
    /// Version of that engine, part of the names of runs.
    pub engine_version: &'a str,
    /// What the engine refuses beyond what the keys and registries tell.
    pub judge: Option<&'a Judge<'a>>,
}

impl<'a> Request<'a> {
    /// A file for a simulator of no particular version, nothing else set.
    pub fn new(text: &'a [u8], file: &'a str, loader: &'a Loader<'a>) -> Request<'a> {
        Request {
            text,
            file,
            overrides: &[],
            seeds: None,
            loader,
            memory: None,
            engine: EngineKind::Sim,
            engine_version: EngineKind::Sim.name(),
            judge: None,
        }
    }
}

/// A scenario, valid at every point.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's name, for messages.
    pub file: String,
    /// Its title.
    pub title: String,
    /// The engine it was loaded for.
    pub engine: EngineKind,
    /// Version of that engine, as it is part of the names of runs.
    pub engine_version: String,
    /// Names the sweep: a hash of the runs it consists of.
    pub id: String,
    /// What is swept, slowest first; seeds are not an axis.
    pub axes: Vec<Axis>,
    /// The runs: last axis fastest, then seeds.
    pub points: Vec<Point>,
    /// What must hold.
    pub asserts: Vec<Assert>,
    /// What is allowed but unusual.
    pub warnings: Vec<Diagnostic>,
}

/// An axis of a sweep: one key, or several that advance together.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The paths, as they are written.
    pub keys: Vec<String>,
    /// The values: one for each key, position by position. A number that
    /// depends on the point (a multiple of the bdp) is shown as it is written.
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

/// One run. What the seeds of a point have in common they share.
#[derive(Clone, Debug)]
pub struct Point {
    /// The swept keys and their values here.
    pub params: Arc<[(String, Param)]>,
    /// The same values as they are written, for people: "10Mbit", "0.5bdp".
    pub labels: Arc<[String]>,
    /// The seed.
    pub seed: u64,
    /// Names the run: a hash of `canonical`, the seed and the engine's version.
    pub run_id: String,
    /// JSON: everything but the seed, with defaults filled in, base units and sorted keys.
    pub canonical: Arc<str>,
    /// The point with the same seed in which every flow has its standard
    /// backoff, by its place in the sweep: what gains are over. `None` if no
    /// flow has a backoff of its own for ECN-Echo, or there is no such point.
    pub baseline: Option<usize>,
    /// The plan without this run's seed.
    pub shape: Arc<Plan>,
}

impl Point {
    /// What the engine is given.
    pub fn plan(&self) -> Plan {
        Plan {
            seed: self.seed,
            ..Plan::clone(&self.shape)
        }
    }
}

/// Loads a scenario that names no other files.
pub fn load(
    text: &[u8],
    file: &str,
    overrides: &[Override],
    seeds: Option<u64>,
) -> Result<Scenario, Vec<Diagnostic>> {
    load_with(text, file, overrides, seeds, &|_| {
        Err("there are no other files here".to_owned())
    })
}

/// Loads a scenario.
pub fn load_with(
    text: &[u8],
    file: &str,
    overrides: &[Override],
    seeds: Option<u64>,
    loader: &Loader<'_>,
) -> Result<Scenario, Vec<Diagnostic>> {
    load_request(&Request {
        overrides,
        seeds,
        ..Request::new(text, file, loader)
    })
}

/// Loads a scenario.
pub fn load_request(request: &Request<'_>) -> Result<Scenario, Vec<Diagnostic>> {
    let text = decode(request.text, request.file).map_err(|diagnostic| vec![diagnostic])?;
    let mut sources = Sources::default();
    sources.add(request.file, text);
    let mut problems = Vec::new();
    let root = tree::parse(text, 0, &mut problems);
    if problems.is_empty() {
        return expand(request, root, &mut sources).map_err(|problems| render(problems, &sources));
    }
    // With syntax errors, part of the file is missing from the tree: what else
    // is wrong can be told only where the parser did not lose its way.
    let syntax = problems.clone();
    let lost = syntax
        .iter()
        .filter(|problem| !problem.local)
        .map(|problem| problem.span)
        .min();
    let lines: Vec<usize> = syntax.iter().map(|p| sources.line(p.span)).collect();
    // One error on a line is enough: the parser stumbles on from the first.
    let mut reported = std::collections::BTreeSet::new();
    problems.sort();
    problems.retain(|problem| reported.insert(sources.line(problem.span)));
    if let Err(found) = expand(request, root, &mut sources) {
        problems.extend(found.into_iter().filter(|problem| {
            problem.local
                && problem.span.end > 0
                && lost.is_none_or(|lost| problem.span < lost)
                && !lines.contains(&sources.line(problem.span))
        }));
    }
    Err(render(problems, &sources))
}

/// Text from bytes.
fn decode<'t>(bytes: &'t [u8], file: &str) -> Result<&'t str, Diagnostic> {
    let at_start = |message: String, expected: String| Diagnostic {
        file: file.to_owned(),
        line: 1,
        column: 1,
        message,
        expected: Some(expected),
        nearest: None,
    };
    if bytes.len() > MAX_FILE {
        let mib = memory::mib(bytes.len() as u64);
        return Err(at_start(
            format!("the file is too large for a scenario, {mib} MiB"),
            format!("at most {} MiB", memory::mib(MAX_FILE as u64)),
        ));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        Diagnostic {
            line,
            column,
            ..at_start(
                format!("byte 0x{byte:02x} is not UTF-8"),
                "a text file in UTF-8".to_owned(),
            )
        }
    })
}

/// A `--set`, parsed.
struct Set {
    path: Path,
    value: Node,
}

fn expand(
    request: &Request<'_>,
    mut root: Node,
    sources: &mut Sources,
) -> Result<Scenario, Vec<Problem>> {
    let mut problems = Vec::new();
    if root.table().is_some_and(|table| table.0.is_empty()) && request.overrides.is_empty() {
        let problem = Problem::new(Span::default(), "the scenario is empty");
        return Err(vec![problem.expected(
            "at least \"duration\", a [bottleneck] with its \"rate\", and [[flows]] with their \"cc\"",
        )]);
    }
    build::name_flows(&mut root);
    // Paths name flows as the file does, whatever is set.
    let named = root.clone();
    let sets = overrides(request, &mut root, &named, sources, &mut problems);
    let mut sweep = sweep::read(&root, &mut problems);
    // The tree is copied for each point: the lists need not come along.
    if let tree::Toml::Table(table) = &mut root.value {
        table.0.retain(|item| item.key != "sweep");
    }
    if let Some(seeds) = request.seeds {
        let text = seeds.to_string();
        let source = sources.add("--seeds", &text);
        sweep.seeds = seeds;
        sweep.seeds_span = Span::new(source, 0..text.len());
        if seeds == 0 {
            sweep.seeds = 1;
            problems.push(Problem::new(sweep.seeds_span, "0 seeds").expected("at least 1"));
        }
    }
    for dimension in &mut sweep.dimensions {
        dimension.keys.retain_mut(|key| {
            key.path = sweep::resolve(&named, &key.path);
            // A key that is set has that one value.
            if sets.iter().any(|set| key.path.same(&set.path)) {
                return false;
            }
            let inside: Vec<&Set> = sets
                .iter()
                .filter(|set| key.path.is_prefix_of(&set.path))
                .collect();
            // That the path leads somewhere is seen with one value; what is
            // set inside a swept table holds in each of its values.
            let affected = if inside.is_empty() { 1 } else { usize::MAX };
            for value in key.values.iter_mut().take(affected) {
                let inside = inside.iter().map(|set| (&set.path, &set.value));
                match sweep::grafted(&root, &key.path, value, inside) {
                    Ok(whole) => *value = whole,
                    Err(problem) => {
                        problems.push(problem);
                        return false;
                    }
                }
            }
            true
        });
    }
    sweep
        .dimensions
        .retain(|dimension| !dimension.keys.is_empty());
    check_size(&sweep, &mut problems);
    let mut reader = Reader::new(request.loader, request.memory, request.engine);
    for dimension in &sweep.dimensions {
        for key in &dimension.keys {
            reader.watched.extend(key.values.iter().map(|v| v.span));
        }
    }
    let sound = problems.is_empty();
    let runs = runs(&root, &sweep, &mut reader, request.judge, sound);
    let baselines = baselines::baselines(&runs, &reader.traces);
    let asserts = asserts::read(&root, &runs, &baselines, &mut reader);
    problems.append(&mut reader.problems);
    if !sound || !problems.is_empty() {
        return Err(problems);
    }
    let axes = axes(&sweep, &runs);
    let mut points = Vec::with_capacity(runs.len() * sweep.seeds as usize);
    for (run, baseline) in runs.into_iter().zip(baselines) {
        let canonical: Arc<str> = canonical::canonical(&run.plan, &reader.traces).into();
        let (params, labels): (Arc<[_]>, Arc<[_]>) = (run.params.into(), run.labels.into());
        let shape = Arc::new(run.plan);
        for k in 0..sweep.seeds {
            let seed = shape.seed + k;
            points.push(Point {
                params: Arc::clone(&params),
                labels: Arc::clone(&labels),
                seed,
                run_id: canonical::run_id(&canonical, seed, request.engine_version),
                canonical: Arc::clone(&canonical),
                baseline: baseline.map(|run| run * sweep.seeds as usize + k as usize),
                shape: Arc::clone(&shape),
            });
        }
    }
    let title = root.table().and_then(|table| table.get("title"));
    Ok(Scenario {
        file: request.file.to_owned(),
        title: title.and_then(Node::string).unwrap_or_default().to_owned(),
        engine: request.engine,
        engine_version: request.engine_version.to_owned(),
        id: canonical::sweep_id(points.iter().map(|point| point.run_id.as_str())),
        axes,
        points,
        asserts,
        warnings: render(std::mem::take(&mut reader.warnings), sources),
    })
}

/// Puts the values of `--set` into the tree.
fn overrides(
    request: &Request<'_>,
    root: &mut Node,
    named: &Node,
    sources: &mut Sources,
    problems: &mut Vec<Problem>,
) -> Vec<Set> {
    let mut sets = Vec::new();
    for Override { key, value } in request.overrides {
        let text = format!("{key}={value}");
        let source = sources.add(&format!("--set {}", tree::shorten(&text)), &text);
        let span = Span::new(source, 0..key.len());
        let path = match Path::parse(key, span) {
            Ok(path) => sweep::resolve(named, &path),
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let value = tree::parse_value(value, source, key.len() + 1, problems);
        let Some(value) = value else { continue };
        match sweep::graft(root, &path, value.clone()) {
            Ok(()) => sets.push(Set { path, value }),
            Err(problem) => problems.push(problem),
        }
    }
    sets
}

/// Refuses a sweep of too many points before it is expanded.
fn check_size(sweep: &Sweep, problems: &mut Vec<Problem>) {
    let points = sweep.points();
    if points > sweep::MAX_POINTS {
        let last = sweep.dimensions.last().and_then(|d| d.keys.first());
        let span = last.map_or(sweep.seeds_span, sweep::SweptKey::span);
        problems.push(
            Problem::new(span, format!("a sweep of {points} points"))
                .expected(format!("at most {}", sweep::MAX_POINTS)),
        );
    }
}

/// So many errors are enough to look at.
const MAX_PROBLEMS: usize = 1000;

/// A point of the grid, before seeds.
struct Run {
    params: Vec<(String, Param)>,
    labels: Vec<String>,
    /// Position on each axis.
    at: Vec<usize>,
    plan: Plan,
}

/// Every point of the grid. First each value by itself, with the first values
/// of the other axes: what is wrong with it is found in as many points as
/// there are values. Only if all are right (and the sweep `sound`), the grid.
fn runs(
    root: &Node,
    sweep: &Sweep,
    reader: &mut Reader<'_>,
    judge: Option<&Judge<'_>>,
    sound: bool,
) -> Vec<Run> {
    let labels: Vec<Vec<Vec<String>>> = sweep
        .dimensions
        .iter()
        .map(|d| d.keys.iter().map(|k| sweep::labels(&k.values)).collect())
        .collect();
    let origin = vec![0; sweep.dimensions.len()];
    let mut runs = vec![run(root, sweep, &origin, &labels, reader, judge)];
    let size = |run: &Run| (run.plan.flows.len() + run.plan.traffic.len()) as u64;
    let key = sweep.dimensions.first().and_then(|d| d.keys.first());
    let too_many = Problem::new(
        key.map_or(sweep.seeds_span, sweep::SweptKey::span),
        "the points have too many flows together",
    )
    .expected(format!("at most {MAX_TOTAL_FLOWS} in one sweep; split it"));
    let grid = sweep.points();
    // A sweep over `count` may have fewer elsewhere, but hardly that many fewer.
    if sound && grid > 1 && size(&runs[0]).saturating_mul(grid) > 4 * MAX_TOTAL_FLOWS {
        reader.problem(too_many);
        return runs;
    }
    // What is refused anyway is not worth minutes of looking for more.
    if sound && grid > 1 && values(root, sweep).saturating_mul(grid) > MAX_TOTAL_VALUES {
        reader.problem(Problem {
            message: "the points have too many values together".to_owned(),
            expected: Some(format!("at most {MAX_TOTAL_VALUES} in one sweep; split it")),
            ..too_many
        });
        return runs;
    }
    let patience = MAX_TOTAL_FLOWS / size(&runs[0]).max(1);
    let patience = if sound {
        patience
    } else {
        patience.min(10_000)
    };
    let mut tried = 0;
    for (axis, dimension) in sweep.dimensions.iter().enumerate() {
        for value in 1..dimension.len {
            tried += 1;
            if reader.problems.len() > MAX_PROBLEMS || tried > patience {
                break;
            }
            let mut at = origin.clone();
            at[axis] = value;
            run(root, sweep, &at, &labels, reader, judge);
            reader.problems.sort();
            reader.problems.dedup();
        }
    }
    if !sound || !reader.problems.is_empty() {
        return runs;
    }
    let mut flows: u64 = 0;
    let mut at = origin;
    loop {
        if let Some(last) = runs.last() {
            flows = flows.saturating_add(size(last).saturating_mul(sweep.seeds));
        }
        if flows > MAX_TOTAL_FLOWS && grid > 1 {
            reader.problem(too_many);
            return runs;
        }
        // The last key is the fastest.
        let Some(digit) = (0..at.len())
            .rev()
            .find(|i| at[*i] + 1 < sweep.dimensions[*i].len)
        else {
            return runs;
        };
        at[digit] += 1;
        at[digit + 1..].fill(0);
        let run = run(root, sweep, &at, &labels, reader, judge);
        runs.push(run);
        // Values that are wrong only together.
        if !reader.problems.is_empty() {
            return runs;
        }
    }
}

/// About how many values the file has at a point.
fn values(root: &Node, sweep: &Sweep) -> u64 {
    let keys = sweep.dimensions.iter().flat_map(|d| &d.keys);
    // The path is copied into each point too.
    let swept = keys.map(|key| {
        let largest = key.values.iter().map(Node::size).max();
        largest.unwrap_or(0) + key.text.len() / 32
    });
    (root.size() + swept.sum::<usize>()) as u64
}

/// One point of the grid.
fn run(
    root: &Node,
    sweep: &Sweep,
    at: &[usize],
    labels: &[Vec<Vec<String>>],
    reader: &mut Reader<'_>,
    judge: Option<&Judge<'_>>,
) -> Run {
    let before = reader.problems.len();
    let mut tree = root.clone();
    for (dimension, index) in sweep.dimensions.iter().zip(at) {
        for key in &dimension.keys {
            let value = key.values[*index].clone();
            if let Err(problem) = sweep::graft(&mut tree, &key.path, value) {
                reader.problem(problem);
            }
        }
    }
    reader.resolved.clear();
    let (plan, places) = build::plan(&tree, reader);
    if let Some(judge) = judge {
        let refused = refused(judge(&plan), &places, &tree, &reader.problems[before..]);
        reader.problems.extend(refused);
    }
    let last_seed = plan.seed.checked_add(sweep.seeds - 1);
    if last_seed.is_none_or(|seed| seed > i64::MAX as u64) {
        let seed = tree.table().and_then(|table| table.get("seed"));
        reader.problem(
            Problem::new(
                seed.map_or(sweep.seeds_span, |node| node.span),
                "the seeds count past the largest",
            )
            .expected(format!(
                "a smaller seed: {} are counted from it",
                sweep.seeds
            )),
        );
    }
    let (params, labels) = params(sweep, at, labels, reader);
    Run {
        params,
        labels,
        at: at.to_vec(),
        plan,
    }
}

/// What an engine refuses, at its places; nothing where something is wrong
/// already, for there the plan is not what the file says.
fn refused(
    refusals: Vec<Refusal>,
    places: &places::Places,
    tree: &Node,
    wrong: &[Problem],
) -> Vec<Problem> {
    let wrong: std::collections::HashSet<Span> = wrong.iter().map(|problem| problem.span).collect();
    let mut problems: Vec<Problem> = refusals
        .into_iter()
        .map(|refusal| Problem {
            expected: refusal.expected,
            ..Problem::new(places.span(tree, &refusal.path), refusal.message).global()
        })
        .filter(|problem| !wrong.contains(&problem.span))
        .collect();
    // One for each of `count` flows.
    problems.sort();
    problems.dedup();
    problems
}

fn params(
    sweep: &Sweep,
    at: &[usize],
    labels: &[Vec<Vec<String>>],
    reader: &Reader<'_>,
) -> (Vec<(String, Param)>, Vec<String>) {
    let (mut params, mut written) = (Vec::new(), Vec::new());
    for ((dimension, index), labels) in sweep.dimensions.iter().zip(at).zip(labels) {
        for (key, labels) in dimension.keys.iter().zip(labels) {
            let value = &key.values[*index];
            let (param, label) = match reader.resolved.get(&value.span) {
                Some(number) => (
                    Param::Number(*number),
                    value
                        .string()
                        .map_or_else(|| value.inline(40), str::to_owned),
                ),
                None => (Param::Name(labels[*index].clone()), labels[*index].clone()),
            };
            params.push((key.text.clone(), param));
            written.push(label);
        }
    }
    (params, written)
}

fn axes(sweep: &Sweep, runs: &[Run]) -> Vec<Axis> {
    let mut column = 0;
    let mut axes = Vec::new();
    for (d, dimension) in sweep.dimensions.iter().enumerate() {
        let mut values: Vec<Vec<Option<Param>>> =
            vec![vec![None; dimension.keys.len()]; dimension.len];
        for run in runs {
            for (k, slot) in values[run.at[d]].iter_mut().enumerate() {
                let param = &run.params[column + k].1;
                match slot {
                    None => *slot = Some(param.clone()),
                    Some(seen) if seen == param => {}
                    Some(_) => {
                        let node = &dimension.keys[k].values[run.at[d]];
                        let text = node
                            .string()
                            .map_or_else(|| node.inline(200), str::to_owned);
                        *slot = Some(Param::Name(text));
                    }
                }
            }
        }
        axes.push(Axis {
            keys: dimension.keys.iter().map(|key| key.text.clone()).collect(),
            values: values
                .into_iter()
                .map(|row| row.into_iter().flatten().collect())
                .collect(),
        });
        column += dimension.keys.len();
    }
    axes
}
