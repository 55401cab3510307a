//! Queue disciplines of Linux, and how tc writes their options.

use super::{Gauge, Refused, quoted};
use crate::registry::options::{Opt, Options, Value};
use crate::units::{Rate, Time};

/// A queue discipline of Linux.
pub struct Qdisc {
    /// The kinds (names in tc) of the queue discipline, the usual kind first. Empty if no version
    /// of Linux has the queue discipline.
    pub kinds: &'static [&'static str],
    /// The first Linux version with this queue discipline.
    pub since: Option<&'static str>,
    /// Whether every kernel with queue disciplines has this queue discipline built in.
    pub built_in: bool,
    /// Kinds of other queue disciplines whose modules this module needs.
    pub needs: &'static [&'static str],
    /// The options in the order of tc's arguments. Each option has a function that writes the
    /// option in tc's notation.
    pub words: &'static [(&'static str, Spell)],
    /// Whether `tc qdisc change` needs all options, or only the options that change.
    pub changes_whole: bool,
    /// The order in which `tc qdisc show` prints the options, if it differs from the order of
    /// `words`.
    pub shown: &'static [&'static str],
    /// Which packets the queue keeps in order.
    pub order: Order,
    /// Whether the queue drops packets when they leave, and not when they arrive.
    pub drops_at_dequeue: bool,
    /// If this option has this value, the queue drops packets on arrival, even if
    /// `drops_at_dequeue` is true.
    pub drops_on_arrival_if: Option<(&'static str, &'static str)>,
    /// Whether the queue drops packets only because its buffer is full.
    pub tail_drop: bool,
    /// The arguments of tc that keep the queue from splitting GSO packets into segments. Empty if
    /// the queue never splits packets.
    pub splits_unless: &'static [&'static str],
    /// How to configure the rate. Set if the queue itself shapes traffic to the link's rate.
    pub shaper: Option<&'static Shaper>,
    /// The qdisc's own statistics: `struct tc_KIND_xstats`.
    pub xstats: Xstats,
    /// tailback's modules that provide this queue discipline. The kernel engine loads the first of
    /// these modules that the options need.
    pub stand_ins: &'static [QueueStandIn],
    /// Kinds that tc does not know. For these kinds, tailback's agent passes the options to the
    /// kernel as text.
    pub texts: &'static [&'static str],
}

/// One of tailback's own modules that provides a kind of queue.
pub struct QueueStandIn {
    /// The module's name.
    pub module: &'static str,
    /// Returns whether these options need the module.
    pub needed: fn(&Options) -> bool,
}

/// Which packets a queue keeps in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All packets leave in the order of arrival, as in a single queue.
    Arrival,
    /// [`Order::Arrival`] if this option has this value and all packets are in one traffic class,
    /// otherwise [`Order::Flows`].
    ArrivalIf(&'static str, &'static str),
    /// The packets of each flow leave in the order of arrival.
    Flows,
    /// The packets of a flow that have the same ECN class leave in the order of arrival.
    Classes,
    /// [`Order::None`] if this option is set, otherwise [`Order::Classes`].
    ClassesUnless(&'static str),
    /// The queue may reorder any packets.
    None,
}

/// How to configure a queue that itself shapes traffic to the link's rate.
pub struct Shaper {
    /// Writes the rate in tc's notation.
    pub rate: fn(Rate) -> String,
    /// Writes the bytes that the link adds to each IP packet, including its link-layer header.
    pub overhead: fn(i32) -> String,
    /// Checks a queue's arguments for a link that adds this many bytes to a frame. Errors refer to
    /// keys of the link.
    pub check: fn(&str, i32) -> Vec<Refused>,
}

/// The statistics of a kind of qdisc.
pub struct Xstats {
    /// The first bytes of the statistics. If a kind has several statistics structures, these bytes
    /// distinguish the structures.
    pub tag: &'static [u8],
    /// Byte offsets of the 32-bit counters that count packets marked with CE. `Some(&[])` if the
    /// qdisc does not mark. `None` if the statistics do not show the number of marks.
    pub marks: Option<&'static [usize]>,
    /// Values that tailback records as time series.
    pub gauges: &'static [Gauge],
}

impl Qdisc {
    /// The defaults for the fields of an entry. These defaults describe a queue that Linux does not
    /// support: a single FIFO queue for all flows, without options.
    pub const DEFAULT: Qdisc = Qdisc {
        kinds: &[],
        since: None,
        built_in: false,
        needs: &[],
        words: &[],
        changes_whole: false,
        shown: &[],
        order: Order::Arrival,
        drops_at_dequeue: false,
        drops_on_arrival_if: None,
        tail_drop: false,
        splits_unless: &[],
        shaper: None,
        xstats: Xstats {
            tag: &[],
            marks: None,
            gauges: &[],
        },
        stand_ins: &[],
        texts: &[],
    };

    /// Returns the name of tailback's own module that these options need. Returns `None` if they do
    /// not need a module.
    pub fn stand_in(&self, options: &Options) -> Option<&'static str> {
        let needed = self.stand_ins.iter().find(|own| (own.needed)(options))?;
        Some(needed.module)
    }

    /// Writes options as arguments of tc, for a link with this rate.
    pub fn spell(&self, options: &Options, rate: Rate) -> Spelled {
        self.spell_only(options, rate, |_| true)
    }

    /// Writes arguments of `tc qdisc change`. The arguments contain the options that differ, or all
    /// options if tc requires this.
    pub fn spell_changed(&self, old: &Options, new: &Options, rate: Rate) -> Spelled {
        self.spell_only(new, rate, |name| {
            self.changes_whole || old.get(name) != new.get(name)
        })
    }

    fn spell_only(&self, options: &Options, rate: Rate, wanted: impl Fn(&str) -> bool) -> Spelled {
        let mut words = Words::new(self.kinds.first().copied().unwrap_or(""), options, false);
        words.rate = rate;
        for (name, spell) in self.words.iter().filter(|(name, _)| wanted(name)) {
            spell(&mut words, name);
            if words.decided {
                break;
            }
        }
        Spelled {
            kind: words.kind,
            words: words.text,
            refused: words.refused,
        }
    }
}

/// A queue discipline and its arguments, as passed to tc.
pub struct Spelled {
    /// The kind in tc.
    pub kind: &'static str,
    /// The arguments that follow the kind. Do not use them if `refused` is not empty.
    pub words: String,
    /// Options that tc or Linux does not support.
    pub refused: Vec<Refused>,
}

/// Writes a queue as `tc qdisc show` prints it. Appends the options that exist only in the
/// simulator, in brackets. `options` may be incomplete.
pub fn show(name: &str, face: &Qdisc, known: &[Opt], options: &Options) -> String {
    let Some(kind) = face.kinds.first() else {
        let all = known
            .iter()
            .filter_map(|opt| Some((opt, options.get(opt.name)?)));
        let all = all.filter(|(_, value)| **value != Value::Bool(false));
        let all = all.map(|(opt, value)| match value {
            Value::Bool(_) => opt.name.to_owned(),
            _ => format!("{} {}", opt.name, shown(value)),
        });
        let words: Vec<String> = all.collect();
        return format!("qdisc {name} {}", words.join(" "))
            .trim_end()
            .to_owned();
    };
    let mut words = Words::new(kind, options, true);
    let mut rows: Vec<_> = face.words.iter().collect();
    rows.sort_by_key(|(name, _)| {
        face.shown
            .iter()
            .position(|shown| shown == name)
            .unwrap_or(usize::MAX)
    });
    for (name, spell) in rows.into_iter().filter(|row| options.get(row.0).is_some()) {
        spell(&mut words, name);
    }
    let mut line = format!("qdisc {} {}", words.kind, words.text)
        .trim_end()
        .to_owned();
    if !words.simulated.is_empty() {
        line.push_str(&format!(" [{}]", words.simulated.join(", ")));
    }
    line
}

/// Writes a value as tc prints it.
fn shown(value: &Value) -> String {
    match value {
        Value::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
        Value::Float(f) => significant(*f),
        Value::Time(time) => shown_time(*time),
        Value::Packets(n) => format!("{n}p"),
        Value::Bytes(b) => format!("{}b", b.0),
        Value::Rate(rate) => format!("{}bit", rate.0),
        Value::Int(i) => i.to_string(),
        Value::Word(word) => (*word).to_owned(),
        Value::List(_) | Value::Pairs(_) => crate::registry::text(value),
        Value::Table(options) => {
            let inner = options.iter().map(|(n, v)| format!("{n} {}", shown(v)));
            format!("{{ {} }}", inner.collect::<Vec<_>>().join(" "))
        }
    }
}

/// Writes a time as tc prints it: 15ms, 500us, 1s. A time below a microsecond is written in
/// nanoseconds.
fn shown_time(time: Time) -> String {
    let ns = time.ns();
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("us", 1e3)] {
        if ns as f64 >= size {
            return format!("{}{unit}", significant(ns as f64 / size));
        }
    }
    format!("{ns}ns")
}

/// Writes a number with at most six significant digits, as C's `%g` does.
fn significant(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    if (-4..6).contains(&exponent) {
        trimmed(format!("{value:.*}", (5 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(digits.to_owned()), exponent.abs())
    }
}

/// A function that appends one option to the arguments.
pub type Spell = fn(&mut Words<'_>, &'static str);

/// Collects the arguments of a queue discipline while its options are written.
pub struct Words<'a> {
    /// The kind in tc. An option may change the kind.
    pub kind: &'static str,
    /// The options.
    pub options: &'a Options,
    /// The link's rate.
    pub rate: Rate,
    /// Whether words are written as `tc qdisc show` prints them, rather than as tc accepts them.
    pub showing: bool,
    text: String,
    /// Options that exist only in the simulator, written as text.
    simulated: Vec<String>,
    refused: Vec<Refused>,
    /// Whether the remaining options are to be skipped.
    decided: bool,
}

impl<'a> Words<'a> {
    fn new(kind: &'static str, options: &'a Options, showing: bool) -> Words<'a> {
        Words {
            kind,
            options,
            rate: Rate::default(),
            showing,
            text: String::new(),
            simulated: Vec::new(),
            refused: Vec::new(),
            decided: false,
        }
    }

    /// Adds a word.
    pub fn push(&mut self, word: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(word);
    }

    /// Appends an option and its value.
    pub fn pair(&mut self, name: &str, value: &str) {
        self.push(name);
        self.push(value);
    }

    /// Records that tc or Linux does not support an option.
    pub fn refuse(
        &mut self,
        option: &'static str,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.refused.push(Refused::new(option, message, expected));
    }

    /// Appends an option with its value in tc's notation.
    pub fn value(&mut self, name: &str) {
        if let Some(value) = self.options.get(name) {
            self.pair(name, &shown(value));
        }
    }

    /// Returns the value of an option in bytes, if the value is a size in bytes.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        match self.options.get(name) {
            Some(Value::Bytes(bytes)) => Some(bytes.0),
            _ => None,
        }
    }
}

/// Writes a number, for example of packets or bytes. tc stores it in 32 bits.
pub fn number(words: &mut Words<'_>, name: &'static str) {
    let most = u64::from(u32::MAX);
    match words.options.get(name) {
        Some(Value::Packets(n)) if *n > most => {
            words.refuse(name, "tc stores it in 32 bits", format!("at most {most}p"));
        }
        Some(Value::Bytes(b)) if b.0 > most => {
            words.refuse(name, "tc stores it in 32 bits", "less than 4gb");
        }
        _ => {}
    }
    let value = match words.options.get(name) {
        Some(value @ (Value::Packets(_) | Value::Bytes(_))) if words.showing => shown(value),
        Some(Value::Packets(n)) => n.to_string(),
        Some(Value::Bytes(b)) => b.0.to_string(),
        Some(Value::Int(i)) => i.to_string(),
        _ => return,
    };
    words.pair(name, &value);
}

/// Writes a time in microseconds.
pub fn micros(words: &mut Words<'_>, name: &'static str) {
    let Some(Value::Time(time)) = words.options.get(name) else {
        return;
    };
    if words.showing {
        return words.pair(name, &shown_time(*time));
    }
    let micros = time.ns() / 1_000;
    if !time.ns().is_multiple_of(1_000) {
        let message = "tc counts this time in microseconds";
        words.refuse(name, message, "whole microseconds");
    }
    if micros > u64::from(u32::MAX) {
        words.refuse(name, "tc stores this time in 32 bits", "at most 4294 s");
    }
    words.pair(name, &format!("{micros}us"));
}

/// Writes a flag for which tc has one word for true and another word for false. `tc qdisc show`
/// prints only the word for true.
pub fn flag(words: &mut Words<'_>, name: &str, on: &str, off: &str) {
    let off = if words.showing { "" } else { off };
    either(words, name, on, off);
}

/// Writes a flag for which tc has one word for true and another word for false. `tc qdisc show`
/// prints either word.
pub fn either(words: &mut Words<'_>, name: &str, on: &str, off: &str) {
    match words.options.get(name) {
        Some(Value::Bool(true)) => words.push(on),
        Some(Value::Bool(false)) if !off.is_empty() => words.push(off),
        _ => {}
    }
}

/// Writes only the value of an option, without its name.
pub fn word(words: &mut Words<'_>, name: &'static str) {
    if let Some(Value::Word(word)) = words.options.get(name) {
        words.push(word);
    }
}

/// Writes only the value of an option, in tc's spelling and without its name.
pub fn words(words: &mut Words<'_>, name: &str, spelled: &[(&str, &str)]) {
    if let Some(Value::Word(word)) = words.options.get(name)
        && let Some((_, tc)) = spelled.iter().find(|(ours, _)| ours == word)
    {
        words.push(tc);
    }
}

/// Rejects every value of an option except `way`, because Linux always behaves as this value says.
pub fn only(words: &mut Words<'_>, name: &'static str, way: Value, message: impl Into<String>) {
    let Some(value) = words.options.get(name) else {
        return;
    };
    if words.showing {
        words.simulated.push(format!("{name} {}", shown(value)));
    } else if *value != way {
        words.refuse(name, message, format!("{name} = {}", quoted(&way)));
    }
}

/// Rejects an option that exists only in the simulator.
pub fn impossible(
    words: &mut Words<'_>,
    name: &'static str,
    message: impl Into<String>,
    expected: &str,
) {
    let Some(value) = words.options.get(name) else {
        return;
    };
    if words.showing {
        words.simulated.push(format!("{name} {}", shown(value)));
    } else {
        words.refuse(name, message, expected);
    }
}

/// Writes nothing, because other options are computed from this option. Those other options are
/// written instead.
pub fn derives(_: &mut Words<'_>, _: &'static str) {}

/// Writes nothing. The option exists only in the simulator. This option needs no error, because it
/// has no effect without another option, which is rejected.
pub fn simulated(words: &mut Words<'_>, name: &'static str) {
    if words.showing
        && let Some(value) = words.options.get(name)
    {
        words.simulated.push(format!("{name} {}", shown(value)));
    }
}

/// Checks the option `version`. Linux has only one version of the algorithm. If another version is
/// selected, rejects it and skips all further options.
pub fn version(words: &mut Words<'_>, name: &'static str, linux: &'static str) {
    let message = format!("the kernel has only its own version of {}", words.kind);
    only(words, name, Value::Word(linux), message);
    words.decided = !words.refused.is_empty();
}
