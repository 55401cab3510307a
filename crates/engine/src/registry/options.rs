//! Options of algorithms: their types, ranges, defaults and values.

use crate::units::{Bytes, Rate, Time};

/// One option.
#[derive(Debug)]
pub struct Opt {
    /// The name in scenario files. This name is tc's keyword, written with underscores.
    pub name: &'static str,
    /// What the option means, and its unit, in one sentence.
    pub doc: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// Default, written as in a scenario file. If it is `None`, either [`super::Entry::finish`]
    /// computes the default from other options, or the option has no default. `doc` says which of
    /// the two is the case.
    pub default: Option<&'static str>,
    /// tc's name for the option, if the reference should show it.
    pub tc: Option<&'static str>,
}

/// The type of an option's value and the range of the value. The limits are inclusive.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// true or false.
    Bool,
    /// A whole number.
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// A number.
    Float {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// A time.
    Time {
        /// Smallest value.
        min: Time,
    },
    /// A rate, greater than 0.
    Rate,
    /// A size, greater than 0.
    Size {
        /// Whether the size may be in packets ("1000p").
        packets: bool,
        /// Whether the size may be in bytes ("64kb", "0.5bdp").
        bytes: bool,
    },
    /// The length of a queue, as a time ("1ms") or as a size ("64kb", "10p").
    TimeOrSize,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, or a whole number.
    WordOrInt {
        /// The words.
        words: &'static [&'static str],
        /// Smallest number.
        min: i64,
        /// Largest number.
        max: i64,
    },
    /// true, false, or a whole number.
    BoolOrInt {
        /// Smallest number.
        min: i64,
        /// Largest number.
        max: i64,
    },
    /// A list of values of this kind.
    List(&'static Kind),
    /// A list of times, each with a value of this kind.
    Pairs(&'static Kind),
    /// A table of options.
    Table(&'static [Opt]),
}

/// The value of an option, in base units.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// true or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A time, in ns.
    Time(Time),
    /// A rate, in bit/s.
    Rate(Rate),
    /// A size in bytes.
    Bytes(Bytes),
    /// A number of packets.
    Packets(u64),
    /// One of the words that the option accepts.
    Word(&'static str),
    /// Values in order.
    List(Vec<Value>),
    /// Pairs of a time and a value, sorted by time.
    Pairs(Vec<(Time, Value)>),
    /// A table of options.
    Table(Options),
}

impl Value {
    /// Returns whether another value can replace this value without a change of the unit. Only
    /// sizes and times have units. For a table, the other value must have the same options, each in
    /// the same unit.
    pub fn same_unit(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Table(own), Value::Table(other)) => {
                own.iter().count() == other.iter().count()
                    && own.iter().all(|(name, own)| {
                        other.get(name).is_some_and(|other| own.same_unit(other))
                    })
            }
            (Value::Packets(_) | Value::Bytes(_) | Value::Time(_), other) => {
                std::mem::discriminant(self) == std::mem::discriminant(other)
            }
            _ => true,
        }
    }

    /// Returns the value in base units, or `None` if it is not a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Int(i) => Some(*i as f64),
            Value::Float(f) => Some(*f),
            Value::Time(t) => Some(t.0 as f64),
            Value::Rate(r) => Some(r.0 as f64),
            Value::Bytes(b) => Some(b.0 as f64),
            Value::Packets(n) => Some(*n as f64),
            Value::Bool(_)
            | Value::Word(_)
            | Value::List(_)
            | Value::Pairs(_)
            | Value::Table(_) => None,
        }
    }
}

/// All options of an algorithm with their values. The values are validated and in base units. The
/// options are sorted by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options(Vec<(&'static str, Value)>);

impl Options {
    /// Sets an option.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.0.binary_search_by(|(n, _)| (*n).cmp(name)) {
            Ok(i) => self.0[i].1 = value,
            Err(i) => self.0.insert(i, (name, value)),
        }
    }

    /// Sets an option that is not set yet.
    pub fn set_default(&mut self, name: &'static str, value: Value) {
        if let Err(i) = self.0.binary_search_by(|(n, _)| (*n).cmp(name)) {
            self.0.insert(i, (name, value));
        }
    }

    /// Removes an option.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(n, _)| *n != name);
    }

    /// Returns the value of an option, or `None` if it is not set.
    pub fn get(&self, name: &str) -> Option<&Value> {
        // There are at most a dozen options, and nearly all names have different lengths. So a
        // linear search is faster than a binary search. The speed matters because a source creates
        // a connection, with its options, for each request.
        let found = self.0.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| value)
    }

    /// Iterates over all options that are set, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(n, v)| (*n, v))
    }

    /// Returns the value of a bool option. The option must be set or have a default.
    ///
    /// # Panics
    /// This getter and the other typed getters panic if the option is not set or has another type.
    /// A constructor receives complete options. These options have the types that the algorithm's
    /// registry entry declares. So a panic is a bug in the entry.
    pub fn bool(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Bool(b)) => *b,
            other => wrong(name, other),
        }
    }

    /// Returns the value of an option that is a whole number and has a default.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Int(i)) => *i,
            other => wrong(name, other),
        }
    }

    /// Returns the value of an option that is a number and has a default.
    pub fn float(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Float(f)) => *f,
            other => wrong(name, other),
        }
    }

    /// Returns the value of an option that is a time and has a default.
    pub fn time(&self, name: &str) -> Time {
        match self.get(name) {
            Some(Value::Time(t)) => *t,
            other => wrong(name, other),
        }
    }

    /// Returns the value of an option that is a size in bytes and has a default.
    pub fn bytes(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Bytes(b)) => b.0,
            other => wrong(name, other),
        }
    }

    /// Returns the value of an option that is a size in bytes and has no default. Returns `None` if
    /// the option is not set.
    pub fn bytes_if_set(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::Bytes(b) => Some(b.0),
            other => wrong(name, Some(other)),
        }
    }

    /// Returns the value of an option that is a word and has a default.
    pub fn word(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Value::Word(w)) => w,
            other => wrong(name, other),
        }
    }

    /// Returns the value of an option that is a list. The option must be set or have a default.
    pub fn list(&self, name: &str) -> &[Value] {
        match self.get(name) {
            Some(Value::List(list)) => list,
            other => wrong(name, other),
        }
    }

    /// Returns the value of an option that is a list of times with values. The option must be set
    /// or have a default.
    pub fn pairs(&self, name: &str) -> &[(Time, Value)] {
        match self.get(name) {
            Some(Value::Pairs(pairs)) => pairs,
            other => wrong(name, other),
        }
    }

    /// Returns a nested table of options.
    pub fn table(&self, name: &str) -> &Options {
        match self.get(name) {
            Some(Value::Table(t)) => t,
            other => wrong(name, other),
        }
    }
}

fn wrong(name: &str, found: Option<&Value>) -> ! {
    panic!("option {name} of this entry has no default or another type: {found:?}")
}

/// Returns the defaults that the declarations of the options contain. [`super::Entry::finish`]
/// computes all other defaults.
///
/// # Panics
/// Panics if a default does not parse as its kind. The conformance tests build every entry and so
/// check every default. Users never see this panic.
pub fn defaults(options: &'static [Opt]) -> Options {
    let mut filled = Options::default();
    for opt in options {
        if let Kind::Table(inner) = opt.kind {
            filled.set(opt.name, Value::Table(defaults(inner)));
        } else if let Some(text) = opt.default {
            let value = parse_word(opt.kind, text)
                .unwrap_or_else(|e| panic!("default {text:?} of {}: expected {e}", opt.name));
            filled.set(opt.name, value);
        }
    }
    filled
}

/// Parses the text of an option's value. The text may also be a number or a boolean, because
/// defaults and the options that a guest receives are always text. Sizes in `bdp` are an error
/// here, because they depend on the path, which only the caller knows.
pub fn parse_word(kind: Kind, text: &str) -> Result<Value, String> {
    use crate::units::{Size, parse_rate, parse_size, parse_time};
    let number = || text.parse::<f64>().ok().filter(|f| f.is_finite());
    let size = |packets: bool, bytes: bool| match parse_size(text)? {
        Size::Packets(n) if packets => Ok(Value::Packets(n)),
        Size::Bytes(n) if bytes => Ok(Value::Bytes(Bytes(n))),
        Size::Packets(_) => Err("a size in bytes such as \"64kb\"".to_owned()),
        Size::Bytes(_) => Err("a number of packets such as \"1000p\"".to_owned()),
        Size::Bdp(_) => Err("a size without \"bdp\" here".to_owned()),
    };
    let value = match kind {
        Kind::Bool => Value::Bool(match text {
            "true" => true,
            "false" => false,
            _ => return Err("true or false".to_owned()),
        }),
        Kind::Int { .. } => Value::Int(text.parse().map_err(|_| "a whole number".to_owned())?),
        Kind::Float { .. } => Value::Float(number().ok_or("a number")?),
        Kind::Time { .. } => Value::Time(parse_time(text)?),
        Kind::Rate => Value::Rate(parse_rate(text)?),
        Kind::Size { packets, bytes } => size(packets, bytes)?,
        Kind::TimeOrSize => match parse_time(text) {
            Ok(time) => Value::Time(time),
            Err(_) => size(true, true).map_err(|_| {
                "a time such as \"1ms\" or a size such as \"64kb\" or \"10p\"".to_owned()
            })?,
        },
        Kind::Word(words) => Value::Word(
            words
                .iter()
                .find(|w| **w == text)
                .ok_or_else(|| format!("one of {}", words.join(", ")))?,
        ),
        Kind::WordOrInt { words, min, max } => match words.iter().find(|w| **w == text) {
            Some(word) => Value::Word(word),
            None => Value::Int(text.parse().map_err(|_| word_or_int(words, min, max))?),
        },
        Kind::BoolOrInt { min, max } => match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::Int(text.parse().map_err(|_| bool_or_int(min, max))?),
        },
        Kind::List(inner) => {
            let values = text.split(',').map(|text| parse_word(*inner, text.trim()));
            Value::List(values.collect::<Result<_, _>>()?)
        }
        Kind::Pairs(inner) => {
            let pairs = text.split(',').map(|text| {
                let (at, value) = text
                    .trim()
                    .split_once(' ')
                    .ok_or("pairs of a time and a value")?;
                Ok::<_, String>((parse_time(at)?, parse_word(*inner, value)?))
            });
            Value::Pairs(pairs.collect::<Result<_, _>>()?)
        }
        Kind::Table(_) => return Err("a table".to_owned()),
    };
    check_range(kind, &value)?;
    Ok(value)
}

/// Describes, for a message, the values of an option that accepts words and numbers.
pub fn word_or_int(words: &[&str], min: i64, max: i64) -> String {
    format!(
        "one of {}, or a whole number from {min} to {max}",
        words.join(", ")
    )
}

/// Describes, for a message, the values of an option that accepts true, false and numbers.
pub fn bool_or_int(min: i64, max: i64) -> String {
    format!("true, false, or a whole number from {min} to {max}")
}

/// Converts each option to its name and a text. [`read_texts`] parses these pairs. An option in a
/// table has a name with dots, such as "sizes.lognormal.p5".
pub fn texts(options: &Options) -> Vec<(String, String)> {
    let texts = options.iter().flat_map(|(name, value)| match value {
        Value::Table(inner) => {
            let inner = texts(inner).into_iter();
            inner
                .map(|(n, text)| (format!("{name}.{n}"), text))
                .collect()
        }
        value => vec![(name.to_owned(), text(value))],
    });
    texts.collect()
}

/// Parses the pairs that [`texts`] returns.
pub fn read_texts(known: &'static [Opt], texts: &[(String, String)]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut read = 0;
    for opt in known {
        if let Kind::Table(inner) = opt.kind {
            let own = texts.iter().filter_map(|(name, text)| {
                let name = name.strip_prefix(opt.name)?.strip_prefix('.')?;
                Some((name.to_owned(), text.clone()))
            });
            let own: Vec<(String, String)> = own.collect();
            read += own.len();
            options.set(opt.name, Value::Table(read_texts(inner, &own)?));
        } else if let Some((name, text)) = texts.iter().find(|(name, _)| name == opt.name) {
            let value = parse_word(opt.kind, text);
            let value = value.map_err(|e| format!("{name} = {text}: expected {e}"))?;
            options.set(opt.name, value);
            read += 1;
        }
    }
    if read < texts.len() {
        let names: Vec<&str> = texts.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!(
            "not all of these are options: {}",
            names.join(", ")
        ));
    }
    Ok(options)
}

/// Writes a value as text that [`parse_word`] accepts. A table becomes an empty text (see
/// [`texts`]).
pub fn text(value: &Value) -> String {
    match value {
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(f) => f.to_string(),
        Value::Time(t) => format!("{}ns", t.ns()),
        Value::Rate(r) => format!("{}bit", r.0),
        Value::Bytes(b) => format!("{}b", b.0),
        Value::Packets(n) => format!("{n}p"),
        Value::Word(w) => (*w).to_owned(),
        Value::List(list) => {
            let texts: Vec<String> = list.iter().map(text).collect();
            texts.join(", ")
        }
        Value::Pairs(pairs) => {
            let texts = pairs.iter();
            let texts: Vec<String> = texts
                .map(|(at, value)| format!("{}ns {}", at.ns(), text(value)))
                .collect();
            texts.join(", ")
        }
        Value::Table(_) => String::new(),
    }
}

/// Checks that a value of the right type is in the range of its option. The error describes what is
/// expected.
pub fn check_range(kind: Kind, value: &Value) -> Result<(), String> {
    match (kind, value) {
        (Kind::Int { min, max }, Value::Int(i)) if !(min..=max).contains(i) => {
            Err(format!("a whole number from {min} to {max}"))
        }
        (Kind::WordOrInt { words, min, max }, Value::Int(i)) if !(min..=max).contains(i) => {
            Err(word_or_int(words, min, max))
        }
        (Kind::BoolOrInt { min, max }, Value::Int(i)) if !(min..=max).contains(i) => {
            Err(bool_or_int(min, max))
        }
        (Kind::Float { min, max }, Value::Float(f)) if !(min..=max).contains(f) => {
            Err(format!("a number from {min} to {max}"))
        }
        (Kind::Time { min }, Value::Time(t)) if *t < min => {
            Err(format!("a time of at least {min}"))
        }
        (Kind::Rate, Value::Rate(Rate(0))) => Err("a rate greater than 0".to_owned()),
        (_, Value::Bytes(Bytes(0)) | Value::Packets(0)) => Err("a size greater than 0".to_owned()),
        (Kind::TimeOrSize, Value::Time(Time(0))) => Err("a time greater than 0".to_owned()),
        _ => Ok(()),
    }
}
