//! Inserts the keys of a built-in network path (`[path] profile`) unless the scenario sets these
//! keys itself.

use tailback_engine::profiles;
use tailback_engine::registry::{Kind, Value};

use crate::declare::{Bdp, Reader};
use crate::read::{Item, Node, Problem, Span, Table, Toml, parse};

/// Tables whose keys a built-in network path sets.
const TABLES: [&str; 2] = ["path", "bottleneck"];

/// Inserts the keys of the built-in network path into the tree of a sweep point. Errors in these
/// keys are reported at the position of the path's name.
pub(super) fn apply(tree: &mut Node, reader: &mut Reader<'_>) {
    let Toml::Table(root) = &mut tree.value else {
        return;
    };
    let path = root.get("path").and_then(Node::table);
    let Some(named) = path.and_then(|path| path.item("profile")).cloned() else {
        return;
    };
    let kind = Kind::Word(profiles::NAMES);
    let name = match reader.plain("profile", kind, &named.node, Bdp::Nowhere) {
        Some(Value::Word(name)) => name,
        // If the name is unknown, insert the keys of the first built-in path. Without these keys,
        // the reader would also report required keys as missing.
        _ => profiles::NAMES[0],
    };
    // A sweep finds its values by their positions. If the path's name is swept, the inserted keys
    // must not have the same position as the name. The position of the inserted keys therefore ends
    // one byte earlier.
    let mut span = named.node.span;
    span.end -= 1;
    if let Some(links) = root.item("links") {
        let message = format!("\"{name}\" is a path with a [bottleneck], and there are [links]");
        let problem = Problem::new(links.key_span.max(span), message);
        reader.problem(problem.expected("[bottleneck] with it, or no profile"));
        return;
    }
    for (table, keys) in keys(name, span) {
        match root.get_mut(table).map(|node| &mut node.value) {
            Some(Toml::Table(written)) => {
                let missing = keys.0.into_iter();
                let missing = missing.filter(|item| written.get(&item.key).is_none());
                let missing: Vec<Item> = missing.collect();
                written.0.extend(missing);
            }
            // Ignore a key that is not a table, because reading the key later reports this error.
            Some(_) => {}
            None => {
                let value = Toml::Table(keys);
                root.set(table, span, Node { span, value });
            }
        }
    }
}

/// Returns the TOML tables of a built-in network path, with one position for all values.
fn keys(name: &str, span: Span) -> impl Iterator<Item = (&'static str, Table)> {
    let entry = profiles::ENTRIES.iter().find(|entry| entry.name == name);
    let mut problems = Vec::new();
    let mut tree = parse(entry.map_or("", |entry| entry.toml), 0, &mut problems);
    debug_assert!(problems.is_empty(), "{name}: {problems:?}");
    move_to(&mut tree, span);
    TABLES.into_iter().filter_map(move |table| {
        let keys = tree.table()?.get(table)?.table()?;
        Some((table, keys.clone()))
    })
}

/// Sets the position of all values and keys of a tree.
fn move_to(node: &mut Node, span: Span) {
    node.span = span;
    match &mut node.value {
        Toml::Array(nodes) => nodes.iter_mut().for_each(|node| move_to(node, span)),
        Toml::Table(table) => {
            for Item { key_span, node, .. } in &mut table.0 {
                *key_span = span;
                move_to(node, span);
            }
        }
        _ => {}
    }
}
