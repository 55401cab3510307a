//! A parsed scenario as a tree in which every key and value knows its place,
//! whichever file or option it came from: values of a sweep and of `--set` are
//! grafted on before anything is validated.

use std::collections::HashSet;
use std::fmt::Write as _;

use toml::de::{DeTable, DeValue};

use crate::diagnostic::Problem;

/// A place in one of the [`Sources`], in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    /// Index into [`Sources`]: 0 is the file, the others are options.
    pub source: u32,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(source: u32, range: std::ops::Range<usize>) -> Span {
        Span {
            source,
            start: range.start as u32,
            end: range.end.max(range.start) as u32,
        }
    }
}

/// The texts a scenario was put together from.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Source>);

#[derive(Debug)]
struct Source {
    name: String,
    text: String,
    /// Where each line starts, bytes.
    lines: Vec<usize>,
}

impl Sources {
    pub fn add(&mut self, name: &str, text: &str) -> u32 {
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        self.0.push(Source {
            name: name.to_owned(),
            text: text.to_owned(),
            lines: std::iter::once(0)
                .chain(newlines.map(|(i, _)| i + 1))
                .collect(),
        });
        (self.0.len() - 1) as u32
    }

    /// Index of the line a place is on, from 0.
    pub fn line(&self, span: Span) -> usize {
        self.0.get(span.source as usize).map_or(0, |source| {
            source
                .lines
                .partition_point(|start| *start <= span.start as usize)
                .saturating_sub(1)
        })
    }

    /// File, line and column, the latter two from 1; columns count characters.
    pub fn place(&self, span: Span) -> (&str, usize, usize) {
        let Some(source) = self.0.get(span.source as usize) else {
            return ("", 1, 1);
        };
        let line = self.line(span);
        let begin = source.lines[line];
        let column = source
            .text
            .get(begin..(span.start as usize).min(source.text.len()))
            .map_or(0, |before| before.chars().count());
        (&source.name, line + 1, column + 1)
    }
}

/// A value and its place.
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

/// A table, in the order of the file.
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

    /// How many values there are in it; a long text counts as several.
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

    /// The value as TOML on one line, shortened to about `max` characters.
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
        // Nothing behind the limit is shown: a long array is not written out
        // only to be cut. Formatting into a string does not fail.
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

/// Parses a file. The tree is what could be recovered when there are syntax
/// errors; those that are not `local` made the parser lose its way.
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

/// Reads the value of `--set key=value`: TOML, and a bare word is a string;
/// nothing if it is neither. `offset` is where the value begins in the text of its source.
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
            // A number that TOML cannot hold is a word like any other here.
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
        // `rate = 100Mbit`: it reads the value as if it had been quoted.
        ("string values must be quoted", _) => {
            problem.expected("a value in quotes such as \"100Mbit\"")
        }
        (_, Some(expected)) => problem.expected(expected).global(),
        (_, None) => problem.global(),
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

/// One step of a path such as `flows[0].rtt`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// Longer than any path of a scenario; a tree as deep as a text can ask for
/// would overflow the stack.
const MAX_STEPS: usize = 16;

/// A path to a key, each step with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path(pub Vec<(Step, Span)>);

impl Path {
    /// Reads `bottleneck.rate`, `flows[0].rtt`, `flows."a b".rtt`. `span` is
    /// where the text stands.
    pub fn parse(text: &str, span: Span) -> Result<Path, Problem> {
        let wrong = |at: usize| {
            Problem::new(
                part(span, at, text.len()),
                format!("\"{}\" is not a path", shorten(text)),
            )
            .expected(
                "keys with dots between them, such as \"bottleneck.rate\" or \"flows[0].rtt\"",
            )
        };
        let bytes = text.as_bytes();
        let mut steps = Vec::new();
        let mut at = 0;
        loop {
            let begin = at;
            if bytes.get(at) == Some(&b'"') {
                let end = text[at + 1..].find('"').ok_or_else(|| wrong(at))? + at + 1;
                steps.push((
                    Step::Key(text[at + 1..end].to_owned()),
                    part(span, begin, end + 1),
                ));
                at = end + 1;
            } else {
                let end = text[at..]
                    .find(['.', '[', ']', '"'])
                    .map_or(text.len(), |n| at + n);
                if end == begin {
                    return Err(wrong(begin));
                }
                steps.push((
                    Step::Key(text[begin..end].to_owned()),
                    part(span, begin, end),
                ));
                at = end;
            }
            while bytes.get(at) == Some(&b'[') {
                let end = text[at..].find(']').ok_or_else(|| wrong(at))? + at;
                let index = text[at + 1..end].parse().map_err(|_| wrong(at))?;
                steps.push((Step::Index(index), part(span, at, end + 1)));
                at = end + 1;
            }
            if steps.len() > MAX_STEPS {
                return Err(wrong(at));
            }
            match bytes.get(at) {
                None => return Ok(Path(steps)),
                Some(b'.') => at += 1,
                Some(_) => return Err(wrong(at)),
            }
        }
    }

    /// Whether the other path leads to the same key.
    pub fn same(&self, other: &Path) -> bool {
        self.0.len() == other.0.len() && self.is_prefix_of(other)
    }

    /// Whether the other path is the same or leads through this one.
    pub fn is_prefix_of(&self, other: &Path) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.0 == b.0)
    }
}

/// The span of a part of a text, where the text itself stands at `span` (with
/// quotes around it or without).
fn part(span: Span, start: usize, end: usize) -> Span {
    let at = span.start as usize;
    Span::new(span.source, at + start..at + end)
}

/// A text short enough for a message.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        text.to_owned()
    } else {
        text.chars().take(60).chain("...".chars()).collect()
    }
}

/// Makes names unique: explicit ones stay, the others get `-2`, `-3`, ...
pub(crate) fn unique_names<'a>(
    names: impl Iterator<Item = (Option<&'a str>, &'a str)>,
) -> Vec<String> {
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
