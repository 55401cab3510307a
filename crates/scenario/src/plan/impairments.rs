//! Reads the impairments of a link.

use tailback_engine::keys::{KeyKind, Registry};
use tailback_engine::plan::{ImpairmentPlan, Windows};

use crate::declare::{Bdp, Reader, expectation};
use crate::read::Item;

/// The largest number of impairments of a link. The number is limited because each impairment may
/// duplicate packets.
const MAX_IMPAIRMENTS: usize = 8;

/// Reads the impairments of a link in order. Omits impairments with errors.
pub(super) fn read(reader: &mut Reader<'_>, item: &Item, bdp: Bdp) -> Vec<ImpairmentPlan> {
    let def = &ImpairmentPlan::TABLE;
    let list = item.node.array().filter(|list| !list.is_empty());
    let Some(list) = list.filter(|list| list.len() <= MAX_IMPAIRMENTS) else {
        let expected = format!("1 to {MAX_IMPAIRMENTS} tables, each under {}", def.label);
        reader.wrong(&item.key, &item.node, expected);
        return Vec::new();
    };
    let common_keys: Vec<&str> = def.keys.iter().map(|key| key.name).collect();
    let mut impairments = Vec::new();
    for node in list {
        let fields = reader.fields(node, def, def.label, bdp);
        let chosen = fields.item("kind").and_then(|item| {
            let expected = expectation(KeyKind::Word(Registry::Impairments));
            let kind = reader.string(item, expected)?;
            reader.entry(Registry::Impairments, kind, item.node.span)
        });
        let (Some(entry), Some(table)) = (chosen, node.table()) else {
            continue;
        };
        let choice = reader.known(
            Registry::Impairments,
            entry,
            table,
            &common_keys,
            node.span,
            bdp,
        );
        let options = choice.algorithm.known().map(|known| known.1.clone());
        let mut plan = ImpairmentPlan {
            kind: entry.name,
            options: options.unwrap_or_default(),
            ..ImpairmentPlan::default()
        };
        plan.set(|key| fields.value(key));
        if let Some(item) = fields.item("during")
            && !ascend(&plan.during)
        {
            let expected = "windows that end after they begin, in order and with gaps between them";
            reader.wrong("during", &item.node, expected);
        }
        if choice.valid {
            impairments.push(plan);
        }
    }
    impairments
}

/// Returns whether the time windows are in order and do not overlap.
fn ascend(windows: &Windows) -> bool {
    let times = windows.0.iter().flat_map(|(from, to)| [*from, *to]);
    times.is_sorted_by(|a, b| a < b)
}
