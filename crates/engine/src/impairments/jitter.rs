//! Jitter: each packet has a random delay, which is drawn from a distribution.
//!
//! If the delays of packets were independent and packets could overtake each other, nearly all
//! packets would be reordered. Real networks reorder fewer packets. So packets keep their order by
//! default. `coherence` correlates the delays of successive packets. If the time between two
//! packets is `t`, the correlation of their delays is `exp(-t/coherence)`. For each packet,
//! tailback computes the next value of a Gaussian AR(1) process, and maps it to the delay at the
//! same quantile of the distribution. So correlation does not change the distribution of the
//! delays.
//!
//! Deviations: in the simulator, the normal distribution is truncated at 3 standard deviations. On
//! the kernel engine, netem truncates the normal distribution at 4 standard deviations, so 0.27 %
//! of the packets get a value beyond 3 standard deviations.

mod distribution;

use super::options::{KEEP_ORDER, all_of, delaying, error, nanoseconds, passes_all, time};
use super::{Build, Fate, Impairment, Netem, Way};
use crate::packet::Packet;
use crate::registry::kernel::{Kernel, Refused};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};
use crate::rng::Stream;
use crate::units::Time;
use distribution::{Distribution, wifi};

const UNIFORM: &str = "uniform";
const NORMAL: &str = "normal";
const QUANTILES: &str = "quantiles";
const WIFI: &str = "wifi";

const WORDS: &[&str] = &[
    UNIFORM,
    NORMAL,
    "half_normal",
    "exponential",
    "pareto",
    QUANTILES,
    WIFI,
];

pub const ENTRY: Entry<Build> = Entry {
    name: "jitter",
    doc: "Adds a random delay, which is drawn from a distribution, to each packet. By default, \
        packets keep their order.",
    follows: "RFC 8868 section 4.4; draft-huitema-ccwg-c4-test (wifi)",
    options: &[
        Opt {
            name: "distribution",
            doc: "\"uniform\": uniform from 0 to twice the mean. \"normal\": normal distribution \
             with `mean` and `deviation`, truncated at 3 deviations and at 0. \"half_normal\": \
             absolute value of a normal variable with mean 0, truncated at 3 deviations. \
             \"exponential\": with `mean`. \"pareto\": Pareto distribution with `mean` and \
             `shape`. \"quantiles\": the distribution with the quantiles in the list `quantiles`. \
             \"wifi\": model of a busy Wi-Fi channel with the mean `mean`.",
            kind: Kind::Word(WORDS),
            default: Some("normal"),
            tc: None,
        },
        Opt {
            name: "mean",
            doc: "Mean of the delay. The mean has no effect with \"half_normal\" and \"quantiles\".",
            kind: Kind::Time { min: Time(1) },
            default: Some("5ms"),
            tc: None,
        },
        Opt {
            name: "deviation",
            doc: "Standard deviation of the normal variable that \"normal\" or \"half_normal\" uses. Default: a third of the mean.",
            kind: Kind::Time { min: Time(1) },
            default: None,
            tc: None,
        },
        Opt {
            name: "shape",
            doc: "Shape of the Pareto distribution. A smaller shape gives a heavier tail.",
            kind: Kind::Float {
                min: 1.05,
                max: 100.0,
            },
            default: Some("2.5"),
            tc: None,
        },
        Opt {
            name: QUANTILES,
            doc: "Quantiles of the delay at equally spaced probabilities from 0 to 1: at least two ascending values, such as a sorted list of measured delays. Delays between two quantiles are interpolated. Write the list here, or name a file with one delay per line.",
            kind: Kind::List(&Kind::Time { min: Time::ZERO }),
            default: None,
            tc: None,
        },
        Opt {
            name: "most",
            doc: "Largest random delay. tailback reduces longer random delays to this value.",
            kind: Kind::Time { min: Time(1) },
            default: Some("1s"),
            tc: None,
        },
        Opt {
            name: "coherence",
            doc: "Time between two packets at which the correlation of their delays is 1/e. With 0, delays are independent of each other.",
            kind: Kind::Time { min: Time::ZERO },
            default: Some("0s"),
            tc: None,
        },
        KEEP_ORDER,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish,
    build: Build {
        make: |options, stream| Box::new(Jitter::new(options, stream)),
        netem,
        longest: |options| {
            let most = Distribution::of(options).most();
            options.time("most").min(Time(most as u64))
        },
        long_run: passes_all,
        copies: false,
    },
};

fn netem(options: &Options) -> Result<Netem, Refused> {
    let word = options.word("distribution");
    let refuse = |at, message: &str, expected| Err(Refused::new(at, message, expected));
    if ![UNIFORM, NORMAL].contains(&word) {
        return refuse(
            "distribution",
            "netem has no table of this distribution",
            "distribution = \"uniform\" or \"normal\"",
        );
    }
    if options.time("coherence") > Time::ZERO {
        return refuse(
            "coherence",
            "netem correlates delays by packet, not by time",
            "coherence = \"0s\"",
        );
    }
    let mean = options.time("mean");
    let (spread, words) = match word {
        UNIFORM => (mean, ""),
        _ => {
            let deviation = time(options, "deviation").unwrap_or(Time(mean.ns() / 3));
            if deviation.ns() * 3 > mean.ns() {
                return refuse(
                    "deviation",
                    "netem does not cut its normal distribution at 0",
                    "a deviation of at most a third of the mean",
                );
            }
            (deviation, " distribution normal")
        }
    };
    // netem stores jitter in 32 bits, so the mean must not be longer than 2 s.
    if options.time("most") < mean + mean || mean > Time::from_secs(2) {
        return refuse(
            "mean",
            "netem does not limit its delays, and does not support longer jitter",
            "a mean of at most 2s and at most half of `most`",
        );
    }
    let keep_order = options.bool("keep_order");
    let delay = format!("{} {}{words}", nanoseconds(mean), nanoseconds(spread));
    Ok(Netem::constant(delaying(&delay, keep_order)))
}

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let mut errors = Vec::new();
    let word = options.word("distribution");
    let message = match options.get(QUANTILES) {
        None if word == QUANTILES => Some("the list is missing; set at least two delays"),
        Some(_) if word != QUANTILES => Some(
            "the list goes only with distribution = \"quantiles\"; set that, or remove the list",
        ),
        Some(Value::List(list)) => {
            let delays: Vec<f64> = list.iter().filter_map(Value::number).collect();
            if delays.len() < 2 {
                Some("the list needs at least two delays; add one")
            } else if delays.is_sorted() {
                None
            } else {
                Some("delays must not decrease; sort the list")
            }
        }
        _ => None,
    };
    errors.extend(message.map(|message| error(QUANTILES, message)));
    if word == WIFI && options.time("coherence") > Time::ZERO {
        let message = "the Wi-Fi model draws delays that are independent; remove `coherence`";
        errors.push(error("coherence", message));
    }
    all_of(errors)
}

struct Jitter {
    distribution: Distribution,
    most: f64,
    /// Coherence time, in ns. The coherence time is 0 if delays are independent.
    coherence: f64,
    keep_order: bool,
    stream: Stream,
    /// The last value of the AR(1) process, and when it was drawn.
    z: Option<(f64, Time)>,
    /// When the previous packet reaches the far end of the link.
    last: Time,
}

impl Jitter {
    fn new(options: &Options, stream: Stream) -> Jitter {
        Jitter {
            distribution: Distribution::of(options),
            most: options.time("most").ns() as f64,
            coherence: options.time("coherence").ns() as f64,
            keep_order: options.bool("keep_order"),
            stream,
            z: None,
            last: Time::ZERO,
        }
    }

    /// Returns the value that the AR(1) process has at this time.
    fn normal(&mut self, now: Time) -> f64 {
        let fresh = match self.z {
            // Packets that arrive at the same time have the same delay.
            Some((z, at)) if self.coherence > 0.0 && at >= now => return z,
            Some((z, at)) if self.coherence > 0.0 => {
                let kept = libm::exp(-(now.since(at).ns() as f64) / self.coherence);
                kept * z + libm::sqrt(1.0 - kept * kept) * self.stream.normal()
            }
            _ => self.stream.normal(),
        };
        self.z = Some((fresh, now));
        fresh
    }
}

impl Impairment for Jitter {
    fn changeable(&self) -> &'static [&'static str] {
        &[
            "mean",
            "deviation",
            "shape",
            "quantiles",
            "most",
            "coherence",
            "keep_order",
        ]
    }

    fn change(&mut self, options: &Options) {
        let now = Jitter::new(options, self.stream.clone());
        self.distribution = now.distribution;
        self.most = now.most;
        self.coherence = now.coherence;
        self.keep_order = now.keep_order;
    }

    fn meet(&mut self, _: &mut Packet, way: &mut Way) -> Fate {
        let delay = match self.distribution {
            Distribution::Wifi { collisions } => wifi(&mut self.stream, collisions),
            _ => {
                let z = self.normal(way.now);
                self.distribution.at(z)
            }
        };
        way.due += Time(delay.clamp(0.0, self.most) as u64);
        if self.keep_order {
            way.due = way.due.max(self.last);
            self.last = way.due;
        }
        Fate::Goes
    }
}
