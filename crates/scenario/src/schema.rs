//! JSON Schema of scenario files, for editors (draft 2020-12): what the keys
//! and the registries know. What needs the whole file to judge (names, sums,
//! paths of a sweep) only [`crate::load`] checks.

use serde_json::{Map, Value as Json, json};
use tailback_engine::keys::{Key, KeyKind, Registry, TableDef};
use tailback_engine::plan::Plan;
use tailback_engine::registry::{Kind, Opt};
use tailback_engine::traffic;
use tailback_engine::units::Time;

use crate::keys::{Assert, METRICS, entries};

const NUMBER: &str = r"\d+\.?\d*|\.\d+";

/// The JSON Schema of scenario files.
pub fn json_schema() -> Json {
    let mut schema = table(&Plan::TABLE, &[]);
    insert(
        &mut schema,
        "$schema",
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    insert(&mut schema, "title", json!("tailback scenario"));
    schema
}

fn insert(schema: &mut Json, name: &str, value: Json) {
    if let Json::Object(map) = schema {
        map.insert(name.to_owned(), value);
    }
}

/// A table, with options of an entry among its keys.
fn table(def: &'static TableDef, options: &[Opt]) -> Json {
    let mut properties = Map::new();
    for key in def.keys {
        properties.insert(key.name.to_owned(), key_schema(key));
    }
    for opt in options {
        properties.insert(opt.name.to_owned(), option(opt));
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
        insert(&mut schema, "required", json!(required));
    }
    schema
}

fn key_schema(key: &Key) -> Json {
    let mut schema = match key.kind {
        KeyKind::Plain(kind) => plain(kind),
        KeyKind::Text if key.name == "metric" => {
            let names: Vec<&str> = METRICS.iter().map(|(name, _)| *name).collect();
            json!({ "enum": names })
        }
        KeyKind::Text => json!({ "type": "string" }),
        KeyKind::Hosts => json!({
            "type": "array",
            "items": { "type": "string", "pattern": "^[\\w+-]{1,64}$" },
            "minItems": 2,
            "maxItems": 2,
            "uniqueItems": true,
        }),
        KeyKind::Name => json!({ "type": "string", "minLength": 1, "maxLength": 64 }),
        KeyKind::Class => json!({ "type": "string", "minLength": 1, "maxLength": 32 }),
        KeyKind::Rate => rate(),
        KeyKind::Entry(registry) => entry(registry),
        KeyKind::Word(registry) => names(registry),
        KeyKind::Route => json!({ "type": "array", "items": { "type": "string" } }),
        KeyKind::Schedule => schedule(),
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
        KeyKind::Asserts => {
            json!({ "type": "array", "minItems": 1, "items": table(&Assert::TABLE, &[]) })
        }
    };
    insert(&mut schema, "description", json!(description(key)));
    if let Some(text) = key.default {
        insert(&mut schema, "default", default(key.kind, text));
    }
    schema
}

fn description(key: &Key) -> String {
    match key.since {
        "0.1" => key.doc.to_owned(),
        since => format!("{} Since {since}.", key.doc),
    }
}

/// A default as the file would have it.
fn default(kind: KeyKind, text: &str) -> Json {
    match kind {
        KeyKind::Plain(kind) => plain_default(kind, text),
        _ => json!(text),
    }
}

fn plain_default(kind: Kind, text: &str) -> Json {
    match kind {
        Kind::Bool | Kind::Int { .. } | Kind::Float { .. } => {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        }
        _ => json!(text),
    }
}

/// One of an array of tables: for traffic, one shape for each kind.
fn list_item(def: &'static TableDef) -> Json {
    let Some(registry) = def.flat() else {
        return table(def, &[]);
    };
    let shapes: Vec<Json> = entries(registry)
        .iter()
        .map(|entry| {
            let mut shape = table(def, entry.options);
            insert(&mut shape, "description", json!(entry.doc));
            if let Some(Json::Object(properties)) = shape.get_mut("properties") {
                if !traffic::connects(entry.name) {
                    for key in def.keys.iter().filter(|key| key.of_connections) {
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
    json!({ "anyOf": shapes })
}

fn names(registry: Registry) -> Json {
    let names: Vec<&str> = entries(registry).iter().map(|entry| entry.name).collect();
    json!({ "enum": names })
}

/// The name of an entry, or a table with its name and options.
fn entry(registry: Registry) -> Json {
    let mut shapes = vec![names(registry)];
    for entry in entries(registry) {
        let mut properties = Map::new();
        properties.insert(
            registry.name_key().to_owned(),
            json!({ "const": entry.name }),
        );
        for opt in entry.options {
            properties.insert(opt.name.to_owned(), option(opt));
        }
        properties.insert("kernel".to_owned(), json!({ "const": false }));
        properties.insert("module".to_owned(), module());
        shapes.push(json!({
            "type": "object",
            "description": entry.doc,
            "properties": properties,
            "required": [registry.name_key()],
            "additionalProperties": false,
        }));
    }
    let mut of_kernel = json!({
        registry.name_key(): { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,15}$" },
        "kernel": { "const": true },
        "module": module(),
    });
    if registry == Registry::Aqm {
        insert(
            &mut of_kernel,
            "args",
            json!({ "type": "string", "pattern": "^[ -~]{0,1000}$", "default": "",
                "description": "Words handed to tc as they are." }),
        );
    }
    shapes.push(json!({
        "type": "object",
        "description": format!("A {} that only the kernel engine has.", registry.noun()),
        "properties": of_kernel,
        "required": [registry.name_key(), "kernel"],
        "additionalProperties": false,
    }));
    json!({ "anyOf": shapes })
}

fn module() -> Json {
    json!({
        "type": "string",
        "pattern": "^[A-Za-z0-9_-]{1,63}$",
        "description": "A module of the kernel engine's kit that stands in for it. Since 0.2.",
    })
}

/// Packet numbers; that they ascend the schema cannot say.
fn schedule() -> Json {
    let numbers = json!({
        "type": "array",
        "items": { "type": "integer", "minimum": 1 },
        "uniqueItems": true,
        "maxItems": 100_000,
    });
    json!({
        "type": "object",
        "properties": { "marks": numbers.clone(), "drops": numbers },
        "additionalProperties": false,
    })
}

fn option(opt: &Opt) -> Json {
    let mut schema = plain(opt.kind);
    insert(&mut schema, "description", json!(opt.doc));
    if let Some(text) = opt.default {
        insert(&mut schema, "default", plain_default(opt.kind, text));
    }
    schema
}

fn pattern(units: &str) -> Json {
    json!({ "type": "string", "pattern": format!(r"^\s*({NUMBER})\s*({units})\s*$") })
}

const TIME: &str = "ns|nsecs?|us|usecs?|ms|msecs?|s|secs?";
const RATE: &str = "([kKmMgGtT]|[kKmMgG][iI])?([bB][iI][tT]|[bB][pP][sS])(/s)?";
const BYTES: &str = "|[bB]|[kKmMgG][bB]?|[kKmMgG][bB][iI][tT]|[bB][dD][pP]";
const PACKETS: &str = "[pP]|[pP][aA][cC][kK][eE][tT][sS]";

fn plain(kind: Kind) -> Json {
    match kind {
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Int { min, max } => {
            let mut schema = json!({ "type": "integer", "minimum": min });
            if max < i64::MAX {
                insert(&mut schema, "maximum", json!(max));
            }
            schema
        }
        Kind::Float { min, max } => {
            let mut schema = json!({ "type": "number" });
            if min > f64::MIN {
                insert(&mut schema, "minimum", json!(min));
            }
            if max < f64::MAX {
                insert(&mut schema, "maximum", json!(max));
            }
            schema
        }
        Kind::Time { .. } => pattern(TIME),
        Kind::Rate => pattern(RATE),
        Kind::Size {
            packets: true,
            bytes: false,
        } => json!({ "anyOf": [pattern(PACKETS), { "type": "integer", "minimum": 1 }] }),
        Kind::Size {
            packets: false,
            bytes: _,
        } => json!({ "anyOf": [pattern(BYTES), { "type": "integer", "minimum": 1 }] }),
        Kind::Size { .. } => pattern(&format!("{BYTES}|{PACKETS}")),
        Kind::TimeOrSize => pattern(&format!("{TIME}|{BYTES}|{PACKETS}")),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::WordOrInt { words, min, max } => json!({ "anyOf": [
            { "enum": words },
            { "type": "integer", "minimum": min, "maximum": max },
        ] }),
        Kind::Table(options) => {
            let properties: Map<String, Json> = options
                .iter()
                .map(|opt| (opt.name.to_owned(), option(opt)))
                .collect();
            json!({ "type": "object", "properties": properties, "additionalProperties": false })
        }
    }
}

fn rate() -> Json {
    let step = json!({
        "type": "array",
        "prefixItems": [plain(Kind::Time { min: Time::ZERO }), plain(Kind::Rate)],
        "minItems": 2,
        "maxItems": 2,
    });
    let shape = |name: &str, schema: Json| {
        json!({
            "type": "object",
            "properties": { name: schema },
            "required": [name],
            "additionalProperties": false,
        })
    };
    json!({ "anyOf": [
        plain(Kind::Rate),
        shape("steps", json!({ "type": "array", "items": step, "minItems": 1 })),
        shape("trace", json!({ "type": "string" })),
    ]})
}

/// Keys are paths, so only the shape of the values is known.
fn sweep() -> Json {
    let values = json!({
        "type": ["array", "object"],
        "description": "A list of values; the key is a path such as \"bottleneck.rate\".",
    });
    json!({
        "type": "object",
        "properties": {
            "seeds": { "type": "integer", "minimum": 1, "default": 1,
                "description": "How many seeds each point runs with: seed, seed + 1, ..." },
            "zip": { "type": "array", "minItems": 1,
                "description": "Tables of lists of equal length; those of one table advance together and are one more axis.",
                "items": { "type": "object", "additionalProperties": values.clone(), "minProperties": 1 } },
        },
        "additionalProperties": values,
    })
}
