//! Lists every key with the path that `[sweep]`, `--set` and `--variant` accept. Shell completion
//! uses this list.

use serde_json::{Value as Json, json};
use tailback_engine::keys::{Key, KeyKind, TableDef};
use tailback_engine::plan::Plan;
use tailback_engine::registry::{Kind, Opt};

use super::burst;
use super::metrics::Assert;
use super::registries::entries;

/// A key of a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPath {
    /// The path, such as `flows.NAME.tcp.mss`, where NAME is a name that the scenario chooses.
    pub path: String,
    /// The registry entry to which the key belongs as an option. `None` for all other keys.
    pub entry: Option<&'static str>,
    /// The type of the key's values: time, rate, size, count, number, choice, bool, text, list or
    /// table.
    pub kind: &'static str,
    /// The words that a key of the type choice accepts.
    pub words: Vec<&'static str>,
    /// The default in TOML. `None` if `doc` describes the default.
    pub default: Option<&'static str>,
    /// Meaning and unit of the values.
    pub doc: &'static str,
}

impl KeyPath {
    /// Returns the key as JSON.
    pub fn json(&self) -> Json {
        let KeyPath {
            path,
            entry,
            kind,
            words,
            default,
            doc,
        } = self;
        json!({
            "path": path,
            "entry": entry,
            "kind": kind,
            "words": words,
            "default": default,
            "doc": doc,
        })
    }
}

/// Returns every key, in the order in which the reference lists them.
pub fn key_paths() -> Vec<KeyPath> {
    let mut found = Vec::new();
    table(&Plan::TABLE, "", &mut found);
    found
}

fn table(def: &'static TableDef, prefix: &str, found: &mut Vec<KeyPath>) {
    for key in def.keys {
        let path = format!("{prefix}{}", key.name);
        if let Some(inner) = key.table {
            table(inner, &format!("{path}."), found);
        }
        match key.kind {
            KeyKind::Table(inner) => table(inner, &format!("{path}."), found),
            // If the items of a list do not have names, a path selects an item by its index.
            KeyKind::List(inner) if !named(inner) => {
                table(inner, &format!("{path}[0]."), found);
            }
            KeyKind::Map(inner) | KeyKind::List(inner) => {
                table(inner, &format!("{path}.NAME."), found);
            }
            // Assertions do not have names, so a path selects an assertion by its index.
            KeyKind::Asserts => table(&Assert::TABLE, &format!("{path}[0]."), found),
            // The keys of `[sweep]` and of `set` are paths of other keys, so do not list them here.
            KeyKind::Sweep | KeyKind::Changes => {}
            KeyKind::Entry(registry) => {
                let all = entries(registry);
                let words = all.iter().map(|entry| entry.name).collect();
                found.push(one(key, path.clone(), "choice", words));
                for entry in all {
                    options(entry.options, entry.name, &format!("{path}."), found);
                }
            }
            KeyKind::Word(registry) => {
                let all = entries(registry);
                let words = all.iter().map(|entry| entry.name).collect();
                found.push(one(key, path, "choice", words));
                for entry in all {
                    options(entry.options, entry.name, prefix, found);
                }
            }
            KeyKind::Plain(kind) => {
                let (kind, words) = plain(kind);
                found.push(one(key, path, kind, words.to_vec()));
            }
            KeyKind::Switch(words) => found.push(one(key, path, "choice", words.to_vec())),
            KeyKind::Rate => found.push(one(key, path, "rate", Vec::new())),
            KeyKind::Text
            | KeyKind::Name
            | KeyKind::Class
            | KeyKind::Folder
            | KeyKind::Ready
            | KeyKind::Date => {
                found.push(one(key, path, "text", Vec::new()));
            }
            KeyKind::Route
            | KeyKind::Hosts
            | KeyKind::Pauses
            | KeyKind::Folders
            | KeyKind::Files
            | KeyKind::Words => {
                found.push(one(key, path, "list", Vec::new()));
            }
            KeyKind::Burst => found.push(one(key, path, "size", vec![burst::TC])),
            KeyKind::Schedule | KeyKind::Texts => found.push(one(key, path, "table", Vec::new())),
        }
    }
}

/// Returns whether the items of a list have names. If the items have names, paths select items by
/// name.
fn named(item: &TableDef) -> bool {
    item.keys
        .iter()
        .any(|key| matches!(key.kind, KeyKind::Name))
}

fn one(key: &Key, path: String, kind: &'static str, words: Vec<&'static str>) -> KeyPath {
    KeyPath {
        path,
        entry: None,
        kind,
        words,
        default: key.default,
        doc: key.doc,
    }
}

fn options(all: &'static [Opt], entry: &'static str, prefix: &str, found: &mut Vec<KeyPath>) {
    for opt in all {
        let path = format!("{prefix}{}", opt.name);
        if let Kind::Table(inner) = opt.kind {
            options(inner, entry, &format!("{path}."), found);
            continue;
        }
        let (kind, words) = plain(opt.kind);
        found.push(KeyPath {
            path,
            entry: Some(entry),
            kind,
            words: words.to_vec(),
            default: opt.default,
            doc: opt.doc,
        });
    }
}

/// Returns the type of a key's values. For values that are words, also returns the permitted words.
fn plain(kind: Kind) -> (&'static str, &'static [&'static str]) {
    match kind {
        Kind::Bool => ("bool", &["true", "false"]),
        Kind::Int { .. } => ("count", &[]),
        Kind::Float { .. } => ("number", &[]),
        Kind::Time { .. } => ("time", &[]),
        Kind::Rate => ("rate", &[]),
        Kind::Size { .. } | Kind::TimeOrSize => ("size", &[]),
        Kind::Word(words) | Kind::WordOrInt { words, .. } => ("choice", words),
        Kind::BoolOrInt { .. } => ("count", &["true", "false"]),
        Kind::List(_) | Kind::Pairs(_) => ("list", &[]),
        Kind::Table(_) => ("table", &[]),
    }
}
