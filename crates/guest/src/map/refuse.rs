//! Collects the parts of a plan that Linux does not support, with their paths in the plan.

use tailback_engine::plan::Refusal;
use tailback_engine::registry::kernel::Refused;

#[derive(Default)]
pub(super) struct Refusals(pub Vec<Refusal>);

impl Refusals {
    /// Adds a refusal. `expected` states what the user can write instead.
    pub fn add(&mut self, path: &str, message: impl Into<String>, expected: impl Into<String>) {
        self.0.push(Refusal {
            path: path.to_owned(),
            message: message.into(),
            expected: Some(expected.into()),
        });
    }

    /// Adds the refusals of the algorithm at `path` in the scenario.
    pub fn at(&mut self, path: &str, refused: Vec<Refused>) {
        for Refused {
            at,
            message,
            expected,
        } in refused
        {
            self.add(&format!("{path}.{at}"), message, expected);
        }
    }

    /// Replaces the path of every refusal with the given path.
    pub fn name(&mut self, path: &str) {
        for refusal in &mut self.0 {
            path.clone_into(&mut refusal.path);
        }
    }

    /// Adds a refusal that suggests no alternative value.
    pub fn never(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(Refusal {
            path: path.to_owned(),
            message: message.into(),
            expected: None,
        });
    }
}

/// Returns a message that lists the available names. The name that is most similar to the unknown
/// name comes first.
pub(super) fn instead<'a>(name: &str, there_is: impl Iterator<Item = &'a String>) -> String {
    let mut all: Vec<&str> = there_is.map(String::as_str).collect();
    if all.is_empty() {
        return "a guest kernel that has it".to_owned();
    }
    let near = (0..all.len()).min_by_key(|at| distance(name, all[*at]));
    if let Some(at) = near.filter(|at| distance(name, all[*at]) <= 1 + name.len() / 4) {
        all[..=at].rotate_right(1);
    }
    format!("one of {}", all.join(", "))
}

/// Returns the number of edits between two words (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first() {
        let names = ["codel", "fq_codel", "pie"].map(str::to_owned);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(
            instead("codle", names.iter()),
            "one of codel, fq_codel, pie"
        );
        assert_eq!(instead("pi2", names.iter()), "one of pie, codel, fq_codel");
        assert_eq!(instead("sfb", names.iter()), "one of codel, fq_codel, pie");
    }
}
