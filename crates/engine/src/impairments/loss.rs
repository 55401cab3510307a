//! Each packet is lost at random, independently of the other packets. The probability of loss may
//! change in steps.

use tailback_record::Cause;

use super::options::{no_time, percent, share, steps_ascend};
use super::{Build, Fate, Impairment, LongRun, Netem, Way};
use crate::packet::Packet;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options};
use crate::rng::Stream;
use crate::units::Time;

const STEPS: &str = "steps";

pub const ENTRY: Entry<Build> = Entry {
    name: "loss",
    doc: "Loses packets at random, each packet independently of the other packets.",
    follows: "Linux sch_netem, loss random",
    options: &[
        share(
            "probability",
            "Probability that a packet is lost.",
            Some("0.01"),
        ),
        Opt {
            name: STEPS,
            doc: "A list of pairs. Each pair is a time and the loss probability from that time on. \
                The list replaces `probability`.",
            kind: Kind::Pairs(&Kind::Float { min: 0.0, max: 1.0 }),
            default: None,
            tc: None,
        },
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: |options| match options.get(STEPS) {
        Some(_) => steps_ascend(STEPS, &steps(options)),
        None => Ok(()),
    },
    build: Build {
        make: |options, stream| {
            Box::new(Loss {
                steps: steps(options),
                current: 0,
                stream,
            })
        },
        netem: |options| {
            let words = steps(options).into_iter().map(|(at, probability)| {
                let words = format!("loss random {}", percent(probability));
                (
                    at,
                    if probability > 0.0 {
                        words
                    } else {
                        String::new()
                    },
                )
            });
            Ok(Netem {
                words: words.collect(),
                random: true,
                loses: true,
                ..Netem::default()
            })
        },
        longest: no_time,
        // The length of the run is not known here, so the mean over the steps is only an estimate.
        long_run: |options, _| {
            let steps = steps(options);
            let sum: f64 = steps.iter().map(|step| step.1).sum();
            LongRun::losing(sum / steps.len().max(1) as f64)
        },
        copies: false,
    },
};

/// Reads the steps. Each step is a time and the probability that applies from this time on.
fn steps(options: &Options) -> Vec<(Time, f64)> {
    if options.get(STEPS).is_none() {
        return vec![(Time::ZERO, options.float("probability"))];
    }
    let pairs = options.pairs(STEPS).iter();
    let steps = pairs.filter_map(|(at, value)| Some((*at, value.number()?)));
    steps.collect()
}

struct Loss {
    steps: Vec<(Time, f64)>,
    current: usize,
    stream: Stream,
}

impl Impairment for Loss {
    fn changeable(&self) -> &'static [&'static str] {
        &["probability", "steps"]
    }

    fn change(&mut self, options: &Options) {
        (self.steps, self.current) = (steps(options), 0);
    }

    fn meet(&mut self, _: &mut Packet, way: &mut Way) -> Fate {
        while let Some((at, _)) = self.steps.get(self.current + 1)
            && *at <= way.now
        {
            self.current += 1;
        }
        if self.stream.chance(self.steps[self.current].1) {
            Fate::Lost(Cause::Loss)
        } else {
            Fate::Goes
        }
    }
}
