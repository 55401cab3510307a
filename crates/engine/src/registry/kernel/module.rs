//! Congestion controls: options as parameters of a kernel module.

use super::{Gauge, Refused, quoted};
use crate::registry::options::{Options, Value};

/// A congestion control of Linux.
pub struct Module {
    /// `tcp_congestion_ops.name`.
    pub name: &'static str,
    /// The first Linux that has it; `None`: only a module of the user's has it.
    pub since: Option<&'static str>,
    /// Whether every kernel has it, without a module.
    pub built_in: bool,
    /// The value of the option `version` that is the kernel's, where there is one.
    pub version: Option<&'static str>,
    /// Options that the module takes. The others have to be at their defaults.
    pub parameters: &'static [Parameter],
    /// The module that plays an option that Linux does not have.
    pub stand_in: Option<StandIn>,
    /// What TCP_CC_INFO tells.
    pub gauges: &'static [Gauge],
}

/// An option that is a parameter of the module.
pub struct Parameter {
    /// The option.
    pub option: &'static str,
    /// What the module calls it.
    pub name: &'static str,
    /// The module's number for a value, or what is wrong and what was expected.
    pub spell: fn(&Value) -> Result<u64, (&'static str, &'static str)>,
}

/// A module of tailback's own, for an option that Linux does not have.
pub struct StandIn {
    /// The option.
    pub option: &'static str,
    /// Where the option has the same value as this one, Linux's own module will do.
    pub beside: &'static str,
    /// `tcp_congestion_ops.name` in the module.
    pub name: &'static str,
    /// Name of the module.
    pub module: &'static str,
}

impl StandIn {
    fn is_needed(&self, options: &Options) -> bool {
        let value = options.get(self.option);
        value.is_some() && value != options.get(self.beside)
    }
}

impl Module {
    /// A module without options.
    pub const fn named(name: &'static str, since: Option<&'static str>) -> Module {
        Module {
            name,
            since,
            built_in: false,
            version: None,
            parameters: &[],
            stand_in: None,
            gauges: &[],
        }
    }

    /// The replacement module that these options need.
    pub fn stand_in(&self, options: &Options) -> Option<&StandIn> {
        self.stand_in
            .as_ref()
            .filter(|module| module.is_needed(options))
    }

    /// The options that are not at their defaults, as the module's parameters; and those that the
    /// module does not have.
    pub fn parameters(&self, options: &Options, defaults: &Options) -> (String, Vec<Refused>) {
        let name = self.name;
        if let Some(version) = self.version
            && options.word("version") != version
        {
            // The version decides the rest: one refusal says all.
            let message = format!(
                "the kernel's {name} is not that of {}",
                options.word("version")
            );
            let expected = format!("version = \"{version}\"");
            return (
                String::new(),
                vec![Refused::new("version", message, expected)],
            );
        }
        let mut refused = Vec::new();
        let mut parameters = Vec::new();
        for parameter in self.parameters {
            let Some(value) = options.get(parameter.option) else {
                continue;
            };
            let needed = match &self.stand_in {
                Some(module) if module.option == parameter.option => module.is_needed(options),
                _ => defaults.get(parameter.option) != Some(value),
            };
            if needed {
                match (parameter.spell)(value) {
                    Ok(number) => parameters.push(format!("{}={number}", parameter.name)),
                    Err((message, expected)) => {
                        refused.push(Refused::new(parameter.option, message, expected));
                    }
                }
            }
        }
        for (option, value) in options.iter() {
            let mapped = self.parameters.iter().any(|p| p.option == option);
            if mapped || defaults.get(option) == Some(value) {
                continue;
            }
            let expected = match defaults.get(option) {
                Some(default) => format!("{option} = {}", quoted(default)),
                None => format!("no {option}"),
            };
            let message = format!("{name} of Linux has no {option} = {}", quoted(value));
            refused.push(Refused::new(option, message, expected));
        }
        (parameters.join(" "), refused)
    }
}

/// A fraction in so many parts.
pub fn digits(value: &Value, one: f64) -> Result<u64, (&'static str, &'static str)> {
    match value {
        Value::Float(part) => Ok(libm::round(part * one) as u64),
        _ => Err(("the module takes a number", "a number")),
    }
}

/// 0 or 1.
pub fn flag_digit(value: &Value) -> Result<u64, (&'static str, &'static str)> {
    Ok(u64::from(*value == Value::Bool(true)))
}
