//! Expands a sweep into the combinations of its values. Seeds are not part of a combination.

use tailback_engine::plan::{Plan, Refusal};

use super::graft::graft;
use super::sweep::{Sweep, SweptKey, labels};
use super::swept::{Swept, swept};
use super::{events, profiles};
use crate::declare::Reader;
use crate::plan::{Origins, plan};
use crate::read::{Node, Problem, Span};
use crate::request::Judge;

/// Largest number of flows and sources in all combinations together.
const MAX_TOTAL_FLOWS: u64 = 2_000_000;

/// Largest number of values in all combinations together. Reading the file for a combination needs
/// about 0.5 us and 50 bytes for each value.
const MAX_TOTAL_VALUES: u64 = 20_000_000;

/// Largest number of errors to collect.
const MAX_PROBLEMS: usize = 1000;

/// One combination of swept values, for all seeds.
pub(super) struct Run {
    pub swept: Vec<Swept>,
    /// Index of the combination's value on each axis.
    pub at: Vec<usize>,
    pub plan: Plan,
    /// Seed of the combination's first run.
    pub seed: u64,
}

/// Returns every combination of swept values. This function first reads each value once, together
/// with the first values of the other axes. The function therefore finds all wrong values after few
/// combinations. The other combinations are read only if no value is wrong, and if `[sweep]` itself
/// has no errors (`sound`).
pub(super) fn runs(
    root: &Node,
    sweep: &Sweep,
    reader: &mut Reader<'_>,
    judge: Option<&Judge<'_>>,
    sound: bool,
) -> Vec<Run> {
    let labels: Vec<Vec<Vec<String>>> = sweep
        .dimensions
        .iter()
        .map(|d| d.keys.iter().map(|k| labels(&k.values)).collect())
        .collect();
    let origin = vec![0; sweep.dimensions.len()];
    let mut runs = vec![run(root, sweep, &origin, &labels, reader, judge)];
    let size = |run: &Run| (run.plan.flow_count() + run.plan.source_count()) as u64;
    let key = sweep.dimensions.first().and_then(|d| d.keys.first());
    let too_many = Problem::new(
        key.map_or(sweep.seeds_span, SweptKey::span),
        "all sweep points together have too many flows",
    )
    .expected(format!("at most {MAX_TOTAL_FLOWS} in one sweep"))
    .help("split the sweep");
    let grid = sweep.points();
    // If `count` is swept, other combinations may have fewer flows than the first combination.
    // Other combinations rarely have fewer than a quarter of the first combination's flows.
    if sound && grid > 1 && size(&runs[0]).saturating_mul(grid) > 4 * MAX_TOTAL_FLOWS {
        reader.problem(too_many);
        return runs;
    }
    // Do not look for further errors, because it would take minutes to read all combinations.
    if sound && grid > 1 && values(root, sweep).saturating_mul(grid) > MAX_TOTAL_VALUES {
        reader.problem(Problem {
            message: "all sweep points together have too many values".to_owned(),
            expected: Some(format!("at most {MAX_TOTAL_VALUES} in one sweep")),
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
        // Increment the indices like the digits of a number, so that the last key varies fastest.
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
        // Stop at the first error. Each value was valid together with the first values of the other
        // axes, so only the combination of values is wrong.
        if !reader.problems.is_empty() {
            return runs;
        }
    }
}

/// Estimates how many values the file contains for one combination of swept values.
fn values(root: &Node, sweep: &Sweep) -> u64 {
    let keys = sweep.dimensions.iter().flat_map(|d| &d.keys);
    // Add the length of each swept key's path, because every combination also contains a copy of
    // the path.
    let swept = keys.map(|key| {
        let largest = key.values.iter().map(Node::size).max();
        largest.unwrap_or(0) + key.text.len() / 32
    });
    (root.size() + swept.sum::<usize>()) as u64
}

/// Reads one combination of swept values.
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
            if let Err(problem) = graft(&mut tree, &key.path, value) {
                reader.problem(problem);
            }
        }
    }
    profiles::apply(&mut tree, reader);
    reader.resolved.clear();
    let (mut plan, seed, mut origins) = plan(&tree, reader);
    let sound = reader.problems.len() == before;
    events::read(&tree, &mut plan, &mut origins, reader, sound);
    if let Some(judge) = judge {
        let refused = refused(judge(&plan), &origins, &tree, &reader.problems[before..]);
        reader.problems.extend(refused);
    }
    let last_seed = seed.checked_add(sweep.seeds - 1);
    if last_seed.is_none_or(|seed| seed > i64::MAX as u64) {
        let seed = tree.table().and_then(|table| table.get("seed"));
        reader.problem(
            Problem::new(
                seed.map_or(sweep.seeds_span, |node| node.span),
                "the seeds exceed the largest seed",
            )
            .expected(format!(
                "a smaller seed, because {} consecutive seeds begin with it",
                sweep.seeds
            )),
        );
    }
    Run {
        swept: swept(sweep, at, labels, reader),
        at: at.to_vec(),
        plan,
        seed,
    }
}

/// Reports the settings that an engine does not support, with their positions in the file. Reports
/// nothing if there are other errors, because after an error, the plan contains defaults in place
/// of wrong values.
fn refused(
    refusals: Vec<Refusal>,
    origins: &Origins,
    tree: &Node,
    wrong: &[Problem],
) -> Vec<Problem> {
    let wrong: std::collections::HashSet<Span> = wrong.iter().map(|problem| problem.span).collect();
    let mut problems: Vec<Problem> = refusals
        .into_iter()
        .map(|refusal| Problem {
            expected: refusal.expected,
            ..Problem::new(origins.span(tree, &refusal.path), refusal.message).global()
        })
        .filter(|problem| !wrong.contains(&problem.span))
        .collect();
    // Sort the errors to remove repetitions, because all flows that inherit a wrong value from
    // [tcp] cause the same error at the same position.
    problems.sort();
    problems.dedup();
    problems
}
