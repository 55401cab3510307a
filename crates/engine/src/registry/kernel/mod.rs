//! The kernel face of an algorithm: what Linux calls it, how its options are spelled there, and
//! where Linux keeps the values that it reports. A face is plain data and pure functions beside
//! each algorithm; the kernel engine and the reports interpret them.

mod module;
mod qdisc;

pub use module::{Module, Parameter, StandIn, digits, flag_digit};
pub use qdisc::{
    Order, Qdisc, QueueStandIn, Shaper, Spell, Spelled, Words, Xstats, derives, either, flag,
    impossible, micros, number, only, show, simulated, version, word, words,
};

use super::options::{Value, text};

/// What the kernel engine needs to know about an entry.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// A queue discipline.
    Qdisc(&'static Qdisc),
    /// A congestion control.
    Module(&'static Module),
    /// A traffic source the guest's agent plays.
    Agent,
    /// Linux has nothing like it: the kernel engine rejects it before boot. A queue has a face
    /// without kinds instead, which still states its order.
    None,
}

impl Kernel {
    /// The name that tc or a socket calls it by.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Kernel::Qdisc(qdisc) => qdisc.kinds.first().copied(),
            Kernel::Module(module) => Some(module.name),
            Kernel::Agent | Kernel::None => None,
        }
    }

    /// Whether the kernel engine can play it with the available modules.
    pub fn has(&self) -> bool {
        matches!(self, Kernel::Agent) || self.name().is_some()
    }
}

/// The value of `version` that means the kernel's version, for entries with several versions.
pub const THIS_LINUX: &str = "linux-7.3";

/// A 32-bit number in the kernel's statistics of an algorithm, for a time series.
pub struct Gauge {
    /// Name of the series.
    pub series: &'static str,
    /// Where it begins, bytes.
    pub at: usize,
    /// How it is read.
    pub reading: Reading,
}

/// What a [`Gauge`] means.
#[derive(Clone, Copy, PartialEq)]
pub enum Reading {
    /// A number.
    Count,
    /// Anything but 0 is 1.
    Flag,
    /// A fraction; this is one.
    Parts(f64),
}

impl Gauge {
    /// Its value, if the kernel reports it.
    pub fn read(&self, told: &[u8]) -> Option<f64> {
        let bytes = told.get(self.at..self.at + 4)?.try_into().ok()?;
        let value = f64::from(u32::from_ne_bytes(bytes));
        Some(match self.reading {
            Reading::Count => value,
            Reading::Flag => f64::from(u8::from(value > 0.0)),
            Reading::Parts(one) => value / one,
        })
    }
}

/// Something that Linux cannot do with an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The option, or another key beside it.
    pub at: &'static str,
    /// What cannot be done.
    pub message: String,
    /// What was expected.
    pub expected: String,
}

impl Refused {
    /// An option with what is wrong and what was expected.
    pub fn new(
        at: &'static str,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) -> Refused {
        Refused {
            at,
            message: message.into(),
            expected: expected.into(),
        }
    }
}

/// A value as in a scenario file.
fn quoted(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => text(value),
        Value::Time(time) => format!("\"{time}\""),
        _ => format!("\"{}\"", text(value)),
    }
}
