//! How the keys of a scenario file are declared: once, beside the part of the plan that they fill.
//!
//! [`keys!`](crate::keys!) turns one list into a struct of the plan, its defaults, the table of its
//! keys, what fills it from a file, its canonical form and what an engine rejects in it.
//! [`words!`](crate::words!) declares a choice of words and its enum together.

mod declare;
mod part;
mod plain;

pub use part::{AsPart, Part};
pub use plain::Plain;

use crate::registry::{Kind, Value, parse_word};
use crate::units::Time;

/// An engine that plays scenarios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// The simulator.
    #[default]
    Sim,
    /// The Linux kernel in virtual time.
    Kernel,
}

impl EngineKind {
    /// The name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            EngineKind::Sim => "sim",
            EngineKind::Kernel => "kernel",
        }
    }

    /// The engine of that name.
    pub fn of(name: &str) -> Option<EngineKind> {
        [EngineKind::Sim, EngineKind::Kernel]
            .into_iter()
            .find(|engine| engine.name() == name)
    }
}

/// A registry of algorithms and sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registry {
    /// Queue disciplines.
    Aqm,
    /// Congestion controls.
    Cc,
    /// Traffic sources.
    Traffic,
    /// Impairments of links.
    Impairments,
    /// Ready-made programs.
    Programs,
}

impl Registry {
    /// What an entry is.
    pub const fn noun(self) -> &'static str {
        match self {
            Registry::Aqm => "queue discipline",
            Registry::Cc => "congestion control",
            Registry::Traffic => "kind of traffic",
            Registry::Impairments => "impairment",
            Registry::Programs => "ready-made program",
        }
    }

    /// The key that names the entry in its table.
    pub const fn name_key(self) -> &'static str {
        match self {
            Registry::Aqm => "aqm",
            Registry::Cc => "name",
            Registry::Traffic | Registry::Impairments | Registry::Programs => "kind",
        }
    }
}

/// The type of a key.
#[derive(Clone, Copy, Debug)]
pub enum KeyKind {
    /// A value like an option's.
    Plain(Kind),
    /// Any text.
    Text,
    /// The name of a link, flow or source.
    Name,
    /// The name of a class of flows.
    Class,
    /// A constant rate, steps or a trace.
    Rate,
    /// An entry of a registry: its name, or a table with its name and options.
    Entry(Registry),
    /// The name of an entry, whose options are written beside it.
    Word(Registry),
    /// Names of links in order.
    Route,
    /// Folders beside the file.
    Folders,
    /// Files and folders beside the file.
    Files,
    /// A folder beside the file.
    Folder,
    /// Texts in order.
    Words,
    /// Texts by name.
    Texts,
    /// How a server is known to be ready.
    Ready,
    /// A day, or a moment of it.
    Date,
    /// Packet numbers to mark and to drop.
    Schedule,
    /// How much a shaper may send at once: bytes, or the value that tc computes.
    Burst,
    /// Names of two hosts.
    Hosts,
    /// Pairs of times, ascending.
    Pauses,
    /// One of these words; true stands for the first, false for the last.
    Switch(&'static [&'static str]),
    /// A table.
    Table(&'static TableDef),
    /// A table of tables with names of your own.
    Map(&'static TableDef),
    /// An array of tables.
    List(&'static TableDef),
    /// The sweep: its keys are paths.
    Sweep,
    /// What must hold after the run.
    Asserts,
}

/// A table of a scenario file and its keys.
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// As it is written: `[bottleneck]`.
    pub label: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// In the order of documentation.
    pub keys: &'static [Key],
}

impl TableDef {
    /// A key by name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The registry of the entry whose options are written among the keys, if there is one.
    pub fn flat(&self) -> Option<Registry> {
        self.keys.iter().find_map(|key| match key.kind {
            KeyKind::Word(registry) => Some(registry),
            _ => None,
        })
    }
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// Type and range.
    pub kind: KeyKind,
    /// Meaning and unit.
    pub doc: &'static str,
    /// Default, written as in a file; `None`: see `doc`.
    pub default: Option<&'static str>,
    /// Whether its table must have it.
    pub required: bool,
    /// Release that brought it.
    pub since: &'static str,
    /// Whether only sources that open TCP connections have it.
    pub of_connections: bool,
    /// The values that an engine does not play.
    pub limit: Option<Limit>,
    /// The table that may replace a plain value.
    pub table: Option<&'static TableDef>,
}

/// The values of a key that an engine plays.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The engine; others play all values.
    pub engine: EngineKind,
    /// What it plays.
    pub takes: Takes,
    /// Why it does not play the rest.
    pub why: &'static str,
}

/// Values, written as in a file.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// One of these.
    Only(&'static [&'static str]),
    /// This or less.
    AtMost(&'static str),
    /// This or more.
    AtLeast(&'static str),
}

/// A key of this kind that may be absent; its name and doc come with its declaration.
pub const fn key(kind: KeyKind) -> Key {
    Key {
        name: "",
        kind,
        doc: "",
        default: None,
        required: false,
        since: "0.1",
        of_connections: false,
        limit: None,
        table: None,
    }
}

/// A key whose values are like an option's.
pub const fn plain(kind: Kind) -> Key {
    key(KeyKind::Plain(kind))
}

/// true or false.
pub const BOOL: Key = plain(Kind::Bool);
/// A time, also 0.
pub const ANY_TIME: Key = time(Time::ZERO);
/// 1 us: the finest time that a real host's timers resolve.
pub const POSITIVE_TIME: Key = time(Time(1_000));
/// A size in bytes.
pub const BYTES: Key = plain(Kind::Size {
    packets: false,
    bytes: true,
});
/// At least one.
pub const COUNT: Key = int(1, i64::MAX);
/// Any number.
pub const NUMBER: Key = float(f64::MIN, f64::MAX);
/// Any text.
pub const TEXT: Key = key(KeyKind::Text);

/// A whole number.
pub const fn int(min: i64, max: i64) -> Key {
    plain(Kind::Int { min, max })
}

/// A number.
pub const fn float(min: f64, max: f64) -> Key {
    plain(Kind::Float { min, max })
}

/// A time of at least this.
pub const fn time(min: Time) -> Key {
    plain(Kind::Time { min })
}

/// An entry of a registry.
pub const fn entry(registry: Registry) -> Key {
    key(KeyKind::Entry(registry))
}

/// Something that an engine cannot play, in an otherwise valid plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// A path of keys as in `[sweep]`, with the indices of the plan where it holds lists:
    /// `links[0].queue.gentle`, `flows[2].tcp.growth`, `traffic[0].rate`, `record.packets`. Where
    /// the file does not have the whole path, errors point at the longest part that it has.
    pub path: String,
    /// What cannot be played.
    pub message: String,
    /// What was expected.
    pub expected: Option<String>,
}

impl Key {
    /// The same key with this documentation, and with this name unless it has one.
    pub const fn declared(self, name: &'static str, doc: &'static str) -> Key {
        Key {
            name: if self.name.is_empty() {
                name
            } else {
                self.name
            },
            doc: doc.trim_ascii_start(),
            ..self
        }
    }

    /// A name that is not the field's.
    pub const fn named(self, name: &'static str) -> Key {
        Key { name, ..self }
    }

    /// The value if the file has none.
    pub const fn default(self, text: &'static str) -> Key {
        Key {
            default: Some(text),
            ..self
        }
    }

    /// This table may replace its value.
    pub const fn or_table(self, table: &'static TableDef) -> Key {
        Key {
            table: Some(table),
            ..self
        }
    }

    /// Its table must have it.
    pub const fn required(self) -> Key {
        Key {
            required: true,
            ..self
        }
    }

    /// The release that added it, if that is not the first one.
    pub const fn since(self, since: &'static str) -> Key {
        Key { since, ..self }
    }

    /// Only sources that open TCP connections have it.
    pub const fn of_connections(self) -> Key {
        Key {
            of_connections: true,
            ..self
        }
    }

    /// The values that the kernel engine supports, and why it does not support the rest.
    pub const fn kernel(self, takes: Takes, why: &'static str) -> Key {
        self.limit(EngineKind::Kernel, takes, why)
    }

    /// The values that the simulator supports, and why it does not support the rest.
    pub const fn sim(self, takes: Takes, why: &'static str) -> Key {
        self.limit(EngineKind::Sim, takes, why)
    }

    const fn limit(self, engine: EngineKind, takes: Takes, why: &'static str) -> Key {
        Key {
            limit: Some(Limit { engine, takes, why }),
            ..self
        }
    }

    /// Reads a text as it is written in a declaration.
    ///
    /// # Panics
    /// When it is not of the key's kind: a mistake in the declaration.
    fn parsed(&self, text: &str) -> Value {
        let KeyKind::Plain(kind) = self.kind else {
            panic!("{} has no plain values", self.name)
        };
        parse_word(kind, text).unwrap_or_else(|e| panic!("{} = {text}: expected {e}", self.name))
    }

    /// A value as it comes from a file.
    ///
    /// # Panics
    /// When the field's type is not of the key's kind: a mistake in the declaration.
    pub fn take<T: Plain>(&self, value: Value) -> T {
        let shown = format!("{} = {value:?}", self.name);
        T::of(value).unwrap_or_else(|| panic!("{shown} is not of the field's type"))
    }

    /// The value of a field that the file does not set.
    pub fn initial<T: Plain + Default>(&self) -> T {
        let parsed = self.default.map(|text| self.take(self.parsed(text)));
        parsed.unwrap_or_default()
    }

    /// Why an engine does not support a value; `table` is the path of the table that has it.
    pub fn refuses(&self, engine: EngineKind, table: &str, value: &Value) -> Option<Refusal> {
        let limit = self.limit.filter(|limit| limit.engine == engine)?;
        let (plays, expected) = match limit.takes {
            Takes::Only(texts) => (
                texts.iter().any(|text| self.parsed(text) == *value),
                format!("{} = {}", self.name, self.quoted(texts).join(" or ")),
            ),
            Takes::AtMost(text) => (
                value.number() <= self.parsed(text).number(),
                format!("at most {text}"),
            ),
            Takes::AtLeast(text) => (
                value.number() >= self.parsed(text).number(),
                format!("at least {text}"),
            ),
        };
        (!plays).then(|| Refusal {
            path: format!("{table}.{}", self.name),
            message: limit.why.to_owned(),
            expected: Some(expected),
        })
    }

    /// Texts as they are written in a file.
    fn quoted(&self, texts: &[&str]) -> Vec<String> {
        let bare = matches!(
            self.kind,
            KeyKind::Plain(Kind::Bool | Kind::Int { .. } | Kind::Float { .. })
        );
        let quoted = texts.iter().map(|text| match bare {
            true => (*text).to_owned(),
            false => format!("\"{text}\""),
        });
        quoted.collect()
    }
}
