//! Typed reading of a table by its [`TableDef`], and of the options of a
//! registry entry. Everything wrong is noted and reading goes on with the
//! default, so that one pass finds all errors.

use std::collections::{HashMap, HashSet};

use tailback_engine::keys::{EngineKind, Key, KeyKind, Registry, TableDef};
use tailback_engine::plan::{Algorithm, RatePlan, Schedule};
use tailback_engine::registry::{
    Kind, Opt, Options, Value, check_range, defaults, parse_word, word_or_int,
};
use tailback_engine::units::{Bytes, Rate, Size, Time, parse_rate, parse_size, parse_time};

use crate::Loader;
use crate::diagnostic::Problem;
use crate::keys::{Assert, View, entries};
use crate::trace::Traces;
use crate::tree::{Item, Node, Span, Table, Toml, shorten};

/// The longest time a scenario may hold: a run of twelve days. Sums of a few
/// of them stay far from the end of 64 bits of nanoseconds.
pub(crate) const MAX_TIME: Time = Time::from_secs(1_000_000);

/// The longest name of a congestion control or queue discipline in Linux, bytes.
const MAX_KERNEL_NAME: usize = 15;

/// The longest name of a module, bytes.
const MAX_MODULE_NAME: usize = 63;

/// The most words for tc, bytes.
const MAX_ARGS: usize = 1000;

/// The most packets of a schedule to mark, and to drop.
const MAX_SCHEDULE: usize = 100_000;

/// What can stand on a command line as it is.
fn printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

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
    /// What is allowed but unusual.
    pub warnings: Vec<Problem>,
    /// Values of a sweep: the places whose numbers label the points.
    pub watched: HashSet<Span>,
    /// The watched ones that were read as numbers, base units.
    pub resolved: HashMap<Span, f64>,
    /// Bytes the runs may use, if the caller knows.
    pub memory: Option<u64>,
    /// What the runs are for.
    pub engine: EngineKind,
    load: &'a Loader<'a>,
    /// The files that rates name.
    pub traces: Traces,
}

/// A queue discipline or congestion control that has been read.
#[derive(Clone)]
pub(crate) struct Choice {
    pub algorithm: Algorithm,
    /// Stands in for it.
    pub module: Option<String>,
    /// Whether its options are right; if not, the algorithm has its defaults.
    pub right: bool,
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
}

/// What a key of this kind expects, in words.
pub(crate) fn expectation(kind: KeyKind) -> String {
    match kind {
        KeyKind::Plain(kind) => plain_expectation(kind),
        KeyKind::Text => "a text in quotes".to_owned(),
        KeyKind::Hosts => "the names of two hosts, [\"a\", \"b\"]".to_owned(),
        KeyKind::Name => "a name of letters, digits, \"_\", \"-\" and \"+\"".to_owned(),
        KeyKind::Class => {
            "a name of 1 to 32 letters, digits, \"_\", \"-\" and \"+\"".to_owned()
        }
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
        KeyKind::Schedule => {
            "packet numbers such as { marks = [100, 200], drops = [300] }".to_owned()
        }
        KeyKind::Switch(words) => format!("one of {}, or true or false", words.join(", ")),
        KeyKind::Table(_) | KeyKind::Map(_) | KeyKind::Sweep => "a table".to_owned(),
        KeyKind::List(def) => format!("tables, each under {}", def.label),
        KeyKind::Asserts => format!("tables, each under {}", Assert::TABLE.label),
    }
}

/// Whether a text can be a name, of at most so many characters.
fn is_name(text: &str, most: usize) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+');
    !text.is_empty() && text.chars().count() <= most && text.chars().all(fits)
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
        Kind::WordOrInt { words, min, max } => word_or_int(words, min, max),
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
    pub fn new(load: &'a Loader<'a>, memory: Option<u64>, engine: EngineKind) -> Reader<'a> {
        Reader {
            problems: Vec::new(),
            warnings: Vec::new(),
            watched: HashSet::new(),
            resolved: HashMap::new(),
            memory,
            engine,
            load,
            traces: Traces::default(),
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
                    if let Some(value) = &value {
                        self.not_simulated(&def.keys[index], value, item.node.span);
                    }
                    fields.given[index] = Some((item, value));
                }
                None if def.flat().is_some() => {}
                None => self.unknown(item, label, def.keys.iter().map(|key| key.name)),
            }
        }
        self.missing(def, table, node.span, label);
        fields
    }

    /// Reports a value that the simulator does not play. What the kernel engine does not is seen
    /// in the plan, where the keys of a flow stand in for those of `[tcp]`.
    fn not_simulated(&mut self, key: &Key, value: &Value, span: Span) {
        if self.engine == EngineKind::Sim
            && let Some(refusal) = key.refuses(EngineKind::Sim, "", value)
        {
            let expected = refusal.expected.unwrap_or_default();
            let problem = Problem::new(span, refusal.message);
            self.problem(problem.expected(format!("--engine kernel, or {expected}")));
        }
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
            (Kind::Int { .. } | Kind::WordOrInt { .. }, Toml::Integer(i)) => Value::Int(*i),
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
                | Kind::Word(_)
                | Kind::WordOrInt { .. },
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

    /// Keeps the number of a value that a sweep has put there.
    fn note(&mut self, span: Span, value: &Value) {
        if self.watched.contains(&span)
            && let Some(number) = value.number()
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
        let good = is_name(name, 64);
        if !good {
            let problem = Problem::new(span, format!("\"{}\" cannot be a name", shorten(name)));
            self.problem(problem.expected("1 to 64 letters, digits, \"_\", \"-\" and \"+\""));
        }
        good
    }

    /// The same for a class: a shorter name, since those of series contain it.
    pub fn check_class(&mut self, name: &str, span: Span) -> bool {
        let good = is_name(name, 32);
        if !good {
            let problem = format!("\"{}\" cannot be the name of a class", shorten(name));
            self.problem(Problem::new(span, problem).expected(expectation(KeyKind::Class)));
        }
        good
    }

    /// Finds an entry of a registry by name.
    pub fn entry(&mut self, registry: Registry, name: &str, span: Span) -> Option<View> {
        let entries = entries(registry);
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
        if let Some(entry) = found
            && self.engine == EngineKind::Kernel
            && !entry.in_kernel
        {
            let known = entries.iter().filter(|entry| entry.in_kernel);
            let names: Vec<&str> = known.map(|entry| entry.name).collect();
            let problem = Problem::new(span, format!("the kernel has nothing like {name}"));
            self.problem(problem.expected(format!("--engine sim, or one of {}", names.join(", "))));
        }
        found
    }

    /// Reads `"codel"`, `{ aqm = "codel", target = "5ms" }` or
    /// `{ aqm = "mysch", kernel = true }`.
    pub fn choice(
        &mut self,
        registry: Registry,
        key: &str,
        node: &Node,
        bdp: Bdp,
    ) -> Option<Choice> {
        let name_key = registry.name_key();
        match &node.value {
            Toml::String(name) => {
                let entry = self.entry(registry, name, node.span)?;
                let none = Table::default();
                Some(self.known(registry, entry, &none, &[], node.span, bdp))
            }
            Toml::Table(table) => {
                let Some(item) = table.item(name_key) else {
                    let problem =
                        Problem::new(node.span, format!("\"{name_key}\" is missing in \"{key}\""));
                    self.problem(problem.expected(format!("a {} in quotes", registry.noun())));
                    return None;
                };
                let name = self.string(item, KeyKind::Word(registry))?;
                let module = self.module(table);
                if self.flag(table, "kernel") {
                    return Some(self.of_kernel(registry, name, table, module));
                }
                let entry = self.entry(registry, name, item.node.span)?;
                let keys = [name_key, "kernel", "module"];
                let choice = self.known(registry, entry, table, &keys, node.span, bdp);
                Some(Choice { module, ..choice })
            }
            _ => {
                self.wrong(key, node, expectation(KeyKind::Entry(registry)));
                None
            }
        }
    }

    /// An entry of a registry with what a table gives of its options.
    pub fn known(
        &mut self,
        registry: Registry,
        entry: View,
        table: &Table,
        skip: &[&str],
        span: Span,
        bdp: Bdp,
    ) -> Choice {
        let options = self.options(registry, entry, table, skip, span, bdp);
        let right = options.is_some();
        let options = options.unwrap_or_else(|| {
            // Complete, for what looks at the rest of the plan.
            let mut options = defaults(entry.options);
            _ = (entry.finish)(&mut options);
            options
        });
        Choice {
            algorithm: Algorithm::Known {
                name: entry.name,
                options,
            },
            module: None,
            right,
        }
    }

    /// Reads `{ aqm = "mysch", kernel = true, args = "limit 10" }`.
    fn of_kernel(
        &mut self,
        registry: Registry,
        name: &str,
        table: &Table,
        module: Option<String>,
    ) -> Choice {
        let name_key = registry.name_key();
        // Only tc takes words; a congestion control has none.
        let keys: &'static [&'static str] = match registry {
            Registry::Aqm => &["aqm", "kernel", "args", "module"],
            _ => &["name", "kernel", "module"],
        };
        let label = format!("a {} of the kernel", registry.noun());
        let mut args = String::new();
        for item in &table.0 {
            match item.key.as_str() {
                key if key == name_key => {
                    self.kernel_name(name, item.node.span, MAX_KERNEL_NAME);
                }
                "kernel" if self.engine == EngineKind::Sim => {
                    let message = format!("{} is of the kernel only", shorten(name));
                    let problem = Problem::new(item.key_span, message);
                    self.problem(problem.expected("--engine kernel"));
                }
                "args" if keys.contains(&"args") => match item.node.string() {
                    Some(text) if text.len() <= MAX_ARGS && text.bytes().all(printable) => {
                        args = text.to_owned();
                    }
                    _ => self.wrong(
                        "args",
                        &item.node,
                        format!(
                            "tc words in quotes: at most {MAX_ARGS} printable ASCII characters"
                        ),
                    ),
                },
                key if keys.contains(&key) => {}
                _ => self.unknown(item, &label, keys.iter().copied()),
            }
        }
        Choice {
            algorithm: Algorithm::Kernel {
                name: name.to_owned(),
                args,
            },
            module,
            right: true,
        }
    }

    /// Reads the module that stands in for an algorithm.
    fn module(&mut self, table: &Table) -> Option<String> {
        let item = table.item("module")?;
        let Some(name) = item.node.string() else {
            self.wrong("module", &item.node, "the name of a module in quotes");
            return None;
        };
        if self.engine == EngineKind::Sim {
            let problem = Problem::new(item.key_span, "a module is of the kernel only");
            self.problem(problem.expected("--engine kernel"));
        }
        self.kernel_name(name, item.node.span, MAX_MODULE_NAME);
        Some(name.to_owned())
    }

    /// Checks a name that is handed to the kernel.
    fn kernel_name(&mut self, name: &str, span: Span, most: usize) {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if name.is_empty() || name.len() > most || !name.bytes().all(fits) {
            let message = format!("\"{}\" cannot be a name in the kernel", shorten(name));
            let expected = format!("1 to {most} of a-z, A-Z, 0-9, \"_\" and \"-\"");
            self.problem(Problem::new(span, message).expected(expected));
        }
    }

    /// A key that is true or false, by default false.
    fn flag(&mut self, table: &Table, key: &str) -> bool {
        let Some(item) = table.item(key) else {
            return false;
        };
        match item.node.value {
            Toml::Bool(value) => value,
            _ => {
                self.wrong(key, &item.node, plain_expectation(Kind::Bool));
                false
            }
        }
    }

    /// Reads `{ marks = [100, 200], drops = [300] }`; without any number it is
    /// no schedule.
    pub fn schedule(&mut self, item: &Item) -> Option<Schedule> {
        let Some(table) = item.node.table() else {
            self.wrong(&item.key, &item.node, expectation(KeyKind::Schedule));
            return None;
        };
        let known = ["marks", "drops"];
        for item in &table.0 {
            if !known.contains(&item.key.as_str()) {
                self.unknown(item, "a schedule", known.iter().copied());
            }
        }
        let [marks, drops] = known.map(|key| match table.item(key) {
            Some(item) => self.packet_numbers(item),
            None => Vec::new(),
        });
        let both: HashSet<u64> = marks.iter().map(|(number, _)| *number).collect();
        for (number, span) in &drops {
            if both.contains(number) {
                let message = format!("packet {number} is to be both marked and dropped");
                self.problem(Problem::new(*span, message).expected("each number in one list"));
            }
        }
        let numbers = |list: Vec<(u64, Span)>| list.into_iter().map(|(number, _)| number).collect();
        let schedule = Schedule {
            marks: numbers(marks),
            drops: numbers(drops),
        };
        (schedule != Schedule::default()).then_some(schedule)
    }

    /// Reads ascending packet numbers, with their places.
    fn packet_numbers(&mut self, item: &Item) -> Vec<(u64, Span)> {
        let key = item.key.as_str();
        let Some(list) = item.node.array() else {
            self.wrong(key, &item.node, "packet numbers such as [100, 200]");
            return Vec::new();
        };
        if list.len() > MAX_SCHEDULE {
            let message = format!("{} packet numbers in \"{key}\"", list.len());
            self.problem(
                Problem::new(item.node.span, message).expected(format!("at most {MAX_SCHEDULE}")),
            );
            return Vec::new();
        }
        let mut numbers: Vec<(u64, Span)> = Vec::with_capacity(list.len());
        for node in list {
            let last = numbers.last().map_or(0, |(number, _)| *number);
            match node.value {
                Toml::Integer(n) if n >= 1 && n.unsigned_abs() > last => {
                    numbers.push((n.unsigned_abs(), node.span));
                }
                Toml::Integer(n) if n >= 1 => {
                    self.wrong(key, node, format!("a number above {last}: they ascend"));
                }
                _ => self.wrong(key, node, "a whole number of at least 1"),
            }
        }
        numbers
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
        let owners: Vec<&str> = entries(registry)
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
        match self.traces.get(file, self.load) {
            Ok(times) => Some(RatePlan::Trace(times)),
            Err(error) => {
                let message = format!("trace \"{}\": {error}", shorten(file));
                self.problem(Problem::new(item.node.span, message));
                None
            }
        }
    }
}
