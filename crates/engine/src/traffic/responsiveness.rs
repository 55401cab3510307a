//! This source measures responsiveness under working conditions. The source loads a path with bulk
//! connections and sends probes over this path. The result is a number of round trips per minute
//! (RPM).
//!
//! The source follows draft-ietf-ippm-responsiveness-09, but it tests only one direction:
//!
//! * The source starts with as many bulk connections as the option `connections` says. After each
//!   interval, the source adds one bulk connection, until the goodput is stable or the number of
//!   bulk connections reaches `most_connections`.
//! * The source sends a pair of probes every 10 ms. The foreign probe of each pair opens its own
//!   connection and fetches 5000 bytes. The self probe of each pair fetches 1000 bytes on a
//!   randomly chosen bulk connection. The source sends fewer pairs if probes would otherwise use
//!   more than 5 % of the last interval's goodput. In the first interval, the source sends a pair
//!   of probes every 100 ms.
//! * Goodput and responsiveness are averaged over 4 intervals. Goodput or responsiveness is stable
//!   if the standard deviation of its last 4 averages is below 5 % of the current average. The test
//!   ends when goodput and responsiveness are both stable.
//! * The slowest 5 % of the foreign probes and the slowest 5 % of the self probes in the last 4
//!   intervals are ignored. For each kind of probe, the mean time of an exchange is computed, and
//!   60 s are divided by this time. RPM is the mean of the two results for foreign and self probes.
//!
//! The result also contains a confidence: "low" if the test had fewer than 4 intervals, and "high"
//! if goodput and responsiveness became stable. In all other cases, the confidence is "medium".
//!
//! Deviations: TLS is not modelled. So a foreign probe has only two exchanges, which are the TCP
//! handshake and the fetch. Foreign probes are ordered by the total time of both exchanges, and the
//! slowest 5 % of them are ignored. The server sends the response to a self probe before unsent
//! bulk data. (The draft allows 5 ms of unsent bulk data before the response.) If the request of a
//! self probe is lost, the request is sent again after 1 s. If the chosen connection already has an
//! unanswered probe, the self probe is skipped. To test both directions, use two `responsiveness`
//! sources.

use std::collections::VecDeque;

use tailback_record::{Completion, Confidence, Histogram, ResponsivenessOutcome};

use super::{Build, ECN, LIMIT, Source, Step, Transport};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options};
use crate::rng::Stream;
use crate::units::Time;

/// How many bytes a foreign probe fetches.
const FOREIGN: u64 = 5_000;
/// How many bytes a self probe fetches.
const OWN: u64 = 1_000;
/// Each moving average covers this many intervals, and each standard deviation covers this many
/// averages.
const INTERVALS: usize = 4;
/// Goodput or responsiveness is stable if its standard deviation is below this share of its
/// average.
const STABLE: f64 = 0.05;
/// Share of the probes that are counted. The slowest probes are left out.
const KEPT: f64 = 0.95;
/// Probes may use at most this share of the goodput.
const PROBES: f64 = 0.05;
/// The shortest time from one pair of probes to the next. `FIRST_GAP` applies until the goodput of
/// the first interval is known.
const GAP: Time = Time(10_000_000);
const FIRST_GAP: Time = Time(100_000_000);

/// The registry entry of `responsiveness`.
pub const ENTRY: Entry<Build> = Entry {
    name: "responsiveness",
    doc: "Responsiveness under working conditions: bulk connections load the path, and probes measure round trips per minute (RPM).",
    follows: "draft-ietf-ippm-responsiveness-09",
    options: &[
        Opt {
            name: "interval",
            doc: "Length of an interval.",
            kind: Kind::Time {
                min: Time(100_000_000),
            },
            default: Some("5s"),
            tc: None,
        },
        Opt {
            name: "connections",
            doc: "Number of bulk connections at the start.",
            kind: Kind::Int { min: 1, max: 100 },
            default: Some("1"),
            tc: None,
        },
        Opt {
            name: "most_connections",
            doc: "Largest number of bulk connections.",
            kind: Kind::Int { min: 1, max: 100 },
            default: Some("16"),
            tc: None,
        },
        ECN,
        LIMIT,
    ],
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish,
    build: Build {
        source: |options, stream| Box::new(Responsiveness::new(options, stream)),
        transport: Transport::Connections {
            largest: |_| FOREIGN,
            gap: |_| GAP,
        },
    },
};

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let mut errors = Vec::new();
    let (first, most) = (options.int("connections"), options.int("most_connections"));
    if first > most {
        errors.push(OptionError {
            option: "connections",
            message: format!("more connections than most_connections; expected at most {most}"),
        });
    }
    if options.int("limit") <= most {
        errors.push(OptionError {
            option: "limit",
            message: format!(
                "no connection is left for probes; expected at least {}",
                most + 1
            ),
        });
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// Goodput and probe times in an interval.
#[derive(Default)]
struct Interval {
    goodput: f64,
    /// How long the foreign probes took, in ns.
    foreign: Vec<u64>,
    own: Vec<u64>,
}

struct Responsiveness {
    stream: Stream,
    interval: Time,
    /// How many bulk connections are open. `wanted` is how many should be open.
    loads: u64,
    wanted: u64,
    most: u64,
    /// When the current interval ends. `None` before the start.
    ends: Option<Time>,
    next_probe: Time,
    gap: Time,
    /// Whether the self probe of the current pair must still be sent.
    asks: bool,
    /// Whether the source waits for a call of [`Source::count`]. This call gives the goodput of the
    /// interval that has just ended.
    counts: bool,
    delivered: u64,
    now: Interval,
    /// The last intervals, the oldest first.
    last: VecDeque<Interval>,
    intervals: u64,
    goodputs: Averages,
    rpms: Averages,
    goodput_stable: bool,
    over: bool,
    stopped: bool,
}

/// The last moving averages of goodput or of responsiveness.
#[derive(Default)]
struct Averages(VecDeque<f64>);

impl Averages {
    /// Adds a moving average. Returns whether the last averages are stable.
    fn add(&mut self, value: f64) -> bool {
        if self.0.len() == INTERVALS {
            self.0.pop_front();
        }
        self.0.push_back(value);
        let n = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / n;
        let squares: f64 = self.0.iter().map(|v| (v - mean) * (v - mean)).sum();
        self.0.len() == INTERVALS && libm::sqrt(squares / n) < STABLE * value
    }
}

impl Responsiveness {
    fn new(options: &Options, stream: Stream) -> Responsiveness {
        Responsiveness {
            stream,
            interval: options.time("interval"),
            loads: 0,
            wanted: options.int("connections") as u64,
            most: options.int("most_connections") as u64,
            ends: None,
            next_probe: Time::ZERO,
            gap: FIRST_GAP,
            asks: false,
            counts: false,
            delivered: 0,
            now: Interval::default(),
            last: VecDeque::new(),
            intervals: 0,
            goodputs: Averages::default(),
            rpms: Averages::default(),
            goodput_stable: false,
            over: false,
            stopped: false,
        }
    }

    /// Returns three values of RPM over the last intervals: from foreign probes, from self probes,
    /// and the mean of both.
    fn rpm(&self) -> [Option<f64>; 3] {
        let all = |of: fn(&Interval) -> &Vec<u64>| {
            let mut all: Vec<u64> = self.last.iter().flat_map(of).copied().collect();
            trimmed_mean(&mut all)
        };
        // A foreign probe has two exchanges, so halve its time.
        let foreign = all(|interval| &interval.foreign).map(|mean| 60e9 / (mean / 2.0));
        let own = all(|interval| &interval.own).map(|mean| 60e9 / mean);
        let whole = foreign.zip(own).map(|(a, b)| (a + b) / 2.0);
        [foreign, own, whole]
    }

    fn end_interval(&mut self, delivered: u64) {
        let bytes = delivered - self.delivered;
        self.delivered = delivered;
        let mut interval = std::mem::take(&mut self.now);
        interval.goodput = bytes as f64 * 8.0 / self.interval.as_secs_f64();
        let pair = (FOREIGN + OWN) as f64 * 8.0;
        let gap = pair / (PROBES * interval.goodput.max(1.0)) * 1e9;
        self.gap = Time(gap.min(FIRST_GAP.ns() as f64) as u64).max(GAP);
        if self.last.len() == INTERVALS {
            self.last.pop_front();
        }
        self.last.push_back(interval);
        self.intervals += 1;
        let goodput = self.last.iter().map(|one| one.goodput).sum::<f64>() / self.last.len() as f64;
        self.goodput_stable |= self.goodputs.add(goodput);
        if self.goodput_stable {
            let rpm = self.rpm()[2];
            self.over = rpm.is_some_and(|rpm| self.rpms.add(rpm));
        } else {
            self.wanted = (self.wanted + 1).min(self.most);
        }
    }
}

/// Returns the mean of the fastest 95 % in ns, or `None` if the list is empty.
fn trimmed_mean(all: &mut [u64]) -> Option<f64> {
    all.sort_unstable();
    let kept = ((all.len() as f64 * KEPT) as usize).max(1).min(all.len());
    let sum: u64 = all[..kept].iter().sum();
    (kept > 0).then(|| sum as f64 / kept as f64)
}

impl Source for Responsiveness {
    fn next(&mut self, now: Time) -> Step {
        if self.over {
            if self.stopped {
                return Step::Done;
            }
            self.stopped = true;
            return Step::Stop;
        }
        let ends = *self.ends.get_or_insert(now + self.interval);
        if self.loads < self.wanted {
            self.loads += 1;
            return Step::Load;
        }
        if now >= ends {
            if !self.counts {
                self.counts = true;
                return Step::Count;
            }
            self.counts = false;
            self.ends = Some(ends + self.interval);
            return self.next(now);
        }
        if self.asks {
            self.asks = false;
            let load = self.stream.below(self.loads) as u32;
            return Step::Ask { load, bytes: OWN };
        }
        if now >= self.next_probe {
            self.next_probe = now + self.gap;
            self.asks = true;
            return Step::Open { bytes: FOREIGN };
        }
        Step::Wait(self.next_probe.min(ends))
    }

    fn complete(&mut self, _: Time, completion: &Completion) -> Option<Time> {
        self.now.foreign.push(completion.took_ns);
        None
    }

    fn answered(&mut self, took: Time) {
        self.now.own.push(took.ns());
    }

    fn count(&mut self, delivered: u64) {
        self.end_interval(delivered);
    }

    fn responsiveness(&self) -> Option<ResponsivenessOutcome> {
        let histogram = |of: fn(&Interval) -> &Vec<u64>| {
            let mut all = Histogram::new();
            let times = self.last.iter().flat_map(of);
            times.for_each(|time| all.record(*time));
            all
        };
        let [foreign_rpm, loaded_rpm, rpm] = self.rpm();
        let goodput = |sum: f64, one: &Interval| sum + one.goodput;
        let n = self.last.len().max(1) as f64;
        Some(ResponsivenessOutcome {
            foreign: histogram(|interval| &interval.foreign),
            loaded: histogram(|interval| &interval.own),
            foreign_rpm,
            loaded_rpm,
            rpm,
            confidence: if self.over {
                Confidence::High
            } else if self.intervals >= INTERVALS as u64 {
                Confidence::Medium
            } else {
                Confidence::Low
            },
            intervals: self.intervals,
            connections: self.loads,
            // Fold from 0. The sum of an empty list of floats would be -0.
            goodput_bit: self.last.iter().fold(0.0, goodput) / n,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_twentieth_is_left_out() {
        let mut all: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(trimmed_mean(&mut all), Some(48.0));
        assert_eq!(trimmed_mean(&mut [7]), Some(7.0));
        assert_eq!(trimmed_mean(&mut []), None);
    }

    /// Tests the draft's examples: round trips of 200, 60 and 10 ms give 300, 1000 and 6000 RPM.
    #[test]
    fn rpm_is_round_trips_per_minute() {
        let options = crate::registry::complete_defaults(&ENTRY);
        for (ms, rpm) in [(200, 300.0), (60, 1_000.0), (10, 6_000.0)] {
            let stream = Stream::new(1, "responsiveness", "traffic");
            let mut source = Responsiveness::new(&options, stream);
            source.now.foreign = vec![2 * ms * 1_000_000; 40];
            source.now.own = vec![ms * 1_000_000; 40];
            source.end_interval(1_000_000);
            assert_eq!(source.rpm(), [Some(rpm); 3]);
            let told = source.responsiveness().expect("probes");
            assert_eq!((told.confidence, told.intervals), (Confidence::Low, 1));
        }
    }

    /// An average covers 4 intervals, and 4 averages must agree. So a constant load is stable after
    /// 7 intervals.
    #[test]
    fn it_ends_when_goodput_and_responsiveness_are_stable() {
        let options = crate::registry::complete_defaults(&ENTRY);
        let mut source = Responsiveness::new(&options, Stream::new(1, "r", "traffic"));
        let mut delivered = 0;
        for interval in 1..=7 {
            source.now.foreign = vec![40_000_000; 40];
            source.now.own = vec![20_000_000; 40];
            delivered += 10_000_000;
            source.end_interval(delivered);
            assert_eq!(source.goodput_stable, interval >= 4);
            assert_eq!(source.over, interval >= 7, "{interval}");
        }
        assert_eq!(
            source.wanted, 4,
            "one more in each of the first three intervals"
        );
    }
}
