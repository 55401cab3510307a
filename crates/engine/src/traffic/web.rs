//! Web-like traffic: requests of a Poisson process, each answered with so many
//! bytes over a TCP connection of its own.
//!
//! The gaps between requests are exponential; sizes are those of a Pareto
//! distribution truncated (not cut off: no size is more likely than its
//! neighbours) between its least and its largest, as the Prague group's
//! testbed has it for its short flows.
//!
//! Both are drawn here, one after the other from one stream, so that what is
//! asked for when does not depend on what the network does; connections are the
//! engines' part.

use super::{Build, Source, Step};
use crate::registry::kernel::Kernel;
use crate::registry::needs::Needs;
use crate::registry::{Entry, Kind, Opt, OptionError, Options};
use crate::rng::Stream;
use crate::units::Time;

/// The registry entry.
pub const ENTRY: Entry<Build> = Entry {
    name: "web",
    doc: "Short TCP connections, one for each request: exponential gaps, Pareto sizes, handshake and slow start.",
    follows: "the web-like flows of the DualPI2 testbed: Poisson arrivals, truncated Pareto sizes",
    options: &[
        Opt {
            name: "arrival",
            doc: "Mean of the exponential gaps between requests.",
            kind: Kind::Time { min: Time(100_000) },
            default: Some("10ms"),
            tc: None,
        },
        Opt {
            name: "alpha",
            doc: "Shape of the Pareto distribution of sizes.",
            kind: Kind::Float {
                min: 0.01,
                max: 100.0,
            },
            default: Some("0.9"),
            tc: None,
        },
        Opt {
            name: "min",
            doc: "Least size, payload bytes.",
            kind: SIZE,
            default: Some("1000"),
            tc: None,
        },
        Opt {
            name: "max",
            doc: "Largest size, payload bytes.",
            kind: SIZE,
            default: Some("1000000"),
            tc: None,
        },
        Opt {
            name: "ecn",
            doc: "Whether ECN is negotiated; default: true where the congestion control requires it.",
            kind: Kind::Bool,
            default: None,
            tc: None,
        },
        Opt {
            name: "limit",
            doc: "Connections at a time; a request beyond them is refused and counted as such.",
            kind: Kind::Int {
                min: 1,
                max: 10_000,
            },
            default: Some("1000"),
            tc: None,
        },
    ],
    kernel: Kernel::Agent,
    needs: Needs::NONE,
    finish,
    build: |options, stream| {
        Box::new(Web {
            arrival: options.time("arrival"),
            sizes: Sizes::new(
                options.float("alpha"),
                options.bytes("min"),
                options.bytes("max"),
            ),
            stream,
            next: None,
        })
    },
};

const SIZE: Kind = Kind::Size {
    packets: false,
    bytes: true,
};

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let (min, max) = (options.bytes("min"), options.bytes("max"));
    let error = |option, message| Err(vec![OptionError { option, message }]);
    if min > max {
        return error("min", format!("{min} bytes are more than max, {max} bytes"));
    }
    if max > MOST {
        return error("max", format!("{max} bytes are more than {MOST}"));
    }
    Ok(())
}

/// The largest size that may be asked for, bytes.
const MOST: u64 = 10_000_000_000;

/// The truncated Pareto distribution.
struct Sizes {
    least: f64,
    /// The share of the whole distribution that lies between the bounds.
    share: f64,
    /// -1/alpha.
    exponent: f64,
    bounds: (u64, u64),
}

impl Sizes {
    fn new(alpha: f64, min: u64, max: u64) -> Sizes {
        Sizes {
            least: min as f64,
            share: 1.0 - libm::pow(min as f64 / max as f64, alpha),
            exponent: -1.0 / alpha,
            bounds: (min, max),
        }
    }

    /// By inversion: F(x) = (1 - (min/x)^alpha) / share.
    fn draw(&self, stream: &mut Stream) -> u64 {
        let tail = 1.0 - stream.uniform() * self.share;
        let size = libm::round(self.least * libm::pow(tail, self.exponent));
        (size as u64).clamp(self.bounds.0, self.bounds.1)
    }
}

struct Web {
    arrival: Time,
    sizes: Sizes,
    stream: Stream,
    /// When the next request is due; `None` before the start.
    next: Option<Time>,
}

impl Web {
    fn gap(&mut self) -> Time {
        Time((self.arrival.ns() as f64 * self.stream.exponential()) as u64)
    }
}

impl Source for Web {
    fn next(&mut self, now: Time) -> Step {
        let due = match self.next {
            Some(due) => due,
            None => now + self.gap(),
        };
        self.next = Some(due);
        if due > now {
            return Step::Wait(due);
        }
        let bytes = self.sizes.draw(&mut self.stream);
        self.next = Some(due + self.gap());
        Step::Connect { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Value, complete_defaults};
    use crate::units::Bytes;

    /// Mean of the truncated Pareto distribution.
    fn mean(alpha: f64, least: f64, largest: f64) -> f64 {
        let share = 1.0 - libm::pow(least / largest, alpha);
        if alpha == 1.0 {
            return least * libm::log(largest / least) / share;
        }
        let tails = libm::pow(least, 1.0 - alpha) - libm::pow(largest, 1.0 - alpha);
        libm::pow(least, alpha) * alpha / (alpha - 1.0) * tails / share
    }

    /// The first `n` requests: when, and how much.
    fn requests(options: &Options, n: usize) -> Vec<(Time, u64)> {
        let mut source = (ENTRY.build)(options, Stream::new(1, "web", "traffic"));
        let (mut now, mut all) = (Time::from_secs(3), Vec::new());
        while all.len() < n {
            match source.next(now) {
                Step::Connect { bytes } => all.push((now, bytes)),
                Step::Wait(until) => now = until,
                other => panic!("{other:?}"),
            }
        }
        all
    }

    #[test]
    fn gaps_and_sizes_have_their_means() {
        // By numerical integration: a wrong form here might agree with a wrong draw.
        assert!((mean(0.9, 1e3, 1e6) - 8975.27).abs() < 0.01);
        for (alpha, min, max) in [
            (0.9, 1_000, 1_000_000),
            (1.0, 1_000, 1_000_000),
            (2.5, 500, 9_000),
        ] {
            let mut options = complete_defaults(&ENTRY);
            options.set("alpha", Value::Float(alpha));
            options.set("min", Value::Bytes(Bytes(min)));
            options.set("max", Value::Bytes(Bytes(max)));
            let n = 1_000_000;
            let all = requests(&options, n);
            let sum: u64 = all.iter().map(|(_, bytes)| bytes).sum();
            let expected = mean(alpha, min as f64, max as f64);
            // The standard error is at most 0.5 %.
            let measured = sum as f64 / n as f64;
            assert!(
                (measured / expected - 1.0).abs() < 0.02,
                "{measured} {expected}"
            );
            let last = all.last().expect("a million").0;
            let gap = last.since(Time::from_secs(3)).ns() as f64 / n as f64;
            assert!((gap / 1e7 - 1.0).abs() < 0.02, "{gap}");
            let least = all.iter().map(|(_, bytes)| *bytes).min();
            let largest = all.iter().map(|(_, bytes)| *bytes).max();
            assert!(least >= Some(min) && largest <= Some(max));
        }
    }

    /// Half of the draws lie below the median of the closed form.
    #[test]
    fn the_median_is_that_of_the_distribution() {
        let n = 100_000;
        let mut sizes: Vec<u64> = requests(&complete_defaults(&ENTRY), n)
            .into_iter()
            .map(|(_, bytes)| bytes)
            .collect();
        sizes.sort_unstable();
        let half = 1.0 - 0.5 * (1.0 - libm::pow(1e-3, 0.9));
        let median = 1e3 * libm::pow(half, -1.0 / 0.9);
        assert!((sizes[n / 2] as f64 / median - 1.0).abs() < 0.02);
    }

    #[test]
    fn bounds_the_wrong_way_round() {
        let mut options = complete_defaults(&ENTRY);
        options.set("min", Value::Bytes(Bytes(2_000_000)));
        let errors = (ENTRY.finish)(&mut options).expect_err("min > max");
        assert_eq!(errors[0].option, "min");
        options.set("max", Value::Bytes(Bytes(2_000_000)));
        assert_eq!((ENTRY.finish)(&mut options), Ok(()));
        assert!(requests(&options, 10).iter().all(|(_, n)| *n == 2_000_000));
    }
}
