//! Inserts values of a sweep or of `--set` into the tree of the file.

use tailback_engine::keys::{KeyKind, Registry, TableDef};
use tailback_engine::plan::Plan;
use tailback_engine::registry::{Kind, Opt};

use crate::declare::entries;
use crate::plan::{LISTS, names};
use crate::read::{Node, Path, Problem, Span, Step, Table, Toml, listed, shorten};

/// Replaces names of flows and sources in a path with their indices. If the file has a key
/// `sweep."a.b"`, the path `sweep.a.b` refers to this key.
pub(super) fn resolve(root: &Node, path: &Path) -> Path {
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

/// Returns the names of the items in a top-level array of tables, such as `[[flows]]`.
fn names_in(root: &Node, list: &str) -> Vec<String> {
    let table = root.table();
    let nodes = |name| {
        table
            .and_then(|table| table.get(name))
            .and_then(Node::array)
            .unwrap_or_default()
    };
    let place = LISTS.iter().position(|name| *name == list);
    let [flows, traffic, programs] = names(LISTS.map(nodes));
    match place {
        Some(0) => flows,
        Some(1) => traffic,
        Some(2) => programs,
        _ => Vec::new(),
    }
}

fn index_of(root: &Node, list: &str, name: &str) -> Option<usize> {
    names_in(root, list).iter().position(|n| n == name)
}

/// Inserts `value` at `path` into a copy of the tree. Then inserts the values of `inside`, whose
/// paths begin with `path`. Returns the resulting value at `path`.
pub(super) fn grafted<'n>(
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
    Ok(at(&tree, path).unwrap_or(value).clone())
}

/// Returns the value at a path, or `None` if the path has no value.
pub(super) fn at<'n>(tree: &'n Node, path: &Path) -> Option<&'n Node> {
    path.0
        .iter()
        .try_fold(tree, |node, (step, _)| match (step, &node.value) {
            (Step::Key(key), Toml::Table(table)) => table.get(key),
            (Step::Index(index), Toml::Array(list)) => list.get(*index),
            _ => None,
        })
}

/// Inserts a value at a resolved path. Creates missing tables on the path. For example, the file
/// need not contain `[path]` for the path `path.rtt`. The path `queue.target` is valid even if the
/// file has `queue = "codel"`.
pub(super) fn graft(root: &mut Node, path: &Path, value: Node) -> Result<(), Problem> {
    // [`resolve`] has replaced all known names, so a name that is still in the path is unknown.
    let names = match path.0.as_slice() {
        [(Step::Key(list), _), (Step::Key(_), _), ..] => names_in(root, list),
        _ => Vec::new(),
    };
    let Some(last) = path.0.len().checked_sub(1) else {
        return Ok(());
    };
    let mut node = root;
    let mut reached = Reached::Table(&Plan::TABLE);
    for (i, (step, span)) in path.0.iter().enumerate() {
        if matches!(step, Step::Key(_))
            && let Toml::String(name) = &node.value
            && let Reached::Choice(registry) = reached
        {
            node.value = Toml::Table(named_table(registry, name, node.span));
        }
        let next = reached.below(step, node);
        let shown = || shorten(&written(&path.0[..i]));
        node = match (step, &mut node.value) {
            (Step::Index(index), Toml::Array(list)) => {
                let len = list.len();
                let Some(inner) = list.get_mut(*index) else {
                    let message = format!("there is no {}[{index}]", shown());
                    let problem = Problem::new(*span, message).global();
                    return Err(problem.expected(format!("an index below {len}")));
                };
                inner
            }
            (Step::Key(key), Toml::Array(_)) => {
                return Err(unknown_name(key, *span, &shown(), &names));
            }
            (Step::Key(key), Toml::Table(table)) => {
                if i == last {
                    table.set(key, *span, value);
                    return Ok(());
                }
                if table.get(key).is_none() {
                    if !reached.may_create(key, table) {
                        let whole = match i {
                            0 => "the scenario".to_owned(),
                            _ => shown(),
                        };
                        return Err(unknown_key(key, *span, &whole, reached, table));
                    }
                    let inner = Node {
                        span: *span,
                        value: Toml::Table(created(key, *span, reached, next)),
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
        reached = next;
    }
    Ok(())
}

/// Returns a table that replaces an entry's plain name. Options can be added to this table.
fn named_table(registry: Registry, name: &str, span: Span) -> Table {
    let name = Node {
        span,
        value: Toml::String(name.to_owned()),
    };
    let mut table = Table::default();
    table.set(registry.name_key(), span, name);
    table
}

/// Returns a new table for a missing key of a path.
fn created(key: &str, span: Span, reached: Reached, next: Reached) -> Table {
    // The next key of the path is an option of the default algorithm, so add the name of this
    // algorithm to the table.
    if let (Reached::Table(def), Reached::Choice(registry)) = (reached, next)
        && let Some(name) = def.key(key).and_then(|key| key.default)
    {
        return named_table(registry, name, span);
    }
    Table::default()
}

fn unknown_name(name: &str, span: Span, list: &str, names: &[String]) -> Problem {
    let message = format!("there is no \"{}\" in {list}", shorten(name));
    let problem = Problem::new(span, message).global();
    if names.is_empty() {
        return problem.expected("an index such as [0]");
    }
    let names = names.iter().map(String::as_str);
    problem
        .expected(format!("one of {}", listed(names.clone())))
        .nearest(name, names)
}

/// Returns the error about a key that does not exist and cannot be created. The error lists the
/// possible keys.
fn unknown_key(key: &str, span: Span, whole: &str, reached: Reached, table: &Table) -> Problem {
    let mut valid: Vec<String> = table.keys().map(str::to_owned).collect();
    valid.extend(reached.creatable().map(str::to_owned));
    // The user wrote a key that exists, but is not permitted in this scenario, so do not suggest
    // this key.
    valid.retain(|name| name != key);
    valid.sort();
    valid.dedup();
    let message = format!("there is no \"{}\" in {whole}", shorten(key));
    let problem = Problem::new(span, message)
        .nearest(key, valid.iter().map(String::as_str))
        .global();
    if valid.is_empty() {
        problem
    } else {
        problem.expected(format!("one of {}", valid.join(", ")))
    }
}

pub(super) fn written(steps: &[(Step, Span)]) -> String {
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

/// The kind of value to which a path leads, according to the declarations of keys.
#[derive(Clone, Copy)]
enum Reached {
    Table(&'static TableDef),
    Map(&'static TableDef),
    List(&'static TableDef),
    /// A registry entry, written as a name or a table.
    Choice(Registry),
    /// A table of options, such as `classic` of `wred`.
    Options(&'static [Opt]),
    /// A table in which any key is permitted.
    Open,
    Other,
}

impl Reached {
    /// Returns the kind of value to which the path leads after one more step.
    fn below(self, step: &Step, node: &Node) -> Reached {
        if let (Step::Key(key), Some(table)) = (step, node.table())
            && let Some(inner) = self.options(key, table)
        {
            return Reached::Options(inner);
        }
        match (self, step) {
            (Reached::Table(def), Step::Key(key)) => match def.key(key).map(|key| key.kind) {
                Some(KeyKind::Plain(_)) => {
                    let table = def.key(key).and_then(|key| key.table);
                    table.map_or(Reached::Other, Reached::Table)
                }
                Some(KeyKind::Table(def)) => Reached::Table(def),
                Some(KeyKind::Map(def)) => Reached::Map(def),
                Some(KeyKind::List(def)) => Reached::List(def),
                Some(KeyKind::Entry(registry)) => Reached::Choice(registry),
                Some(KeyKind::Sweep | KeyKind::Changes) => Reached::Open,
                _ => Reached::Other,
            },
            (Reached::Map(def) | Reached::List(def), _) => Reached::Table(def),
            (Reached::Open, _) => Reached::Open,
            _ => Reached::Other,
        }
    }

    /// Returns the options in `key`, if this key of `table` is a table of options.
    fn options(self, key: &str, table: &Table) -> Option<&'static [Opt]> {
        let of_entry = |registry: Registry| {
            let name = table.get(registry.name_key()).and_then(Node::string)?;
            let all = entries(registry);
            Some(all.iter().find(|entry| entry.name == name)?.options)
        };
        let known = match self {
            Reached::Table(def) => of_entry(def.flat()?)?,
            Reached::Choice(registry) => of_entry(registry)?,
            Reached::Options(known) => known,
            _ => return None,
        };
        let opt = known.iter().find(|opt| opt.name == key)?;
        match opt.kind {
            Kind::Table(inner) => Some(inner),
            _ => None,
        }
    }

    /// Returns the keys that may be created in a table if they are missing.
    fn creatable(self) -> Box<dyn Iterator<Item = &'static str>> {
        match self {
            Reached::Table(def) => Box::new(
                def.keys
                    .iter()
                    .filter(|key| match key.kind {
                        KeyKind::Table(_) | KeyKind::Sweep | KeyKind::Changes => true,
                        KeyKind::Entry(_) => key.default.is_some(),
                        KeyKind::Plain(_) => key.table.is_some(),
                        _ => false,
                    })
                    .map(|key| key.name),
            ),
            _ => Box::new(std::iter::empty()),
        }
    }

    fn may_create(self, key: &str, table: &Table) -> bool {
        match self {
            Reached::Open => true,
            // A file cannot have both `bottleneck` and `links`.
            Reached::Table(_) if key == "bottleneck" && table.get("links").is_some() => false,
            _ => self.options(key, table).is_some() || self.creatable().any(|name| name == key),
        }
    }
}
