//! Writes the options of DualPI2 in the form that Linux accepts. The version in Linux accepts
//! arguments of tc (iproute2 `tc/q_dualpi2.c`). For earlier versions, tailback's own module
//! `sch_dualpi2_2019` accepts the options.

use crate::registry::kernel::{
    Order, Qdisc, QueueStandIn, Words, Xstats, derives, either, micros, number, only, simulated,
    words,
};
use crate::registry::{Options, Value};

/// The qdisc kind of tailback's module.
const OWN: &str = "dualpi2_2019";

pub const KERNEL: Qdisc = Qdisc {
    kinds: &["dualpi2", OWN],
    since: Some("6.17"),
    stand_ins: &[QueueStandIn {
        module: "sch_dualpi2_2019",
        needed: is_of_2019,
    }],
    texts: &[OWN],
    words: &[
        ("l_aqm", |w, o| beyond(w, o, Value::Word("step"))),
        ("ramp_min", simulated),
        ("ramp_range", simulated),
        ("queue_protection", |w, o| beyond(w, o, Value::Bool(false))),
        ("version", |w, o| {
            if !w.showing && is_of_2019(w.options) {
                w.kind = OWN;
            }
            detail(w, o);
        }),
        ("scheduler", detail),
        ("arithmetic", detail),
        ("timer", |w, o| digit(w, o, "jiffies", "jiffies")),
        ("step_rule", |w, o| {
            digit(w, o, "step_at_dequeue", "dequeue");
        }),
        ("reset_statistics", |w, o| {
            let message = "the guest reads the counters of a queue as totals";
            only(w, o, Value::Bool(false), message);
        }),
        ("l_drop", |w, o| match w.options.get(o) {
            Some(Value::Int(percent)) if own(w) => w.pair(o, &percent.to_string()),
            _ => simulated(w, o),
        }),
        ("wrr_ratio", detail),
        ("tshift", time_of_own),
        ("tspeed", detail),
        ("reset_interval", time_of_own),
        ("max_rtt", derives),
        ("typical_rtt", derives),
        ("limit", number),
        ("memlimit", number),
        ("target", |w, o| by_kind(w, o, micros, time_of_own)),
        ("tupdate", |w, o| by_kind(w, o, nanoseconds, time_of_own)),
        ("alpha", |w, o| by_kind(w, o, gain, parts)),
        ("beta", |w, o| by_kind(w, o, gain, parts)),
        ("coupling_factor", number),
        ("step_thresh", |w, o| {
            by_kind(w, o, threshold, own_threshold)
        }),
        ("min_qlen_step", |w, o| match w.options.get(o) {
            Some(Value::Int(0)) if w.showing => {}
            Some(Value::Int(n)) if w.showing => w.pair(o, &format!("{n}p")),
            _ => number(w, o),
        }),
        ("any_ect", |w, o| {
            by_kind(w, o, |w, o| either(w, o, "any_ect", "l4s_ect"), flag_of_own);
        }),
        ("overload", |w, o| {
            by_kind(w, o, overload, |w, o| {
                digit(w, o, "drop_on_overload", "drop")
            })
        }),
        ("drop", |w, o| {
            let spelled: &[_] = &[("dequeue", "drop_dequeue"), ("enqueue", "drop_enqueue")];
            match own(w) {
                true => digit(w, o, "drop_enqueue", "enqueue"),
                false => words(w, o, spelled),
            }
        }),
        ("classic_protection", |w, o| match own(w) {
            true => number(w, o),
            false => {
                let percent = format!("{}%", w.options.int(o));
                w.pair(o, &percent);
            }
        }),
        ("split_gso", |w, o| {
            by_kind(
                w,
                o,
                |w, o| either(w, o, "split_gso", "no_split_gso"),
                flag_of_own,
            );
        }),
    ],
    shown: &[
        "limit",
        "memlimit",
        "target",
        "tupdate",
        "alpha",
        "beta",
        "any_ect",
        "coupling_factor",
        "overload",
        "step_thresh",
        "min_qlen_step",
        "drop",
        "classic_protection",
        "split_gso",
        "scheduler",
        "arithmetic",
        "timer",
        "step_rule",
        "l_drop",
        "wrr_ratio",
        "tshift",
        "tspeed",
        "reset_statistics",
        "reset_interval",
        "version",
    ],
    drops_at_dequeue: true,
    splits_unless: &["no_split_gso", "split_gso 0"],
    xstats: Xstats {
        // Offset of the kernel's counter `ecn_mark`. This counter includes `step_marks` (at offset
        // 28).
        marks: Some(&[24]),
        ..Qdisc::DEFAULT.xstats
    },
    order: Order::ClassesUnless("queue_protection"),
    ..Qdisc::DEFAULT
};

/// Rejects every value except `off`, because neither Linux nor tailback's module supports this
/// option.
fn beyond(words: &mut Words<'_>, option: &'static str, off: Value) {
    if words.options.get(option) != Some(&off) {
        let message = format!("no version of dualpi2 in Linux supports another {option}");
        only(words, option, off, message);
    }
}

/// The values of options that Linux implements. Other values belong to earlier versions.
const LINUX: &[(&str, &str)] = &[
    ("version", "linux-6.17"),
    ("scheduler", "credit"),
    ("arithmetic", "div64"),
    ("timer", "hrtimer"),
    ("step_rule", "enqueue"),
];

/// Returns whether any option needs tailback's module, which implements the versions of 2018 and
/// 2019.
fn is_of_2019(options: &Options) -> bool {
    let mut details = LINUX.iter();
    options.get("l_drop").is_some()
        || options.get("reset_interval").is_some()
        || details.any(|(name, linux)| options.get(name) != Some(&Value::Word(linux)))
}

fn own(words: &Words<'_>) -> bool {
    words.kind == OWN
}

fn by_kind(
    words: &mut Words<'_>,
    option: &'static str,
    tc: fn(&mut Words<'_>, &'static str),
    module: fn(&mut Words<'_>, &'static str),
) {
    match own(words) {
        true => module(words, option),
        false => tc(words, option),
    }
}

/// Writes an option that tc does not support. tailback's module gets it as a word or a number.
fn detail(words: &mut Words<'_>, option: &'static str) {
    match words.options.get(option) {
        Some(Value::Word(word)) if own(words) => words.pair(option, word),
        Some(Value::Int(n)) if own(words) => words.pair(option, &n.to_string()),
        _ => simulated(words, option),
    }
}

/// Writes an option that has two values. tailback's module gets it as 1 or 0.
fn digit(words: &mut Words<'_>, option: &'static str, name: &str, one: &str) {
    match words.options.get(option) {
        Some(Value::Word(word)) if own(words) => {
            words.pair(name, if *word == one { "1" } else { "0" });
        }
        _ => simulated(words, option),
    }
}

fn flag_of_own(words: &mut Words<'_>, option: &'static str) {
    let on = words.options.bool(option);
    words.pair(option, if on { "1" } else { "0" });
}

/// Writes a time as a parameter of the kernel module, in nanoseconds.
fn time_of_own(words: &mut Words<'_>, option: &'static str) {
    match words.options.get(option) {
        Some(Value::Time(time)) if own(words) => words.pair(option, &time.ns().to_string()),
        _ => simulated(words, option),
    }
}

/// Writes a gain as a parameter of tailback's module, in 256ths of a Hz. Rounds down, as tc does.
fn parts(words: &mut Words<'_>, option: &'static str) {
    let parts = (words.options.float(option) as f32 * 256.0) as u32;
    words.pair(option, &parts.to_string());
}

fn own_threshold(words: &mut Words<'_>, option: &'static str) {
    match words.options.get(option) {
        Some(Value::Packets(n)) => {
            refuse_long(words, option, *n);
            words.pair("step_packets", &n.to_string());
        }
        Some(Value::Time(time)) => words.pair("step_ns", &time.ns().to_string()),
        _ => {}
    }
}

fn threshold(words: &mut Words<'_>, option: &'static str) {
    match words.options.get(option) {
        Some(Value::Packets(n)) => {
            refuse_long(words, option, *n);
            words.pair(option, &format!("{n}p"));
        }
        _ => nanoseconds(words, option),
    }
}

fn refuse_long(words: &mut Words<'_>, option: &'static str, packets: u64) {
    if packets > u64::from(u32::MAX) {
        words.refuse(option, "tc stores it in 32 bits", "at most 4294967295p");
    }
}

fn overload(words: &mut Words<'_>, option: &'static str) {
    let overflow = if words.showing {
        "drop_overflow"
    } else {
        "overflow"
    };
    let spelled = [("drop", "drop_on_overload"), ("overflow", overflow)];
    self::words(words, option, &spelled);
}

/// Writes a time for tc. tc uses microseconds, and Linux uses 32-bit nanoseconds.
fn nanoseconds(words: &mut Words<'_>, option: &'static str) {
    if matches!(words.options.get(option), Some(Value::Time(t)) if t.ns() > u64::from(u32::MAX)) {
        words.refuse(
            option,
            "Linux stores it in 32 bits, in ns",
            "at most 4294ms",
        );
    }
    micros(words, option);
}

fn gain(words: &mut Words<'_>, option: &'static str) {
    let gain = words.options.float(option);
    let text = if words.showing {
        format!("{gain:.6}")
    } else {
        gain.to_string()
    };
    words.pair(option, &text);
}
