//! Which file of the engine needs which: arrows point one way, between its
//! folders and between the files of `cc` and `tcp`.

#![expect(clippy::disallowed_methods, reason = "it reads the engine's sources")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What needs what, by path below `src` without the suffix (`cc/bbr/control`).
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The modules of a folder, with their sources; tests are left out.
fn sources(folder: &Path, module: &str, out: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        if matches!(&*name, "tests" | "testing" | "snapshots") {
            continue;
        }
        let inner = match &*name {
            "mod" | "lib" => module.to_owned(),
            _ if module.is_empty() => name.to_string(),
            _ => format!("{module}/{name}"),
        };
        if path.is_dir() {
            sources(&path, &inner, out);
        } else {
            let text = fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]\nmod tests {").next();
            out.insert(inner, code.unwrap_or_default().to_owned());
        }
    }
}

/// The paths that a `use` names, with groups written out.
fn paths(statement: &str) -> Vec<String> {
    let Some((head, rest)) = statement.split_once('{') else {
        return vec![statement.trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[from..]);
    parts
        .iter()
        .filter(|part| !part.trim().is_empty())
        .flat_map(|part| paths(part))
        .map(|path| format!("{}{path}", head.trim()))
        .collect()
}

/// Who needs whom. `use` of a folder's face (its `mod.rs`) counts as that module.
fn graph() -> Graph {
    let mut all = BTreeMap::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&src, "", &mut all);
    let mut graph = Graph::new();
    for (module, code) in &all {
        let needs = graph.entry(module.clone()).or_default();
        let uses = code.split("use ").skip(1).filter_map(|s| s.split_once(';'));
        for path in uses.flat_map(|(statement, _)| paths(statement)) {
            let mut at: Vec<&str> = module.split('/').filter(|s| !s.is_empty()).collect();
            let mut steps = path.split("::");
            match steps.next() {
                Some("crate") => at.clear(),
                Some("super") => {
                    at.pop();
                }
                Some("self") => {}
                _ => continue,
            }
            for step in steps {
                match step {
                    "super" => {
                        at.pop();
                    }
                    step => at.push(step.split_whitespace().next().unwrap_or(step)),
                }
            }
            // The longest part of the path that is a module.
            while !at.is_empty() && !all.contains_key(&at.join("/")) {
                at.pop();
            }
            let found = at.join("/");
            if !found.is_empty() && found != *module {
                needs.insert(found);
            }
        }
    }
    graph
}

/// A way from a node back to itself, if there is one.
fn circle(graph: &Graph) -> Option<Vec<String>> {
    fn walk(graph: &Graph, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        let last = way.last().expect("begun").clone();
        for next in graph.get(&last).into_iter().flatten() {
            if let Some(at) = way.iter().position(|n| n == next) {
                way.drain(..at);
                return true;
            }
            if !done.contains(next) {
                way.push(next.clone());
                if walk(graph, way, done) {
                    return true;
                }
            }
        }
        done.insert(last);
        way.pop();
        false
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| {
        let mut way = vec![start.clone()];
        (!done.contains(start) && walk(graph, &mut way, &mut done)).then_some(way)
    })
}

/// Folders (and files beside them) as nodes; `known`: arrows that are still to go.
fn folders(graph: &Graph, known: &[(&str, &str)]) -> Graph {
    let top = |module: &str| module.split('/').next().unwrap_or_default().to_owned();
    let mut out = Graph::new();
    for (module, needs) in graph.iter().filter(|(module, _)| !module.is_empty()) {
        let from = top(module);
        let tops = needs.iter().map(|n| top(n)).filter(|to| *to != from);
        let tops = tops.filter(|to| !known.contains(&(&from, to)));
        out.entry(from.clone()).or_default().extend(tops);
    }
    out
}

#[test]
fn folders_have_no_circle() {
    // Still to go: the plan makes what a queue is told of the flows (`FlowInfo`).
    // Still to go: the plan makes what a queue is told of the flows, and keys read words of the plan.
    let known = [("plan", "aqm"), ("keys", "plan")];
    assert_eq!(circle(&folders(&graph(), &known)), None);
}

/// Congestion controls know nothing of TCP.
#[test]
fn controls_do_not_need_the_stack() {
    let folders = folders(&graph(), &[]);
    assert!(folders["tcp"].contains("cc") && !folders["cc"].contains("tcp"));
}

#[test]
fn files_of_cc_and_tcp_have_no_circle() {
    let all = graph();
    for folder in ["cc", "tcp"] {
        let inside = |module: &str| module.starts_with(&format!("{folder}/"));
        let files: Graph = all
            .iter()
            .filter(|(module, _)| inside(module))
            .map(|(module, needs)| {
                let needs = needs.iter().filter(|n| inside(n)).cloned();
                (module.clone(), needs.collect())
            })
            .collect();
        assert!(files.len() > 15, "{folder}: {files:?}");
        assert_eq!(circle(&files), None, "{folder}");
    }
}

#[test]
fn a_circle_is_found() {
    let arrow = |to: &str| BTreeSet::from([to.to_owned()]);
    let mut graph = Graph::from([("a".to_owned(), arrow("b")), ("b".to_owned(), arrow("c"))]);
    assert_eq!(circle(&graph), None);
    graph.insert("c".to_owned(), arrow("b"));
    assert_eq!(circle(&graph), Some(vec!["b".to_owned(), "c".to_owned()]));
    assert_eq!(
        paths("super::{a::{B, c::D}, E}"),
        ["super::a::B", "super::a::c::D", "super::E"]
    );
}
