//! Finds points of a sweep that describe the same run. Sweep points that describe the same run are
//! errors, because tailback would count the run twice.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::grid::Run;
use super::sweep::{Dimension, Sweep};
use crate::read::{Node, Problem};

/// Reports each pair of swept values that leads to equal sweep points. The error names the
/// positions of both values.
pub(super) fn problems(sweep: &Sweep, runs: &[Run], canonical: &[Arc<str>]) -> Vec<Problem> {
    let mut first_with: HashMap<(&str, u64, Option<&str>), &Run> = HashMap::new();
    let mut pairs: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
    for (run, canonical) in runs.iter().zip(canonical) {
        let identity = (&**canonical, run.seed, run.plan.kernel.as_deref());
        let other = *first_with.entry(identity).or_insert(run);
        let places = other.at.iter().zip(&run.at).enumerate();
        pairs.extend(
            places
                .filter(|(_, (one, two))| one != two)
                .map(|(dimension, (one, two))| (dimension, *one, *two)),
        );
    }
    let problems = pairs.into_iter().flat_map(|(dimension, one, two)| {
        let dimension = &sweep.dimensions[dimension];
        let message = format!(
            "{} and {} plan the same run",
            written(dimension, one),
            written(dimension, two)
        );
        [one, two].map(|index| {
            Problem::new(place(dimension, index).span, message.clone())
                .expected("values that make a difference")
                .help("remove one of them")
                .global()
        })
    });
    problems.collect()
}

/// Returns the node at which to report an error about a value of an axis.
fn place(dimension: &Dimension, index: usize) -> &Node {
    &dimension.keys[0].values[index]
}

/// Formats the values of an axis at one position.
fn written(dimension: &Dimension, index: usize) -> String {
    let keys = dimension.keys.iter();
    let values: Vec<String> = keys.map(|key| key.values[index].inline(40)).collect();
    match values.as_slice() {
        [value] => value.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}
