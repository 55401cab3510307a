//! The options that each version sets, and the values that are computed from `max_rtt` and
//! `typical_rtt`.
//!
//! The values and rules come from these public sources:
//! - `linux-6.17`: Linux 7.3.4 net/sched/sch_dualpi2.c; max_rtt: iproute2 tc/q_dualpi2.c.
//! - `dualpi2-2019-refactored`: the version with a credit scheduler and a timer in jiffies. The
//!   function `__scale_delta` of this version divides by 2^7 - 1. This version is marked "Copyright
//!   2019" and is older than the patches on the kernel's mailing list.
//! - `dualpi2-2019-wrr-percent`: L4STeam/l4sdemo 8539fc7 sch_dualpi2_dev.c with the first of its
//!   two schedulers. The second scheduler, WRR_OPT3, is not available in tailback. If l_drop is not
//!   set by tc, this code mistakenly uses 100/2^32. In tailback, the default of `l_drop` is 100
//!   percent, as in the published evaluations.
//! - `dualpi2-2019-wrr-counter`: L4STeam/l4sdemo 11b1ae1 sch_dualpi2.c. The commit before 11b1ae1,
//!   olgaalb/sch_dualpi2 8871fba, combines the counter with ticks and a time shift: `arithmetic =
//!   "ticks", tshift = "40ms"`.
//! - `dualpi2-2019-02-21`: the time-shifted FIFO, an earlier version of the same code (Copyright
//!   2018).
//!
//! No source confirms the following assumptions. The parameters of the published evaluations
//! suggest that exactly these versions were used. These parameters also suggest that
//! `dualpi2-2019-02-21` is the stable version of 21 February 2019. For `dualpi2-2019-refactored`,
//! two details are assumptions. The first assumption is that the arithmetic still has a sign error
//! that was fixed later. The second assumption is that "statistics reset" means that counters
//! restart when they are read.

use crate::registry::{OptionError, Options, Value};
use crate::units::Time;

pub const VERSIONS: &[&str] = &[
    "linux-6.17",
    "dualpi2-2019-02-21",
    "dualpi2-2019-wrr-counter",
    "dualpi2-2019-wrr-percent",
    "dualpi2-2019-refactored",
];

pub const SCHEDULERS: &[&str] = &["credit", "wrr-counter", "wrr-percent", "ts-fifo"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    Credit,
    /// Round robin that counts packets, in addition to the time shift.
    Counter,
    /// Weighted round robin that counts bytes. The weight is a percentage.
    Percent,
    Shifted,
}

impl Scheduling {
    pub fn of(word: &str) -> Scheduling {
        match word {
            "wrr-counter" => Scheduling::Counter,
            "wrr-percent" => Scheduling::Percent,
            "ts-fifo" => Scheduling::Shifted,
            _ => Scheduling::Credit,
        }
    }
}

/// tc assumes that the largest round-trip time is this many times the typical round-trip time.
const TYPICAL_TO_MAX: u64 = 6;

fn scheduler(version: &str) -> &'static str {
    match version {
        "dualpi2-2019-02-21" => "ts-fifo",
        "dualpi2-2019-wrr-counter" => "wrr-counter",
        "dualpi2-2019-wrr-percent" => "wrr-percent",
        _ => "credit",
    }
}

fn preset(version: &str) -> Vec<(&'static str, Value)> {
    let ms = |n| Value::Time(Time::from_ms(n));
    let hz = |parts: f64| Value::Float(parts / 256.0);
    let scheduler = scheduler(version);
    let arithmetic = match (scheduler, version) {
        ("ts-fifo", _) => "ticks",
        ("wrr-counter" | "wrr-percent", _) => "ns",
        (_, "dualpi2-2019-refactored") => "div127",
        _ => "div64",
    };
    let early = scheduler != "credit";
    let linux = version == "linux-6.17";
    let mut preset = vec![
        ("target", ms(if early { 20 } else { 15 })),
        ("tupdate", ms(if early { 32 } else { 16 })),
        ("alpha", hz(if early { 80.0 } else { 41.0 })),
        ("beta", hz(if early { 800.0 } else { 819.0 })),
        ("arithmetic", Value::Word(arithmetic)),
        (
            "timer",
            Value::Word(if linux { "hrtimer" } else { "jiffies" }),
        ),
        ("scheduler", Value::Word(scheduler)),
        (
            "step_rule",
            Value::Word(if early { "dequeue" } else { "enqueue" }),
        ),
        (
            "classic_protection",
            Value::Int(if scheduler == "wrr-percent" { 9 } else { 10 }),
        ),
    ];
    if linux || version == "dualpi2-2019-refactored" {
        preset.push(("overload", Value::Word("drop")));
    } else {
        let percent = if scheduler == "wrr-percent" { 100 } else { 0 };
        preset.push(("l_drop", Value::Int(percent)));
    }
    preset
}

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
    let scheduler = match (options.get("scheduler"), options.get("version")) {
        (Some(Value::Word(word)), _) => word,
        (_, Some(Value::Word(version))) => scheduler(version),
        _ => "",
    };
    for (option, of) in [
        ("tshift", &["ts-fifo", "wrr-counter"][..]),
        ("tspeed", &["ts-fifo", "wrr-counter"]),
        ("wrr_ratio", &["wrr-counter"]),
    ] {
        if options.get(option).is_some() && !of.contains(&scheduler) {
            let known: Vec<String> = of.iter().map(|word| format!("\"{word}\"")).collect();
            let message = format!(
                "the scheduler \"{scheduler}\" has no use for it: expected it with {}",
                known.join(" or ")
            );
            error(option, &message);
        }
    }
    let ramp = options.get("l_aqm") == Some(&Value::Word("ramp"));
    if ramp && options.get("drop") == Some(&Value::Word("enqueue")) {
        error(
            "drop",
            "the ramp marks packets when they leave the queue: expected drop = \"dequeue\"",
        );
    }
    // `step_thresh` always has a value. The default of `step_thresh` is 1 ms. So a value of 1 ms is
    // treated as if the scenario did not set the option.
    let step = Value::Time(Time::from_ms(1));
    for (option, default) in [
        ("step_thresh", Some(&step)),
        ("min_qlen_step", None),
        ("step_rule", None),
    ] {
        if ramp && options.get(option) != default {
            error(
                option,
                "a ramp has no step: expected l_aqm = \"step\" with this option",
            );
        }
    }
    for option in ["ramp_min", "ramp_range"] {
        if !ramp && options.get(option).is_some() {
            error(option, "a step has no ramp: expected l_aqm = \"ramp\" too");
        }
    }
    if let Err(found) = tune(options) {
        errors.extend(found);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let version = options.word("version");
    let overload = options.get("l_drop").is_some() || options.get("overload").is_some();
    for (name, value) in preset(version) {
        let said = overload && matches!(name, "l_drop" | "overload");
        if !said {
            options.set_default(name, value);
        }
    }
    // These values depend on other options and not on the version.
    if ramp {
        for (name, us) in [("ramp_min", 800), ("ramp_range", 400)] {
            options.set_default(name, Value::Time(Time::from_us(us)));
        }
    }
    let packets = match (options.word("step_rule"), version) {
        ("dequeue", "dualpi2-2019-wrr-percent") | (_, "dualpi2-2019-refactored") => 2,
        ("dequeue", _) => 1,
        _ => 0,
    };
    options.set_default("min_qlen_step", Value::Int(packets));
    let scheduler = options.word("scheduler");
    if scheduler == "ts-fifo" {
        options.set_default("tshift", Value::Time(Time::from_ms(40)));
    }
    if matches!(scheduler, "ts-fifo" | "wrr-counter") {
        options.set_default("tspeed", Value::Int(0));
    }
    if scheduler == "wrr-counter" {
        options.set_default("wrr_ratio", Value::Int(16));
    }
    Ok(())
}

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
    // The constants in tc have the type float, so round them to 32 bits.
    let alpha = tupdate as f64 / max as f64 / max as f64 * 1e6 * f64::from(0.1_f32);
    let beta = f64::from(0.3_f32) / max as f64 * 1e6;
    if alpha < 1.0 / 256.0 || beta < 1.0 / 256.0 {
        return error(
            "max_rtt",
            "the gains derived from it are below 1/256: expected a smaller RTT".to_owned(),
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
                    "max_rtt and typical_rtt determine it: expected this option, or max_rtt and typical_rtt".to_owned(),
                );
            }
            _ => options.set(name, value),
        }
    }
    Ok(())
}
