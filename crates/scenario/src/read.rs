//! Typed reading of a table by its [`TableDef`], and of the options of a
//! registry entry. Everything wrong is noted and reading goes on with the
//! default, so that one pass finds all errors.

use std::collections::{HashMap, HashSet};

use tailback_engine::plan::RatePlan;
use tailback_engine::registry::{Kind, Opt, Options, Value, check_range, defaults, parse_word};
use tailback_engine::units::{Bytes, Rate, Size, Time, parse_rate, parse_size, parse_time};

use crate::Loader;
use crate::diagnostic::Problem;
use crate::keys::{Key, KeyKind, Registry, TableDef, View};
use crate::tree::{Item, Node, Span, Table, Toml, shorten};

/// The longest time a scenario may hold: a run of twelve days. Sums of a few
/// of them stay far from the end of 64 bits of nanoseconds.
pub(crate) const MAX_TIME: Time = Time::from_secs(1_000_000);

/// What one `bdp` is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bdp {
    /// Bytes.
    Known(f64),
    /// The rate or the round-trip time is wrong, which is reported already.
    Unknown,
    /// There is no link to speak of here.
    Nowhere,
}

/// Reads values and collects what is wrong.
pub(crate) struct Reader<'a> {
    pub problems: Vec<Problem>,
    /// Values of a sweep: the places whose numbers label the points.
    pub watched: HashSet<Span>,
    /// The watched ones that were read as numbers, base units.
    pub resolved: HashMap<Span, f64>,
    /// Bytes the runs may use, if the caller knows.
    pub memory: Option<u64>,
    load: &'a Loader<'a>,
    traces: HashMap<String, Result<Vec<Time>, String>>,
}

/// A table that has been read.
pub(crate) struct Fields<'n> {
    def: &'static TableDef,
    pub span: Span,
    given: Vec<Option<(&'n Item, Option<Value>)>>,
}

impl<'n> Fields<'n> {
    fn index(&self, name: &str) -> Option<usize> {
        self.def.keys.iter().position(|key| key.name == name)
    }

    /// The key as it stands in the file, if it does.
    pub fn item(&self, name: &str) -> Option<&'n Item> {
        self.given[self.index(name)?]
            .as_ref()
            .map(|(item, _)| *item)
    }

    /// Where to point at for a key: its value, or the table.
    pub fn span_of(&self, name: &str) -> Span {
        self.item(name).map_or(self.span, |item| item.node.span)
    }

    /// The value of a plain key if it is in the file and right.
    pub fn given(&self, name: &str) -> Option<&Value> {
        self.given[self.index(name)?]
            .as_ref()
            .and_then(|(_, value)| value.as_ref())
    }

    /// The value of a plain key or its default.
    pub fn value(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.given(name) {
            return Some(value.clone());
        }
        let key = &self.def.keys[self.index(name)?];
        match (key.kind, key.default) {
            (KeyKind::Plain(kind), Some(text)) => parse_word(kind, text).ok(),
            _ => None,
        }
    }

    pub fn time(&self, name: &str) -> Option<Time> {
        match self.value(name) {
            Some(Value::Time(time)) => Some(time),
            _ => None,
        }
    }

    pub fn bool(&self, name: &str) -> Option<bool> {
        match self.value(name) {
            Some(Value::Bool(b)) => Some(b),
            _ => None,
        }
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Some(Value::Int(i)) => Some(i),
            _ => None,
        }
    }

    pub fn float(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            Some(Value::Float(f)) => Some(f),
            _ => None,
        }
    }

    pub fn bytes(&self, name: &str) -> Option<Bytes> {
        match self.value(name) {
            Some(Value::Bytes(b)) => Some(b),
            _ => None,
        }
    }

    pub fn word(&self, name: &str) -> Option<&'static str> {
        match self.value(name) {
            Some(Value::Word(w)) => Some(w),
            _ => None,
        }
    }
}

/// What a key of this kind expects, in words.
pub(crate) fn expectation(kind: KeyKind) -> String {
    match kind {
        KeyKind::Plain(kind) => plain_expectation(kind),
        KeyKind::Text => "a text in quotes".to_owned(),
        KeyKind::Name => "a name of letters, digits, \"_\", \"-\" and \"+\"".to_owned(),
        KeyKind::Rate => {
            "a rate such as \"100Mbit\", { steps = [[\"0s\", \"50Mbit\"], ...] } or { trace = \"file\" }"
                .to_owned()
        }
        KeyKind::Entry(registry) => format!(
            "a {} in quotes, or {{ {} = \"...\", options }}",
            registry.noun(),
            registry.name_key()
        ),
        KeyKind::Word(registry) => format!("a {} in quotes", registry.noun()),
        KeyKind::Route => "names of links such as [\"a\", \"b\"]".to_owned(),
        KeyKind::Series => "one of interval, changes, off, or true or false".to_owned(),
        KeyKind::Table(_) | KeyKind::Map(_) | KeyKind::Sweep => "a table".to_owned(),
        KeyKind::List(def) => format!("tables, each under {}", def.label),
    }
}

fn plain_expectation(kind: Kind) -> String {
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
        Kind::Table(_) => "a table of options".to_owned(),
    }
}

/// What is expected of a value that is right but for its sign.
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

impl<'a> Reader<'a> {
    pub fn new(load: &'a Loader<'a>, memory: Option<u64>) -> Reader<'a> {
        Reader {
            problems: Vec::new(),
            watched: HashSet::new(),
            resolved: HashMap::new(),
            memory,
            load,
            traces: HashMap::new(),
        }
    }

    pub fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Reports a value that is not what its key expects.
    pub fn wrong(&mut self, name: &str, node: &Node, expected: impl Into<String>) {
        let problem = Problem::new(
            node.span,
            format!("wrong value {} for \"{name}\"", node.inline(60)),
        );
        self.problem(problem.expected(expected));
    }

    /// Reads a table: unknown and missing keys are reported, plain values read.
    pub fn fields<'n>(
        &mut self,
        node: &'n Node,
        def: &'static TableDef,
        label: &str,
        bdp: Bdp,
    ) -> Fields<'n> {
        let mut fields = Fields {
            def,
            span: node.span,
            given: def.keys.iter().map(|_| None).collect(),
        };
        let Some(table) = node.table() else {
            self.problem(
                Problem::new(node.span, format!("{label} is not a table")).expected("a table"),
            );
            return fields;
        };
        for item in &table.0 {
            match fields.index(&item.key) {
                Some(index) => {
                    let value = match def.keys[index].kind {
                        KeyKind::Plain(kind) => self.plain(&item.key, kind, &item.node, bdp),
                        _ => None,
                    };
                    fields.given[index] = Some((item, value));
                }
                None if def.flat.is_some() => {}
                None => self.unknown(item, label, def.keys.iter().map(|key| key.name)),
            }
        }
        self.missing(def, table, node.span, label);
        fields
    }

    /// Reads a table that is not in the file.
    pub fn absent(&self, def: &'static TableDef, span: Span) -> Fields<'static> {
        Fields {
            def,
            span,
            given: def.keys.iter().map(|_| None).collect(),
        }
    }

    fn missing(&mut self, def: &'static TableDef, table: &Table, span: Span, label: &str) {
        let missing = |key: &&Key| key.required && table.get(key.name).is_none();
        for key in def.keys.iter().filter(missing) {
            let problem = Problem::new(span, format!("\"{}\" is missing in {label}", key.name));
            self.problem(problem.expected(expectation(key.kind)).global());
        }
    }

    pub fn unknown(
        &mut self,
        item: &Item,
        label: &str,
        valid: impl Iterator<Item = &'static str> + Clone,
    ) {
        let expected: Vec<&str> = valid.clone().collect();
        let problem = Problem::new(
            item.key_span,
            format!("unknown key \"{}\" in {label}", shorten(&item.key)),
        )
        .expected(format!("one of {}", expected.join(", ")))
        .nearest(&item.key, valid);
        self.problem(problem);
    }

    /// Reads a value of a plain kind.
    pub fn plain(&mut self, name: &str, kind: Kind, node: &Node, bdp: Bdp) -> Option<Value> {
        let value = match (kind, &node.value) {
            (Kind::Bool, Toml::Bool(b)) => Value::Bool(*b),
            (Kind::Int { .. }, Toml::Integer(i)) => Value::Int(*i),
            (Kind::Float { .. }, Toml::Integer(i)) => Value::Float(*i as f64),
            // Minus zero is zero, or two spellings of one run would differ.
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
                | Kind::Word(_),
                Toml::String(text),
            ) => self.text(name, kind, text, node, bdp)?,
            _ => {
                self.wrong(name, node, plain_expectation(kind));
                return None;
            }
        };
        if let Err(expected) = check_range(kind, &value) {
            // The end of a range that is only the type's is not worth saying.
            let open = matches!(kind, Kind::Int { max: i64::MAX, .. });
            let expected = if open {
                plain_expectation(kind)
            } else {
                expected
            };
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
        match parse_word(kind, text) {
            Ok(value) => Some(value),
            Err(expected) => {
                let signless = text.trim_start().strip_prefix('-');
                let expected = match signless {
                    Some(rest) if parse_word(kind, rest).is_ok() => {
                        positive(kind).unwrap_or(expected)
                    }
                    // Longer than a number of nanoseconds: longer than allowed too.
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
                    Kind::Word(words) => problem.nearest(text, words.iter().copied()),
                    _ => problem,
                };
                self.problem(problem);
                None
            }
        }
    }

    /// Keeps the number of a value that a sweep has put there.
    fn note(&mut self, span: Span, value: &Value) {
        if self.watched.contains(&span)
            && let Some(number) = number(value)
        {
            self.resolved.insert(span, number);
        }
    }

    /// Reads any text.
    pub fn string<'n>(&mut self, item: &'n Item, kind: KeyKind) -> Option<&'n str> {
        let text = item.node.string();
        if text.is_none() {
            self.wrong(&item.key, &item.node, expectation(kind));
        }
        text
    }

    /// Checks the name of a link, flow or source.
    pub fn check_name(&mut self, name: &str, span: Span) -> bool {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+');
        let good = !name.is_empty() && name.chars().count() <= 64 && name.chars().all(fits);
        if !good {
            let problem = Problem::new(span, format!("\"{}\" cannot be a name", shorten(name)));
            self.problem(problem.expected("1 to 64 letters, digits, \"_\", \"-\" and \"+\""));
        }
        good
    }

    /// Finds an entry of a registry by name.
    pub fn entry(&mut self, registry: Registry, name: &str, span: Span) -> Option<View> {
        let entries = registry.entries();
        let found = entries.iter().find(|entry| entry.name == name).copied();
        if found.is_none() {
            let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
            let problem = Problem::new(
                span,
                format!("unknown {} \"{}\"", registry.noun(), shorten(name)),
            )
            .expected(format!("one of {}", names.join(", ")))
            .nearest(name, names.iter().copied());
            self.problem(problem);
        }
        found
    }

    /// Reads `"codel"` or `{ aqm = "codel", target = "5ms" }`: the entry and
    /// its complete options, if they are right.
    pub fn choice(
        &mut self,
        registry: Registry,
        key: &str,
        node: &Node,
        bdp: Bdp,
    ) -> Option<(View, Option<Options>)> {
        let name_key = registry.name_key();
        match &node.value {
            Toml::String(name) => {
                let entry = self.entry(registry, name, node.span)?;
                let options = self.options(registry, entry, &Table::default(), &[], node.span, bdp);
                Some((entry, options))
            }
            Toml::Table(table) => {
                if let Some(item) = table.item("kernel") {
                    let problem = Problem::new(
                        item.key_span,
                        format!(
                            "a {} of the kernel needs the kernel engine, which this release does not have",
                            registry.noun()
                        ),
                    );
                    self.problem(problem);
                    return None;
                }
                let Some(item) = table.item(name_key) else {
                    let problem =
                        Problem::new(node.span, format!("\"{name_key}\" is missing in \"{key}\""));
                    self.problem(problem.expected(format!("a {} in quotes", registry.noun())));
                    return None;
                };
                let name = self.string(item, KeyKind::Word(registry))?;
                let entry = self.entry(registry, name, item.node.span)?;
                let options = self.options(registry, entry, table, &[name_key], node.span, bdp);
                Some((entry, options))
            }
            _ => {
                self.wrong(key, node, expectation(KeyKind::Entry(registry)));
                None
            }
        }
    }

    /// Reads the options of an entry from a table in which `skip` are keys of
    /// another kind. Nothing is built from options that are not all right:
    /// they may be incomplete.
    pub fn options(
        &mut self,
        registry: Registry,
        entry: View,
        table: &Table,
        skip: &[&str],
        span: Span,
        bdp: Bdp,
    ) -> Option<Options> {
        let before = self.problems.len();
        let mut options = defaults(entry.options);
        for item in &table.0 {
            if skip.contains(&item.key.as_str()) {
                continue;
            }
            match entry.options.iter().find(|opt| opt.name == item.key) {
                Some(opt) => {
                    if let Some(value) = self.option(registry, entry.name, opt, item, bdp) {
                        options.set(opt.name, value);
                    }
                }
                None => self.foreign(registry, entry.name, entry.options, item, skip),
            }
        }
        if self.problems.len() == before
            && let Err(errors) = (entry.finish)(&mut options)
        {
            for error in errors {
                // An error in a table of options is named "classic.min".
                let mut at = span;
                let mut within = Some(table);
                for step in error.option.split('.') {
                    let item = within.and_then(|table| table.item(step));
                    at = item.map_or(at, |item| item.node.span);
                    within = item.and_then(|item| item.node.table());
                }
                self.problem(Problem::new(
                    at,
                    format!("\"{}\" of {}: {}", error.option, entry.name, error.message),
                ));
            }
        }
        (self.problems.len() == before).then_some(options)
    }

    fn option(
        &mut self,
        registry: Registry,
        entry: &str,
        opt: &Opt,
        item: &Item,
        bdp: Bdp,
    ) -> Option<Value> {
        let Kind::Table(inner) = opt.kind else {
            return self.plain(opt.name, opt.kind, &item.node, bdp);
        };
        let Some(table) = item.node.table() else {
            self.wrong(opt.name, &item.node, plain_expectation(opt.kind));
            return None;
        };
        let label = format!("\"{}\" of {entry}", opt.name);
        let mut options = defaults(inner);
        for item in &table.0 {
            match inner.iter().find(|opt| opt.name == item.key) {
                Some(opt) => {
                    if let Some(value) = self.option(registry, &label, opt, item, bdp) {
                        options.set(opt.name, value);
                    }
                }
                None => self.foreign(registry, &label, inner, item, &[]),
            }
        }
        Some(Value::Table(options))
    }

    /// Reports an option that the entry does not have: it may be another's.
    fn foreign(
        &mut self,
        registry: Registry,
        entry: &str,
        options: &'static [Opt],
        item: &Item,
        keys: &[&str],
    ) {
        let owners: Vec<&str> = registry
            .entries()
            .iter()
            .filter(|other| other.options.iter().any(|opt| opt.name == item.key))
            .map(|other| other.name)
            .collect();
        let mut valid: Vec<&str> = options.iter().map(|opt| opt.name).collect();
        // In [[traffic]] the options stand among the keys of the table.
        if registry == Registry::Traffic {
            valid.splice(0..0, keys.iter().copied());
        }
        let key = shorten(&item.key);
        let message = if owners.is_empty() {
            format!("{entry} has no option \"{key}\"")
        } else {
            format!(
                "\"{key}\" is an option of {}, not of {entry}",
                owners.join(", ")
            )
        };
        let mut problem = Problem::new(item.key_span, message);
        if !valid.is_empty() {
            problem = problem.expected(format!("one of {}", valid.join(", ")));
        }
        if owners.is_empty() {
            problem = problem.nearest(&item.key, valid.iter().copied());
        }
        self.problem(problem);
    }

    /// Reads a rate: a constant, steps or a trace.
    pub fn rate(&mut self, item: &Item) -> Option<RatePlan> {
        let node = &item.node;
        let Some(table) = node.table() else {
            if node.string().is_none() {
                self.wrong(&item.key, node, expectation(KeyKind::Rate));
                return None;
            }
            return match self.plain(&item.key, Kind::Rate, node, Bdp::Nowhere)? {
                Value::Rate(rate) => Some(RatePlan::Constant(rate)),
                _ => None,
            };
        };
        let known = ["steps", "trace"];
        for item in &table.0 {
            if !known.contains(&item.key.as_str()) {
                self.unknown(item, "a rate", known.iter().copied());
            }
        }
        match (table.item("steps"), table.item("trace")) {
            (Some(steps), None) => self.steps(steps),
            (None, Some(trace)) => self.trace(trace),
            _ => {
                self.wrong(&item.key, node, expectation(KeyKind::Rate));
                None
            }
        }
    }

    fn steps(&mut self, item: &Item) -> Option<RatePlan> {
        const EXPECTED: &str =
            "pairs of time and rate such as [[\"0s\", \"50Mbit\"], [\"30s\", \"5Mbit\"]]";
        let Some(list) = item.node.array().filter(|list| !list.is_empty()) else {
            self.wrong(&item.key, &item.node, EXPECTED);
            return None;
        };
        let before = self.problems.len();
        let mut steps: Vec<(Time, Rate)> = Vec::with_capacity(list.len());
        for node in list {
            let Some([at, rate]) = node.array() else {
                self.wrong(&item.key, node, EXPECTED);
                continue;
            };
            let time = self.plain("steps", Kind::Time { min: Time::ZERO }, at, Bdp::Nowhere);
            let value = match rate.string().map(parse_rate) {
                // A link may stop for a while, but there must be a rate to begin with.
                Some(Ok(Rate(0))) if !steps.is_empty() => Some(Value::Rate(Rate(0))),
                _ => self.plain("steps", Kind::Rate, rate, Bdp::Nowhere),
            };
            let (Some(Value::Time(time)), Some(Value::Rate(rate))) = (time, value) else {
                continue;
            };
            match steps.last() {
                None if time > Time::ZERO => {
                    self.wrong("steps", at, "the first step at \"0s\"");
                }
                Some((last, _)) if time <= *last => {
                    self.wrong("steps", at, format!("a time after {last}"));
                }
                _ => {}
            }
            steps.push((time, rate));
        }
        (self.problems.len() == before).then_some(RatePlan::Steps(steps))
    }

    fn trace(&mut self, item: &Item) -> Option<RatePlan> {
        let Some(file) = item.node.string() else {
            self.wrong(&item.key, &item.node, "the name of a file in quotes");
            return None;
        };
        if !self.traces.contains_key(file) {
            let trace = (self.load)(file).and_then(|text| parse_trace(&text));
            self.traces.insert(file.to_owned(), trace);
        }
        match &self.traces[file] {
            Ok(times) => Some(RatePlan::Trace(times.clone())),
            Err(error) => {
                let message = format!("trace \"{}\": {error}", shorten(file));
                self.problem(Problem::new(item.node.span, message));
                None
            }
        }
    }
}

/// The most opportunities a trace may have: an hour at 33 Gbit/s.
const MAX_TRACE: usize = 10_000_000;

/// Reads a Mahimahi trace: a whole number of milliseconds on each line,
/// ascending, each an opportunity to deliver 1504 bytes.
fn parse_trace(text: &str) -> Result<Vec<Time>, String> {
    let mut times: Vec<Time> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let n = n + 1;
        let time = match line.parse::<u64>() {
            Ok(ms) if ms <= MAX_TIME.0 / 1_000_000 => Time::from_ms(ms),
            _ => {
                return Err(format!(
                    "line {n}: expected a whole number of milliseconds, found \"{}\"",
                    shorten(line)
                ));
            }
        };
        if times.last().is_some_and(|last| time < *last) {
            return Err(format!("line {n}: times must not decrease"));
        }
        if times.len() == MAX_TRACE {
            return Err(format!("more than {MAX_TRACE} lines"));
        }
        times.push(time);
    }
    match times.last() {
        None => Err("it is empty".to_owned()),
        Some(Time(0)) => Err("its last time must be greater than 0".to_owned()),
        Some(_) => Ok(times),
    }
}

/// A value as a number in base units, where it is one.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        Value::Time(t) => Some(t.0 as f64),
        Value::Rate(r) => Some(r.0 as f64),
        Value::Bytes(b) => Some(b.0 as f64),
        Value::Packets(n) => Some(*n as f64),
        Value::Bool(_) | Value::Word(_) | Value::Table(_) => None,
    }
}
