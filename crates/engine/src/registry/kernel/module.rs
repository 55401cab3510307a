//! Congestion controls of Linux, whose options are parameters of kernel modules.

use super::{Gauge, Refused, quoted};
use crate::registry::options::{Options, Value};

/// A congestion control of Linux.
pub struct Module {
    /// `tcp_congestion_ops.name`.
    pub name: &'static str,
    /// The first Linux version with this congestion control. `None` if the congestion control
    /// exists only in a module that the user provides.
    pub since: Option<&'static str>,
    /// Whether every kernel contains the congestion control.
    pub built_in: bool,
    /// If the option `version` exists: the value that selects the kernel's own algorithm.
    pub version: Option<&'static str>,
    /// Options that the module supports. All other options must have their defaults.
    pub parameters: &'static [Parameter],
    /// tailback's own module for options that Linux's module does not support.
    pub stand_in: Option<StandIn>,
    /// tailback's module in which the window grows with the number of ACKs, not of acknowledged
    /// segments. In all other respects, this module has the kernel's algorithm.
    pub acks: Option<StandIn>,
    /// Values in `TCP_CC_INFO` that tailback records as time series.
    pub gauges: &'static [Gauge],
}

/// Maps an option to a parameter of the module.
pub struct Parameter {
    /// The option.
    pub option: &'static str,
    /// The name of the parameter.
    pub name: &'static str,
    /// Converts a value of the option to the number that is passed as the parameter. An error
    /// consists of two texts: the first says what is wrong, and the second says what is expected.
    pub spell: fn(&Value) -> Result<u64, (&'static str, &'static str)>,
}

/// One of tailback's own modules, for options that Linux does not support.
pub struct StandIn {
    /// The option that requires the module. Messages name this option.
    pub option: &'static str,
    /// Returns whether these options require the module.
    pub needed: fn(&Options) -> bool,
    /// Options that are parameters of this module. tailback sets all of them. `None` if the module
    /// has the same parameters as Linux's module.
    pub parameters: Option<&'static [Parameter]>,
    /// Parameters that make the window grow with the number of ACKs. `None` if the module does not
    /// support this.
    pub growth_by_acks: Option<&'static str>,
    /// `tcp_congestion_ops.name` of the congestion control in the module.
    pub name: &'static str,
    /// The module's name.
    pub module: &'static str,
    /// The first Linux version that the module can be built for. `None` means every version.
    pub since: Option<&'static str>,
}

impl Module {
    /// Returns a congestion control whose module has no options.
    pub const fn named(name: &'static str, since: Option<&'static str>) -> Module {
        Module {
            name,
            since,
            built_in: false,
            version: None,
            parameters: &[],
            stand_in: None,
            acks: None,
            gauges: &[],
        }
    }

    /// If tailback's module must replace Linux's module for these options, returns tailback's
    /// module. `acks` means that the window grows with the number of ACKs, not of acknowledged
    /// segments.
    pub fn stand_in(&self, options: &Options, acks: bool) -> Option<&StandIn> {
        let for_options = self.stand_in.as_ref().filter(|own| (own.needed)(options));
        for_options.or_else(|| self.acks.as_ref().filter(|_| acks))
    }

    /// Returns tailback's own modules that implement this congestion control.
    pub fn stand_ins(&self) -> impl Iterator<Item = &StandIn> {
        self.stand_in.iter().chain(&self.acks)
    }

    /// Returns module parameters for the options that differ from their defaults. Also returns an
    /// error for each such option that the module does not support.
    pub fn parameters(&self, options: &Options, defaults: &Options) -> (String, Vec<Refused>) {
        if let Some(own) = self.stand_in.as_ref().filter(|own| (own.needed)(options))
            && let Some(parameters) = own.parameters
        {
            return self.spell(own.module, parameters, options, defaults, |_, _| true);
        }
        let name = self.name;
        if let Some(version) = self.version
            && options.word("version") != version
        {
            // Report only the version. The defaults of the other options depend on the version, so
            // errors about these options would be misleading.
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
        let of_linux = format!("{name} of Linux");
        self.spell(
            &of_linux,
            self.parameters,
            options,
            defaults,
            |option, value| match &self.stand_in {
                Some(own) if own.option == option => (own.needed)(options),
                _ => defaults.get(option) != Some(value),
            },
        )
    }

    /// Writes the options in `table` that `told` selects, in the form of module parameters. Every
    /// other option must have its default.
    fn spell(
        &self,
        module: &str,
        table: &[Parameter],
        options: &Options,
        defaults: &Options,
        told: impl Fn(&'static str, &Value) -> bool,
    ) -> (String, Vec<Refused>) {
        let mut refused = Vec::new();
        let mut parameters = Vec::new();
        for parameter in table {
            let Some(value) = options.get(parameter.option) else {
                continue;
            };
            if told(parameter.option, value) {
                match (parameter.spell)(value) {
                    Ok(number) => parameters.push(format!("{}={number}", parameter.name)),
                    Err((message, expected)) => {
                        refused.push(Refused::new(parameter.option, message, expected));
                    }
                }
            }
        }
        for (option, value) in options.iter() {
            let mapped = table.iter().any(|p| p.option == option);
            // If the version is not supported, the error has already been reported.
            let decides = self.version.is_some() && option == "version";
            if mapped || decides || defaults.get(option) == Some(value) {
                continue;
            }
            let expected = match defaults.get(option) {
                Some(default) => format!("{option} = {}", quoted(default)),
                None => format!("no {option}"),
            };
            let message = format!("{module} has no {option} = {}", quoted(value));
            refused.push(Refused::new(option, message, expected));
        }
        (parameters.join(" "), refused)
    }
}

/// Converts a fraction to the module's fixed-point number, in which `one` stands for 1.
pub fn digits(value: &Value, one: f64) -> Result<u64, (&'static str, &'static str)> {
    match value {
        Value::Float(part) => Ok(libm::round(part * one) as u64),
        _ => Err(("the module takes a number", "a number")),
    }
}

/// Converts a flag to 0 or 1.
pub fn flag_digit(value: &Value) -> Result<u64, (&'static str, &'static str)> {
    Ok(u64::from(*value == Value::Bool(true)))
}
