//! Invariant: the parts of a sweep have the same runs as the whole sweep. The check divides the
//! sweep in three ways: between two values of a swept key, by seed, and by sweep point.
//!
//! Runs with the same id are stored as one run, so sweep points with the same id must have the same
//! plan.

use std::collections::BTreeMap;

use tailback_scenario::{Override, Point, Scenario};
use toml::{Table, Value};

use super::{Check, Law, Verdict, broken, loaded, outside};
use crate::draw::Draw;
use crate::generate;
use crate::generate::values::ns;
use crate::trial::{Limits, load_with};

pub(super) const LAW: Law = Law {
    name: "split",
    doc: "a sweep in parts has the runs of the whole",
    draw,
    check,
};

fn draw(seed: u64) -> Table {
    let mut root = generate::scenario(seed);
    let mut draw = Draw::new(seed ^ 0x5eed);
    let mut sweep = Table::new();
    let times = |draw: &mut Draw, near: f64| {
        let mut all: Vec<Value> = (0..2 + draw.below(3))
            .map(|i| ns(near * (1.0 + 0.3 * i as f64)))
            .collect();
        draw.shuffle(&mut all);
        Value::Array(all)
    };
    let duration = root.get("duration").and_then(Value::as_str);
    let duration = duration.and_then(|text| text.strip_suffix("ns")?.parse().ok());
    let mut keys = vec![
        ("path.rtt", draw.log(1e6, 1e9)),
        ("duration", duration.unwrap_or(1e9)),
        ("flows.f0.rtt", draw.log(1e6, 1e9)),
        ("tcp.min_rto", draw.log(1e6, 1e9)),
    ];
    // Without flows, keys of flows and of TCP have no effect, so several values of a swept key
    // would describe the same run.
    if !root.contains_key("flows") {
        keys.truncate(2);
    }
    let number = 1 + draw.below(3);
    for _ in 0..number {
        let (key, near) = *draw.pick(&keys);
        let values = times(&mut draw, near);
        sweep.insert(key.to_owned(), values);
    }
    let seeds = draw.chance(0.5).then(|| draw.between(1, 4));
    // The seeds of a sweep count up from the scenario's seed. Without this check, they could exceed
    // the largest possible seed.
    let first = root.get("seed").and_then(Value::as_integer).unwrap_or(1);
    if let Some(seeds) = seeds.filter(|seeds| first.checked_add(*seeds).is_some()) {
        sweep.insert("seeds".to_owned(), Value::Integer(seeds));
    }
    root.insert("sweep".to_owned(), Value::Table(sweep));
    root
}

fn check(scenario: &Table, seed: u64, _limits: &Limits) -> Check {
    let mut draw = Draw::new(seed);
    let whole = loaded(scenario)?;
    let cut = cut(scenario, &whole, &mut draw)?;
    let mut parts = Vec::new();
    for part in &cut.parts {
        parts.extend(loaded(part)?.points);
    }
    same("cut at a value", &whole.points, &parts, cut.in_order)?;
    by_seed(scenario, &whole)?;
    by_point(scenario, draw.pick(&whole.points))
}

/// The two parts of a sweep.
struct Cut {
    parts: [Table; 2],
    /// Whether all runs of the first part come before the runs of the second part.
    in_order: bool,
}

fn cut(scenario: &Table, whole: &Scenario, draw: &mut Draw) -> Result<Cut, Verdict> {
    let sweep = scenario.get("sweep").and_then(Value::as_table);
    let keys = sweep.into_iter().flat_map(Table::keys);
    let keys: Vec<&String> = keys
        .filter(|key| *key != "seeds" && *key != "zip")
        .collect();
    if keys.is_empty() {
        return Err(outside("it sweeps no key"));
    }
    let key = *draw.pick(&keys);
    let mut at = 0;
    let parts = [false, true].map(|behind| {
        let mut part = scenario.clone();
        let values = part
            .get_mut("sweep")
            .and_then(|sweep| sweep.get_mut(key.as_str()));
        if let Some(Value::Array(values)) = values {
            if !behind {
                at = 1 + draw.below(values.len().saturating_sub(1) as u64) as usize;
            }
            let rest = values.split_off(at.min(values.len()));
            if behind {
                *values = rest;
            }
        }
        part
    });
    let slowest = whole.axes.first().map(|axis| axis.keys.as_slice());
    Ok(Cut {
        parts,
        in_order: slowest == Some(std::slice::from_ref(key)),
    })
}

/// Compares the points of the whole sweep with the points of its parts. Points with the
/// same id must be equal.
fn same(how: &str, whole: &[Point], parts: &[Point], in_order: bool) -> Check {
    if whole.len() != parts.len() {
        let what = format!(
            "{how}: {} points, and {} in parts",
            whole.len(),
            parts.len()
        );
        return Err(broken("another number of runs in parts", what));
    }
    let mut pairs: Vec<(&Point, &Point)> = whole.iter().zip(parts).collect();
    if !in_order {
        let by_id = |points: &'_ [Point]| -> Vec<usize> {
            let mut all: Vec<usize> = (0..points.len()).collect();
            // Points with the same run may have different labels, because a swept key may have no
            // effect.
            all.sort_by_key(|i| (points[*i].run_id.clone(), points[*i].labels.clone()));
            all
        };
        let (left, right) = (by_id(whole), by_id(parts));
        pairs = left
            .iter()
            .zip(&right)
            .map(|(l, r)| (&whole[*l], &parts[*r]))
            .collect();
    }
    for (one, two) in pairs {
        if one.run_id != two.run_id {
            let what = format!("{how}: {:?}, and {:?}", one.labels, two.labels);
            return Err(broken("other runs in parts", what));
        }
        let alike = one.seed == two.seed && one.canonical == two.canonical;
        if !alike || one.plan != two.plan || one.params != two.params {
            let what = format!("{how}: {}", one.run_id);
            return Err(broken("two runs of one name", what));
        }
    }
    Ok(())
}

/// Compares the sweep with separate sweeps for each seed.
fn by_seed(scenario: &Table, whole: &Scenario) -> Check {
    let seeds: BTreeMap<u64, ()> = whole.points.iter().map(|point| (point.seed, ())).collect();
    for seed in seeds.keys() {
        let mut part = scenario.clone();
        part.insert("seed".to_owned(), Value::Integer(*seed as i64));
        if let Some(Value::Table(sweep)) = part.get_mut("sweep") {
            sweep.remove("seeds");
        }
        let of_seed = |point: &&Point| point.seed == *seed;
        let points: Vec<Point> = whole.points.iter().filter(of_seed).cloned().collect();
        same("seed by seed", &points, &loaded(&part)?.points, true)?;
    }
    Ok(())
}

/// Compares a point of the sweep with a scenario in which overrides set the point's values.
fn by_point(scenario: &Table, point: &Point) -> Check {
    let labels = point.params.iter().zip(point.labels.iter());
    let mut overrides: Vec<Override> = labels
        .map(|((key, _), label)| Override {
            key: key.clone(),
            value: format!("\"{label}\""),
        })
        .collect();
    overrides.push(Override {
        key: "seed".to_owned(),
        value: point.seed.to_string(),
    });
    let alone = load_with(&scenario.to_string(), &overrides, Some(1));
    let alone = alone.map_err(|message| broken("a point refused alone", message))?;
    match alone.points.as_slice() {
        [only] if only.run_id == point.run_id && only.plan == point.plan => Ok(()),
        points => {
            let what = format!("{:?}, and {} points by itself", point.labels, points.len());
            Err(broken("another run by itself", what))
        }
    }
}
