//! Parameters of Linux's DCTCP module, and of tailback's own module for earlier versions of DCTCP.

use super::shift_of;
use crate::registry::Value;
use crate::registry::kernel::{
    Gauge, Module, Parameter, Reading, StandIn, THIS_LINUX, digits, flag_digit,
};

pub(super) const KERNEL: Module = Module {
    version: Some(THIS_LINUX),
    parameters: &[
        Parameter {
            option: "g",
            name: "dctcp_shift_g",
            spell: |value| match value {
                Value::Float(g) if (1.0 / 1024.0..=1.0).contains(g) => {
                    Ok(libm::round(-libm::log2(*g)) as u64)
                }
                _ => Err((
                    "dctcp of Linux has ten binary digits of alpha",
                    "a power of two from 1 down to 2^-10",
                )),
            },
        },
        Parameter {
            option: "alpha_init",
            name: "dctcp_alpha_on_init",
            spell: |value| digits(value, 1024.0),
        },
    ],
    gauges: &[Gauge {
        series: "alpha",
        at: 4,
        reading: Reading::Parts(1024.0),
    }],
    stand_in: Some(StandIn {
        option: "version",
        needed: |options| options.word("version") != THIS_LINUX,
        parameters: Some(AS_IT_WAS),
        growth_by_acks: Some("growth_acks=1"),
        name: "dctcp_2014",
        module: "tcp_dctcp_2014",
        since: Some("6.18"),
    }),
    ..Module::named("dctcp", Some("3.18"))
};

/// Parameters of tailback's module `tcp_dctcp_2014`, which implements earlier versions of DCTCP.
const AS_IT_WAS: &[Parameter] = &[
    Parameter {
        option: "g",
        name: "shift_g",
        spell: |value| match value {
            Value::Float(g) => Ok(u64::from(shift_of(*g).unwrap_or(0))),
            _ => Ok(0),
        },
    },
    Parameter {
        option: "alpha_bits",
        name: "alpha_bits",
        spell: |value| match value {
            Value::Int(bits) => Ok(bits.unsigned_abs()),
            _ => Ok(0),
        },
    },
    Parameter {
        option: "alpha_init",
        name: "alpha_init",
        spell: |value| digits(value, 1_048_576.0),
    },
    Parameter {
        option: "decay",
        name: "shift_decay",
        spell: |value| place(value, &["to-zero", "shift"]),
    },
    Parameter {
        option: "update",
        name: "per_ack",
        spell: |value| place(value, &["window", "ack"]),
    },
    Parameter {
        option: "normalise",
        name: "normalise",
        spell: flag_digit,
    },
    Parameter {
        option: "loss",
        name: "loss",
        spell: |value| place(value, &["halve", "reno", "alpha", "none"]),
    },
    Parameter {
        option: "reduction",
        name: "reduction",
        spell: |value| place(value, &["prr", "immediate", "progressive"]),
    },
    Parameter {
        option: "ssthresh",
        name: "below",
        spell: |value| place(value, &["cwnd", "cwnd-1"]),
    },
    Parameter {
        option: "grow_in_cwr",
        name: "grow_in_cwr",
        spell: flag_digit,
    },
    Parameter {
        option: "receiver",
        name: "sticky",
        spell: |value| match value {
            Value::Word("precise") => Ok(0),
            Value::Word("sticky") => Ok(1),
            _ => Err((
                "the module's receiver does not support SCE",
                "\"precise\" or \"sticky\"",
            )),
        },
    },
];

/// Returns the position of a word in `words`. This position is the value of the kernel module's
/// parameter.
fn place(value: &Value, words: &[&str]) -> Result<u64, (&'static str, &'static str)> {
    let at = match value {
        Value::Word(word) => words.iter().position(|known| known == word),
        _ => None,
    };
    at.map(|at| at as u64)
        .ok_or(("the module does not support this value", "another value"))
}
