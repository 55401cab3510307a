//! DualPI2 as Linux has it: words of tc (iproute2 `tc/q_dualpi2.c`).

use crate::registry::Value;
use crate::registry::kernel::{
    Order, Qdisc, Words, Xstats, derives, either, impossible, micros, number, only, simulated,
    version, words,
};

/// The kernel face.
pub const KERNEL: Qdisc = Qdisc {
    kinds: &["dualpi2"],
    since: Some("6.17"),
    words: &[
        ("version", |w, o| version(w, o, "linux-6.17")),
        ("scheduler", |w, o| detail(w, o, Value::Word("credit"))),
        ("arithmetic", |w, o| detail(w, o, Value::Word("div64"))),
        ("timer", |w, o| detail(w, o, Value::Word("hrtimer"))),
        ("step_rule", |w, o| detail(w, o, Value::Word("enqueue"))),
        ("reset_statistics", |w, o| detail(w, o, Value::Bool(false))),
        ("l_drop", |w, o| {
            let expected = "overload = \"drop\" or \"overflow\"";
            impossible(w, o, "dualpi2 of Linux has no l_drop", expected);
        }),
        ("wrr_ratio", simulated),
        ("tshift", simulated),
        ("tspeed", simulated),
        ("reset_interval", simulated),
        ("max_rtt", derives),
        ("typical_rtt", derives),
        ("limit", number),
        ("memlimit", number),
        ("target", micros),
        ("tupdate", nanoseconds),
        ("alpha", gain),
        ("beta", gain),
        ("coupling_factor", number),
        ("step_thresh", |w, o| match w.options.get(o) {
            Some(Value::Packets(n)) => {
                if *n > u64::from(u32::MAX) {
                    w.refuse(o, "tc has 32 bits for it", "at most 4294967295p");
                }
                w.pair(o, &format!("{n}p"));
            }
            _ => nanoseconds(w, o),
        }),
        ("min_qlen_step", |w, o| match w.options.get(o) {
            Some(Value::Int(0)) if w.showing => {}
            Some(Value::Int(n)) if w.showing => w.pair(o, &format!("{n}p")),
            _ => number(w, o),
        }),
        ("any_ect", |w, o| either(w, o, "any_ect", "l4s_ect")),
        ("overload", |w, o| {
            let overflow = if w.showing {
                "drop_overflow"
            } else {
                "overflow"
            };
            words(
                w,
                o,
                &[("drop", "drop_on_overload"), ("overflow", overflow)],
            );
        }),
        ("drop", |w, o| {
            words(
                w,
                o,
                &[("dequeue", "drop_dequeue"), ("enqueue", "drop_enqueue")],
            );
        }),
        ("classic_protection", |w, o| {
            let percent = format!("{}%", w.options.int(o));
            w.pair(o, &percent);
        }),
        ("split_gso", |w, o| {
            either(w, o, "split_gso", "no_split_gso")
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
    xstats: Xstats {
        // ecn_mark, which step_marks (at 28) are a part of
        marks: Some(&[24]),
        ..Qdisc::DEFAULT.xstats
    },
    order: Order::Classes,
    ..Qdisc::DEFAULT
};

/// A detail of the versions of 2019.
fn detail(words: &mut Words<'_>, option: &'static str, linux: Value) {
    let message = format!("dualpi2 of Linux has no other {option}");
    only(words, option, linux, message);
}

/// A time that tc counts in microseconds and Linux in 32 bits of nanoseconds.
fn nanoseconds(words: &mut Words<'_>, option: &'static str) {
    if matches!(words.options.get(option), Some(Value::Time(t)) if t.ns() > u64::from(u32::MAX)) {
        words.refuse(option, "Linux has 32 bits for it, in ns", "at most 4294ms");
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
