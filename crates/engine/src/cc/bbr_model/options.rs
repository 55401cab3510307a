//! Options that the versions of BBR share.

use crate::registry::{Kind, Opt, Options, Value};
use crate::units::Time;

pub(in crate::cc) const fn number(
    name: &'static str,
    doc: &'static str,
    (min, max): (f64, f64),
    default: &'static str,
) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Float { min, max },
        default: Some(default),
        tc: None,
    }
}

pub(in crate::cc) const fn whole(
    name: &'static str,
    doc: &'static str,
    (min, max): (i64, i64),
    default: &'static str,
) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Int { min, max },
        default: Some(default),
        tc: None,
    }
}

pub(in crate::cc) const fn time(
    name: &'static str,
    doc: &'static str,
    min: Time,
    default: &'static str,
) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Time { min },
        default: Some(default),
        tc: None,
    }
}

pub(in crate::cc) const fn switch(
    name: &'static str,
    doc: &'static str,
    default: &'static str,
) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Bool,
        default: Some(default),
        tc: None,
    }
}

pub(in crate::cc) const TSO_SEGS: Opt = Opt {
    name: "tso_segs",
    doc: "Burst size, in segments, from which BBR computes how many extra segments the window \
        allows. auto: the number of segments that the pacing rate sends in 1 ms, as in Linux.",
    kind: Kind::WordOrInt {
        words: &["auto"],
        min: 1,
        max: 127,
    },
    default: Some("auto"),
    tc: None,
};

pub(in crate::cc) fn tso_segs(options: &Options) -> Option<u32> {
    match options.get(TSO_SEGS.name) {
        Some(Value::Int(n)) => Some(*n as u32),
        _ => None,
    }
}
