//! Loads a scenario from bytes, or returns all of its errors.

use std::collections::BTreeSet;

use tailback_engine::plan::Plan;

use crate::expand::expand;
use crate::memory::mib;
use crate::read::{Diagnostic, Node, Place, Sources, parse, parse_value, render};
use crate::request::{Loader, Override, Request};
use crate::scenario::Scenario;

/// Largest size of a scenario file, in bytes. Larger files are rejected before they are parsed,
/// because error messages may need up to 300 times as much memory as the file. Generated scenarios
/// can use a sweep to stay below this size.
pub const MAX_FILE: usize = 1 << 20;

/// Loads a scenario that does not refer to other files.
pub fn load(
    text: &[u8],
    file: &str,
    overrides: &[Override],
    seeds: Option<u64>,
) -> Result<Scenario, Vec<Diagnostic>> {
    load_with(text, file, overrides, seeds, &|_| {
        Err("there are no other files here".to_owned())
    })
}

/// Loads a scenario that may refer to other files.
pub fn load_with(
    text: &[u8],
    file: &str,
    overrides: &[Override],
    seeds: Option<u64>,
    loader: &Loader<'_>,
) -> Result<Scenario, Vec<Diagnostic>> {
    load_request(&Request {
        overrides,
        seeds,
        ..Request::new(text, file, loader)
    })
}

/// Loads the scenario that a request describes.
pub fn load_request(request: &Request<'_>) -> Result<Scenario, Vec<Diagnostic>> {
    let text = decode(request.text, request.file).map_err(|diagnostic| vec![diagnostic])?;
    let mut sources = Sources::default();
    sources.add(request.file, text);
    let mut problems = Vec::new();
    let root = parse(text, 0, &mut problems);
    if !has_known_key(&root) {
        sources.conceal(0);
    }
    if problems.is_empty() {
        return expand(request, root, &mut sources).map_err(|problems| render(problems, &sources));
    }
    // After a syntax error, part of the file is missing from the tree. Report only errors that do
    // not depend on the missing part of the file.
    let syntax = problems.clone();
    let lost = syntax
        .iter()
        .filter(|problem| !problem.local)
        .map(|problem| problem.span)
        .min();
    let lines: Vec<usize> = syntax.iter().map(|p| sources.line(p.span)).collect();
    // Report only one error for each line, because further errors in a line usually follow from the
    // first.
    let mut reported = BTreeSet::new();
    problems.sort();
    problems.retain(|problem| reported.insert(sources.line(problem.span)));
    if let Err(found) = expand(request, root, &mut sources) {
        problems.extend(found.into_iter().filter(|problem| {
            problem.local
                && problem.span.end > 0
                && lost.is_none_or(|lost| problem.span < lost)
                && !lines.contains(&sources.line(problem.span))
        }));
    }
    Err(render(problems, &sources))
}

/// Returns whether a file contains any key of a scenario. A file without keys of a scenario is
/// probably the wrong file, and this file may be confidential.
fn has_known_key(root: &Node) -> bool {
    let known = |key: &str| Plan::TABLE.keys.iter().any(|known| known.name == key);
    root.table()
        .is_some_and(|table| table.0.iter().any(|item| known(&item.key)))
}

/// Returns the folders of plugins in a scenario's key `with`, each with its position. Returns an
/// empty list if the key is invalid, because this error is reported when the scenario is loaded.
pub fn named_plugins(text: &[u8], file: &str, overrides: &[Override]) -> Vec<(String, Place)> {
    const KEY: &str = "with";
    let Ok(text) = decode(text, file) else {
        return Vec::new();
    };
    let mut sources = Sources::default();
    sources.add(file, text);
    let mut problems = Vec::new();
    let root = parse(text, 0, &mut problems);
    let mut named = root.table().and_then(|table| table.get(KEY)).cloned();
    for Override { key, value } in overrides.iter().filter(|set| set.key == KEY) {
        let text = format!("{key}={value}");
        let source = sources.add_option(&format!("--set {text}"), &text);
        named = parse_value(value, source, key.len() + 1, &mut problems);
    }
    if !problems.is_empty() {
        return Vec::new();
    }
    let folders = named.as_ref().and_then(Node::array).unwrap_or_default();
    let read = folders.iter().map(|folder| {
        let name = folder.string()?.to_owned();
        Some((name, sources.place(folder.span)))
    });
    read.collect::<Option<_>>().unwrap_or_default()
}

fn decode<'t>(bytes: &'t [u8], file: &str) -> Result<&'t str, Diagnostic> {
    if bytes.len() > MAX_FILE {
        let size = mib(bytes.len() as u64);
        return Err(Diagnostic::new(
            Place::start(file),
            format!("the file is too large for a scenario, {size} MiB"),
            format!("at most {} MiB", mib(MAX_FILE as u64)),
        ));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = good.matches('\n').count() + 1;
        let column = good.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let place = Place {
            line,
            column,
            ..Place::start(file)
        };
        let message = format!("byte 0x{byte:02x} is not UTF-8");
        Diagnostic::new(place, message, "a text file in UTF-8")
    })
}
