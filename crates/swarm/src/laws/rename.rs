//! Invariant: renaming flows, sources, links, classes or hosts changes only these names in the
//! results.
//!
//! A component's random stream depends on the seed and its name. The stream determines the start
//! offset, jitter, a queue's drops and a congestion control's phases. The invariant therefore holds
//! exactly only for scenarios in which the seed has no effect. Runs with other seeds show whether
//! the seed has an effect. If the seed has an effect, a new name of one flow must at least not
//! change the start times of other flows.
//!
//! The check keeps the order of links in the file, because this order determines which of several
//! simultaneous events happens first.

use std::collections::BTreeMap;

use tailback_engine::plan::Plan;
use tailback_record::Outcome;
use toml::{Table, Value};

use super::digest::{Digest, Kind};
use super::{Check, Law, broken, links, loaded, outside, played_as, tables};
use crate::draw::Draw;
use crate::generate;
use crate::trial::Limits;

pub(super) const LAW: Law = Law {
    name: "rename",
    doc: "other names change names only, where the seed decides nothing",
    draw,
    check,
};

/// Number of other seeds that a check tries. If a run has the same result with all these seeds, the
/// check assumes that the seed has no effect.
const SEEDS: u64 = 2;
/// Number of further seeds to try before a difference is reported. More seeds help, because a rare
/// random event may not happen with the first seeds.
const MORE_SEEDS: u64 = 30;

/// Draws a scenario that rarely uses random numbers.
fn draw(seed: u64) -> Table {
    let mut root = generate::scenario(seed);
    let mut draw = Draw::new(seed ^ 0x5eed);
    for key in ["sweep", "assert", "host_jitter", "hosts"] {
        root.remove(key);
    }
    root.insert("start_jitter".to_owned(), Value::String("0ns".to_owned()));
    let quiet = draw.chance(0.9);
    for link in links(&mut root) {
        if quiet {
            for key in ["loss", "jitter", "slots"] {
                link.remove(key);
            }
        }
        if draw.chance(0.5) {
            let queue = *draw.pick(&["fifo", "codel", "step"]);
            link.insert("queue".to_owned(), Value::String(queue.to_owned()));
        }
    }
    root
}

fn check(scenario: &Table, seed: u64, limits: &Limits) -> Check {
    let mut root = scenario.clone();
    root.remove("assert");
    root.remove("sweep");
    let mut draw = Draw::new(seed);
    let before = loaded(&root)?;
    let point = &before.points[0];
    let play = |seed| played_as(&point.plan, seed, limits);
    let (plan, outcome) = play(point.seed)?;
    let kept = starts(&outcome);
    let digest = Digest::of(&plan, outcome);
    let decides = |seeds: std::ops::RangeInclusive<u64>| {
        for more in seeds {
            let (plan, outcome) = play(point.seed.wrapping_add(more) & i64::MAX as u64)?;
            if Digest::of(&plan, outcome).difference(&digest).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    };
    if decides(1..=SEEDS)? {
        others(&root, &plan, &kept, &mut draw, limits)?;
        return Err(outside(
            "the seed decides something: the starts of others hold",
        ));
    }
    let names = Names::draw(&mut root, &mut draw);
    names.apply(&mut root);
    let after = loaded(&root)?;
    let point = &after.points[0];
    let (plan, outcome) = played_as(&point.plan, point.seed, limits)?;
    let back = names.back();
    let renamed = Digest::renamed(&plan, outcome, |kind, name| back.of(kind, name));
    match digest.difference(&renamed) {
        None => Ok(()),
        Some(_) if decides(SEEDS + 1..=MORE_SEEDS)? => Err(outside("the seed decides something")),
        Some(what) => Err(broken("a name matters", what)),
    }
}

/// Returns the start of the measured time of each flow and source, in ns.
fn starts(outcome: &Outcome) -> BTreeMap<String, u64> {
    let flows = outcome.flows.iter().map(|flow| (&flow.name, flow.from_ns));
    let sources = outcome
        .traffic
        .iter()
        .map(|source| (&source.name, source.from_ns));
    flows
        .chain(sources)
        .map(|(name, from)| (name.clone(), from))
        .collect()
}

/// Renames one flow, and checks that the start times of all other flows stay the same.
fn others(
    scenario: &Table,
    plan: &Plan,
    kept: &BTreeMap<String, u64>,
    draw: &mut Draw,
    limits: &Limits,
) -> Check {
    let names: Vec<String> = plan.flows.iter().map(|flow| flow.name.clone()).collect();
    if names.is_empty() || kept.len() < 2 {
        return Err(outside("the seed decides something, and there is one flow"));
    }
    let mut root = scenario.clone();
    // `start_jitter` is the largest start offset. If `start_jitter` were 0, names would have no
    // effect. Remove the key, so that the default applies.
    root.remove("start_jitter");
    root.remove("warmup");
    let start = |root: &Table| {
        let scenario = loaded(root)?;
        let point = &scenario.points[0];
        let (_, outcome) = played_as(&point.plan, point.seed, limits)?;
        Ok(starts(&outcome))
    };
    let before = start(&root)?;
    let chosen = draw.pick(&names).clone();
    for flow in tables(&mut root, "flows") {
        if flow.get("name").and_then(Value::as_str) == Some(&chosen) {
            flow.insert("name".to_owned(), Value::String(name(draw, 'q', 0)));
        }
    }
    let after = start(&root)?;
    let of_chosen = |name: &str| name.split('/').next() == Some(&chosen);
    for (name, from) in before.iter().filter(|(name, _)| !of_chosen(name)) {
        match after.get(name) {
            Some(now) if now == from => {}
            now => {
                let what = format!("{name}: {from} ns, then {now:?} after {chosen} was renamed");
                return Err(broken("a name moves another's start", what));
            }
        }
    }
    Ok(())
}

/// Draws a name. In a sorted list, names that begin with the same letter are in the order of their
/// numbers.
fn name(draw: &mut Draw, letter: char, number: usize) -> String {
    let fits: Vec<char> = "abcxyzABC0189_-+é".chars().collect();
    let rest = (0..draw.below(20)).map(|_| *draw.pick(&fits));
    format!("{letter}{number:02}{}", rest.collect::<String>())
}

/// Maps from old names to new names.
#[derive(Default)]
struct Names {
    ends: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
    classes: BTreeMap<String, String>,
    hosts: BTreeMap<String, String>,
}

impl Names {
    /// Draws a name for every named object of a scenario.
    fn draw(root: &mut Table, draw: &mut Draw) -> Names {
        let mut names = Names::default();
        let mut enter = |all: &mut BTreeMap<String, String>, letter, old: &str| {
            let number = all.len();
            all.entry(old.to_owned())
                .or_insert_with(|| name(draw, letter, number));
        };
        if root.contains_key("bottleneck") {
            enter(&mut names.links, 'l', "bottleneck");
        }
        let links = root.get("links").and_then(Value::as_table);
        for link in links.into_iter().flat_map(Table::keys) {
            enter(&mut names.links, 'l', link);
        }
        for key in ["flows", "traffic"] {
            for end in tables(root, key) {
                if let Some(Value::String(old)) = end.get("name") {
                    enter(&mut names.ends, 'e', old);
                }
                if let Some(Value::String(old)) = end.get("class") {
                    enter(&mut names.classes, 'c', old);
                }
                let hosts = end.get("hosts").and_then(Value::as_array);
                for old in hosts.into_iter().flatten().filter_map(Value::as_str) {
                    enter(&mut names.hosts, 'h', old);
                }
            }
        }
        names
    }

    /// Replaces the old names with the new names.
    fn apply(&self, root: &mut Table) {
        if let Some(only) = root.remove("bottleneck") {
            let only = Table::from_iter([("bottleneck".to_owned(), only)]);
            root.insert("links".to_owned(), Value::Table(only));
        }
        if let Some(Value::Table(links)) = root.get_mut("links") {
            let old = std::mem::take(links);
            links.extend(
                old.into_iter()
                    .map(|(name, link)| (self.of(Kind::Link, &name), link)),
            );
        }
        for key in ["flows", "traffic"] {
            for end in tables(root, key) {
                for (key, value) in end.iter_mut() {
                    let rename = |value: &mut Value, of: &dyn Fn(&str) -> String| {
                        if let Value::String(name) = value {
                            *name = of(name);
                        }
                    };
                    let each = |value: &mut Value, of: &dyn Fn(&str) -> String| {
                        let all = value.as_array_mut().into_iter().flatten();
                        all.for_each(|value| rename(value, of));
                    };
                    match key.as_str() {
                        "name" => rename(value, &|name| self.of(Kind::End, name)),
                        "class" => rename(value, &|name| self.of(Kind::Class, name)),
                        "route" | "back" => each(value, &|name| self.of(Kind::Link, name)),
                        "hosts" => each(value, &|name| self.hosts[name].clone()),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Returns the map from the new names to the old names.
    fn back(&self) -> Names {
        let turn = |all: &BTreeMap<String, String>| {
            let all = all.iter();
            all.map(|(old, new)| (new.clone(), old.clone())).collect()
        };
        Names {
            ends: turn(&self.ends),
            links: turn(&self.links),
            classes: turn(&self.classes),
            hosts: turn(&self.hosts),
        }
    }

    /// Returns the new name of a flow, source or link. The old name may also be the name of a
    /// member of a group of flows, or of the return direction of a link.
    fn of(&self, kind: Kind, name: &str) -> String {
        let (all, mark) = match kind {
            Kind::End => (&self.ends, '/'),
            Kind::Link => (&self.links, '.'),
            Kind::Class => (&self.classes, '/'),
        };
        let at = name.find(mark).unwrap_or(name.len());
        let (name, rest) = name.split_at(at);
        let other = all.get(name).map_or(name, String::as_str);
        format!("{other}{rest}")
    }
}
