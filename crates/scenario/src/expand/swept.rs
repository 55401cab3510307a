//! The swept keys at a point of the grid, with their values and labels.

use tailback_engine::registry::Value;

use super::sweep::Sweep;
use crate::declare::Reader;
use crate::read::{Node, Toml};
use crate::scenario::Param;

/// A swept key at a point.
pub(super) struct Swept {
    pub key: String,
    pub param: Param,
    /// The path as the file has it.
    pub label: String,
    /// The value that was read, if it is a number.
    pub value: Option<Value>,
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

/// A number as the file has it. A count of packets always has its unit, or a point would have two
/// labels, "1000" and "1000p".
fn label_of_number(node: &Node, value: Option<&Value>) -> String {
    match (&node.value, value) {
        (Toml::String(text), _) => text.clone(),
        (Toml::Integer(_), Some(Value::Packets(packets))) => format!("{packets}p"),
        _ => node.inline(40),
    }
}
