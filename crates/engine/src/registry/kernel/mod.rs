//! Describes how an algorithm appears in Linux (its kernel face). A kernel face contains the
//! algorithm's name, its options, and the position of its statistics. Each algorithm's file
//! contains its face, which consists of plain data and pure functions. The kernel engine and the
//! reports use these kernel faces.

mod module;
mod qdisc;

pub use module::{Module, Parameter, StandIn, digits, flag_digit};
pub use qdisc::{
    Order, Qdisc, QueueStandIn, Shaper, Spell, Spelled, Words, Xstats, derives, either, flag,
    impossible, micros, number, only, show, simulated, version, word, words,
};

use super::options::{Value, text};

/// How the kernel engine runs an algorithm or traffic source.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// A queue discipline.
    Qdisc(&'static Qdisc),
    /// A congestion control.
    Module(&'static Module),
    /// A traffic source. tailback's agent in the guest sends its packets.
    Agent,
    /// Linux does not support the algorithm, so the kernel engine rejects it before boot. (A queue
    /// that Linux does not support has a `Qdisc` without `kinds` instead, because the `Qdisc` also
    /// says which packets the queue keeps in order.)
    None,
}

impl Kernel {
    /// Returns the name by which tc selects the queue, or by which sockets select the congestion
    /// control.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Kernel::Qdisc(qdisc) => qdisc.kinds.first().copied(),
            Kernel::Module(module) => Some(module.name),
            Kernel::Agent | Kernel::None => None,
        }
    }

    /// Returns whether the kernel engine can run the algorithm, with modules of Linux or of
    /// tailback.
    pub fn has(&self) -> bool {
        matches!(self, Kernel::Agent) || self.name().is_some()
    }
}

/// The value of the option `version` that selects the algorithm of Linux 7.3, the version of the
/// guest's kernel.
pub const THIS_LINUX: &str = "linux-7.3";

/// A 32-bit value in the kernel's statistics that tailback records as a time series.
pub struct Gauge {
    /// Name of the series.
    pub series: &'static str,
    /// Offset of the value in the statistics, in bytes.
    pub at: usize,
    /// How to convert the value.
    pub reading: Reading,
}

/// How to convert the value of a [`Gauge`].
#[derive(Clone, Copy, PartialEq)]
pub enum Reading {
    /// Use the value unchanged.
    Count,
    /// Convert every value except 0 to 1.
    Flag,
    /// Divide the value by this number.
    Parts(f64),
}

impl Gauge {
    /// Returns the value, or `None` if the kernel does not report it.
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

/// An option that Linux does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The name of the option, or of another key in the same table.
    pub at: &'static str,
    /// What Linux does not support.
    pub message: String,
    /// What is expected instead.
    pub expected: String,
}

impl Refused {
    /// Creates an error about an option.
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

fn quoted(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => text(value),
        Value::Time(time) => format!("\"{time}\""),
        _ => format!("\"{}\"", text(value)),
    }
}
