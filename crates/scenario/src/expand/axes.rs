//! Creates the labels of the swept keys and of their values at each sweep point.

use tailback_engine::registry::Value;

use super::grid::Run;
use super::sweep::Sweep;
use crate::scenario::{Axis, Param};

/// If the values of a key have several units, replaces the numbers with texts that contain the
/// units. Without units, 20000 packets and 20000 bytes would have the same label.
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
