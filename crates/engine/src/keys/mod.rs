//! Declares the keys of a scenario file. Each key is declared only once, next to the part of the
//! plan that it sets.
//!
//! [`keys!`](crate::keys!) reads one list of keys. From this list, `keys!` creates a struct of the
//! plan with defaults, and the table of the keys. `keys!` also creates code that fills the struct
//! from a file, that returns the struct in canonical form, and that finds values that an engine
//! rejects. [`words!`](crate::words!) declares the words that a key accepts, and an enum with one
//! variant for each word.

mod declare;
mod part;
mod plain;

pub use part::{AsPart, Part};
pub use plain::Plain;

use crate::registry::{Kind, Value, parse_word};
use crate::units::Time;

/// An engine that runs scenarios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// The simulator.
    #[default]
    Sim,
    /// The Linux kernel in virtual time.
    Kernel,
}

impl EngineKind {
    /// Returns the engine's name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            EngineKind::Sim => "sim",
            EngineKind::Kernel => "kernel",
        }
    }

    /// Returns the engine with this name.
    pub fn of(name: &str) -> Option<EngineKind> {
        [EngineKind::Sim, EngineKind::Kernel]
            .into_iter()
            .find(|engine| engine.name() == name)
    }
}

/// A registry of named components, such as the queue disciplines.
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
    /// Transport stacks. In the simulator, an entry of `[[programs]]` selects a transport stack by
    /// its `kind`.
    Stacks,
}

impl Registry {
    /// Returns the noun by which messages refer to an entry of this registry.
    pub const fn noun(self) -> &'static str {
        match self {
            Registry::Aqm => "queue discipline",
            Registry::Cc => "congestion control",
            Registry::Traffic => "kind of traffic",
            Registry::Impairments => "impairment",
            Registry::Programs => "ready-made program",
            Registry::Stacks => "stack",
        }
    }

    /// Returns the key that contains the entry's name in the entry's table.
    pub const fn name_key(self) -> &'static str {
        match self {
            Registry::Aqm => "aqm",
            Registry::Cc => "name",
            Registry::Traffic | Registry::Impairments | Registry::Programs | Registry::Stacks => {
                "kind"
            }
        }
    }
}

/// The kind of values that a key accepts.
#[derive(Clone, Copy, Debug)]
pub enum KeyKind {
    /// A plain value (number, word, time, ...). Options of algorithms have values of the same
    /// types.
    Plain(Kind),
    /// A string.
    Text,
    /// The name of a link, flow or source.
    Name,
    /// The name of a class of flows, traffic and programs.
    Class,
    /// A constant rate, a rate that changes in steps, or a trace.
    Rate,
    /// An entry of a registry. The value is its name, or a table with its name and its options.
    Entry(Registry),
    /// The name of an entry of a registry. The table that contains the name also contains the
    /// entry's options as keys.
    Word(Registry),
    /// A list of names of links, in order.
    Route,
    /// A list of folders, relative to the scenario file.
    Folders,
    /// A list of files and folders, relative to the scenario file.
    Files,
    /// A folder, relative to the scenario file.
    Folder,
    /// A list of strings.
    Words,
    /// A table whose values are strings.
    Texts,
    /// How tailback recognises that a server is ready.
    Ready,
    /// A date, with or without a time.
    Date,
    /// Which packets to mark and which to drop, by their position in the order of arrival.
    Schedule,
    /// The burst of a shaper: a number of bytes, or "tc" for the value that tc computes.
    Burst,
    /// The names of two hosts.
    Hosts,
    /// A list of pairs of times, in ascending order.
    Pauses,
    /// One of these words. A file may also contain `true` for the first word, and `false` for the
    /// last word.
    Switch(&'static [&'static str]),
    /// A table.
    Table(&'static TableDef),
    /// A table of tables, with names that the user chooses.
    Map(&'static TableDef),
    /// A list of tables.
    List(&'static TableDef),
    /// The table `[sweep]`, whose keys are the paths of the values to vary.
    Sweep,
    /// A table whose keys are paths of values that may change during a run.
    Changes,
    /// Conditions that must hold after the run.
    Asserts,
}

/// A table in a scenario file, with its keys.
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// How the table is written in a file, such as `[bottleneck]`.
    pub label: &'static str,
    /// The purpose of the table.
    pub doc: &'static str,
    /// The keys, in the order in which the reference lists them.
    pub keys: &'static [Key],
}

impl TableDef {
    /// Returns the key with this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// If this table also contains the options of a registry's entries as keys, returns this
    /// registry.
    pub fn flat(&self) -> Option<Registry> {
        self.keys.iter().find_map(|key| match key.kind {
            KeyKind::Word(registry) => Some(registry),
            _ => None,
        })
    }
}

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name of the key, as written in a file.
    pub name: &'static str,
    /// The type and range of its value.
    pub kind: KeyKind,
    /// What the key means, and in which unit its value is.
    pub doc: &'static str,
    /// The default, as written in a file. If this is `None`, `doc` describes the default.
    pub default: Option<&'static str>,
    /// Whether the table must contain this key.
    pub required: bool,
    /// The release in which the key was added.
    pub since: &'static str,
    /// Whether the key applies only to sources that open TCP connections.
    pub of_connections: bool,
    /// The values that an engine supports, if it does not support all values of the key. `None` if
    /// both engines support all values.
    pub limit: Option<Limit>,
    /// A table that a file may contain in place of the plain value.
    pub table: Option<&'static TableDef>,
}

/// Which values of a key an engine supports.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The engine to which the limit applies. The other engine supports all values.
    pub engine: EngineKind,
    /// The supported values.
    pub takes: Takes,
    /// The reason why the engine does not support other values.
    pub why: &'static str,
}

/// A set of values. The values are written as in a file.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// One of these values.
    Only(&'static [&'static str]),
    /// This value and all smaller values.
    AtMost(&'static str),
    /// This value and all larger values.
    AtLeast(&'static str),
}

/// Creates an optional key of this kind. The declaration then adds the name and the docs of the
/// key.
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

/// Creates an optional key that accepts a plain value of this type.
pub const fn plain(kind: Kind) -> Key {
    key(KeyKind::Plain(kind))
}

/// A key that accepts true or false.
pub const BOOL: Key = plain(Kind::Bool);
/// A key for a time, which may be 0.
pub const ANY_TIME: Key = time(Time::ZERO);
/// A key for a time of at least 1 us. The timers of a real host do not resolve shorter times.
pub const POSITIVE_TIME: Key = time(Time(1_000));
/// A key for a size in bytes.
pub const BYTES: Key = plain(Kind::Size {
    packets: false,
    bytes: true,
});
/// A key for a whole number of at least 1.
pub const COUNT: Key = int(1, i64::MAX);
/// A key for any number.
pub const NUMBER: Key = float(f64::MIN, f64::MAX);
/// A key for any text.
pub const TEXT: Key = key(KeyKind::Text);

/// Returns a key for a whole number within bounds.
pub const fn int(min: i64, max: i64) -> Key {
    plain(Kind::Int { min, max })
}

/// Returns a key for a number within bounds.
pub const fn float(min: f64, max: f64) -> Key {
    plain(Kind::Float { min, max })
}

/// Returns a key for a time of at least `min`.
pub const fn time(min: Time) -> Key {
    plain(Kind::Time { min })
}

/// Returns a key for an entry of a registry.
pub const fn entry(registry: Registry) -> Key {
    key(KeyKind::Entry(registry))
}

/// An error about a value in a plan. The plan is valid, but one engine does not support the value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// The path of the value, written as in `[sweep]`. The path has an index for each list:
    /// `links[0].queue.gentle`, `flows[2].tcp.growth`, `traffic[0].rate`, `record.packets`. If the
    /// file does not contain the whole path, error messages point at the longest leading part of
    /// the path that the file contains.
    pub path: String,
    /// What is not supported.
    pub message: String,
    /// What to write instead.
    pub expected: Option<String>,
}

impl Key {
    /// Returns this key with these docs. If the key has no name yet, it gets the name `name`.
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

    /// Returns this key with a name that differs from the name of the field.
    pub const fn named(self, name: &'static str) -> Key {
        Key { name, ..self }
    }

    /// Returns this key with a default. The text is written as in a file.
    pub const fn default(self, text: &'static str) -> Key {
        Key {
            default: Some(text),
            ..self
        }
    }

    /// Returns this key, changed so that it also accepts a table in place of its plain value.
    pub const fn or_table(self, table: &'static TableDef) -> Key {
        Key {
            table: Some(table),
            ..self
        }
    }

    /// Returns this key as a required key.
    pub const fn required(self) -> Key {
        Key {
            required: true,
            ..self
        }
    }

    /// Returns this key with the release in which it was added. Keys of the first release do not
    /// need this call.
    pub const fn since(self, since: &'static str) -> Key {
        Key { since, ..self }
    }

    /// Returns this key, marked as valid only for sources that open TCP connections.
    pub const fn of_connections(self) -> Key {
        Key {
            of_connections: true,
            ..self
        }
    }

    /// Returns this key with a limit: the kernel engine supports only the values `takes`. `why` is
    /// the reason.
    pub const fn kernel(self, takes: Takes, why: &'static str) -> Key {
        self.limit(EngineKind::Kernel, takes, why)
    }

    /// Returns this key with a limit: the simulator supports only the values `takes`. `why` is the
    /// reason.
    pub const fn sim(self, takes: Takes, why: &'static str) -> Key {
        self.limit(EngineKind::Sim, takes, why)
    }

    const fn limit(self, engine: EngineKind, takes: Takes, why: &'static str) -> Key {
        Key {
            limit: Some(Limit { engine, takes, why }),
            ..self
        }
    }

    /// Parses a default or a limit. Defaults and limits are written as in a scenario file.
    ///
    /// # Panics
    /// Panics if the text does not match the key's kind, which is a bug in the declaration.
    fn parsed(&self, text: &str) -> Value {
        let KeyKind::Plain(kind) = self.kind else {
            panic!("{} has no plain values", self.name)
        };
        parse_word(kind, text).unwrap_or_else(|e| panic!("{} = {text}: expected {e}", self.name))
    }

    /// Converts a value from a file to the type of the field.
    ///
    /// # Panics
    /// Panics if the field's type does not match the key's kind, which is a bug in the declaration.
    pub fn take<T: Plain>(&self, value: Value) -> T {
        let shown = format!("{} = {value:?}", self.name);
        T::of(value).unwrap_or_else(|| panic!("{shown} is not of the field's type"))
    }

    /// Returns the initial value of a field whose key is missing in the file.
    pub fn initial<T: Plain + Default>(&self) -> T {
        let parsed = self.default.map(|text| self.take(self.parsed(text)));
        parsed.unwrap_or_default()
    }

    /// If an engine does not support a value, returns the reason. `table` is the path of the table
    /// that contains the value.
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

    /// Puts these strings in quotation marks if a scenario file needs them for this key.
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
