//! Registers str0m as a kind of `[[programs]]` in the simulator.

use tailback_engine::crates::Registry;
use tailback_engine::programs::stacks::{Build, Setting};
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::registry::rules::Rules;
use tailback_engine::registry::{Entry, Kind, Opt, OptionError, Options as Given, Value};
use tailback_sim::Endpoint;

use crate::{Options, receiver, sender};

static OPTIONS: &[Opt] = &[
    Opt {
        name: "min_rate",
        doc: "Lowest rate of the video.",
        kind: Kind::Rate,
        default: Some("150kbit"),
        tc: None,
    },
    Opt {
        name: "start_rate",
        doc: "Initial estimate of the bandwidth.",
        kind: Kind::Rate,
        default: Some("300kbit"),
        tc: None,
    },
    Opt {
        name: "max_rate",
        doc: "Highest rate of the video. The bandwidth estimator probes up to this rate.",
        kind: Kind::Rate,
        default: Some("2.5Mbit"),
        tc: None,
    },
    Opt {
        name: "fps",
        doc: "Frames per second.",
        kind: Kind::Int { min: 1, max: 240 },
        default: Some("30"),
        tc: None,
    },
    Opt {
        name: "variation",
        doc: "Largest difference between a frame's size and the mean size, as a fraction of the mean.",
        kind: Kind::Float { min: 0.0, max: 1.0 },
        default: Some("0.1"),
        tc: None,
    },
    Opt {
        name: "retransmit",
        doc: "Whether lost packets are retransmitted.",
        kind: Kind::Bool,
        default: Some("true"),
        tc: None,
    },
];

/// The registry entry.
pub static ENTRY: Entry<Build> = Entry {
    name: "str0m",
    doc: "Sends video over WebRTC. The sender and the receiver use str0m.",
    follows: "str0m 0.25.0",
    options: OPTIONS,
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish,
    build: Build { ends },
};

/// Registers str0m. `tailback run --with stacks/str0m` calls this function.
pub fn register(registry: &mut Registry) {
    registry.stack(&ENTRY);
}

fn rate(given: &Given, name: &str) -> f64 {
    given
        .get(name)
        .and_then(Value::number)
        .expect("a rate that has a default")
}

fn finish(given: &mut Given) -> Result<(), Vec<OptionError>> {
    let (min, start, max) = (
        rate(given, "min_rate"),
        rate(given, "start_rate"),
        rate(given, "max_rate"),
    );
    let mut errors = Vec::new();
    for (option, below, upper) in [
        ("min_rate", min <= max, "max_rate"),
        ("start_rate", start <= max, "max_rate"),
    ] {
        if !below {
            errors.push(OptionError {
                option,
                message: format!("a rate of at most {upper} is expected"),
            });
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

fn ends(given: &Given, setting: &Setting) -> [Box<dyn Endpoint>; 2] {
    let options = Options {
        min_rate: rate(given, "min_rate"),
        start_rate: rate(given, "start_rate"),
        max_rate: rate(given, "max_rate"),
        fps: given.int("fps") as u32,
        variation: given.float("variation"),
        retransmit: given.bool("retransmit"),
        seed: setting.seed,
    };
    [Box::new(sender(&options)), Box::new(receiver(&options))]
}

#[cfg(test)]
mod tests {
    use tailback_engine::registry::complete_defaults;
    use tailback_engine::units::Rate;

    use super::*;

    #[test]
    fn the_defaults_of_the_entry_are_those_of_the_options() {
        let given = complete_defaults(&ENTRY);
        let own = Options::default();
        assert_eq!(rate(&given, "min_rate"), own.min_rate);
        assert_eq!(rate(&given, "start_rate"), own.start_rate);
        assert_eq!(rate(&given, "max_rate"), own.max_rate);
        assert_eq!(given.int("fps"), i64::from(own.fps));
        assert_eq!(given.float("variation"), own.variation);
        assert_eq!(given.bool("retransmit"), own.retransmit);
        assert_eq!(ends(&given, &Setting::of(1)).len(), 2);
    }

    #[test]
    fn rates_above_the_highest_are_rejected() {
        let mut given = complete_defaults(&ENTRY);
        given.set("max_rate", Value::Rate(Rate(200_000)));
        let errors = finish(&mut given).expect_err("the start is above 200 kbit/s");
        let options: Vec<_> = errors.iter().map(|error| error.option).collect();
        assert_eq!(options, ["start_rate"]);
    }
}
