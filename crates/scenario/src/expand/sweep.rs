//! Reads `[sweep]`: the swept keys with their values, keys that advance together (zip), and seeds.

use std::collections::HashMap;

use super::graft::resolve;
use crate::read::{Item, Node, Path, Problem, Span, Step, Toml, shorten};

/// The largest product of the number of sweep points and the number of seeds.
pub(super) const MAX_POINTS: u64 = 100_000;

const MAX_KEYS: usize = 100;

/// An axis of the sweep: one key, or all keys of a zip.
#[derive(Debug)]
pub(super) struct Dimension {
    pub keys: Vec<SweptKey>,
    /// Number of values of each key on the axis.
    pub len: usize,
}

#[derive(Debug)]
pub(super) struct SweptKey {
    /// The path of the key, as the user wrote it in the file.
    pub text: String,
    pub path: Path,
    pub values: Vec<Node>,
}

impl SweptKey {
    /// Returns the position of the key in the file.
    pub fn span(&self) -> Span {
        let (first, last) = (self.path.0.first(), self.path.0.last());
        match (first, last) {
            (Some((_, first)), Some((_, last))) => Span {
                end: last.end,
                ..*first
            },
            _ => Span::default(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Sweep {
    pub dimensions: Vec<Dimension>,
    pub seeds: u64,
    pub seeds_span: Span,
}

impl Sweep {
    /// Returns the number of sweep points, multiplied by the number of seeds.
    pub fn points(&self) -> u64 {
        self.dimensions
            .iter()
            .map(|dimension| dimension.len as u64)
            .chain([self.seeds])
            .fold(1, u64::saturating_mul)
    }
}

pub(super) fn read(root: &Node, problems: &mut Vec<Problem>) -> Sweep {
    let mut sweep = Sweep {
        dimensions: Vec::new(),
        seeds: 1,
        seeds_span: Span::default(),
    };
    let Some(item) = root.table().and_then(|table| table.item("sweep")) else {
        return sweep;
    };
    let Some(table) = item.node.table() else {
        problems.push(Problem::new(item.node.span, "[sweep] is not a table").expected("a table"));
        return sweep;
    };
    let mut zips = Vec::new();
    for item in &table.0 {
        match item.key.as_str() {
            "seeds" => {
                sweep.seeds_span = item.node.span;
                match item.node.value {
                    Toml::Integer(n) if n >= 1 => sweep.seeds = n.unsigned_abs(),
                    _ => problems.push(wrong(
                        "seeds",
                        &item.node,
                        "a whole number of at least 1 (how many seeds)",
                    )),
                }
            }
            "zip" => zips.push(item),
            _ => {
                let mut keys = Vec::new();
                flatten("", item, &mut keys, problems);
                for key in keys {
                    let len = key.values.len();
                    sweep.dimensions.push(Dimension {
                        keys: vec![key],
                        len,
                    });
                }
            }
        }
    }
    for item in zips {
        read_zips(item, &mut sweep, problems);
    }
    let keys: usize = sweep.dimensions.iter().map(|d| d.keys.len()).sum();
    if keys > MAX_KEYS {
        problems.push(
            Problem::new(item.key_span, format!("a sweep over {keys} keys"))
                .expected(format!("at most {MAX_KEYS}")),
        );
        sweep.dimensions.clear();
    }
    check_twice(root, &sweep, problems);
    sweep.dimensions.retain(|dimension| {
        let Some(key) = dimension.keys.first() else {
            return false;
        };
        if let Some((Step::Key(first), span)) = key.path.0.first()
            && matches!(first.as_str(), "title" | "with" | "sweep" | "assert")
        {
            problems.push(
                Problem::new(*span, format!("\"{first}\" is the same at every point"))
                    .expected("the path of a key that changes a run"),
            );
            return false;
        }
        true
    });
    sweep
}

fn wrong(name: &str, node: &Node, expected: &str) -> Problem {
    Problem::new(
        node.span,
        format!("wrong value {} for \"{name}\"", node.inline(60)),
    )
    .expected(expected)
}

/// Collects the swept keys in an item of `[sweep]`. An item is `"a.b" = [...]`, or a table `a` with
/// a key `b`.
fn flatten(prefix: &str, item: &Item, keys: &mut Vec<SweptKey>, problems: &mut Vec<Problem>) {
    let text = format!("{prefix}{}", item.key);
    match &item.node.value {
        Toml::Table(table) if !table.0.is_empty() => {
            for inner in &table.0 {
                flatten(&format!("{text}."), inner, keys, problems);
            }
        }
        Toml::Array(values) if !values.is_empty() => {
            // If the path is split over several keys, use the position of the last key.
            let span = item.key_span;
            let quoted = (span.end - span.start) as usize == item.key.len() + 2;
            let inner = Span {
                start: span.start + u32::from(quoted),
                ..span
            };
            match Path::parse(&text, inner) {
                Ok(mut path) => {
                    if !prefix.is_empty() || !quoted {
                        path.0.iter_mut().for_each(|step| step.1 = span);
                    }
                    keys.push(SweptKey {
                        text,
                        path,
                        values: values.clone(),
                    });
                }
                Err(problem) => problems.push(problem),
            }
        }
        _ => problems.push(wrong(
            &shorten(&text),
            &item.node,
            "a list of at least one value",
        )),
    }
}

fn read_zips(item: &Item, sweep: &mut Sweep, problems: &mut Vec<Problem>) {
    const EXPECTED: &str = "tables of lists of equal length, each under [[sweep.zip]]";
    let Some(tables) = item.node.array().filter(|tables| !tables.is_empty()) else {
        problems.push(wrong("zip", &item.node, EXPECTED));
        return;
    };
    for node in tables {
        let Some(table) = node.table().filter(|table| !table.0.is_empty()) else {
            problems.push(wrong("zip", node, EXPECTED));
            continue;
        };
        let mut keys = Vec::new();
        for item in &table.0 {
            flatten("", item, &mut keys, problems);
        }
        let Some(len) = keys.first().map(|key| key.values.len()) else {
            continue;
        };
        for key in keys.iter().skip(1).filter(|key| key.values.len() != len) {
            problems.push(
                Problem::new(
                    key.span(),
                    format!(
                        "the list of \"{}\" has length {}, and the list of \"{}\" has length {len}",
                        key.text,
                        key.values.len(),
                        keys[0].text
                    ),
                )
                .expected("lists of equal length"),
            );
        }
        let len = keys.iter().map(|key| key.values.len()).min().unwrap_or(0);
        sweep.dimensions.push(Dimension { keys, len });
    }
}

/// Reports a key that is swept twice, or that is inside another swept key. In both cases, only one
/// of the two values could apply.
fn check_twice(root: &Node, sweep: &Sweep, problems: &mut Vec<Problem>) {
    let keys: Vec<(Path, &SweptKey)> = sweep
        .dimensions
        .iter()
        .flat_map(|dimension| &dimension.keys)
        .map(|key| (resolve(root, &key.path), key))
        .collect();
    for (i, (path, key)) in keys.iter().enumerate() {
        let Some((_, other)) = keys[..i].iter().find(|(other, _)| path.is_prefix_of(other)) else {
            continue;
        };
        let (message, help) = if path.0.len() == other.path.0.len() {
            (
                format!("\"{}\" is swept twice", key.text),
                "remove one of them".to_owned(),
            )
        } else {
            (
                format!(
                    "\"{}\" replaces \"{}\", which is swept before it",
                    key.text, other.text
                ),
                format!("remove \"{}\" or \"{}\"", key.text, other.text),
            )
        };
        problems.push(Problem::new(key.span(), message).help(help));
    }
}

/// Returns the labels of a key's values. If a table names an algorithm, its label is the
/// algorithm's name. If two values name the same algorithm, the label is the whole table as TOML.
pub(super) fn labels(values: &[Node]) -> Vec<String> {
    let short = |node: &Node| match &node.value {
        Toml::Table(table) => ["aqm", "name", "kind"]
            .iter()
            .find_map(|key| table.get(key).and_then(Node::string))
            .map(str::to_owned),
        Toml::String(text) => Some(text.clone()),
        _ => None,
    };
    let shorts: Vec<Option<String>> = values.iter().map(short).collect();
    let shown = told_apart(values);
    let mut times: HashMap<&str, u32> = HashMap::new();
    for name in shorts.iter().flatten() {
        *times.entry(name).or_default() += 1;
    }
    values
        .iter()
        .zip(&shorts)
        .zip(shown)
        .map(|((node, short), shown)| match short {
            Some(name) if times[name.as_str()] == 1 => name.clone(),
            // If one of the values is a name instead of a table, its label is this name.
            Some(name) if node.string().is_some() => name.clone(),
            _ => shown,
        })
        .collect()
}

/// Formats values as TOML. Shortens the texts, unless two shortened texts would be equal.
fn told_apart(values: &[Node]) -> Vec<String> {
    const SHOWN: usize = 200;
    let cut: Vec<String> = values.iter().map(|node| node.inline(SHOWN)).collect();
    let mut times: HashMap<&str, u32> = HashMap::new();
    for text in &cut {
        *times.entry(text).or_default() += 1;
    }
    let whole = |node: &Node| node.inline(usize::MAX / 8);
    let shown = values
        .iter()
        .zip(&cut)
        .map(|(node, text)| match times[text.as_str()] {
            1 => text.clone(),
            _ => whole(node),
        });
    shown.collect()
}
