//! Web-like traffic: requests arrive as a Poisson process. The response to each request has a
//! random size. Each request either has its own TCP connection or shares a connection with other
//! requests.
//!
//! The gaps between requests have an exponential distribution. Sizes of responses have a truncated
//! Pareto distribution, as in the testbed of TCP Prague's authors. If `sizes` is set, the sizes
//! have a lognormal distribution, as in the L4S tests of 2020.
//!
//! Gaps and sizes are drawn alternately from one random stream. So the times and sizes of requests
//! do not depend on the network. To set gaps and sizes yourself, list them in the options
//! `gaps` and `lengths`, for example to make the same requests in several parts of a run.

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
                connections are in use, the client opens a new connection for a request. The \
                request then uses the connection that becomes free first: the new connection or an \
                older connection. Default: false.",
            kind: Kind::Bool,
            default: None,
            tc: None,
        },
        Opt {
            name: "idle",
            doc: "With `reuse`: when a response is complete, the client closes connections that have been unused for this long. With 0s, the client also closes connections whose handshake completes after this response and before the next request. Default: 90s.",
            kind: Kind::Time { min: Time(0) },
            default: None,
            tc: None,
        },
        Opt {
            name: "collect",
            doc: "With `reuse`: times, since the start of the run, at which the server closes the connections that clients have closed. A list, or a file with one time per line. Some servers close connections in this way, by a garbage collector. The server's host stores the metrics of a destination (`metrics_save`) only at these times, and only for clients that closed their connection less than 60 s before. Default: the server closes each connection as soon as the client has closed it.",
            kind: Kind::List(&Kind::Time { min: Time(0) }),
            default: None,
            tc: None,
        },
        Opt {
            name: "gaps",
            doc: "Gap before each request, in order, in place of `arrival`: a list, or a file with \
                one time per line. When the list ends, the source makes no more requests. \
                Default: gaps are random.",
            kind: Kind::List(&Kind::Time { min: Time(0) }),
            default: None,
            tc: None,
        },
        Opt {
            name: "lengths",
            doc: "Size of each response, in payload bytes and in order, in place of a distribution; a \
                list, or a file with one size per line. When the list ends, the source makes no \
                more requests. Default: sizes are random.",
            kind: Kind::List(&Kind::Size {
                packets: false,
                bytes: true,
            }),
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
                sizes: match lengths(options) {
                    Some(_) => None,
                    None => Some(Sizes::of(options)),
                },
                gaps: times(options, "gaps"),
                lengths: lengths(options),
                requests: 0,
                reuse: reuses(options).then(|| options.time("idle")),
                stream,
                next: None,
            })
        },
        transport: Transport::Connections {
            largest: |options| match lengths(options) {
                Some(lengths) => lengths.into_iter().max().unwrap_or_default(),
                None => Sizes::of(options).largest(),
            },
            gap: |options| match times(options, "gaps") {
                Some(gaps) => {
                    let sum: u64 = gaps.iter().map(|gap| gap.ns()).sum();
                    Time(sum / gaps.len().max(1) as u64)
                }
                None => options.time("arrival"),
            },
        },
    },
};

/// Checks the options. If connections are reused, sets the default of `idle`.
fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let error = |option, message: String| Err(vec![OptionError { option, message }]);
    if !reuses(options) {
        for option in ["idle", "collect"] {
            if options.get(option).is_some() {
                let message = "without reuse no connection stays open: expected reuse = true";
                return error(option, message.to_owned());
            }
        }
    } else {
        options.set_default("idle", Value::Time(Time::from_secs(90)));
    }
    let Some(lengths) = lengths(options) else {
        return sizes::finish(options);
    };
    if let Some(gaps) = times(options, "gaps")
        && gaps.len() != lengths.len()
    {
        let message = format!(
            "{} sizes for {} gaps: expected one size for each gap",
            lengths.len(),
            gaps.len()
        );
        return error("lengths", message);
    }
    if let Some(least) = lengths
        .iter()
        .find(|bytes| !(1..=sizes::MOST).contains(*bytes))
    {
        let message = format!("{least} bytes: expected 1 to {}", sizes::MOST);
        return error("lengths", message);
    }
    let lognormal = sizes::is_lognormal(options).then_some("sizes");
    let mut others = ["alpha", "min", "max"].into_iter();
    match lognormal.or_else(|| others.find(|name| options.get(name).is_some())) {
        Some(option) => error(
            option,
            format!("lengths sets the sizes: expected no {option}"),
        ),
        None => Ok(()),
    }
}

/// Returns a list of times, if the scenario sets it.
fn times(options: &Options, name: &str) -> Option<Vec<Time>> {
    let time = |value: &Value| match value {
        Value::Time(time) => Some(*time),
        _ => None,
    };
    match options.get(name) {
        Some(Value::List(times)) => Some(times.iter().filter_map(time).collect()),
        _ => None,
    }
}

/// Returns `lengths`, if the scenario sets it.
fn lengths(options: &Options) -> Option<Vec<u64>> {
    let bytes = |value: &Value| match value {
        Value::Bytes(bytes) => Some(bytes.0),
        _ => None,
    };
    match options.get("lengths") {
        Some(Value::List(lengths)) => Some(lengths.iter().filter_map(bytes).collect()),
        _ => None,
    }
}

/// Returns the times at which the server closes connections that clients have closed, in order.
/// Returns `None` if the server closes connections at once.
pub fn collects(options: &Options) -> Option<Vec<Time>> {
    let mut times = times(options, "collect")?;
    times.sort_unstable();
    Some(times)
}

/// The server's host stores metrics of a connection only if the server closes it at most this long
/// after the client. After this time (Linux `tcp_fin_timeout`), the client's host has forgotten the
/// connection, and resets it when the server closes.
pub const REMEMBERED: Time = Time(60_000_000_000);

/// Returns whether a connection serves several requests.
pub fn reuses(options: &Options) -> bool {
    options.get("reuse") == Some(&Value::Bool(true))
}

struct Web {
    arrival: Time,
    /// The distribution of sizes. `None` if `lengths` sets the sizes.
    sizes: Option<Sizes>,
    gaps: Option<Vec<Time>>,
    lengths: Option<Vec<u64>>,
    /// Number of requests so far.
    requests: usize,
    /// If connections are reused: how long an idle connection stays open.
    reuse: Option<Time>,
    stream: Stream,
    /// Time of the next request. `None` before the start, and after the last gap.
    next: Option<Time>,
}

impl Web {
    /// Returns the gap before the next request, or `None` if there are no more requests.
    fn gap(&mut self) -> Option<Time> {
        if let Some(gaps) = &self.gaps {
            return gaps.get(self.requests).copied();
        }
        Some(Time(
            (self.arrival.ns() as f64 * self.stream.exponential()) as u64,
        ))
    }

    /// Returns the size of the next response, or `None` if there are no more requests.
    fn size(&mut self) -> Option<u64> {
        match (&self.lengths, &self.sizes) {
            (Some(lengths), _) => lengths.get(self.requests).copied(),
            (None, Some(sizes)) => Some(sizes.draw(&mut self.stream)),
            (None, None) => None,
        }
    }
}

impl Source for Web {
    fn next(&mut self, now: Time) -> Step {
        let due = match self.next {
            Some(due) => due,
            None => match self.gap() {
                Some(gap) => now + gap,
                None => return Step::Done,
            },
        };
        self.next = Some(due);
        if due > now {
            return Step::Wait(due);
        }
        let Some(bytes) = self.size() else {
            return Step::Done;
        };
        self.requests += 1;
        self.next = self.gap().map(|gap| due + gap);
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
