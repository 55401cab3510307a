//! Expands a sweep into points (combinations of swept values and seeds), and makes a plan for each
//! point. An error that occurs at several sweep points is reported once.

mod asserts;
mod axes;
mod baselines;
mod equal;
mod events;
mod graft;
mod grid;
mod profiles;
mod subject;
mod sweep;
mod swept;

use std::sync::Arc;

use tailback_engine::keys::KeyKind;
use tailback_engine::plan::Plan;

use crate::declare::{InPhase, Reader};
use crate::plan::name_flows;
use crate::read::{Node, Path, Problem, Sources, Span, Step, Toml, parse_value, render, shorten};
use crate::request::{Override, Request};
use crate::scenario::{Point, ReplacedSweep, Scenario, Source};
use crate::{canonical, hash};
use axes::{axes, name_mixed_units};
use graft::{graft, grafted, resolve};
use grid::runs;
use sweep::Sweep;

struct Set {
    path: Path,
    value: Node,
}

pub(crate) fn expand(
    request: &Request<'_>,
    mut root: Node,
    sources: &mut Sources,
) -> Result<Scenario, Vec<Problem>> {
    let mut problems = Vec::new();
    if root.table().is_some_and(|table| table.0.is_empty()) && request.overrides.is_empty() {
        const LEAST: &str =
            "\"duration\", a [bottleneck] with its \"rate\", and [[flows]] with their \"cc\"";
        let problem = Problem::new(Span::default(), "the scenario is empty");
        let problem = problem.expected(format!("at least {LEAST}"));
        return Err(vec![problem.help(format!("add {LEAST}"))]);
    }
    name_flows(&mut root);
    // Resolve paths with the names that are in the file, even if `--set` changes these names.
    let named = root.clone();
    let sets = overrides(request, &mut root, &named, sources, &mut problems);
    let mut sweep = sweep::read(&root, &mut problems);
    let written = root.table().and_then(|table| table.get("sweep"));
    let written = written.map_or_else(|| Ok("{}".to_owned()), serde_json::to_string);
    // Remove `[sweep]`, because it may contain long lists, and the tree is copied for each sweep
    // point.
    if let Toml::Table(table) = &mut root.value {
        table.0.retain(|item| item.key != "sweep");
    }
    if let Some(seeds) = request.seeds {
        set_seeds(&mut sweep, seeds, sources, &mut problems);
    }
    let replaced = resolve_keys(&mut sweep, &root, &named, &sets, &mut problems);
    check_size(&sweep, &mut problems);
    let mut reader = Reader::new(request);
    for dimension in &sweep.dimensions {
        for key in &dimension.keys {
            reader.watched.extend(key.values.iter().map(|v| v.span));
        }
    }
    let sound = problems.is_empty();
    let mut runs = runs(&root, &sweep, &mut reader, request.judge, sound);
    name_mixed_units(&mut runs);
    let baselines = baselines::baselines(&runs, &reader.traces);
    let asserts = asserts::read(&root, &runs, &baselines, &mut reader);
    problems.append(&mut reader.problems);
    if !sound || !problems.is_empty() {
        return Err(problems);
    }
    let in_phase = reader.in_phase.take();
    reader.warnings.extend(in_phase.map(InPhase::problem));
    let canonical: Vec<Arc<str>> = runs
        .iter()
        .map(|run| canonical::canonical(&run.plan, &reader.traces).into())
        .collect();
    let problems = equal::problems(&sweep, &runs, &canonical);
    if !problems.is_empty() {
        return Err(problems);
    }
    let axes = axes(&sweep, &runs);
    let points = points(
        runs,
        canonical,
        &baselines,
        sweep.seeds,
        request.engine_version,
    );
    let title = root.table().and_then(|table| table.get("title"));
    Ok(Scenario {
        file: request.file.to_owned(),
        title: title.and_then(Node::string).unwrap_or_default().to_owned(),
        engine: request.engine,
        engine_version: request.engine_version.to_owned(),
        id: hash::sweep_id(points.iter().map(|point| point.run_id.as_str())),
        axes,
        points,
        asserts,
        warnings: render(std::mem::take(&mut reader.warnings), sources),
        source: Arc::new(Source {
            // The text is valid UTF-8, because the scenario was read from this text.
            text: String::from_utf8_lossy(request.text).into_owned(),
            overrides: request.overrides.to_vec(),
            seeds: request.seeds,
            files: reader.traces.names(),
            // Ignore the error, because text and numbers can always be written as JSON.
            sweep: written.unwrap_or_default(),
            replaced,
        }),
    })
}

fn set_seeds(sweep: &mut Sweep, seeds: u64, sources: &mut Sources, problems: &mut Vec<Problem>) {
    let text = seeds.to_string();
    let source = sources.add("--seeds", &text);
    sweep.seeds = seeds;
    sweep.seeds_span = Span::new(source, 0..text.len());
    if seeds == 0 {
        sweep.seeds = 1;
        problems.push(Problem::new(sweep.seeds_span, "0 seeds").expected("at least 1"));
    }
}

/// Resolves the paths of swept keys, and removes and returns keys that `--set` replaces. If `--set`
/// changes a key inside swept tables, changes this key in each of these tables.
fn resolve_keys(
    sweep: &mut Sweep,
    root: &Node,
    named: &Node,
    sets: &[Set],
    problems: &mut Vec<Problem>,
) -> Vec<ReplacedSweep> {
    let mut replaced = Vec::new();
    for dimension in &mut sweep.dimensions {
        dimension.keys.retain_mut(|key| {
            key.path = resolve(named, &key.path);
            // `--set` sets the key to a single value, so the key is no longer swept.
            if let Some(set) = sets.iter().rposition(|set| key.path.same(&set.path)) {
                replaced.push(ReplacedSweep {
                    set,
                    key: key.text.clone(),
                    values: key.values.len(),
                });
                return false;
            }
            let inside: Vec<&Set> = sets
                .iter()
                .filter(|set| key.path.is_prefix_of(&set.path))
                .collect();
            // Insert a single value to check whether the path exists. If `--set` changes a key
            // inside the swept values, insert and change all values.
            let affected = if inside.is_empty() { 1 } else { usize::MAX };
            for value in key.values.iter_mut().take(affected) {
                let inside = inside.iter().map(|set| (&set.path, &set.value));
                match grafted(root, &key.path, value, inside) {
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
    replaced
}

/// Makes a sweep point for each seed of each combination.
fn points(
    runs: Vec<grid::Run>,
    canonical: Vec<Arc<str>>,
    baselines: &[Option<usize>],
    seeds: u64,
    engine_version: &str,
) -> Vec<Point> {
    let version: Arc<str> = engine_version.into();
    let mut points = Vec::with_capacity(runs.len() * seeds as usize);
    for ((run, canonical), baseline) in runs.into_iter().zip(canonical).zip(baselines) {
        let (mut params, mut labels) = (Vec::new(), Vec::new());
        for swept in run.swept {
            params.push((swept.key, swept.param));
            labels.push(swept.label);
        }
        let (params, labels): (Arc<[_]>, Arc<[_]>) = (params.into(), labels.into());
        let plan = Arc::new(run.plan);
        for k in 0..seeds {
            let seed = run.seed + k;
            points.push(Point {
                params: Arc::clone(&params),
                labels: Arc::clone(&labels),
                seed,
                run_id: hash::run_id(&canonical, seed, engine_version),
                engine_version: Arc::clone(&version),
                canonical: Arc::clone(&canonical),
                baseline: baseline.map(|run| run * seeds as usize + k as usize),
                plan: Arc::clone(&plan),
            });
        }
    }
    points
}

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
        let source = sources.add_option(&format!("--set {}", shorten(&text)), &text);
        let span = Span::new(source, 0..key.len());
        let path = match Path::parse(key, span) {
            Ok(path) => resolve(named, &path),
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let value = parse_value(value, source, key.len() + 1, problems);
        let Some(value) = value.map(|node| as_text(&path, node, &text[key.len() + 1..])) else {
            continue;
        };
        match graft(root, &path, value.clone()) {
            Ok(()) => sets.push(Set { path, value }),
            Err(problem) => problems.push(problem),
        }
    }
    sets
}

/// If the key is a text, returns the value as the user wrote it. Without this rule, kernel 5.10
/// would become the number 5.1.
fn as_text(path: &Path, node: Node, written: &str) -> Node {
    let key = match path.0.as_slice() {
        [(Step::Key(key), _)] => Plan::TABLE.key(key),
        _ => None,
    };
    let of_text = key.is_some_and(|key| matches!(key.kind, KeyKind::Text));
    match node.value {
        Toml::Integer(_) | Toml::Float(_) | Toml::Bool(_) | Toml::Datetime(_) if of_text => Node {
            value: Toml::String(written.trim().to_owned()),
            ..node
        },
        _ => node,
    }
}

/// Rejects a sweep of too many points before it is expanded.
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
