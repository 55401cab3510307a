//! Assigns names to flows, sources and programs. All names are unique, and a flow has the same name
//! at every sweep point.

use std::collections::{HashMap, HashSet};

use tailback_engine::keys::KeyKind;

use crate::declare::{Reader, expectation, is_name};
use crate::read::{Node, Problem, Span, Table, Toml};

/// Returns the name that the scenario sets for a flow or source, if any. Also returns the default
/// name.
fn own_names<'n>(node: &'n Node, key: &str, name_key: &str) -> (Option<&'n str>, &'n str) {
    let table = node.table();
    let explicit = table.and_then(|t| t.get("name")).and_then(Node::string);
    let chosen = table.and_then(|t| t.get(key));
    let default = chosen.and_then(|node| match &node.value {
        Toml::Table(table) => table.get(name_key).and_then(Node::string),
        _ => node.string(),
    });
    (explicit, default.unwrap_or("flow"))
}

/// Returns the name that the scenario sets for an entry of programs, if any. Also returns the
/// default name, which is the entry's kind or program.
fn program_names(node: &Node) -> (Option<&str>, &str) {
    let (explicit, kind) = own_names(node, "kind", "kind");
    let table = node.table();
    let table = table.filter(|table| table.get("kind").is_none());
    let Some(table) = table else {
        return (explicit, kind);
    };
    let first = |side| {
        let run = table.get(side)?.table()?.get("run")?.array()?;
        let path = run.first()?.string()?;
        let name = path.rsplit('/').next()?;
        is_name(name, 64).then_some(name)
    };
    let first = first("sender").or_else(|| first("receiver"));
    (explicit, first.unwrap_or("program"))
}

/// The arrays of tables whose items have names.
pub(crate) const LISTS: [&str; 3] = ["flows", "traffic", "programs"];

/// Returns the names of all flows, sources and programs. Names must be unique, because each name
/// selects its own stream of random numbers.
pub(crate) fn names([flows, traffic, programs]: [&[Node]; 3]) -> [Vec<String>; 3] {
    let flow_names = flows.iter().map(|node| own_names(node, "cc", "name"));
    let traffic_names = traffic.iter().map(|node| own_names(node, "kind", "kind"));
    let program_names = programs.iter().map(program_names);
    let mut names = unique_names(flow_names.chain(traffic_names).chain(program_names));
    let program_names = names.split_off(flows.len() + traffic.len());
    let traffic_names = names.split_off(flows.len());
    [names, traffic_names, program_names]
}

/// Writes the name of every flow and source into the tree, so that `--set` or a sweep over `cc`
/// does not change default names. As a result, a name in a path, an assertion or a result refers to
/// the same flow at every sweep point.
pub(crate) fn name_flows(root: &mut Node) {
    let Toml::Table(table) = &mut root.value else {
        return;
    };
    let list = |table: &Table, name| {
        let list = table.get(name).and_then(Node::array);
        list.map(<[Node]>::to_vec).unwrap_or_default()
    };
    let lists = LISTS.map(|name| list(table, name));
    let all = names([&lists[0], &lists[1], &lists[2]]);
    for (list, names) in LISTS.into_iter().zip(all) {
        let Some(Toml::Array(nodes)) = table.get_mut(list).map(|node| &mut node.value) else {
            continue;
        };
        for (node, name) in nodes.iter_mut().zip(names) {
            if let Toml::Table(table) = &mut node.value
                && table.get("name").is_none()
            {
                let name = Node {
                    span: DEFAULT_NAME,
                    value: Toml::String(name),
                };
                table.set("name", DEFAULT_NAME, name);
            }
        }
    }
}

/// Marks a default name, which has no position in the file.
const DEFAULT_NAME: Span = Span {
    source: u32::MAX,
    start: 0,
    end: 0,
};

/// Checks that names are valid and unique.
pub(super) fn check(reader: &mut Reader<'_>, lists: [&[Node]; 3], names: &[Vec<String>; 3]) {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let what = match lists[2] {
        [] => "flows or sources",
        _ => "flows, sources or programs",
    };
    let nodes = lists.into_iter().flatten();
    for (node, name) in nodes.zip(names.iter().flatten()) {
        let item = node.table().and_then(|table| table.item("name"));
        let Some(item) = item.filter(|item| item.node.span != DEFAULT_NAME) else {
            continue;
        };
        if item.node.string().is_none() {
            reader.wrong("name", &item.node, expectation(KeyKind::Name));
        } else if reader.check_name(name, item.node.span) {
            if seen.contains_key(name.as_str()) {
                let problem = Problem::new(
                    item.node.span,
                    format!("there are two {what} named \"{name}\""),
                );
                let problem = problem.expected("a name of its own for each");
                reader.problem(problem.help("rename one of them"));
            }
            seen.insert(name, item.node.span);
        }
    }
}

/// Makes names unique by appending `-2`, `-3`, ... to default names. Names that the scenario sets
/// remain unchanged.
fn unique_names<'a>(names: impl Iterator<Item = (Option<&'a str>, &'a str)>) -> Vec<String> {
    let names: Vec<_> = names.collect();
    let mut taken: HashSet<String> = names
        .iter()
        .filter_map(|(explicit, _)| explicit.map(str::to_owned))
        .collect();
    let mut next: std::collections::HashMap<&str, u64> = std::collections::HashMap::new();
    names
        .into_iter()
        .map(|(explicit, default)| {
            if let Some(name) = explicit {
                return name.to_owned();
            }
            let n = next.entry(default).or_insert(1);
            loop {
                let name = match *n {
                    1 => default.to_owned(),
                    n => format!("{default}-{n}"),
                };
                *n += 1;
                if taken.insert(name.clone()) {
                    return name;
                }
            }
        })
        .collect()
}
