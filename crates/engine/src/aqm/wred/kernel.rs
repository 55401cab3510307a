//! Weighted RED on Linux. tailback's own module `sch_wred` implements it, and reads its options as
//! text.
//!
//! The module `sch_wred` gets probabilities and weights as 32-bit fractions. The module gets sizes
//! with their unit. The module `sch_wred` measures idle times in packet transmission times. So the
//! module also gets the transmission time of one packet, in picoseconds.

use crate::registry::kernel::{Gauge, Reading};
use crate::registry::kernel::{Qdisc, QueueStandIn, Words, Xstats};
use crate::registry::{Options, Value};

pub const KERNEL: Qdisc = Qdisc {
    kinds: &["wred"],
    words: &[
        ("limit", size),
        ("ecn", curve),
        ("classic", curve),
        ("average", named),
        ("idle", named),
        ("avpkt", packet_time),
        ("bandwidth", rate),
    ],
    xstats: Xstats {
        // Offsets of two counters in `struct wred_xstats`: random marks, and marks at or above
        // `max`.
        marks: Some(&[0, 4]),
        gauges: &[
            Gauge {
                series: "ecn_probability",
                at: 20,
                reading: Reading::Parts(4_294_967_295.0),
            },
            Gauge {
                series: "classic_probability",
                at: 24,
                reading: Reading::Parts(4_294_967_295.0),
            },
            // The module `sch_wred` reports this value only if averages are in bytes.
            Gauge {
                series: "ecn_avg_bytes",
                at: 28,
                reading: Reading::Count,
            },
            Gauge {
                series: "classic_avg_bytes",
                at: 32,
                reading: Reading::Count,
            },
        ],
        ..Qdisc::DEFAULT.xstats
    },
    stand_ins: &[QueueStandIn {
        module: "sch_wred",
        needed: |_| true,
    }],
    texts: &["wred"],
    ..Qdisc::DEFAULT
};

const ONE: f64 = 4_294_967_296.0;
/// The largest length that the module `sch_wred` accepts. The module `sch_wred` computes twice
/// `max` in 32 bits.
const LONGEST: u64 = (1 << 31) - 1;

fn spelled(value: &Value) -> Option<(u64, String)> {
    match value {
        Value::Packets(n) => Some((*n, format!("{n}p"))),
        Value::Bytes(b) => Some((b.0, format!("{}b", b.0))),
        _ => None,
    }
}

fn size(words: &mut Words<'_>, option: &'static str) {
    if words.showing {
        return words.value(option);
    }
    let Some((n, text)) = words.options.get(option).and_then(spelled) else {
        return;
    };
    if n > LONGEST {
        refuse_size(words, option);
    }
    words.pair(option, &text);
}

fn refuse_size(words: &mut Words<'_>, option: &'static str) {
    words.refuse(option, "the module stores a size in 31 bits", "at most 2gb");
}

fn named(words: &mut Words<'_>, option: &'static str) {
    words.value(option);
}

/// Writes the thresholds, the probability and the weight of a class: `ecn_min 15750b ecn_max 15750b
/// ...`.
fn curve(words: &mut Words<'_>, option: &'static str) {
    if words.showing {
        return words.value(option);
    }
    let Some(Value::Table(table)) = words.options.get(option) else {
        return;
    };
    let table: &Options = table;
    for end in ["min", "max"] {
        let Some((n, text)) = table.get(end).and_then(spelled) else {
            continue;
        };
        if n > LONGEST {
            refuse_size(words, option);
        }
        words.pair(&format!("{option}_{end}"), &text);
    }
    for part in ["probability", "weight"] {
        let digits = libm::round(table.float(part) * ONE) as u64;
        words.pair(&format!("{option}_{part}"), &digits.to_string());
    }
    let uniformise = table.word("uniformise");
    words.pair(&format!("{option}_uniformise"), uniformise);
    for part in ["gentle", "include_arriving"] {
        let digit = u8::from(table.bool(part)).to_string();
        words.pair(&format!("{option}_{part}"), &digit);
    }
}

/// Writes the transmission time of one packet at `bandwidth` or at the link's rate. The module
/// `sch_wred` measures idle times as multiples of this time.
fn packet_time(words: &mut Words<'_>, option: &'static str) {
    if words.showing {
        return words.value(option);
    }
    let rate = match words.options.get("bandwidth") {
        Some(Value::Rate(rate)) => rate.0,
        _ => words.rate.0,
    };
    let bits = u128::from(words.bytes(option).unwrap_or(0)) * 8;
    let ps = bits * 1_000_000_000_000 / u128::from(rate.max(1));
    if ps == 0 || ps > u128::from(u64::MAX >> 1) {
        let message = "the module counts the time of such a packet in picoseconds of 63 bits";
        words.refuse(option, message, "an avpkt that takes 1 ps to 100 days");
    }
    words.pair("packet_ps", &ps.to_string());
}

/// Writes the link's rate. When the last packet leaves the queue, the module `sch_wred` uses this
/// rate to compute how long the packet keeps the link busy.
fn rate(words: &mut Words<'_>, option: &'static str) {
    if words.showing {
        return words.value(option);
    }
    words.pair("rate", &words.rate.0.max(1).to_string());
}
