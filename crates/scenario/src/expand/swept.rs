//! The swept keys of a combination, with their values and labels.

use tailback_engine::registry::Value;

use super::sweep::Sweep;
use crate::declare::Reader;
use crate::read::{Node, Toml};
use crate::scenario::Param;

pub(super) struct Swept {
    pub key: String,
    pub param: Param,
    /// The path of the key, as the user wrote it in the file.
    pub label: String,
    /// The swept value, if it is a number.
    pub value: Option<Value>,
}

/// Returns the swept keys at a position in the grid.
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

/// Formats a number as it is written in the file. Adds the unit to a number of packets. "1000" and
/// "1000p" may mean the same value, and must then have the same label.
fn label_of_number(node: &Node, value: Option<&Value>) -> String {
    match (&node.value, value) {
        (Toml::String(text), _) => text.clone(),
        (Toml::Integer(_), Some(Value::Packets(packets))) => format!("{packets}p"),
        _ => node.inline(40),
    }
}
