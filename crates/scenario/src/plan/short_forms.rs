//! Reads keys of a link that are short forms of impairments: `loss = { gilbert = ... }`, `delay = {
//! steps = ... }`, `reorder`, `duplicate` and `policer`.

use tailback_engine::impairments::ENTRIES;
use tailback_engine::keys::TableDef;
use tailback_engine::plan::{
    BurstLossForm, DelayForm, GilbertForm, ImpairmentPlan, LinkPlan, PolicerForm, ReorderForm,
};
use tailback_engine::registry::{Value, defaults, find};

use crate::declare::{Bdp, Fields, Reader, wrong_option};
use crate::read::{Item, Node};

/// A short form consists of the link's key, the declaration of the key's table, and the name of the
/// impairment. For each key of the table, it also contains the name of the impairment's option that
/// the key sets.
type ShortForm = (
    &'static str,
    &'static TableDef,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// The short forms, in the order in which packets pass the impairments.
const FORMS: [ShortForm; 4] = [
    (
        "loss",
        &GilbertForm::TABLE,
        "burst_loss",
        &[
            ("p", "p"),
            ("r", "r"),
            ("good", "good_loss"),
            ("bad", "bad_loss"),
        ],
    ),
    (
        "policer",
        &PolicerForm::TABLE,
        "police",
        &[("rate", "rate"), ("burst", "burst")],
    ),
    ("delay", &DelayForm::TABLE, "delay", &[("steps", "steps")]),
    (
        "reorder",
        &ReorderForm::TABLE,
        "reorder",
        &[("probability", "probability"), ("delay", "by")],
    ),
];

/// Returns the impairments for a trace of path conditions. A trace of path conditions sets not only
/// the rate of the link, but also the loss and the delay.
pub(super) fn of_trace(reader: &mut Reader<'_>, rate: &Item) -> Vec<ImpairmentPlan> {
    let Some(conditions) = reader.conditions(rate) else {
        return Vec::new();
    };
    let columns = [("loss", &conditions.losses), ("delay", &conditions.delays)];
    let impairments = columns.into_iter().filter_map(|(kind, steps)| {
        let steps = Value::Pairs(steps.clone()?);
        impairment(reader, kind, vec![("steps", steps)], rate)
    });
    impairments.collect()
}

/// Returns the impairments for the short forms of a link. Omits impairments with errors.
pub(super) fn read(reader: &mut Reader<'_>, link: &Fields<'_>, bdp: Bdp) -> Vec<ImpairmentPlan> {
    let mut impairments = Vec::new();
    for (key, def, kind, names) in FORMS {
        let Some(item) = link.item(key) else {
            continue;
        };
        // A loss or delay that is not a table is a plain value instead of a short form.
        let plain = LinkPlan::TABLE
            .key(key)
            .is_some_and(|key| key.table.is_some());
        if plain && item.node.table().is_none() {
            continue;
        }
        let before = reader.problems.len();
        let Some(node) = parameters(reader, item, def) else {
            continue;
        };
        let fields = reader.fields(node, def, def.label, bdp);
        let options = names
            .iter()
            .filter_map(|(name, option)| Some((*option, fields.value(name)?)));
        let options: Vec<_> = options.collect();
        if reader.problems.len() == before {
            impairments.extend(impairment(reader, kind, options, item));
        }
    }
    if let Some(item) = link.item("duplicate")
        && let Some(probability) = link.given("duplicate")
        && *probability != Value::Float(0.0)
    {
        let options = vec![("probability", probability.clone())];
        impairments.extend(impairment(reader, "duplicate", options, item));
    }
    impairments
}

/// Returns the table with the parameters of a short form. For a loss, the result is the inner table
/// `gilbert`.
fn parameters<'n>(reader: &mut Reader<'_>, item: &'n Item, def: &TableDef) -> Option<&'n Node> {
    if def.label != GilbertForm::TABLE.label {
        return Some(&item.node);
    }
    let def = &BurstLossForm::TABLE;
    reader.fields(&item.node, def, def.label, Bdp::Nowhere);
    item.node.table()?.get("gilbert")
}

fn impairment(
    reader: &mut Reader<'_>,
    kind: &'static str,
    set: Vec<(&'static str, Value)>,
    item: &Item,
) -> Option<ImpairmentPlan> {
    let entry = find(ENTRIES, kind)?;
    let mut options = defaults(entry.options);
    for (name, value) in set {
        options.set(name, value);
    }
    if let Err(errors) = (entry.finish)(&mut options) {
        for error in errors {
            let of = format!("\"{}\"", item.key);
            reader.problem(wrong_option(item.node.span, &of, &error));
        }
        return None;
    }
    Some(ImpairmentPlan {
        kind: entry.name,
        options,
        ..ImpairmentPlan::default()
    })
}
