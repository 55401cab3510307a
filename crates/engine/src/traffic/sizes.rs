//! The sizes of connections. This module contains the distributions of sizes, and the options that
//! select a distribution.

use crate::registry::{Kind, Opt, OptionError, Options, Value};
use crate::rng::Stream;
use crate::units::Bytes;

/// The option `alpha`, which is the exponent of the Pareto distribution. Every kind of traffic with
/// random sizes has this option and the three options below, and calls [`finish`].
pub const ALPHA: Opt = Opt {
    name: "alpha",
    doc: "Shape of the Pareto distribution of sizes; default: 0.9.",
    kind: Kind::Float {
        min: 0.01,
        max: 100.0,
    },
    default: None,
    tc: None,
};

/// The option for the smallest size.
pub const MIN: Opt = Opt {
    name: "min",
    doc: "Smallest size in the Pareto distribution, in payload bytes; default: 1000.",
    ..SIZE
};

/// The option for the largest size.
pub const MAX: Opt = Opt {
    name: "max",
    doc: "Largest size in the Pareto distribution, in payload bytes; default: 1000000.",
    ..SIZE
};

/// The option `sizes`, which selects the distribution of sizes.
pub const SIZES: Opt = Opt {
    name: "sizes",
    doc: "A distribution of sizes in place of the Pareto distribution: `{ lognormal = { p5 = \"64kb\", p95 = \"2mb\" } }`.",
    kind: Kind::Table(&[Opt {
        name: "lognormal",
        doc: "A lognormal distribution, which is given by two percentiles.",
        kind: Kind::Table(&[
            Opt {
                name: "p5",
                doc: "5th percentile of the sizes, in payload bytes.",
                ..SIZE
            },
            Opt {
                name: "p95",
                doc: "95th percentile of the sizes, in payload bytes.",
                ..SIZE
            },
        ]),
        default: None,
        tc: None,
    }]),
    default: None,
    tc: None,
};

const SIZE: Opt = Opt {
    name: "",
    doc: "",
    kind: Kind::Size {
        packets: false,
        bytes: true,
    },
    default: None,
    tc: None,
};

/// The largest size that a distribution may draw, in bytes.
pub const MOST: u64 = 10_000_000_000;

/// The 95th percentile of the standard normal distribution.
const Z95: f64 = 1.644_853_626_951_472_2;

/// Checks the options for sizes. If no other distribution is selected, sets the defaults of the
/// Pareto distribution.
pub fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let error = |option, message| Err(vec![OptionError { option, message }]);
    let lognormal = options.table("sizes").table("lognormal");
    let (p5, p95) = (size(lognormal, "p5"), size(lognormal, "p95"));
    if (p5, p95) == (None, None) {
        for (name, default) in [
            ("alpha", Value::Float(0.9)),
            ("min", Value::Bytes(Bytes(1_000))),
            ("max", Value::Bytes(Bytes(1_000_000))),
        ] {
            options.set_default(name, default);
        }
        let (min, max) = (options.bytes("min"), options.bytes("max"));
        if min > max {
            return error(
                "min",
                format!("{min} bytes are more than max: expected at most {max} bytes"),
            );
        }
        if max > MOST {
            return error(
                "max",
                format!("{max} bytes are too many: expected at most {MOST}"),
            );
        }
        return Ok(());
    }
    let (Some(p5), Some(p95)) = (p5, p95) else {
        return error(
            "sizes.lognormal",
            "one percentile does not set a distribution: expected both p5 and p95".to_owned(),
        );
    };
    if p5 > p95 {
        let message = format!("{p5} bytes are more than p95: expected at most {p95} bytes");
        return error("sizes.lognormal.p5", message);
    }
    if p95 > MOST {
        let message = format!("{p95} bytes are too many: expected at most {MOST}");
        return error("sizes.lognormal.p95", message);
    }
    let pareto = ["alpha", "min", "max"].into_iter();
    let errors = pareto.filter(|name| options.get(name).is_some());
    let errors: Vec<OptionError> = errors
        .map(|option| OptionError {
            option,
            message: format!(
                "the sizes are lognormal: expected no {option}, an option of the Pareto distribution"
            ),
        })
        .collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// Returns whether the scenario sets a lognormal distribution.
pub fn is_lognormal(options: &Options) -> bool {
    let lognormal = options.table("sizes").table("lognormal");
    ["p5", "p95"]
        .iter()
        .any(|name| lognormal.get(name).is_some())
}

fn size(options: &Options, name: &str) -> Option<u64> {
    match options.get(name) {
        Some(Value::Bytes(bytes)) => Some(bytes.0),
        _ => None,
    }
}

/// A distribution of sizes.
pub enum Sizes {
    /// Pareto, truncated to the range from the smallest to the largest size. Values above the range
    /// are never drawn. If they were drawn and reduced to the largest size, this size would be too
    /// likely.
    Pareto {
        least: u64,
        largest: u64,
        /// -1/alpha.
        exponent: f64,
        /// The probability that a draw from the distribution without truncation is in the range.
        share: f64,
    },
    /// Lognormal. `mu` and `sigma` are the mean and standard deviation of the logarithm. Draws
    /// above [`MOST`] are reduced to [`MOST`].
    Lognormal { mu: f64, sigma: f64 },
}

impl Sizes {
    /// Returns the distribution that the options select. Call [`finish`] for the options first.
    pub fn of(options: &Options) -> Sizes {
        let lognormal = options.table("sizes").table("lognormal");
        if let (Some(p5), Some(p95)) = (size(lognormal, "p5"), size(lognormal, "p95")) {
            let (low, high) = (libm::log(p5 as f64), libm::log(p95 as f64));
            return Sizes::Lognormal {
                mu: (low + high) / 2.0,
                sigma: (high - low) / (2.0 * Z95),
            };
        }
        let (alpha, least) = (options.float("alpha"), options.bytes("min"));
        let largest = options.bytes("max");
        Sizes::Pareto {
            least,
            largest,
            exponent: -1.0 / alpha,
            share: 1.0 - libm::pow(least as f64 / largest as f64, alpha),
        }
    }

    /// Returns the largest size that may be drawn, in bytes.
    pub fn largest(&self) -> u64 {
        match self {
            Sizes::Pareto { largest, .. } => *largest,
            Sizes::Lognormal { .. } => MOST,
        }
    }

    /// Draws a size, in bytes.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match *self {
            // Invert F(x) = (1 - (least/x)^alpha) / share.
            Sizes::Pareto {
                least,
                largest,
                exponent,
                share,
            } => {
                let tail = 1.0 - stream.uniform() * share;
                let size = libm::round(least as f64 * libm::pow(tail, exponent));
                (size as u64).clamp(least, largest)
            }
            Sizes::Lognormal { mu, sigma } => {
                let size = libm::round(libm::exp(mu + sigma * stream.normal()));
                (size as u64).clamp(1, MOST)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::defaults;

    const OPTIONS: &[Opt] = &[ALPHA, MIN, MAX, SIZES];

    fn pareto(alpha: f64, min: u64, max: u64) -> Options {
        let mut options = defaults(OPTIONS);
        options.set("alpha", Value::Float(alpha));
        options.set("min", Value::Bytes(Bytes(min)));
        options.set("max", Value::Bytes(Bytes(max)));
        options
    }

    fn lognormal(percentiles: &[(&'static str, u64)]) -> Options {
        let (mut options, mut inner) = (defaults(OPTIONS), Options::default());
        for (name, bytes) in percentiles {
            inner.set(name, Value::Bytes(Bytes(*bytes)));
        }
        let mut table = Options::default();
        table.set("lognormal", Value::Table(inner));
        options.set("sizes", Value::Table(table));
        options
    }

    /// Returns `n` draws in ascending order.
    fn draws(mut options: Options, n: usize) -> Vec<u64> {
        assert_eq!(finish(&mut options), Ok(()));
        let (sizes, mut stream) = (Sizes::of(&options), Stream::new(1, "web", "traffic"));
        let mut all: Vec<u64> = (0..n).map(|_| sizes.draw(&mut stream)).collect();
        all.sort_unstable();
        assert!(all[n - 1] <= sizes.largest());
        all
    }

    fn mean_of(all: &[u64]) -> f64 {
        all.iter().sum::<u64>() as f64 / all.len() as f64
    }

    fn mean(alpha: f64, least: f64, largest: f64) -> f64 {
        let share = 1.0 - libm::pow(least / largest, alpha);
        if alpha == 1.0 {
            return least * libm::log(largest / least) / share;
        }
        let tails = libm::pow(least, 1.0 - alpha) - libm::pow(largest, 1.0 - alpha);
        libm::pow(least, alpha) * alpha / (alpha - 1.0) * tails / share
    }

    #[test]
    fn the_pareto_distribution_has_its_mean() {
        // The expected mean was computed by numerical integration. A formula in this test might
        // have the same error as the code under test.
        assert!((mean(0.9, 1e3, 1e6) - 8975.27).abs() < 0.01);
        for (alpha, min, max) in [
            (0.9, 1_000, 1_000_000),
            (1.0, 1_000, 1_000_000),
            (2.5, 500, 9_000),
        ] {
            let all = draws(pareto(alpha, min, max), 1_000_000);
            let (measured, expected) = (mean_of(&all), mean(alpha, min as f64, max as f64));
            // The standard error of the mean is at most 0.5 %.
            assert!(
                (measured / expected - 1.0).abs() < 0.02,
                "{measured} {expected}"
            );
            assert!(all[0] >= min);
        }
    }

    /// Tests that half of the draws lie below the median that the formula gives.
    #[test]
    fn the_pareto_distribution_has_its_median() {
        let n = 100_000;
        let half = 1.0 - 0.5 * (1.0 - libm::pow(1e-3, 0.9));
        let median = 1e3 * libm::pow(half, -1.0 / 0.9);
        let all = draws(defaults(OPTIONS), n);
        assert!((all[n / 2] as f64 / median - 1.0).abs() < 0.02);
    }

    /// Tests the transfer sizes of the L4S tests of 2020. The published percentiles are 64 KiB and
    /// 2 MiB. The published mean is 645,683 bytes.
    #[test]
    fn the_lognormal_distribution_has_its_percentiles_and_its_mean() {
        let n = 1_000_000;
        let (p5, p95) = (65_536, 2_097_152);
        let all = draws(lognormal(&[("p5", p5), ("p95", p95)]), n);
        // The standard errors are 0.22 % for both percentiles, 0.13 % for the median, and 0.14 %
        // for the mean.
        let near = |measured: f64, expected: f64| (measured / expected - 1.0).abs() < 0.01;
        assert!(near(all[n / 20] as f64, p5 as f64), "{}", all[n / 20]);
        assert!(near(all[n / 20 * 19] as f64, p95 as f64));
        let median = libm::sqrt(p5 as f64 * p95 as f64);
        assert!(near(all[n / 2] as f64, median), "{}", all[n / 2]);
        assert!(near(mean_of(&all), 645_683.0), "{}", mean_of(&all));
    }

    /// Tests that every draw has the same size if both percentiles are equal.
    #[test]
    fn no_spread() {
        let all = draws(lognormal(&[("p5", 5_000), ("p95", 5_000)]), 100);
        assert_eq!((all[0], all[99]), (5_000, 5_000));
        let all = draws(pareto(1.0, 7_000, 7_000), 100);
        assert_eq!((all[0], all[99]), (7_000, 7_000));
    }

    #[test]
    fn options_that_make_no_sense() {
        let mut both = lognormal(&[("p5", 1), ("p95", 2)]);
        both.set("max", Value::Bytes(Bytes(2_000)));
        for (mut options, at) in [
            (pareto(0.9, 2_000, 1_000), "min"),
            (pareto(0.9, 1_000, 2 * MOST), "max"),
            (lognormal(&[("p95", 2_000)]), "sizes.lognormal"),
            (lognormal(&[("p5", 3), ("p95", 2)]), "sizes.lognormal.p5"),
            (
                lognormal(&[("p5", 3), ("p95", 2 * MOST)]),
                "sizes.lognormal.p95",
            ),
            (both, "max"),
        ] {
            let errors = finish(&mut options).expect_err(at);
            assert_eq!(errors[0].option, at);
        }
    }
}
