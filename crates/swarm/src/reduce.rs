//! Reduces a failing scenario to a smaller scenario that fails in the same way.

use toml::{Table, Value};

use crate::finding::Finding;

/// Largest number of trials to reduce one scenario.
const MOST: usize = 2_000;

/// One component of a path into a TOML value.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Item(usize),
}

/// Returns the smallest scenario that still has a finding of the given kind, together with the
/// finding. `findings` is a function that tries a scenario and returns all findings. After each
/// trial, this function calls `told` with the number of trials so far.
pub fn reduce(
    scenario: &Table,
    kind: &str,
    findings: impl Fn(&Table) -> Vec<Finding>,
    mut told: impl FnMut(usize),
) -> Option<(Table, Finding)> {
    let fails = |table: &Table| {
        let findings = findings(table).into_iter();
        let mut alike = findings.filter(|finding| finding.kind == kind);
        alike.next()
    };
    let mut best = scenario.clone();
    let mut finding = fails(&best)?;
    let mut trials = 1;
    loop {
        let mut smaller = false;
        let mut paths = Vec::new();
        all_paths(&Value::Table(best.clone()), &mut Vec::new(), &mut paths);
        for path in paths {
            for change in [remove, simplify] {
                let mut candidate = Value::Table(best.clone());
                if !change(&mut candidate, &path) || trials >= MOST {
                    continue;
                }
                let Value::Table(candidate) = candidate else {
                    continue;
                };
                trials += 1;
                told(trials);
                if let Some(found) = fails(&candidate) {
                    (best, finding) = (candidate, found);
                    smaller = true;
                    break;
                }
            }
        }
        if !smaller || trials >= MOST {
            return Some((best, finding));
        }
    }
}

/// Lists the paths to all values inside `value`: outer values before inner values, and the last
/// value of an array before the first. In this order, the removal of a value does not invalidate
/// later paths in the list.
fn all_paths(value: &Value, at: &mut Vec<Step>, paths: &mut Vec<Vec<Step>>) {
    let inner: Vec<(Step, &Value)> = match value {
        Value::Table(table) => {
            let parts = table.iter().rev();
            parts
                .map(|(key, part)| (Step::Key(key.clone()), part))
                .collect()
        }
        Value::Array(items) => {
            let parts = items.iter().enumerate().rev();
            parts.map(|(i, part)| (Step::Item(i), part)).collect()
        }
        _ => return,
    };
    for (step, part) in inner {
        at.push(step);
        paths.push(at.clone());
        all_paths(part, at, paths);
        at.pop();
    }
}

fn part<'v>(value: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter()
        .try_fold(value, |value, step| match (value, step) {
            (Value::Table(table), Step::Key(key)) => table.get_mut(key),
            (Value::Array(items), Step::Item(i)) => items.get_mut(*i),
            _ => None,
        })
}

/// Removes the value at a path. Returns whether the path had a value.
fn remove(value: &mut Value, path: &[Step]) -> bool {
    let Some((last, outer)) = path.split_last() else {
        return false;
    };
    match (part(value, outer), last) {
        (Some(Value::Table(table)), Step::Key(key)) => table.remove(key).is_some(),
        (Some(Value::Array(items)), Step::Item(i)) if *i < items.len() => {
            items.remove(*i);
            true
        }
        _ => false,
    }
}

/// Replaces a number with a simpler number, which has one digit followed by zeros.
fn simplify(value: &mut Value, path: &[Step]) -> bool {
    let Some(value) = part(value, path) else {
        return false;
    };
    let plain = match value {
        Value::Integer(n) => Value::Integer(round(n.unsigned_abs()) as i64 * n.signum()),
        Value::String(text) => {
            let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            match text[..digits].parse() {
                Ok(number) => Value::String(format!("{}{}", round(number), &text[digits..])),
                Err(_) => return false,
            }
        }
        Value::Float(number) if *number != 0.0 => {
            let unit = 10_f64.powf(number.abs().log10().floor());
            Value::Float((number.abs() / unit).floor() * unit * number.signum())
        }
        _ => return false,
    };
    let changed = plain != *value;
    *value = plain;
    changed
}

/// Replaces all digits of a number except the first digit with zeros.
fn round(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0));
    number / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Limits, trial};

    #[test]
    fn one_digit_remains() {
        assert_eq!([0, 7, 48, 12_345].map(round), [0, 7, 40, 10_000]);
        let mut value = Value::Table("a = [\"1234ns\", -56, \"word\"]".parse().expect("TOML"));
        let path = |i| [Step::Key("a".to_owned()), Step::Item(i)];
        assert!(simplify(&mut value, &path(0)));
        assert!(simplify(&mut value, &path(1)));
        assert!(!simplify(&mut value, &path(1)), "it is one already");
        assert!(!simplify(&mut value, &path(2)));
        assert!(remove(&mut value, &path(2)));
        assert_eq!(value.to_string().trim(), "{ a = [\"1000ns\", -50] }");
    }

    #[test]
    fn what_does_not_matter_goes() {
        // A trial rejects an invalid scenario. A rejection is not a finding, so the scenario is not
        // reduced.
        let table: Table = "duration = \"1s\"".parse().expect("TOML");
        let findings = |table: &Table| trial(&table.to_string(), &Limits::default()).findings;
        assert!(reduce(&table, "does not end", findings, |_| {}).is_none());
    }
}
