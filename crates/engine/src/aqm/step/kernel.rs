//! Step marking on Linux. tailback's own module `sch_step` implements it, and reads its options as
//! text.

use crate::registry::Value;
use crate::registry::kernel::{Qdisc, QueueStandIn, Words, Xstats};

pub(super) const KERNEL: Qdisc = Qdisc {
    kinds: &["step"],
    words: &[
        ("limit", size),
        ("threshold", size),
        ("at", |w, o| word(w, o, "at_dequeue", "dequeue")),
        ("include_arriving", |w, o| {
            let on = if w.options.bool(o) { "1" } else { "0" };
            if !w.showing {
                w.pair(o, on);
            } else if w.options.bool(o) {
                w.push(o);
            }
        }),
        ("not_ect", |w, o| word(w, o, "drop_not_ect", "drop")),
    ],
    drops_at_dequeue: true,
    drops_on_arrival_if: Some(("at", "enqueue")),
    xstats: Xstats {
        // Offset of the counter of marks in `struct step_xstats`.
        marks: Some(&[0]),
        ..Qdisc::DEFAULT.xstats
    },
    stand_ins: &[QueueStandIn {
        module: "sch_step",
        needed: |_| true,
    }],
    texts: &["step"],
    ..Qdisc::DEFAULT
};

fn size(words: &mut Words<'_>, option: &'static str) {
    if words.showing {
        return words.value(option);
    }
    let (number, unit) = match words.options.get(option) {
        Some(Value::Packets(n)) => (*n, 'p'),
        Some(Value::Bytes(bytes)) => (bytes.0, 'b'),
        Some(Value::Time(time)) => (time.ns(), 'n'),
        _ => return,
    };
    if option == "limit" && number > u64::from(u32::MAX) {
        let most = format!("at most {}{unit}", u32::MAX);
        words.refuse(option, "the module stores it in 32 bits", most);
    }
    words.pair(option, &format!("{number}{unit}"));
}

fn word(words: &mut Words<'_>, option: &'static str, name: &str, on: &str) {
    if words.showing {
        return words.value(option);
    }
    let digit = if words.options.word(option) == on {
        "1"
    } else {
        "0"
    };
    words.pair(name, digit);
}
