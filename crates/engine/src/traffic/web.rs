//! Web-like traffic: requests arrive as a Poisson process. The response to each request has a
//! random size. Each request either has its own TCP connection or shares a connection with other
//! requests.
//!
//! The gaps between requests have an exponential distribution. Sizes have a truncated Pareto
//! distribution, as in the testbed of TCP Prague's authors. If `sizes` is set, the sizes have a
//! lognormal distribution, as in the L4S tests of 2020.
//!
//! Gaps and sizes are drawn alternately from one random stream. So the times and sizes of requests
//! do not depend on the network.

use super::sizes::{self, Sizes};
use super::{Build, ECN, LIMIT, Source, Step, Transport};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};
use crate::rng::Stream;
use crate::units::Time;

/// The registry entry of `web`.
pub const ENTRY: Entry<Build> = Entry {
    name: "web",
    doc: "Short TCP connections, one for each request. The gaps between requests are exponentially distributed, and the sizes have a Pareto or lognormal distribution.",
    follows: "the web-like flows of the DualPI2 testbed: Poisson arrivals, truncated Pareto sizes",
    options: &[
        Opt {
            name: "arrival",
            doc: "Mean gap between requests; the gaps are exponentially distributed.",
            kind: Kind::Time { min: Time(100_000) },
            default: Some("10ms"),
            tc: None,
        },
        Opt {
            name: "reuse",
            doc: "Whether a connection serves further requests after its first request. If all \
                connections are in use, a request opens a new connection. The connection that \
                becomes free first then serves the request. Default: false.",
            kind: Kind::Bool,
            default: None,
            tc: None,
        },
        Opt {
            name: "idle",
            doc: "With `reuse`: when a response is complete, connections that have been unused for this long are closed. Default: 90s.",
            kind: Kind::Time { min: Time(0) },
            default: None,
            tc: None,
        },
        sizes::ALPHA,
        sizes::MIN,
        sizes::MAX,
        sizes::SIZES,
        ECN,
        LIMIT,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish,
    build: Build {
        source: |options, stream| {
            Box::new(Web {
                arrival: options.time("arrival"),
                sizes: Sizes::of(options),
                reuse: reuses(options).then(|| options.time("idle")),
                stream,
                next: None,
            })
        },
        transport: Transport::Connections {
            largest: |options| Sizes::of(options).largest(),
            gap: |options| options.time("arrival"),
        },
    },
};

/// Checks the options. If connections are reused, sets the default of `idle`.
fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    match (reuses(options), options.get("idle")) {
        (true, None) => options.set("idle", Value::Time(Time::from_secs(90))),
        (false, Some(_)) => {
            return Err(vec![OptionError {
                option: "idle",
                message: "without reuse no connection stays open: expected reuse = true".to_owned(),
            }]);
        }
        _ => {}
    }
    sizes::finish(options)
}

/// Returns whether a connection serves several requests.
pub fn reuses(options: &Options) -> bool {
    options.get("reuse") == Some(&Value::Bool(true))
}

struct Web {
    arrival: Time,
    sizes: Sizes,
    /// If connections are reused: how long an idle connection stays open.
    reuse: Option<Time>,
    stream: Stream,
    /// Time of the next request. `None` before the start.
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
        match self.reuse {
            Some(idle) => Step::Request { bytes, idle },
            None => Step::Open { bytes },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::complete_defaults;

    #[test]
    fn gaps_have_their_mean() {
        let options = complete_defaults(&ENTRY);
        let mut source = (ENTRY.build.source)(&options, Stream::new(1, "web", "traffic"));
        let start = Time::from_secs(3);
        let (mut now, mut requests) = (start, 0);
        while requests < 1_000_000 {
            match source.next(now) {
                Step::Open { .. } => requests += 1,
                Step::Wait(until) => now = until,
                other => panic!("{other:?}"),
            }
        }
        // The standard error of the mean gap is 0.1 %.
        let gap = now.since(start).ns() as f64 / 1e6;
        assert!((gap / 1e7 - 1.0).abs() < 0.005, "{gap}");
    }
}
