//! Draws random values for options and scenario keys, according to their types.

use serde_json::Value as Json;
use tailback_engine::registry::{Entry, Kind, Opt};
use toml::{Table, Value};

use crate::draw::Draw;

/// Probabilities that determine how often options are set and how extreme their values are.
#[derive(Clone, Copy)]
pub struct Taste {
    /// Probability that an option is set.
    pub set: f64,
    /// Probability that a value is the smallest or the largest permitted value.
    pub extreme: f64,
}

/// Writes a time in nanoseconds in the notation of scenario files.
pub fn ns(time: f64) -> Value {
    Value::String(format!("{}ns", time.max(0.0) as u64))
}

/// Writes a rate in bit/s in the notation of scenario files. A rate below 1 bit/s is written as 1
/// bit/s.
pub fn bit(rate: f64) -> Value {
    Value::String(format!("{}bit", rate.max(1.0) as u64))
}

fn whole(draw: &mut Draw, min: i64, max: i64, taste: Taste) -> i64 {
    if draw.chance(taste.extreme) {
        return *draw.pick(&[min, max]);
    }
    let span = max.saturating_sub(min);
    if min >= 0 && span > 10_000 {
        return min
            .saturating_add(draw.log(1.0, span as f64) as i64)
            .min(max);
    }
    draw.between(min, max)
}

fn float(draw: &mut Draw, min: f64, max: f64, taste: Taste) -> f64 {
    if draw.chance(taste.extreme) {
        return *draw.pick(&[min, max]);
    }
    if min > 0.0 && max / min > 1e4 {
        return draw.log(min, max).clamp(min, max);
    }
    (min + (max - min) * draw.share()).clamp(min, max)
}

/// Draws a time for an option, from its minimum to 30 s. Most times are above 100 us. If a queue's
/// timer had a much shorter period, a run would spend nearly all its time on this timer.
fn time(draw: &mut Draw, min: u64, taste: Taste) -> Value {
    if draw.chance(taste.extreme * 0.3) {
        return ns(min as f64);
    }
    if draw.chance(taste.extreme * 0.3) {
        return ns(1e15);
    }
    let floor = if draw.chance(0.8) { 1e5 } else { 1.0 };
    let least = (min as f64).max(floor);
    ns(draw.log(least, (least * 10.0).max(3e10)).ceil())
}

fn size(draw: &mut Draw, packets: bool, bytes: bool, taste: Taste) -> Value {
    let extreme = draw.chance(taste.extreme);
    let text = if packets && (!bytes || draw.chance(0.5)) {
        let most = if extreme { 1e15 } else { 2e4 };
        format!("{}p", draw.log(1.0, most) as u64)
    } else if draw.chance(0.2) {
        format!("{:.6}bdp", draw.log(1e-3, 1e3))
    } else {
        let most = if extreme { 9e18 } else { 1e8 };
        format!("{}b", draw.log(1.0, most) as u64)
    };
    Value::String(text)
}

/// Draws a value for an option of the given kind.
pub fn of_kind(draw: &mut Draw, kind: Kind, taste: Taste) -> Value {
    match kind {
        Kind::Bool => Value::Boolean(draw.chance(0.5)),
        Kind::Int { min, max } => Value::Integer(whole(draw, min, max, taste)),
        Kind::Float { min, max } => Value::Float(float(draw, min, max, taste)),
        Kind::Time { min } => time(draw, min.ns(), taste),
        Kind::Rate => bit(draw.log(1e3, 4e11)),
        Kind::Size { packets, bytes } => size(draw, packets, bytes, taste),
        Kind::TimeOrSize if draw.chance(0.5) => time(draw, 1, taste),
        Kind::TimeOrSize => {
            let text = match draw.chance(0.5) {
                true => format!("{}p", draw.log(1.0, 1e5) as u64),
                false => format!("{}b", draw.log(1.0, 1e8) as u64),
            };
            Value::String(text)
        }
        Kind::Word(words) => Value::String((*draw.pick(words)).to_owned()),
        Kind::WordOrInt { words, .. } if draw.chance(0.5) => {
            Value::String((*draw.pick(words)).to_owned())
        }
        Kind::WordOrInt { min, max, .. } => Value::Integer(whole(draw, min, max, taste)),
        Kind::BoolOrInt { .. } if draw.chance(0.5) => Value::Boolean(draw.chance(0.5)),
        Kind::BoolOrInt { min, max } => Value::Integer(whole(draw, min, max, taste)),
        Kind::List(inner) => {
            let length = draw.log(1.0, 20.0) as usize;
            let values = (0..length).map(|_| of_kind(draw, *inner, taste));
            Value::Array(ascending(values.collect()))
        }
        Kind::Pairs(inner) => {
            let mut at = 0.0;
            let length = draw.log(1.0, 10.0) as usize;
            let pairs = (0..length).map(|_| {
                let pair = vec![ns(at), of_kind(draw, *inner, taste)];
                at += draw.log(1e6, 1e10).ceil();
                Value::Array(pair)
            });
            Value::Array(pairs.collect())
        }
        Kind::Table(inner) => Value::Table(options(draw, inner, taste)),
    }
}

/// Sorts times, because a list of quantiles must be in ascending order.
fn ascending(mut values: Vec<Value>) -> Vec<Value> {
    let number = |value: &Value| match value {
        Value::String(text) => text.trim_end_matches("ns").parse().unwrap_or(f64::MAX),
        _ => f64::MAX,
    };
    values.sort_by(|a, b| number(a).total_cmp(&number(b)));
    values
}

/// Draws a value for each option with the probability `taste.set`.
pub fn options(draw: &mut Draw, all: &[Opt], taste: Taste) -> Table {
    let mut table = Table::new();
    for opt in all {
        if draw.chance(taste.set) {
            table.insert(opt.name.to_owned(), of_kind(draw, opt.kind, taste));
        }
    }
    table
}

/// Draws an algorithm or another entry of a registry, with or without some of its options.
pub fn entry<B>(
    draw: &mut Draw,
    key: &str,
    entries: &[&'static Entry<B>],
    taste: Taste,
) -> (Value, &'static str) {
    let entry = *draw.pick(entries);
    if draw.chance(0.3) {
        return (Value::String(entry.name.to_owned()), entry.name);
    }
    let mut table = options(draw, entry.options, taste);
    table.insert(key.to_owned(), Value::String(entry.name.to_owned()));
    (Value::Table(table), entry.name)
}

/// Draws a value of a scenario key from its JSON schema. Returns `None` for a table or an array.
pub fn of_schema(draw: &mut Draw, schema: &Json, taste: Taste) -> Option<Value> {
    if let Some(words) = schema["enum"].as_array() {
        return match draw.pick(words) {
            Json::String(word) => Some(Value::String(word.clone())),
            Json::Bool(word) => Some(Value::Boolean(*word)),
            _ => None,
        };
    }
    if let Some(shapes) = schema["anyOf"].as_array() {
        let shape = draw.pick(shapes);
        return of_schema(draw, shape, taste);
    }
    let least = schema["minimum"].as_f64();
    let most = schema["maximum"].as_f64();
    match schema["type"].as_str()? {
        "boolean" => Some(Value::Boolean(draw.chance(0.5))),
        "integer" => {
            let least = least.unwrap_or(0.0) as i64;
            let most = most.map_or(i64::MAX, |most| most as i64);
            Some(Value::Integer(whole(draw, least, most, taste)))
        }
        "number" => Some(Value::Float(float(draw, least?, most?, taste))),
        "string" => {
            let pattern = schema["pattern"].as_str()?;
            if pattern.contains("nsecs?") {
                Some(time(draw, 1_000_000, taste))
            } else if pattern.contains("[bB][dD][pP]") {
                Some(size(draw, false, true, taste))
            } else {
                None
            }
        }
        _ => None,
    }
}
