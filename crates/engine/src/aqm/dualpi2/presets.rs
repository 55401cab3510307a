//! The versions: what each presets, and what `max_rtt` and `typical_rtt` derive.

use crate::registry::{OptionError, Options, Value};
use crate::units::Time;

/// Names of the versions.
pub const VERSIONS: &[&str] = &[
    "linux-6.17",
    "dualpi2-2019-02-21",
    "dualpi2-2019-wrr-counter",
    "dualpi2-2019-wrr-percent",
    "dualpi2-2019-refactored",
];

/// Words of the option `scheduler`.
pub const SCHEDULERS: &[&str] = &["credit", "wrr-counter", "wrr-percent", "ts-fifo"];

/// The scheduler a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Weighted round robin by bytes.
    Credit,
    /// Packets counted, beside the time shift.
    Counter,
    /// Packets counted, by percentage.
    Percent,
    /// Time-shifted FIFO.
    Shifted,
}

impl Scheduling {
    /// By its word.
    pub fn of(word: &str) -> Scheduling {
        match word {
            "wrr-counter" => Scheduling::Counter,
            "wrr-percent" => Scheduling::Percent,
            "ts-fifo" => Scheduling::Shifted,
            _ => Scheduling::Credit,
        }
    }
}

/// tc's multiple of the typical round-trip time that is taken for the largest.
const TYPICAL_TO_MAX: u64 = 6;

/// What a version has where a scenario says nothing.
fn preset(version: &str) -> Vec<(&'static str, Value)> {
    let ms = |n| Value::Time(Time::from_ms(n));
    // The three before the refactoring are one source with another scheduler.
    let scheduler = match version {
        "dualpi2-2019-02-21" => "ts-fifo",
        "dualpi2-2019-wrr-counter" => "wrr-counter",
        "dualpi2-2019-wrr-percent" => "wrr-percent",
        _ => "credit",
    };
    let early = scheduler != "credit";
    let refactored = version == "dualpi2-2019-refactored";
    vec![
        ("target", ms(if early { 20 } else { 15 })),
        ("tupdate", ms(if early { 32 } else { 16 })),
        (
            "alpha",
            Value::Float(if early { 80.0 } else { 41.0 } / 256.0),
        ),
        (
            "beta",
            Value::Float(if early { 800.0 } else { 819.0 } / 256.0),
        ),
        (
            "arithmetic",
            Value::Word(match (early, refactored) {
                (true, _) => "ticks",
                (_, true) => "div127",
                _ => "div64",
            }),
        ),
        (
            "timer",
            Value::Word(if early { "jiffies" } else { "hrtimer" }),
        ),
        ("scheduler", Value::Word(scheduler)),
        (
            "step_rule",
            Value::Word(if early { "dequeue" } else { "enqueue" }),
        ),
        ("min_qlen_step", Value::Int(if refactored { 2 } else { 0 })),
    ]
}

/// Fills in what the version presets.
pub fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let mut errors = Vec::new();
    let mut error = |option, message: &str| {
        errors.push(OptionError {
            option,
            message: message.to_owned(),
        });
    };
    if matches!(options.get("step_thresh"), Some(Value::Bytes(_))) {
        let message = "the threshold is a sojourn time or a number of packets: expected \"1ms\" or \"5p\", for example";
        error("step_thresh", message);
    }
    if options.get("l_drop").is_some() && options.get("overload").is_some() {
        let message = "l_drop and overload say the same thing: expected one of them";
        error("l_drop", message);
    }
    if let Err(found) = tune(options) {
        errors.extend(found);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let version = options.word("version");
    for (name, value) in preset(version) {
        if options.get(name).is_none() {
            options.set(name, value);
        }
    }
    if options.get("l_drop").is_none() && options.get("overload").is_none() {
        if matches!(version, "linux-6.17" | "dualpi2-2019-refactored") {
            options.set("overload", Value::Word("drop"));
        } else {
            options.set("l_drop", Value::Int(0));
        }
    }
    Ok(())
}

/// tc's derivation of target, tupdate, alpha and beta, in its microseconds.
fn tune(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let micros = |name| match options.get(name) {
        Some(Value::Time(time)) => time.ns() / 1_000,
        _ => 0,
    };
    let (mut max, mut typical) = (micros("max_rtt"), micros("typical_rtt"));
    if max == 0 && typical == 0 {
        return Ok(());
    }
    let error = |option, message: String| Err(vec![OptionError { option, message }]);
    if typical == 0 {
        typical = (max / TYPICAL_TO_MAX).max(1);
    } else if max == 0 {
        max = typical.saturating_mul(TYPICAL_TO_MAX);
    } else if typical > max {
        return error(
            "typical_rtt",
            format!("the typical round-trip time is above the largest: expected at most {max}us"),
        );
    }
    let third = max as f64 / 3.0;
    let tupdate = if (typical as f64) < third {
        typical
    } else {
        (third as u64).max(1)
    };
    // tc's constants are floats.
    let alpha = tupdate as f64 / max as f64 / max as f64 * 1e6 * f64::from(0.1_f32);
    let beta = f64::from(0.3_f32) / max as f64 * 1e6;
    if alpha < 1.0 / 256.0 || beta < 1.0 / 256.0 {
        return error(
            "max_rtt",
            "the gains derived from it are below 1/256: expected a smaller one".to_owned(),
        );
    }
    let cut = |gain: f64| Value::Float((gain * 256.0) as u32 as f64 / 256.0);
    for (name, value) in [
        ("target", Value::Time(Time::from_us(typical))),
        ("tupdate", Value::Time(Time::from_us(tupdate))),
        ("alpha", cut(alpha)),
        ("beta", cut(beta)),
    ] {
        match options.get(name) {
            Some(given) if *given != value => {
                return error(
                    name,
                    "max_rtt and typical_rtt derive it: expected either them or this".to_owned(),
                );
            }
            _ => options.set(name, value),
        }
    }
    Ok(())
}
