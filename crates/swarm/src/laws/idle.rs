//! Invariant: a link that no flow uses does not change the results of other links.

use tailback_engine::aqm;
use toml::{Table, Value};

use super::digest::Digest;
use super::{Check, Law, broken, outside, played, tables};
use crate::draw::Draw;
use crate::generate;
use crate::generate::values::{Taste, bit, entry, ns};
use crate::trial::Limits;

pub(super) const LAW: Law = Law {
    name: "idle",
    doc: "a link that no flow uses changes nothing in the others",
    draw: generate::scenario,
    check,
};

/// Possible names of the added link. In a sorted list of all names, one of these two names comes
/// first, and the other comes last.
const NAMES: [&str; 2] = ["0-idle", "z-idle"];

fn check(scenario: &Table, seed: u64, limits: &Limits) -> Check {
    let mut root = scenario.clone();
    root.remove("assert");
    let (plan, outcome) = played(&root, limits)?;
    let before = Digest::of(&plan, outcome);
    let mut draw = Draw::new(seed);
    let name = *draw.pick(&NAMES);
    // A scenario with two links needs names for both links, and a route for each flow.
    if let Some(only) = root.remove("bottleneck") {
        let only = Table::from_iter([("bottleneck".to_owned(), only)]);
        root.insert("links".to_owned(), Value::Table(only));
        for key in ["flows", "traffic"] {
            for end in tables(&mut root, key) {
                let route = vec![Value::String("bottleneck".to_owned())];
                end.entry("route").or_insert(Value::Array(route));
            }
        }
    }
    let Some(links) = root.get_mut("links").and_then(Value::as_table_mut) else {
        return Err(outside("it has no links"));
    };
    links.insert(name.to_owned(), Value::Table(link(&mut draw)));
    let (plan, outcome) = played(&root, limits)?;
    let used = outcome
        .links
        .iter()
        .filter(|link| link.name.starts_with(name));
    if let Some(link) = used.into_iter().find(|link| link.packets > 0) {
        return Err(broken("a link without a flow is used", &link.name));
    }
    let mut after = Digest::of(&plan, outcome);
    after.without_link(name);
    match before.difference(&after) {
        None => Ok(()),
        Some(what) => Err(broken("a link without a flow matters", what)),
    }
}

fn link(draw: &mut Draw) -> Table {
    let taste = Taste {
        set: 0.2,
        extreme: 0.0,
    };
    let (queue, _) = entry(draw, "aqm", aqm::ENTRIES, taste);
    let mut link = Table::from_iter([
        ("rate".to_owned(), bit(draw.log(1e3, 1e10))),
        ("queue".to_owned(), queue),
        (
            "both_directions".to_owned(),
            Value::Boolean(draw.chance(0.5)),
        ),
    ]);
    for key in ["delay", "jitter"] {
        if draw.chance(0.3) {
            link.insert(key.to_owned(), ns(draw.log(1.0, 1e9)));
        }
    }
    if draw.chance(0.3) {
        link.insert("loss".to_owned(), Value::Float(draw.share()));
    }
    link
}
