//! Reads plain values of keys and options: times, rates, sizes, numbers, words and booleans.

use serde_json::{Map, Value as Json, json};
use tailback_engine::registry::{
    Kind, Opt, Value, bool_or_int, check_range, parse_word, word_or_int,
};
use tailback_engine::units::{Bytes, Size, Time, parse_rate, parse_size, parse_time};

use super::MAX_TIME;
use super::reader::{Bdp, Reader};
use crate::read::{Node, Problem, Toml, shorten};

pub(super) fn expectation(kind: Kind) -> String {
    match kind {
        Kind::Bool => "true or false".to_owned(),
        Kind::Int { min, max: i64::MAX } => format!("a whole number of at least {min}"),
        Kind::Int { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Float {
            min: f64::MIN,
            max: f64::MAX,
        } => "a number".to_owned(),
        Kind::Float { min, max } => format!("a number from {min} to {max}"),
        Kind::Time { .. } => parse_time("").err().unwrap_or_default().to_owned(),
        Kind::Rate => parse_rate("").err().unwrap_or_default().to_owned(),
        Kind::Size {
            packets: true,
            bytes: false,
        } => "a number of packets such as \"1000p\"".to_owned(),
        Kind::Size {
            packets: false,
            bytes: true,
        } => "a size such as \"64kb\" (units b, kb, mb, gb) or \"0.125bdp\"".to_owned(),
        Kind::Size { .. } => parse_size("").err().unwrap_or_default().to_owned(),
        Kind::TimeOrSize => {
            "a time such as \"1ms\" or a size such as \"64kb\" or \"10p\"".to_owned()
        }
        Kind::Word(words) => format!("one of {}", words.join(", ")),
        Kind::WordOrInt { words, min, max } => word_or_int(words, min, max),
        Kind::BoolOrInt { min, max } => bool_or_int(min, max),
        Kind::List(inner) => format!(
            "a list or the name of a file with one value a line, each {}",
            expectation(*inner)
        ),
        Kind::Pairs(inner) => format!(
            "pairs [[\"0s\", ...], [\"10s\", ...]] of a time and {}",
            expectation(*inner)
        ),
        Kind::Table(_) => "a table of options".to_owned(),
    }
}

/// Describes the permitted values of a kind. Error messages use this description if the only error
/// of a value is that it is 0 or negative.
fn positive(kind: Kind) -> Option<String> {
    match kind {
        Kind::Time { min } if min > Time::ZERO => Some(format!("a time of at least {min}")),
        Kind::Time { .. } => Some("a time of 0s or more".to_owned()),
        Kind::Rate => Some("a rate greater than 0".to_owned()),
        Kind::Size { .. } => Some("a size greater than 0".to_owned()),
        Kind::TimeOrSize => Some("a time or size greater than 0".to_owned()),
        _ => None,
    }
}

impl Reader<'_> {
    /// Reads a value of a plain kind.
    pub fn plain(&mut self, name: &str, kind: Kind, node: &Node, bdp: Bdp) -> Option<Value> {
        let value = match (kind, &node.value) {
            (Kind::List(inner), Toml::Array(list)) if has_valid_length(list) => {
                let values = list.iter().map(|node| self.plain(name, *inner, node, bdp));
                // Read all values before returning, so that the reader reports every error.
                let values: Vec<Option<Value>> = values.collect();
                return values.into_iter().collect::<Option<_>>().map(Value::List);
            }
            (Kind::List(inner), Toml::String(file)) => {
                return self.list_of_file(*inner, file, node);
            }
            (Kind::Pairs(inner), Toml::Array(list)) if has_valid_length(list) => {
                let pairs = list.iter().map(|node| self.pair(name, *inner, node, bdp));
                let pairs: Vec<Option<(Time, Value)>> = pairs.collect();
                return pairs.into_iter().collect::<Option<_>>().map(Value::Pairs);
            }
            (Kind::Bool | Kind::BoolOrInt { .. }, Toml::Bool(b)) => Value::Bool(*b),
            (
                Kind::Int { .. } | Kind::WordOrInt { .. } | Kind::BoolOrInt { .. },
                Toml::Integer(i),
            ) => Value::Int(*i),
            (Kind::Float { .. }, Toml::Integer(i)) => Value::Float(*i as f64),
            // Replace -0 with 0, because equal runs would otherwise have different hashes.
            (Kind::Float { .. }, Toml::Float(f)) if f.is_finite() => Value::Float(*f + 0.0),
            (
                Kind::Size {
                    packets: true,
                    bytes: false,
                },
                Toml::Integer(n),
            ) if *n >= 0 => Value::Packets(*n as u64),
            (
                Kind::Size {
                    packets: false,
                    bytes: true,
                },
                Toml::Integer(n),
            ) if *n >= 0 => Value::Bytes(Bytes(*n as u64)),
            (
                Kind::Time { .. }
                | Kind::Rate
                | Kind::Size { .. }
                | Kind::TimeOrSize
                | Kind::Word(_)
                | Kind::WordOrInt { .. },
                Toml::String(text),
            ) => self.text(name, kind, text, node, bdp)?,
            _ => {
                self.wrong(name, node, expectation(kind));
                return None;
            }
        };
        if let Err(expected) = check_range(kind, &value) {
            // Do not mention an upper limit if it is only the largest value of the integer type.
            let open = matches!(kind, Kind::Int { max: i64::MAX, .. });
            let expected = if open { expectation(kind) } else { expected };
            self.wrong(name, node, expected);
            return None;
        }
        if let Value::Time(time) = value
            && time > MAX_TIME
        {
            self.wrong(name, node, format!("a time of at most {MAX_TIME}"));
            return None;
        }
        self.note(node.span, &value);
        Some(value)
    }

    fn pair(&mut self, name: &str, kind: Kind, node: &Node, bdp: Bdp) -> Option<(Time, Value)> {
        let Some([at, value]) = node.array() else {
            self.wrong(name, node, format!("a time and {}", expectation(kind)));
            return None;
        };
        let at = self.plain(name, Kind::Time { min: Time::ZERO }, at, bdp);
        let value = self.plain(name, kind, value, bdp);
        match (at, value) {
            (Some(Value::Time(at)), Some(value)) => Some((at, value)),
            _ => None,
        }
    }

    /// Rejects `50Mbps`, which users may write for 50 Mbit/s, but which tc reads as 400 Mbit/s.
    fn refuse_bytes(&mut self, name: &str, text: &str, node: &Node) -> bool {
        let Ok(rate) = parse_rate(text) else {
            return false;
        };
        let trimmed = text.trim();
        let units = trimmed.strip_suffix("/s").unwrap_or(trimmed);
        let Some(number) = units.to_ascii_lowercase().strip_suffix("bps").map(str::len) else {
            return false;
        };
        let kept = &units[..number];
        let message = format!("\"{trimmed}\" for \"{name}\" can be bits or bytes per second");
        let expected =
            format!("\"{kept}bit\" if you mean bits, or \"{rate}\" if you mean bytes, as tc does");
        self.problem(Problem::new(node.span, message).expected(expected));
        true
    }

    /// Reads a list from a file with one value per line. Ignores empty lines, and text after `#`.
    fn list_of_file(&mut self, inner: Kind, file: &str, node: &Node) -> Option<Value> {
        let read = |text: &str| {
            let mut values = Vec::new();
            for (number, line) in text.lines().enumerate() {
                let word = line.split('#').next().unwrap_or_default().trim();
                if word.is_empty() {
                    continue;
                }
                let value = parse_word(inner, word).ok();
                let too_long = |value: &Value| matches!(value, Value::Time(t) if *t > MAX_TIME);
                let value = value.filter(|v| check_range(inner, v).is_ok() && !too_long(v));
                values.push(value.ok_or_else(|| {
                    let wrong = shorten(word);
                    let expected = expectation(inner);
                    format!(
                        "line {}: wrong value \"{wrong}\"; expected {expected}",
                        number + 1
                    )
                })?);
            }
            match values.len() {
                1..=MAX_LIST => Ok(values),
                length => Err(format!("it has {length} values; expected 1 to {MAX_LIST}")),
            }
        };
        let text = self.traces.list(file, self.load);
        match text.and_then(|text| read(&text)) {
            Ok(values) => Some(Value::List(values)),
            Err(error) => {
                let message = format!("list \"{}\": {error}", shorten(file));
                self.problem(Problem::new(node.span, message).help(CORRECT));
                None
            }
        }
    }

    fn text(&mut self, name: &str, kind: Kind, text: &str, node: &Node, bdp: Bdp) -> Option<Value> {
        let in_bytes = matches!(kind, Kind::Size { bytes: true, .. } | Kind::TimeOrSize);
        if in_bytes && let Ok(Size::Bdp(factor)) = parse_size(text) {
            return match bdp {
                Bdp::Known(bytes) => {
                    let bytes = libm::round(factor * bytes);
                    if bytes >= 1.0 && bytes < (1u64 << 62) as f64 {
                        return Some(Value::Bytes(Bytes(bytes as u64)));
                    }
                    self.wrong(name, node, "a multiple of the bdp that is at least 1 byte");
                    None
                }
                Bdp::Unknown => None,
                Bdp::Nowhere => {
                    self.wrong(name, node, "a size in bytes (no link has a bdp here)");
                    None
                }
            };
        }
        if matches!(kind, Kind::Rate) && self.refuse_bytes(name, text, node) {
            return None;
        }
        match parse_word(kind, text) {
            Ok(value) => Some(value),
            Err(expected) => {
                let signless = text.trim_start().strip_prefix('-');
                let expected = match signless {
                    Some(rest) if parse_word(kind, rest).is_ok() => {
                        positive(kind).unwrap_or(expected)
                    }
                    // A time whose nanoseconds do not fit into 64 bits also exceeds the allowed
                    // range.
                    _ if expected == "a time below 146 years" => {
                        format!("a time of at most {MAX_TIME}")
                    }
                    _ => expected,
                };
                let problem = Problem::new(
                    node.span,
                    format!("wrong value {} for \"{name}\"", node.inline(60)),
                )
                .expected(expected);
                let problem = match kind {
                    Kind::Word(words) | Kind::WordOrInt { words, .. } => {
                        problem.nearest(text, words.iter().copied())
                    }
                    _ => problem,
                };
                self.problem(problem);
                None
            }
        }
    }
}

const MAX_LIST: usize = 100_000;

/// The advice in an error about a file with a list of values.
const CORRECT: &str = "correct the file, or name another";

/// Returns whether the number of values in a list is allowed.
fn has_valid_length(list: &[Node]) -> bool {
    (1..=MAX_LIST).contains(&list.len())
}

pub(super) fn option_schema(opt: &Opt) -> Json {
    let mut schema = schema(opt.kind);
    schema["description"] = json!(opt.doc);
    if let Some(text) = opt.default {
        schema["default"] = default_json(opt.kind, text);
    }
    schema
}

pub(super) fn default_json(kind: Kind, text: &str) -> Json {
    match kind {
        Kind::Bool | Kind::Int { .. } | Kind::Float { .. } => {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        }
        Kind::Pairs(inner) => {
            let pairs = text
                .split(',')
                .filter_map(|pair| pair.trim().split_once(' '));
            let pairs = pairs.map(|(at, value)| json!([at, default_json(*inner, value)]));
            pairs.collect()
        }
        _ => json!(text),
    }
}

pub(super) fn schema(kind: Kind) -> Json {
    match kind {
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Int { min, max } => {
            let mut schema = json!({ "type": "integer", "minimum": min });
            if max < i64::MAX {
                schema["maximum"] = json!(max);
            }
            schema
        }
        Kind::Float { min, max } => {
            let mut schema = json!({ "type": "number" });
            if min > f64::MIN {
                schema["minimum"] = json!(min);
            }
            if max < f64::MAX {
                schema["maximum"] = json!(max);
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
        Kind::BoolOrInt { min, max } => json!({ "anyOf": [
            { "type": "boolean" },
            { "type": "integer", "minimum": min, "maximum": max },
        ] }),
        Kind::List(inner) => json!({ "anyOf": [
            { "type": "array", "items": schema(*inner), "minItems": 1, "maxItems": MAX_LIST },
            { "type": "string", "description": "A file with one value per line." },
        ] }),
        Kind::Pairs(inner) => json!({
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [schema(Kind::Time { min: Time::ZERO }), schema(*inner)],
                "minItems": 2,
                "maxItems": 2,
            },
            "minItems": 1,
            "maxItems": MAX_LIST,
        }),
        Kind::Table(options) => {
            let properties: Map<String, Json> = options
                .iter()
                .map(|opt| (opt.name.to_owned(), option_schema(opt)))
                .collect();
            json!({ "type": "object", "properties": properties, "additionalProperties": false })
        }
    }
}

pub(super) fn pattern(units: &str) -> Json {
    json!({ "type": "string", "pattern": format!(r"^\s*({NUMBER})\s*({units})\s*$") })
}

const NUMBER: &str = r"\d+\.?\d*|\.\d+";

const TIME: &str = "ns|nsecs?|us|usecs?|ms|msecs?|s|secs?";

const RATE: &str = "([kKmMgGtT]|[kKmMgG][iI])?[bB][iI][tT](/s)?";

pub(super) const BYTES: &str = "|[bB]|[kKmMgG][bB]?|[kKmMgG][bB][iI][tT]|[bB][dD][pP]";

const PACKETS: &str = "[pP]|[pP][aA][cC][kK][eE][tT][sS]";
