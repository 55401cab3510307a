//! Some packets arrive twice. The copy of a packet directly follows the packet.

use super::options::{no_time, percent, share};
use super::{Build, Fate, Impairment, LongRun, Netem, Way};
use crate::packet::Packet;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Options, no_finish};
use crate::rng::Stream;

pub const ENTRY: Entry<Build> = Entry {
    name: "duplicate",
    doc: "Duplicates packets at random.",
    follows: "Linux sch_netem, duplicate",
    options: &[share(
        "probability",
        "Probability that a packet is duplicated.",
        Some("0.01"),
    )],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        make: |options, stream| {
            let probability = options.float("probability");
            Box::new(Duplicate {
                probability,
                stream,
            })
        },
        netem: |options| {
            let share = percent(options.float("probability"));
            Ok(Netem::constant(format!("duplicate {share}")))
        },
        longest: no_time,
        long_run: |options, _| LongRun {
            copied: options.float("probability"),
            ..LongRun::default()
        },
        copies: true,
    },
};

struct Duplicate {
    probability: f64,
    stream: Stream,
}

impl Impairment for Duplicate {
    fn changeable(&self) -> &'static [&'static str] {
        &["probability"]
    }

    fn change(&mut self, options: &Options) {
        self.probability = options.float("probability");
    }

    fn meet(&mut self, _: &mut Packet, _: &mut Way) -> Fate {
        if self.stream.chance(self.probability) {
            Fate::Twice
        } else {
            Fate::Goes
        }
    }
}
