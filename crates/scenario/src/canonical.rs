//! The canonical form of a sweep point: JSON with all defaults, base units, and sorted keys. A hash
//! of the canonical form, the seed and the engine's version identifies the run ([`crate::hash`]).
//!
//! The canonical form contains every field of a plan. [`AsPart`] derives the form of a field from
//! the field's declaration.

use std::fmt::Write as _;

use serde_json::Value as Json;
use tailback_engine::keys::{AsPart, Part, Registry};
use tailback_engine::plan::{Algorithm, Plan, RatePlan};
use tailback_engine::registry::{Kind, Opt, Options, Value};

use crate::declare::{Traces, entries};

const VERSION: i64 = 2;

pub(crate) fn canonical(plan: &Plan, traces: &Traces) -> String {
    let mut writer = Writer {
        text: String::new(),
        traces,
    };
    if let Part::Table(mut parts) = plan.part() {
        // Omit empty lists of programs and events, and ideal hosts. Runs from versions of tailback
        // without these keys therefore keep their ids.
        parts.retain(|(name, _)| match *name {
            "programs" => !plan.programs.is_empty(),
            "events" => !plan.events.is_empty(),
            "hosts" => !plan.hosts.is_ideal(),
            _ => true,
        });
        parts.push(("version", Part::Value(Value::Int(VERSION))));
        writer.object(parts);
    }
    writer.text
}

/// Writes JSON without spaces and with sorted keys.
struct Writer<'a> {
    text: String,
    traces: &'a Traces,
}

impl Writer<'_> {
    fn part(&mut self, part: Part<'_>) {
        match part {
            Part::Null => self.text.push_str("null"),
            Part::Value(value) => self.value(&value, None),
            Part::Text(text) => self.json(text),
            Part::Algorithm(Algorithm::Known { name, options }) => {
                let registries = [Registry::Aqm, Registry::Cc];
                self.text.push_str(r#"{"name":"#);
                self.json(*name);
                self.text.push_str(r#","options":"#);
                self.options(options, options_of(&registries, name));
                self.text.push('}');
            }
            Part::Algorithm(Algorithm::Kernel { name, args }) => {
                self.text.push_str(r#"{"args":"#);
                self.json(args.as_str());
                self.text.push_str(r#","kernel":true,"name":"#);
                self.json(name.as_str());
                self.text.push('}');
            }
            // Write the hash of the trace instead of the trace's file name, because the content of
            // the file may change.
            Part::Rate(RatePlan::Trace(times)) => {
                let (count, hash) = (times.len(), self.traces.hash(times));
                let trace = format!(r#"{{"trace":{{"opportunities":{count},"sha256":"{hash}"}}}}"#);
                self.text.push_str(&trace);
            }
            Part::Rate(RatePlan::Constant(rate)) => self.json(rate.0),
            Part::Rate(RatePlan::Steps(steps)) => {
                self.text.push_str(r#"{"steps":"#);
                self.list(steps.iter(), |writer, (at, rate)| {
                    _ = write!(writer.text, "[{},{}]", at.0, rate.0);
                });
                self.text.push('}');
            }
            Part::Options(options) => self.options(options, &[]),
            Part::Table(parts) => self.object(parts),
            Part::List(parts) => self.list(parts, Writer::part),
        }
    }

    fn json(&mut self, value: impl Into<Json>) {
        _ = write!(self.text, "{}", value.into());
    }

    fn list<T>(&mut self, items: impl Iterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.text.push('[');
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            write(self, item);
        }
        self.text.push(']');
    }

    fn object(&mut self, mut parts: Vec<(&'static str, Part<'_>)>) {
        parts.sort_by_key(|(name, _)| *name);
        let kind = parts.iter().find_map(|part| match part {
            ("kind", Part::Value(Value::Word(kind))) => Some(*kind),
            _ => None,
        });
        self.text.push('{');
        for (i, (name, part)) in parts.into_iter().enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            _ = write!(self.text, "\"{name}\":");
            match (part, kind) {
                (Part::Options(options), Some(kind)) => {
                    self.options(options, options_of(&OPTIONS_BESIDE, kind));
                }
                (part, _) => self.part(part),
            }
        }
        self.text.push('}');
    }

    fn options(&mut self, options: &Options, known: &[Opt]) {
        self.text.push('{');
        for (i, (name, value)) in options.iter().enumerate() {
            if i > 0 {
                self.text.push(',');
            }
            _ = write!(self.text, "\"{name}\":");
            let opt = known.iter().find(|opt| opt.name == name);
            self.value(value, opt.map(|opt| opt.kind));
        }
        self.text.push('}');
    }

    fn value(&mut self, value: &Value, kind: Option<Kind>) {
        match (value, kind) {
            (Value::Bool(b), _) => self.json(*b),
            (Value::Int(i), _) => self.json(*i),
            (Value::Float(f), _) => self.json(*f),
            // Write the unit as well, because the value of this option may be a time or a size.
            (Value::Time(t), Some(Kind::TimeOrSize)) => {
                _ = write!(self.text, r#"{{"ns":{}}}"#, t.0);
            }
            (Value::Bytes(b), Some(Kind::TimeOrSize)) => {
                _ = write!(self.text, r#"{{"bytes":{}}}"#, b.0);
            }
            (Value::Time(t), _) => self.json(t.0),
            (Value::Rate(r), _) => self.json(r.0),
            (Value::Bytes(b), _) => self.json(b.0),
            (Value::Packets(n), _) => _ = write!(self.text, r#"{{"packets":{n}}}"#),
            (Value::Word(w), _) => self.json(*w),
            (Value::List(list), _) => self.list(list.iter(), |writer, value| {
                writer.value(value, None);
            }),
            (Value::Pairs(pairs), _) => self.list(pairs.iter(), |writer, (at, value)| {
                _ = write!(writer.text, "[{},", at.0);
                writer.value(value, None);
                writer.text.push(']');
            }),
            (Value::Table(options), Some(Kind::Table(inner))) => self.options(options, inner),
            (Value::Table(options), _) => self.options(options, &[]),
        }
    }
}

/// The registries whose entries are written as one table with the name and the options.
const OPTIONS_BESIDE: [Registry; 3] = [Registry::Traffic, Registry::Impairments, Registry::Stacks];

fn options_of(registries: &[Registry], name: &str) -> &'static [Opt] {
    let mut all = registries.iter().flat_map(|registry| entries(*registry));
    all.find(|entry| entry.name == name)
        .map_or(&[], |entry| entry.options)
}
