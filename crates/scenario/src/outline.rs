//! Lists the values of a scenario file with their positions, so that an editor can change a value
//! without parsing TOML.

use serde_json::{Value as Json, json};

use crate::load::MAX_FILE;
use crate::read::{Node, Toml, parse};

/// Returns every value of a file in file order. Each item contains the path, the kind and the
/// position of a value. For a scalar, it also contains the value itself.
///
/// A position is the range of the value's text, in UTF-16 units. Indices of JavaScript strings use
/// the same units. Tables and arrays are listed only if they are written inline (`{ ... }`, `[ ...
/// ]`). If the file has syntax errors, the list contains the values that could be read.
pub fn outline(text: &str) -> Json {
    let mut values = Vec::new();
    if text.len() <= MAX_FILE {
        let root = parse(text, 0, &mut Vec::new());
        Outline { text }.walk(&root, String::new(), &mut values);
    }
    Json::Array(values)
}

struct Outline<'t> {
    text: &'t str,
}

impl Outline<'_> {
    fn walk(&self, node: &Node, path: String, values: &mut Vec<Json>) {
        if let Some(value) = self.value(node, &path) {
            values.push(value);
        }
        match &node.value {
            Toml::Table(table) => {
                for item in &table.0 {
                    let path = match path.as_str() {
                        "" => item.key.clone(),
                        path => format!("{path}.{}", item.key),
                    };
                    self.walk(&item.node, path, values);
                }
            }
            Toml::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    self.walk(item, format!("{path}[{place}]"), values);
                }
            }
            _ => {}
        }
    }

    /// Returns a value with its position. Returns `None` for a table that is declared with a header
    /// such as `[tcp]`.
    fn value(&self, node: &Node, path: &str) -> Option<Json> {
        let range = node.span.start as usize..node.span.end as usize;
        let written = self.text.get(range.clone())?;
        let (kind, value) = match &node.value {
            Toml::String(text) => ("text", json!(text)),
            Toml::Integer(number) => ("integer", json!(number)),
            Toml::Float(number) => ("float", json!(number)),
            Toml::Bool(yes) => ("bool", json!(yes)),
            Toml::Datetime(text) => ("date", json!(text)),
            Toml::Table(_) if written.starts_with('{') => ("table", Json::Null),
            Toml::Array(_) if written.starts_with('[') && !written.starts_with("[[") => {
                ("array", Json::Null)
            }
            Toml::Table(_) | Toml::Array(_) => return None,
        };
        let start = units(&self.text[..range.start]);
        Some(json!({
            "path": path,
            "kind": kind,
            "value": value,
            "start": start,
            "end": start + units(written),
        }))
    }
}

/// Returns the length of a text in UTF-16 units.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_where_it_is_written() {
        let text = "title = \"\u{1f600} é\"\n[bottleneck]\nrate = \"10Mbit\"\nqueue = { aqm = \"red\", ecn = true }\n\n[[flows]]\ncc = \"cubic\"\ncount = 2\n\n[[flows]]\nroute = [\"a\", \"b\"]\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        let found = outline(text);
        let found = found.as_array().expect("a list");
        let shown: Vec<String> = found
            .iter()
            .map(|one| {
                let at = |key: &str| one[key].as_u64().expect("a place") as usize;
                let written = String::from_utf16(&units[at("start")..at("end")]).expect("text");
                format!("{} = {written}", one["path"].as_str().expect("a path"))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "title = \"\u{1f600} é\"",
                "bottleneck.rate = \"10Mbit\"",
                "bottleneck.queue = { aqm = \"red\", ecn = true }",
                "bottleneck.queue.aqm = \"red\"",
                "bottleneck.queue.ecn = true",
                "flows[0].cc = \"cubic\"",
                "flows[0].count = 2",
                "flows[1].route = [\"a\", \"b\"]",
                "flows[1].route[0] = \"a\"",
                "flows[1].route[1] = \"b\"",
            ]
        );
        assert_eq!(found[6]["value"], 2);
        assert_eq!(found[4]["kind"], "bool");
    }

    #[test]
    fn a_file_with_errors_has_the_values_that_could_be_read() {
        let found = outline("duration = \"3s\"\nrate = 10Mbit\nseed = 1\n");
        let paths: Vec<_> = found
            .as_array()
            .expect("a list")
            .iter()
            .map(|v| v["path"].clone())
            .collect();
        assert!(paths.contains(&"duration".into()), "{paths:?}");
    }
}
