//! This impairment reorders packets by delaying some of them. A delayed packet waits for a given
//! time (`by`), or until a given number of later packets (`distance`) has overtaken it.
//!
//! With `by`, packets that arrive during this time overtake the delayed packet. With `distance`,
//! the number of packets that overtake a delayed packet does not depend on the rate. RFC 4737 calls
//! the number of overtaking packets the extent of reordering. A packet waits for at most
//! `patience`, so the last packet of a flow also arrives.

use std::collections::VecDeque;

use super::options::{all_of, delaying, error, nanoseconds, passes_all, percent, share, time};
use super::{Build, Fate, Impairment, Netem, Way};
use crate::packet::Packet;
use crate::registry::kernel::{Kernel, Refused};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};
use crate::rng::Stream;
use crate::units::Time;

const DISTANCE: &str = "distance";

pub const ENTRY: Entry<Build> = Entry {
    name: "reorder",
    doc: "Reorders packets: delays a share of the packets by a given time, or until a given number of later packets has overtaken them.",
    follows: "Linux sch_netem, reorder; RFC 4737 section 4.2",
    options: &[
        share(
            "probability",
            "Probability that a packet is delayed.",
            Some("0.01"),
        ),
        Opt {
            name: "by",
            doc: "Time by which a packet is delayed. Default: 5ms unless `distance` is set.",
            kind: Kind::Time { min: Time(1) },
            default: None,
            tc: None,
        },
        Opt {
            name: DISTANCE,
            doc: "Number of packets that overtake a delayed packet; replaces `by`.",
            kind: Kind::Int {
                min: 1,
                max: 100_000,
            },
            default: None,
            tc: None,
        },
        Opt {
            name: "patience",
            doc: "Longest time for which a delayed packet waits; used together with `distance`.",
            kind: Kind::Time { min: Time(1) },
            default: Some("50ms"),
            tc: None,
        },
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish,
    build: Build {
        make: |options, stream| {
            let probability = options.float("probability");
            match distance(options) {
                Some(distance) => Box::new(LateByPackets {
                    probability,
                    stream,
                    distance,
                    patience: options.time("patience"),
                    passed: 0,
                    held: VecDeque::new(),
                }),
                None => Box::new(LateByTime {
                    probability,
                    stream,
                    by: late_by(options),
                }),
            }
        },
        netem: |options| {
            if distance(options).is_some() {
                let message = "netem delays late packets by a time, not by a number of packets";
                return Err(Refused::new(DISTANCE, message, "`by`"));
            }
            // In netem, `reorder` is the probability that a packet is not delayed.
            let at_once = percent(1.0 - options.float("probability"));
            let delay = delaying(&nanoseconds(late_by(options)), false);
            Ok(Netem::constant(format!("{delay} reorder {at_once}")))
        },
        longest: |options| match distance(options) {
            Some(_) => options.time("patience"),
            None => late_by(options),
        },
        long_run: passes_all,
        copies: false,
    },
};

fn distance(options: &Options) -> Option<u64> {
    match options.get(DISTANCE) {
        Some(Value::Int(distance)) => Some(distance.unsigned_abs()),
        _ => None,
    }
}

fn late_by(options: &Options) -> Time {
    time(options, "by").unwrap_or(Time::from_ms(5))
}

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let both = distance(options).is_some() && time(options, "by").is_some();
    let message = "`by` does not go with `distance`; remove one of them";
    all_of(both.then(|| error("by", message)).into_iter().collect())
}

struct LateByTime {
    probability: f64,
    stream: Stream,
    by: Time,
}

impl Impairment for LateByTime {
    fn changeable(&self) -> &'static [&'static str] {
        &["probability", "by"]
    }

    fn change(&mut self, options: &Options) {
        self.probability = options.float("probability");
        self.by = late_by(options);
    }

    fn meet(&mut self, _: &mut Packet, way: &mut Way) -> Fate {
        if self.stream.chance(self.probability) {
            way.due += self.by;
        }
        Fate::Goes
    }
}

struct LateByPackets {
    probability: f64,
    stream: Stream,
    distance: u64,
    patience: Time,
    /// How many packets have passed so far without being held.
    passed: u64,
    /// Held packets, the oldest first. Each held packet is stored with the value of `passed` at
    /// which the packet is released.
    held: VecDeque<(Packet, Way, u64)>,
}

impl Impairment for LateByPackets {
    fn changeable(&self) -> &'static [&'static str] {
        &["probability", "distance", "patience"]
    }

    fn change(&mut self, options: &Options) {
        self.probability = options.float("probability");
        self.distance = distance(options).unwrap_or(self.distance);
        self.patience = options.time("patience");
    }

    fn meet(&mut self, packet: &mut Packet, way: &mut Way) -> Fate {
        if self.stream.chance(self.probability) {
            let until = self.passed + self.distance;
            self.held.push_back((*packet, *way, until));
            return Fate::Held;
        }
        self.passed += 1;
        Fate::Goes
    }

    fn release(&mut self, now: Time) -> Option<(Packet, Way)> {
        let (packet, way, until) = *self.held.front()?;
        if until > self.passed && way.now + self.patience > now {
            return None;
        }
        self.held.pop_front();
        Some((packet, way))
    }

    fn deadline(&self) -> Time {
        let first = self.held.front();
        first.map_or(Time::NEVER, |(_, way, _)| way.now + self.patience)
    }

    fn held(&self) -> u64 {
        self.held.len() as u64
    }
}
