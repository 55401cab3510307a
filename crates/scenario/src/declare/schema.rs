//! Generates the JSON Schema (draft 2020-12) of scenario files from the declarations of keys and
//! registries. Editors use this schema. The schema does not contain rules about the whole file
//! (names, sums, paths of a sweep). [`crate::load()`] checks these rules.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};
use tailback_engine::keys::{Key, KeyKind, Registry, TableDef};
use tailback_engine::plan::Plan;
use tailback_engine::registry::Opt;
use tailback_engine::traffic;

use super::metrics::{Assert, metrics};
use super::registries::entries;
use super::{burst, choice, pauses, program, rate, schedule, value};

/// Returns the JSON Schema of scenario files.
pub fn json_schema() -> Json {
    let mut schema = table(&Plan::TABLE, &[]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("tailback scenario");
    schema
}

/// Returns the schema of a table, with `options` among its keys.
fn table(def: &'static TableDef, options: &[Opt]) -> Json {
    let mut properties = Map::new();
    for key in def.keys {
        properties.insert(key.name.to_owned(), key_schema(key));
    }
    for opt in options {
        properties.insert(opt.name.to_owned(), value::option_schema(opt));
    }
    let required: Vec<&str> = def
        .keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    let mut schema = json!({
        "type": "object",
        "description": def.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Pattern that matches a metric with a scope (`link.`), a metric with the name of a link or flow
/// (`@name`), or a number from a program's files.
const QUALIFIED: &str = "^(flow|link|class|run|results)\\.|@|^results_";

fn key_schema(key: &Key) -> Json {
    let mut schema = match key.kind {
        KeyKind::Plain(kind) => value::schema(kind),
        KeyKind::Text if key.name == "metric" => {
            let names = metrics().iter().flat_map(|m| [&m.path, &m.name]);
            let names: BTreeSet<&String> = names.collect();
            // Scopes and names depend on other parts of the file, so the schema only checks a
            // pattern.
            json!({ "type": "string", "anyOf": [{ "enum": names }, { "pattern": QUALIFIED }] })
        }
        KeyKind::Text | KeyKind::Folder => json!({ "type": "string" }),
        KeyKind::Hosts => json!({
            "type": "array",
            "items": { "type": "string", "pattern": "^[\\w+-]{1,64}$" },
            "minItems": 2,
            "maxItems": 2,
            "uniqueItems": true,
        }),
        KeyKind::Pauses => pauses::schema(),
        KeyKind::Name => json!({ "type": "string", "minLength": 1, "maxLength": 64 }),
        KeyKind::Class => json!({ "type": "string", "minLength": 1, "maxLength": 32 }),
        KeyKind::Rate => rate::schema(),
        KeyKind::Entry(registry) => choice::schema(registry),
        KeyKind::Word(registry) => choice::names_schema(registry),
        KeyKind::Route | KeyKind::Folders | KeyKind::Files | KeyKind::Words => {
            json!({ "type": "array", "items": { "type": "string" } })
        }
        KeyKind::Texts => {
            json!({ "type": "object", "additionalProperties": { "type": "string" } })
        }
        KeyKind::Ready => program::ready_schema(),
        KeyKind::Date => program::date_schema(),
        KeyKind::Schedule => schedule::schema(),
        KeyKind::Burst => burst::schema(),
        KeyKind::Switch(words) => {
            let words = words.iter().map(|word| json!(word));
            json!({ "enum": words.chain([json!(true), json!(false)]).collect::<Vec<_>>() })
        }
        KeyKind::Table(def) => table(def, &[]),
        KeyKind::Map(def) => json!({
            "type": "object",
            "additionalProperties": table(def, &[]),
            "minProperties": 1,
        }),
        KeyKind::List(def) => json!({ "type": "array", "minItems": 1, "items": list_item(def) }),
        KeyKind::Sweep => sweep(),
        // The keys are paths. The schema does not check paths.
        KeyKind::Changes => json!({ "type": "object", "minProperties": 1 }),
        KeyKind::Asserts => {
            json!({ "type": "array", "minItems": 1, "items": table(&Assert::TABLE, &[]) })
        }
    };
    if let Some(def) = key.table {
        schema = json!({ "anyOf": [schema, table(def, &[])] });
    }
    schema["description"] = json!(description(key));
    if let Some(text) = key.default {
        schema["default"] = default(key.kind, text);
    }
    schema
}

fn description(key: &Key) -> String {
    match key.since {
        "0.1" => key.doc.to_owned(),
        since => format!("{} Since {since}.", key.doc),
    }
}

fn default(kind: KeyKind, text: &str) -> Json {
    match kind {
        KeyKind::Plain(kind) => value::default_json(kind, text),
        _ => json!(text),
    }
}

/// Returns the schema of an item in an array of tables. Each kind of traffic or program has its own
/// variant.
fn list_item(def: &'static TableDef) -> Json {
    let Some(registry) = def.flat() else {
        return table(def, &[]);
    };
    let mut all = entries(registry);
    if registry == Registry::Programs {
        // Add the transport stacks that are not already in the list as kinds of programs for the
        // kernel engine.
        let stacks = entries(Registry::Stacks).into_iter();
        let known: Vec<&str> = all.iter().map(|entry| entry.name).collect();
        all.extend(stacks.filter(|stack| !known.contains(&stack.name)));
    }
    let shapes: Vec<Json> = all
        .iter()
        .map(|entry| {
            let mut shape = table(def, entry.options);
            shape["description"] = json!(entry.doc);
            if let Some(Json::Object(properties)) = shape.get_mut("properties") {
                if registry == Registry::Programs {
                    properties.remove("sender");
                    properties.remove("receiver");
                } else {
                    let of_others = def.keys.iter().filter(|key| key.of_connections);
                    for key in of_others.filter(|key| !traffic::takes(entry.name, key.name)) {
                        properties.remove(key.name);
                    }
                }
                properties.insert(
                    registry.name_key().to_owned(),
                    json!({ "const": entry.name }),
                );
            }
            shape
        })
        .collect();
    // If the key `kind` is optional, add a variant without this key.
    let mut shapes = shapes;
    if def.keys.iter().all(|key| !key.required) {
        let mut plain = table(def, &[]);
        if let Some(Json::Object(properties)) = plain.get_mut("properties") {
            properties.remove(registry.name_key());
        }
        shapes.push(plain);
    }
    json!({ "anyOf": shapes })
}

/// Returns the schema of `[sweep]`. The schema does not check the keys of `[sweep]`, because these
/// keys are paths.
fn sweep() -> Json {
    let values = json!({
        "type": ["array", "object"],
        "description": "A list of values; the key is a path such as \"bottleneck.rate\".",
    });
    json!({
        "type": "object",
        "properties": {
            "seeds": { "type": "integer", "minimum": 1, "default": 1,
                "description": "Number of seeds with which each sweep point runs: seed, seed + 1, ..." },
            "zip": { "type": "array", "minItems": 1,
                "description": "Keys that vary together. The first sweep point uses the first \
                    value of every list in the table, the second sweep point uses the second \
                    values, and so on. All lists of a table have the same length. Each table \
                    counts as one key of the sweep.",
                "items": { "type": "object", "additionalProperties": values.clone(), "minProperties": 1 } },
        },
        "additionalProperties": values,
    })
}

#[cfg(test)]
mod tests {
    /// Tests that no key or option in the reference is documented for a future release.
    #[test]
    fn no_key_is_of_a_later_release() {
        let number = |text: &str| -> Vec<u32> { text.split('.').flat_map(str::parse).collect() };
        let release = number(env!("CARGO_PKG_VERSION"));
        let text = super::json_schema().to_string();
        for part in text.split("Since ").skip(1) {
            let end = part
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap();
            let since = number(&part[..end]);
            assert!(since <= release, "Since {since:?}, and this is {release:?}");
        }
    }
}
