//! Sweeps: a grid of values by path, lists that advance together, seeds; and
//! how a value is put into the tree at a path (which `--set` uses too).

use std::collections::HashMap;

use tailback_engine::keys::{KeyKind, Registry, TableDef};
use tailback_engine::plan::Plan;
use tailback_engine::registry::Kind;

use crate::build::names;
use crate::diagnostic::{Problem, listed};
use crate::keys::entries;
use crate::tree::{Item, Node, Path, Span, Step, Table, Toml, shorten};

/// The most points, seeds counted.
pub(crate) const MAX_POINTS: u64 = 100_000;

/// The most keys.
const MAX_KEYS: usize = 100;

/// What advances together: one key of the grid, or the keys of a zip.
#[derive(Debug)]
pub(crate) struct Dimension {
    pub keys: Vec<SweptKey>,
    /// How many values each key has.
    pub len: usize,
}

/// A key of a sweep and its values.
#[derive(Debug)]
pub(crate) struct SweptKey {
    /// The path as it is written.
    pub text: String,
    pub path: Path,
    pub values: Vec<Node>,
}

impl SweptKey {
    /// Where the key stands.
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

/// `[sweep]`, read.
#[derive(Debug)]
pub(crate) struct Sweep {
    pub dimensions: Vec<Dimension>,
    pub seeds: u64,
    pub seeds_span: Span,
}

impl Sweep {
    /// How many points it has, seeds counted.
    pub fn points(&self) -> u64 {
        self.dimensions
            .iter()
            .map(|dimension| dimension.len as u64)
            .chain([self.seeds])
            .fold(1, u64::saturating_mul)
    }
}

/// Reads `[sweep]` of a tree.
pub(crate) fn read(root: &Node, problems: &mut Vec<Problem>) -> Sweep {
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
            && matches!(first.as_str(), "title" | "sweep" | "assert")
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

/// The keys below one of [sweep]: `"a.b" = [...]`, or a table `a` with a key `b`.
fn flatten(prefix: &str, item: &Item, keys: &mut Vec<SweptKey>, problems: &mut Vec<Problem>) {
    let text = format!("{prefix}{}", item.key);
    match &item.node.value {
        Toml::Table(table) if !table.0.is_empty() => {
            for inner in &table.0 {
                flatten(&format!("{text}."), inner, keys, problems);
            }
        }
        Toml::Array(values) if !values.is_empty() => {
            // A path that was put together from several keys has the place of the last.
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
                        "\"{}\" is a list of {} and \"{}\" one of {len}",
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

/// A key that is swept twice, or below another, would show only one of its values.
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
        let message = if path.0.len() == other.path.0.len() {
            format!("\"{}\" is swept twice", key.text)
        } else {
            format!(
                "\"{}\" replaces \"{}\", which is swept before it",
                key.text, other.text
            )
        };
        problems.push(Problem::new(key.span(), message));
    }
}

/// The path with names of flows and sources replaced by their indices, and
/// `sweep.a.b` by `sweep."a.b"` where the file has that.
pub(crate) fn resolve(root: &Node, path: &Path) -> Path {
    let mut path = path.clone();
    let Some((Step::Key(first), _)) = path.0.first().cloned() else {
        return path;
    };
    let Some((Step::Key(name), span)) = path.0.get(1).cloned() else {
        return path;
    };
    if first == "sweep" {
        let swept = written(&path.0[1..]);
        let table = root.table().and_then(|table| table.get("sweep"));
        let table = table.and_then(Node::table);
        if table.is_some_and(|table| table.get(&swept).is_some()) {
            path.0.truncate(1);
            path.0.push((Step::Key(swept), span));
        }
        return path;
    }
    if let Some(index) = index_of(root, &first, &name) {
        path.0[1] = (Step::Index(index), span);
    }
    path
}

/// The names in an array of tables of the root.
fn names_in(root: &Node, list: &str) -> Vec<String> {
    let table = root.table();
    let nodes = |name| {
        table
            .and_then(|table| table.get(name))
            .and_then(Node::array)
            .unwrap_or_default()
    };
    let (flows, traffic) = names(nodes("flows"), nodes("traffic"));
    match list {
        "flows" => flows,
        "traffic" => traffic,
        _ => Vec::new(),
    }
}

fn index_of(root: &Node, list: &str, name: &str) -> Option<usize> {
    names_in(root, list).iter().position(|n| n == name)
}

/// The value of a key after it, and what is set inside it, were put into the tree.
pub(crate) fn grafted<'n>(
    root: &Node,
    path: &Path,
    value: &Node,
    inside: impl Iterator<Item = (&'n Path, &'n Node)>,
) -> Result<Node, Problem> {
    let mut tree = root.clone();
    graft(&mut tree, path, value.clone())?;
    for (path, value) in inside {
        graft(&mut tree, path, value.clone())?;
    }
    let mut node = &tree;
    for (step, _) in &path.0 {
        let inner = match (step, &node.value) {
            (Step::Key(key), Toml::Table(table)) => table.get(key),
            (Step::Index(index), Toml::Array(list)) => list.get(*index),
            _ => None,
        };
        match inner {
            Some(inner) => node = inner,
            None => return Ok(value.clone()),
        }
    }
    Ok(node.clone())
}

/// Puts a value where a resolved path leads. What the keys of the scenario
/// know and the file leaves out is created on the way: `path.rtt` needs no
/// `[path]`, and `queue.target` works for `queue = "codel"`.
pub(crate) fn graft(root: &mut Node, path: &Path, value: Node) -> Result<(), Problem> {
    // A name that was not resolved is unknown; the known ones, for the
    // message, need the whole tree.
    let names = match path.0.as_slice() {
        [(Step::Key(list), _), (Step::Key(_), _), ..] => names_in(root, list),
        _ => Vec::new(),
    };
    let Some(last) = path.0.len().checked_sub(1) else {
        return Ok(());
    };
    let mut node = root;
    let mut place = Place::Table(&Plan::TABLE);
    for (i, (step, span)) in path.0.iter().enumerate() {
        let next = place.below(step);
        if matches!(step, Step::Key(_))
            && let Toml::String(name) = &node.value
            && let Place::Choice(registry) = place
        {
            let name = Node {
                span: node.span,
                value: Toml::String(name.clone()),
            };
            let mut table = Table::default();
            table.set(registry.name_key(), node.span, name);
            node.value = Toml::Table(table);
        }
        let shown = || shorten(&written(&path.0[..i]));
        node = match (step, &mut node.value) {
            (Step::Index(index), Toml::Array(list)) => {
                let len = list.len();
                let Some(inner) = list.get_mut(*index) else {
                    return Err(
                        Problem::new(*span, format!("there is no {}[{index}]", shown()))
                            .expected(format!("an index below {len}"))
                            .global(),
                    );
                };
                inner
            }
            (Step::Key(key), Toml::Array(_)) => {
                let problem = Problem::new(
                    *span,
                    format!("there is no \"{}\" in {}", shorten(key), shown()),
                )
                .global();
                return Err(match names.as_slice() {
                    [] => problem.expected("an index such as [0]"),
                    names => problem
                        .expected(format!(
                            "one of {}",
                            listed(names.iter().map(String::as_str))
                        ))
                        .nearest(key, names.iter().map(String::as_str)),
                });
            }
            (Step::Key(key), Toml::Table(table)) => {
                if i == last {
                    table.set(key, *span, value);
                    return Ok(());
                }
                if table.get(key).is_none() {
                    if !place.may_create(key, table) {
                        let mut valid: Vec<String> = table.keys().map(str::to_owned).collect();
                        valid.extend(place.creatable().map(str::to_owned));
                        valid.sort();
                        valid.dedup();
                        let whole = if i == 0 {
                            "the scenario".to_owned()
                        } else {
                            shown()
                        };
                        let problem = Problem::new(
                            *span,
                            format!("there is no \"{}\" in {whole}", shorten(key)),
                        )
                        .nearest(key, valid.iter().map(String::as_str))
                        .global();
                        return Err(if valid.is_empty() {
                            problem
                        } else {
                            problem.expected(format!("one of {}", valid.join(", ")))
                        });
                    }
                    let mut inner = Table::default();
                    // An option of the default queue discipline.
                    if let (Place::Table(def), Place::Choice(registry)) = (place, next)
                        && let Some(name) = def.key(key).and_then(|key| key.default)
                    {
                        let name = Node {
                            span: *span,
                            value: Toml::String(name.to_owned()),
                        };
                        inner.set(registry.name_key(), *span, name);
                    }
                    let inner = Node {
                        span: *span,
                        value: Toml::Table(inner),
                    };
                    table.set(key, *span, inner);
                }
                match table.get_mut(key) {
                    Some(inner) => inner,
                    None => return Ok(()),
                }
            }
            _ => {
                return Err(Problem::new(*span, format!("{} has no keys", shown()))
                    .expected("the path of a key")
                    .global());
            }
        };
        if i == last {
            *node = value;
            return Ok(());
        }
        place = next;
    }
    Ok(())
}

fn written(steps: &[(Step, Span)]) -> String {
    let mut text = String::new();
    for (step, _) in steps {
        match step {
            Step::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// Where a path has led, as far as the keys of the scenario know.
#[derive(Clone, Copy)]
enum Place {
    Table(&'static TableDef),
    Map(&'static TableDef),
    List(&'static TableDef),
    /// An entry of a registry, perhaps by its name alone.
    Choice(Registry),
    /// Keys of one's own.
    Open,
    Other,
}

impl Place {
    fn below(self, step: &Step) -> Place {
        match (self, step) {
            (Place::Table(def), Step::Key(key)) => match def.key(key).map(|key| key.kind) {
                Some(KeyKind::Table(def)) => Place::Table(def),
                Some(KeyKind::Map(def)) => Place::Map(def),
                Some(KeyKind::List(def)) => Place::List(def),
                Some(KeyKind::Entry(registry)) => Place::Choice(registry),
                Some(KeyKind::Sweep) => Place::Open,
                _ => Place::Other,
            },
            (Place::Map(def) | Place::List(def), _) => Place::Table(def),
            (Place::Open, _) => Place::Open,
            _ => Place::Other,
        }
    }

    /// Keys that are made on the way if the file does not have them.
    fn creatable(self) -> Box<dyn Iterator<Item = &'static str>> {
        match self {
            Place::Table(def) => Box::new(
                def.keys
                    .iter()
                    .filter(|key| {
                        matches!(
                            key.kind,
                            KeyKind::Table(_) | KeyKind::Entry(Registry::Aqm) | KeyKind::Sweep
                        )
                    })
                    .map(|key| key.name),
            ),
            _ => Box::new(std::iter::empty()),
        }
    }

    fn may_create(self, key: &str, table: &Table) -> bool {
        match self {
            Place::Open => true,
            // One of the two forms excludes the other.
            Place::Table(_) if key == "bottleneck" && table.get("links").is_some() => false,
            // A table of options, such as `classic` of `wred`.
            Place::Choice(registry) => {
                let name = table.get(registry.name_key()).and_then(Node::string);
                entries(registry).iter().any(|entry| {
                    Some(entry.name) == name
                        && entry
                            .options
                            .iter()
                            .any(|opt| opt.name == key && matches!(opt.kind, Kind::Table(_)))
                })
            }
            _ => self.creatable().any(|name| name == key),
        }
    }
}

/// What labels the values of a key: the name of a table's entry where no other
/// value has it, else the table as TOML.
pub(crate) fn labels(values: &[Node]) -> Vec<String> {
    let short = |node: &Node| match &node.value {
        Toml::Table(table) => ["aqm", "name", "kind"]
            .iter()
            .find_map(|key| table.get(key).and_then(Node::string))
            .map(str::to_owned),
        Toml::String(text) => Some(text.clone()),
        _ => None,
    };
    let shorts: Vec<Option<String>> = values.iter().map(short).collect();
    let mut times: HashMap<&str, u32> = HashMap::new();
    for name in shorts.iter().flatten() {
        *times.entry(name).or_default() += 1;
    }
    values
        .iter()
        .zip(&shorts)
        .map(|(node, short)| match short {
            Some(name) if times[name.as_str()] == 1 => name.clone(),
            // A name beside a table of the same entry is told apart by the table.
            Some(name) if node.string().is_some() => name.clone(),
            _ => node.inline(200),
        })
        .collect()
}
