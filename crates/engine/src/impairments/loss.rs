//! Loss of single packets, independent of each other.

use tailback_record::Cause;

use super::options::{no_time, percent, share};
use super::{Build, Fate, Impairment, LongRun, Netem, Way};
use crate::packet::Packet;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, no_finish};
use crate::rng::Stream;

pub const ENTRY: Entry<Build> = Entry {
    name: "loss",
    doc: "Loses packets at random, each independently of the others.",
    follows: "Linux sch_netem, loss random",
    options: &[share(
        "probability",
        "Probability that a packet is lost.",
        Some("0.01"),
    )],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        make: |options, stream| {
            let probability = options.float("probability");
            Box::new(Loss {
                probability,
                stream,
            })
        },
        netem: |options| {
            let share = percent(options.float("probability"));
            Ok(Netem::losing(format!("loss random {share}")))
        },
        longest: no_time,
        long_run: |options, _| LongRun::losing(options.float("probability")),
        copies: false,
    },
};

struct Loss {
    probability: f64,
    stream: Stream,
}

impl Impairment for Loss {
    fn meet(&mut self, _: &mut Packet, _: &mut Way) -> Fate {
        if self.stream.chance(self.probability) {
            Fate::Lost(Cause::Loss)
        } else {
            Fate::Goes
        }
    }
}
