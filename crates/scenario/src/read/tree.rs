//! Parses a scenario into a tree. For every key and value, the tree stores the position in the file
//! or in the command-line option. Values of a sweep and of `--set` are inserted into the tree
//! before the tree is validated.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};
use toml::de::{DeTable, DeValue};

use super::problem::{Problem, shorten};
use super::span::Span;

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub span: Span,
    pub value: Toml,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Toml {
    String(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    Datetime(String),
    Array(Vec<Node>),
    Table(Table),
}

/// A table whose entries are in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table(pub Vec<Item>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub key: String,
    pub key_span: Span,
    pub node: Node,
}

impl Table {
    pub fn item(&self, key: &str) -> Option<&Item> {
        self.0.iter().find(|item| item.key == key)
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.item(key).map(|item| &item.node)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.0
            .iter_mut()
            .find(|item| item.key == key)
            .map(|item| &mut item.node)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|item| item.key.as_str())
    }

    pub fn set(&mut self, key: &str, key_span: Span, node: Node) {
        let item = Item {
            key: key.to_owned(),
            key_span,
            node,
        };
        match self.0.iter_mut().find(|item| item.key == key) {
            Some(old) => *old = item,
            None => self.0.push(item),
        }
    }
}

impl Node {
    pub fn table(&self) -> Option<&Table> {
        match &self.value {
            Toml::Table(table) => Some(table),
            _ => None,
        }
    }

    pub fn array(&self) -> Option<&[Node]> {
        match &self.value {
            Toml::Array(array) => Some(array),
            _ => None,
        }
    }

    pub fn string(&self) -> Option<&str> {
        match &self.value {
            Toml::String(string) => Some(string),
            _ => None,
        }
    }

    /// Returns the number of values in the node. A long string counts as several values.
    pub fn size(&self) -> usize {
        1 + match &self.value {
            Toml::String(text) | Toml::Datetime(text) => text.len() / 32,
            Toml::Integer(_) | Toml::Float(_) | Toml::Bool(_) => 0,
            Toml::Array(items) => items.iter().map(Node::size).sum(),
            Toml::Table(table) => {
                let of = |item: &Item| item.node.size() + item.key.len() / 32;
                table.0.iter().map(of).sum()
            }
        }
    }

    /// Formats the value as TOML on one line, shortened to about `max` characters.
    pub fn inline(&self, max: usize) -> String {
        let mut out = String::new();
        self.write(&mut out, max);
        if out.chars().count() > max {
            out = out.chars().take(max).collect();
            out.push_str("...");
        }
        out
    }

    fn write(&self, out: &mut String, max: usize) {
        // Stop at the length limit, because the rest of a long array is cut off anyway. Ignore the
        // result, because formatting into a string never fails.
        if out.len() > 4 * max {
            return;
        }
        match &self.value {
            Toml::String(s) => write_string(out, s, max),
            Toml::Integer(i) => _ = write!(out, "{i}"),
            Toml::Float(f) if f.is_nan() => out.push_str("nan"),
            Toml::Float(f) => _ = write!(out, "{f:?}"),
            Toml::Bool(b) => _ = write!(out, "{b}"),
            Toml::Datetime(d) => out.push_str(d),
            Toml::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    item.write(out, max);
                    if out.len() > 4 * max {
                        return;
                    }
                }
                out.push(']');
            }
            Toml::Table(table) => {
                out.push_str("{ ");
                for (i, item) in table.0.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    _ = write!(out, "{} = ", item.key);
                    item.node.write(out, max);
                    if out.len() > 4 * max {
                        return;
                    }
                }
                out.push_str(" }");
            }
        }
    }
}

/// Writes the value as JSON in the order of the file. Numbers that JSON cannot express are written
/// as null.
impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Toml::String(text) | Toml::Datetime(text) => serializer.serialize_str(text),
            Toml::Integer(number) => serializer.serialize_i64(*number),
            Toml::Float(number) => serializer.serialize_f64(*number),
            Toml::Bool(yes) => serializer.serialize_bool(*yes),
            Toml::Array(items) => serializer.collect_seq(items),
            Toml::Table(table) => {
                serializer.collect_map(table.0.iter().map(|item| (&item.key, &item.node)))
            }
        }
    }
}

fn write_string(out: &mut String, s: &str, max: usize) {
    out.push('"');
    for c in s.chars().take(max + 1) {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Parses a file. After a syntax error, the tree contains the values that the parser could recover.
/// If the syntax error is not `local`, other parts of the tree may also be wrong.
pub(crate) fn parse(text: &str, source: u32, problems: &mut Vec<Problem>) -> Node {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let mut problem = syntax(&error, source, 0, text.len());
        if problem.message == "duplicate key"
            && let Some(key) = error.span().and_then(|range| text.get(range))
        {
            problem.message = format!("duplicate key \"{}\"", shorten(key));
            problem.local = true;
        }
        problems.push(problem);
    }
    let table = convert_table(document.get_ref(), source, 0, problems);
    Node {
        span: Span::new(source, 0..0),
        value: Toml::Table(table),
    }
}

/// Parses the value of `--set key=value`. The value is TOML, or a bare word, which becomes a
/// string. Returns `None` for other texts. `offset` is the byte at which the value begins in its
/// source.
pub(crate) fn parse_value(
    text: &str,
    source: u32,
    offset: usize,
    problems: &mut Vec<Problem>,
) -> Option<Node> {
    let span = Span::new(source, offset..offset + text.len());
    let bare = || Node {
        span,
        value: Toml::String(text.to_owned()),
    };
    let trimmed = text.trim();
    match DeValue::parse(trimmed) {
        Ok(value) => {
            let mut found = Vec::new();
            let node = convert(value.get_ref(), span, source, offset, &mut found);
            // Treat a number that is too large for TOML as a bare word.
            Some(match found.is_empty() {
                true => Node { span, ..node },
                false => bare(),
            })
        }
        Err(error) if trimmed.starts_with(['[', '{', '"', '\'']) => {
            problems.push(syntax(&error, source, offset, trimmed.len()));
            None
        }
        Err(_) => Some(bare()),
    }
}

fn syntax(error: &toml::de::Error, source: u32, offset: usize, len: usize) -> Problem {
    let range = error.span().unwrap_or(0..0);
    let range = range.start.min(len) + offset..range.end.min(len) + offset;
    let message = error.message();
    let (message, expected) = match message.split_once(", expected ") {
        Some((message, expected)) => (message, Some(expected)),
        None => (message, None),
    };
    let problem = Problem::new(Span::new(source, range), message);
    match (message, expected) {
        // For example, the TOML parser returns this message for `rate = 100Mbit`.
        ("string values must be quoted", _) => {
            problem.expected("a value in quotes such as \"100Mbit\"")
        }
        (_, Some(expected)) => {
            let help = format!("write {expected}");
            problem.expected(expected).help(help).global()
        }
        ("duplicate key", None) => problem.help("remove one of them").global(),
        (_, None) => problem.help("correct the syntax of TOML").global(),
    }
}

fn convert_table(
    table: &DeTable<'_>,
    source: u32,
    offset: usize,
    problems: &mut Vec<Problem>,
) -> Table {
    let shift =
        |range: std::ops::Range<usize>| Span::new(source, range.start + offset..range.end + offset);
    let mut items: Vec<Item> = table
        .iter()
        .map(|(key, value)| Item {
            key: key.get_ref().to_string(),
            key_span: shift(key.span()),
            node: convert(
                value.get_ref(),
                shift(value.span()),
                source,
                offset,
                problems,
            ),
        })
        .collect();
    items.sort_by_key(|item| item.key_span);
    Table(items)
}

fn convert(
    value: &DeValue<'_>,
    span: Span,
    source: u32,
    offset: usize,
    problems: &mut Vec<Problem>,
) -> Node {
    let value = match value {
        DeValue::String(s) => Toml::String(s.to_string()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Toml::Integer(i),
            Err(_) => {
                problems.push(
                    Problem::new(span, "the number does not fit")
                        .expected("a whole number of at most 64 bits"),
                );
                Toml::Integer(0)
            }
        },
        DeValue::Float(f) => Toml::Float(f.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Toml::Bool(*b),
        DeValue::Datetime(d) => Toml::Datetime(d.to_string()),
        DeValue::Array(array) => Toml::Array(
            array
                .iter()
                .map(|item| {
                    let range = item.span();
                    let span = Span::new(source, range.start + offset..range.end + offset);
                    convert(item.get_ref(), span, source, offset, problems)
                })
                .collect(),
        ),
        DeValue::Table(table) => Toml::Table(convert_table(table, source, offset, problems)),
    };
    Node { span, value }
}
