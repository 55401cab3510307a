//! Invariant: a scenario has the same runs in another notation. The check writes times, rates and
//! sizes in other units. The check also changes tables between the inline form and the normal form,
//! reorders keys, and replaces short forms with their full forms.
//!
//! The order of links, of flows and of the keys of a sweep stays the same, because runs depend on
//! this order.

use tailback_scenario::EngineKind;
use toml::{Table, Value};

use super::{Check, Law, broken, outside};
use crate::draw::Draw;
use crate::generate;
use crate::trial::{Limits, load};

pub(super) const LAW: Law = Law {
    name: "write",
    doc: "values in other units and keys in another layout name the same runs",
    draw: generate::scenario,
    check,
};

fn check(scenario: &Table, seed: u64, _limits: &Limits) -> Check {
    let mut draw = Draw::new(seed);
    let text = written(scenario, &mut draw);
    let mut refused = 0;
    for engine in [EngineKind::Sim, EngineKind::Kernel] {
        let other = load(&text, engine);
        match (load(&scenario.to_string(), engine), other) {
            (Ok(scenario), Ok(other)) => {
                for (one, two) in scenario.points.iter().zip(&other.points) {
                    if one.run_id != two.run_id {
                        let canonical = (&one.canonical, &two.canonical);
                        return Err(broken("a run of another name", format!("{canonical:?}")));
                    }
                }
                let points = [scenario.points.len(), other.points.len()];
                if points[0] != points[1] {
                    return Err(broken("another number of runs", format!("{points:?}")));
                }
            }
            (Err(_), Err(_)) => refused += 1,
            (Ok(_), Err(message)) => return Err(broken("refused in other words", message)),
            (Err(message), Ok(_)) => {
                return Err(broken("accepted in other words", message));
            }
        }
    }
    match refused {
        2 => Err(outside("refused for both engines")),
        _ => Ok(()),
    }
}

/// Tables whose entries must keep their order.
const ORDERED: [&str; 3] = ["links", "sweep", "zip"];

/// Writes a scenario in another notation.
fn written(root: &Table, draw: &mut Draw) -> String {
    let mut root = root.clone();
    root.insert(
        "title".to_owned(),
        Value::String("in other words".to_owned()),
    );
    let swept = root.contains_key("sweep");
    if !swept
        && draw.chance(0.3)
        && let Some(only) = root.remove("bottleneck")
    {
        let only = Table::from_iter([("bottleneck".to_owned(), only)]);
        root.insert("links".to_owned(), Value::Table(only));
    }
    let mut keys: Vec<String> = root.keys().cloned().collect();
    draw.shuffle(&mut keys);
    let (mut plain, mut sections) = (String::new(), String::new());
    for key in &keys {
        let value = reworded(key, &root[key], draw);
        match &value {
            Value::Table(table) if draw.chance(0.5) => {
                sections += &format!("[{key}] # a section\n");
                for key in order(key, table, draw) {
                    sections += &format!("{} = {}\n", bare(key), inline(key, &table[key], draw));
                }
            }
            Value::Table(table) if draw.chance(0.5) => {
                for inner in order(key, table, draw) {
                    let value = inline(inner, &table[inner], draw);
                    plain += &format!("{key}.{} = {value}\n", bare(inner));
                }
            }
            Value::Array(items) if items.iter().all(Value::is_table) && draw.chance(0.7) => {
                for table in items.iter().filter_map(Value::as_table) {
                    sections += &format!("[[{key}]]\n");
                    for key in order(key, table, draw) {
                        let value = inline(key, &table[key], draw);
                        sections += &format!("{} = {value}\n", bare(key));
                    }
                }
            }
            value => plain += &format!("{key} = {}\n", inline(key, value, draw)),
        }
    }
    let text = plain + &sections;
    if draw.chance(0.2) {
        return text.replace('\n', "\r\n");
    }
    text
}

fn order<'t>(key: &str, table: &'t Table, draw: &mut Draw) -> Vec<&'t String> {
    let mut keys: Vec<&String> = table.keys().collect();
    if !ORDERED.contains(&key) {
        draw.shuffle(&mut keys);
    }
    keys
}

/// Writes a key, with quotes if TOML requires them.
fn bare(key: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match key.chars().all(fits) {
        true => key.to_owned(),
        false => format!("\"{key}\""),
    }
}

fn inline(key: &str, value: &Value, draw: &mut Draw) -> String {
    match value {
        Value::String(text) if draw.chance(0.5) => format!("'{text}'"),
        Value::Integer(number) if *number >= 0 => match draw.below(4) {
            0 => format!("{number:#x}"),
            1 => format!("+{number}"),
            2 => grouped(*number),
            _ => number.to_string(),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| inline(key, item, draw)).collect();
            format!("[ {} ]", items.join(", "))
        }
        Value::Table(table) => {
            let keys = order(key, table, draw).into_iter();
            let pairs: Vec<String> = keys
                .map(|key| format!("{} = {}", bare(key), inline(key, &table[key], draw)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

/// Writes a number with an underscore between groups of three digits.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

/// Returns the same value in another notation.
fn reworded(key: &str, value: &Value, draw: &mut Draw) -> Value {
    match value {
        Value::Table(table) => {
            let parts = table.iter();
            Value::Table(
                parts
                    .map(|(key, part)| (key.clone(), reworded(key, part, draw)))
                    .collect(),
            )
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| reworded(key, item, draw)).collect())
        }
        Value::String(text)
            if ["name", "kind", "class", "hosts", "route", "back"].contains(&key) =>
        {
            Value::String(text.clone())
        }
        Value::String(text) => match (key, text.as_str()) {
            ("series", "interval") => Value::Boolean(true),
            ("series", "off") => Value::Boolean(false),
            ("queue", _) | ("cc", _) if draw.chance(0.3) => {
                let key = if key == "cc" { "name" } else { "aqm" };
                Value::Table(Table::from_iter([(key.to_owned(), value.clone())]))
            }
            _ => Value::String(in_other_units(text, draw)),
        },
        Value::Boolean(on) if key == "series" && draw.chance(0.5) => {
            Value::String(if *on { "interval" } else { "off" }.to_owned())
        }
        other => other.clone(),
    }
}

/// Largest number that is converted. Up to this limit, floating-point arithmetic is exact.
const MOST: u64 = 1 << 50;

/// Returns a time, rate or size in another unit, and any other value unchanged.
fn in_other_units(text: &str, draw: &mut Draw) -> String {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let units: &[(&str, f64)] = match unit {
        "ns" => &[
            ("ns", 1.0),
            ("nsecs", 1.0),
            ("us", 1e3),
            ("ms", 1e6),
            ("msec", 1e6),
            ("s", 1e9),
        ],
        "bit" => &[
            ("bit", 1.0),
            ("kbit", 1e3),
            ("Mbit", 1e6),
            ("Gbit", 1e9),
            ("Tbit", 1e12),
            ("Kibit", 1024.0),
            ("Mibit", 1048576.0),
        ],
        "b" => &[
            ("b", 1.0),
            ("kb", 1024.0),
            ("mb", 1048576.0),
            ("gb", 1073741824.0),
            ("kbit", 125.0),
        ],
        "p" => {
            let unit = draw.pick::<&str>(&["p", "packets", " packets"]);
            return text.replace('p', unit);
        }
        _ => return text.to_owned(),
    };
    match number.parse::<u64>() {
        Ok(number) if number < MOST => {
            let (unit, scale) = draw.pick(units);
            let space = if draw.chance(0.2) { " " } else { "" };
            format!("{}{space}{unit}", number as f64 / scale)
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_and_what_has_none_stays() {
        let mut draw = Draw::new(1);
        let mut all = std::collections::BTreeSet::new();
        for _ in 0..200 {
            all.insert(in_other_units("20000000ns", &mut draw).replace(' ', ""));
        }
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(
            all,
            [
                "0.02s",
                "20000000ns",
                "20000000nsecs",
                "20000us",
                "20ms",
                "20msec"
            ]
        );
        for kept in ["interval", "0.125000bdp", "9000000000000000000b", ""] {
            assert_eq!(in_other_units(kept, &mut draw), kept);
        }
        assert_eq!(
            [grouped(7), grouped(1234), grouped(1_234_567)],
            ["7", "1_234", "1_234_567"]
        );
    }
}
