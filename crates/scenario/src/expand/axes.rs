//! What is swept, and its value at each point: numbers in base units, names, and labels for people.

use super::grid::Run;
use super::sweep::Sweep;
use crate::declare::Reader;
use crate::scenario::{Axis, Param};

pub(super) fn params(
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

pub(super) fn axes(sweep: &Sweep, runs: &[Run]) -> Vec<Axis> {
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
