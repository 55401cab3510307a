//! Options and netem arguments that several impairments share.

use super::{LongRun, Netem};
use crate::registry::{Kind, Opt, OptionError, Options, Value};
use crate::units::Time;

/// An option of impairments that delay packets. The option decides whether packets keep their
/// order.
pub const KEEP_ORDER: Opt = Opt {
    name: "keep_order",
    doc: "Whether packets keep their order. If false, a packet with a shorter delay overtakes earlier packets.",
    kind: Kind::Bool,
    default: Some("true"),
    tc: None,
};

/// Returns an option for a share of packets.
pub const fn share(name: &'static str, doc: &'static str, default: Option<&'static str>) -> Opt {
    Opt {
        name,
        doc,
        kind: Kind::Float { min: 0.0, max: 1.0 },
        default,
        tc: None,
    }
}

/// Returns the value of an option that is a number, or `None` if it is not set.
pub fn float(options: &Options, name: &str) -> Option<f64> {
    match options.get(name) {
        Some(Value::Float(value)) => Some(*value),
        _ => None,
    }
}

/// Returns the value of an option that is a time, or `None` if it is not set.
pub fn time(options: &Options, name: &str) -> Option<Time> {
    match options.get(name) {
        Some(Value::Time(value)) => Some(*value),
        _ => None,
    }
}

/// An implementation of [`super::Build::longest`] for impairments that do not delay packets.
pub fn no_time(_: &Options) -> Time {
    Time::ZERO
}

/// An implementation of [`super::Build::long_run`] for impairments that do not lose, mark or
/// duplicate packets.
pub fn passes_all(_: &Options, _: bool) -> LongRun {
    LongRun::default()
}

pub fn error(option: &'static str, message: &str) -> OptionError {
    OptionError {
        option,
        message: message.to_owned(),
    }
}

/// Checks that the first step is at time 0 and that times ascend. Returns an error otherwise.
pub fn steps_ascend<T>(option: &'static str, steps: &[(Time, T)]) -> Result<(), Vec<OptionError>> {
    let message = match steps.first() {
        Some((Time::ZERO, _)) if steps.is_sorted_by(|a, b| a.0 < b.0) => return Ok(()),
        Some((Time::ZERO, _)) => "the times must ascend; sort the steps",
        _ => "the first step must be at \"0s\"; add one",
    };
    Err(vec![error(option, message)])
}

pub fn all_of(errors: Vec<OptionError>) -> Result<(), Vec<OptionError>> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// Writes a share in percent, as netem expects it.
pub fn percent(share: f64) -> String {
    format!("{}%", share * 100.0)
}

pub fn nanoseconds(time: Time) -> String {
    format!("{}ns", time.ns())
}

/// Writes the arguments for a netem that delays packets. A netem keeps packets in order if it has a
/// rate. The rate that is used here adds less than a nanosecond to the delay of a frame of 12,500
/// bytes.
pub fn delaying(delay: &str, keep_order: bool) -> String {
    let order = if keep_order { " rate 100tbit" } else { "" };
    format!("delay {delay}{order}")
}

impl Netem {
    /// Creates a netem with random loss.
    pub fn losing(words: String) -> Netem {
        Netem {
            loses: true,
            ..Netem::constant(words)
        }
    }
}
