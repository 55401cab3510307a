//! This impairment adds a delay to the constant delay of the link. The added delay changes at given
//! times, as after a change of route or after a handover.
//!
//! Deviations: in the simulator, a step applies to packets that leave the queue after the step. On
//! the kernel engine, a step applies to packets that reach netem after the step. A packet leaves
//! the queue before it reaches netem, because the link's own delay is between the queue and netem.

use super::options::{KEEP_ORDER, delaying, nanoseconds, passes_all, steps_ascend};
use super::{Build, Fate, Impairment, Netem, Way};
use crate::packet::Packet;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, Value};
use crate::units::Time;

const STEPS: &str = "steps";

pub const ENTRY: Entry<Build> = Entry {
    name: "delay",
    doc: "Adds a delay that changes in steps at given times.",
    follows: "Linux sch_netem, delay",
    options: &[
        Opt {
            name: STEPS,
            doc: "A list of pairs. Each pair is a time and the delay from that time on, as in \
                [[\"0s\", \"0ms\"], [\"1s\", \"35ms\"]].",
            kind: Kind::Pairs(&Kind::Time { min: Time::ZERO }),
            default: Some("0s 10ms"),
            tc: None,
        },
        KEEP_ORDER,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: |options| steps_ascend(STEPS, &steps(options)),
    build: Build {
        make: |options, _| {
            Box::new(Delay {
                steps: steps(options),
                current: 0,
                keep_order: options.bool("keep_order"),
                last: Time::ZERO,
            })
        },
        netem: |options| {
            let keep_order = options.bool("keep_order");
            let words = steps(options)
                .into_iter()
                .map(|(at, delay)| (at, delaying(&nanoseconds(delay), keep_order)));
            Ok(Netem {
                words: words.collect(),
                ..Netem::default()
            })
        },
        longest: |options| {
            let delays = steps(options).into_iter().map(|(_, delay)| delay);
            delays.max().unwrap_or_default()
        },
        long_run: passes_all,
        copies: false,
    },
};

/// Reads the option `steps`. The option contains pairs of a time and the delay that applies from
/// this time on.
fn steps(options: &Options) -> Vec<(Time, Time)> {
    let pairs = options.pairs(STEPS).iter();
    let steps = pairs.map(|(at, value)| match value {
        Value::Time(delay) => (*at, *delay),
        other => unreachable!("a step of {other:?}"),
    });
    steps.collect()
}

struct Delay {
    steps: Vec<(Time, Time)>,
    current: usize,
    keep_order: bool,
    /// When the previous packet reaches the far end of the link.
    last: Time,
}

impl Impairment for Delay {
    fn changeable(&self) -> &'static [&'static str] {
        &["steps", "keep_order"]
    }

    fn change(&mut self, options: &Options) {
        (self.steps, self.current) = (steps(options), 0);
        self.keep_order = options.bool("keep_order");
    }

    fn meet(&mut self, _: &mut Packet, way: &mut Way) -> Fate {
        while let Some((at, _)) = self.steps.get(self.current + 1)
            && *at <= way.now
        {
            self.current += 1;
        }
        way.due += self.steps[self.current].1;
        if self.keep_order {
            way.due = way.due.max(self.last);
            self.last = way.due;
        }
        Fate::Goes
    }
}
