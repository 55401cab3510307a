//! What is swept, and its value at each point: numbers in base units, names, and labels for people.

use tailback_engine::registry::Value;

use super::grid::Run;
use super::sweep::Sweep;
use crate::declare::Reader;
use crate::read::{Node, Toml};
use crate::scenario::{Axis, Param};

/// A swept key at a point.
pub(super) struct Swept {
    pub key: String,
    pub param: Param,
    /// As it is written.
    pub label: String,
    /// What it was read as, where that is a number.
    value: Option<Value>,
}

/// The swept keys at a place of the grid.
pub(super) fn swept(
    sweep: &Sweep,
    at: &[usize],
    labels: &[Vec<Vec<String>>],
    reader: &Reader<'_>,
) -> Vec<Swept> {
    let mut all = Vec::new();
    for ((dimension, index), labels) in sweep.dimensions.iter().zip(at).zip(labels) {
        for (key, labels) in dimension.keys.iter().zip(labels) {
            let node = &key.values[*index];
            let value = reader.resolved.get(&node.span).cloned();
            let (param, label) = match value.as_ref().and_then(Value::number) {
                Some(number) => (Param::Number(number), label_of_number(node, value.as_ref())),
                None => (Param::Name(labels[*index].clone()), labels[*index].clone()),
            };
            all.push(Swept {
                key: key.text.clone(),
                param,
                label,
                value,
            });
        }
    }
    all
}

/// A number as it is written; a count of packets always with its unit, or a point would have two
/// labels, "1000" and "1000p".
fn label_of_number(node: &Node, value: Option<&Value>) -> String {
    match (&node.value, value) {
        (Toml::String(text), _) => text.clone(),
        (Toml::Integer(_), Some(Value::Packets(packets))) => format!("{packets}p"),
        _ => node.inline(40),
    }
}

/// Makes names of the numbers of a key whose values have several units: 20000 packets and 20000
/// bytes are no equal parameters.
pub(super) fn name_mixed_units(runs: &mut [Run]) {
    let keys = runs.first().map_or(0, |run| run.swept.len());
    for key in 0..keys {
        let mut units = runs.iter().filter_map(|run| {
            let value = run.swept[key].value.as_ref();
            value.map(std::mem::discriminant)
        });
        let Some(first) = units.next() else { continue };
        if units.all(|unit| unit == first) {
            continue;
        }
        for swept in runs.iter_mut().map(|run| &mut run.swept[key]) {
            if let Some(value) = &swept.value {
                swept.param = Param::Name(with_unit(value));
            }
        }
    }
}

/// A number with its unit.
fn with_unit(value: &Value) -> String {
    match value {
        Value::Packets(packets) => format!("{packets}p"),
        Value::Bytes(bytes) => format!("{}b", bytes.0),
        Value::Time(time) => time.to_string(),
        Value::Rate(rate) => rate.to_string(),
        other => other.number().unwrap_or_default().to_string(),
    }
}

pub(super) fn axes(sweep: &Sweep, runs: &[Run]) -> Vec<Axis> {
    let mut column = 0;
    let mut axes = Vec::new();
    for (d, dimension) in sweep.dimensions.iter().enumerate() {
        let mut values: Vec<Vec<Option<Param>>> =
            vec![vec![None; dimension.keys.len()]; dimension.len];
        for run in runs {
            for (k, slot) in values[run.at[d]].iter_mut().enumerate() {
                let param = &run.swept[column + k].param;
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
