//! PI2 on Linux. tailback's own module `sch_pi2` implements it, and reads its options as text.

use crate::registry::Value;
use crate::registry::kernel::{Gauge, Qdisc, QueueStandIn, Reading, Words, Xstats};

pub(super) const KERNEL: Qdisc = Qdisc {
    kinds: &["pi2"],
    words: &[
        ("limit", |w, o| own(w, o, o)),
        ("target", |w, o| own(w, o, o)),
        ("tupdate", |w, o| own(w, o, o)),
        ("alpha", |w, o| own(w, o, o)),
        ("beta", |w, o| own(w, o, o)),
        ("coupling_factor", |w, o| own(w, o, "k")),
        ("ecn", |w, o| own(w, o, o)),
        ("scalable", |w, o| own(w, o, o)),
    ],
    drops_at_dequeue: true,
    xstats: Xstats {
        // Offset of the counter of marks in `struct pi2_xstats`.
        marks: Some(&[8]),
        gauges: &[Gauge {
            series: "pi2_probability",
            at: 0,
            reading: Reading::Parts(4_294_967_295.0),
        }],
        ..Qdisc::DEFAULT.xstats
    },
    stand_ins: &[QueueStandIn {
        module: "sch_pi2",
        needed: |_| true,
    }],
    texts: &["pi2"],
    ..Qdisc::DEFAULT
};

/// Writes an option as a number for the module. The unit is packets, nanoseconds, or 256ths of a Hz
/// (rounded down as in tc). A boolean becomes 0 or 1, and a word becomes its index.
fn own(words: &mut Words<'_>, option: &'static str, name: &str) {
    if words.showing {
        return words.value(option);
    }
    let number = match words.options.get(option) {
        Some(Value::Packets(n)) => *n,
        Some(Value::Time(time)) => time.ns(),
        Some(Value::Float(hz)) => u64::from((*hz as f32 * 256.0) as u32),
        Some(Value::Int(n)) => n.unsigned_abs(),
        Some(Value::Bool(on)) => u64::from(*on),
        Some(Value::Word(word)) => match *word {
            "ect1" => 1,
            "any" => 2,
            _ => 0,
        },
        _ => return,
    };
    if option == "limit" && number > u64::from(u32::MAX) {
        let most = format!("at most {}p", u32::MAX);
        words.refuse(option, "the module stores it in 32 bits", most);
    }
    words.pair(name, &number.to_string());
}
