//! Statistics of samples: mean, standard deviation, and percentiles by nearest rank.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::{Histogram, ratio};

/// Statistics of a list of numbers, in the same unit as the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    /// Number of values.
    pub n: u64,
    /// Mean. `None` without values.
    pub mean: Option<f64>,
    /// Standard deviation of a sample (n - 1). `None` for fewer than two values.
    pub stddev: Option<f64>,
    /// 1st percentile.
    pub p1: Option<f64>,
    /// 25th percentile.
    pub p25: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

impl Stat {
    /// The names of the statistics of most quantities, in the order of the JSON.
    pub const NAMES: &'static [&'static str] = &[
        "n", "mean", "stddev", "p1", "p25", "p50", "p75", "p99", "max",
    ];
    /// The names of the statistics of end-to-end delays, in the order of the JSON.
    pub const OF_DELAYS: &'static [&'static str] =
        &["n", "mean", "p50", "p95", "p99", "p999", "max"];

    /// Returns the statistics of the given numbers. No number may be NaN.
    pub fn of(mut values: Vec<f64>) -> Stat {
        let n = values.len() as f64;
        // Compute the mean and the standard deviation before sorting, so that the values are added
        // in the order in which they were measured.
        let mean = ratio(values.iter().sum(), n);
        let stddev = mean.and_then(|mean| {
            let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
            ratio(squares, n - 1.0).map(f64::sqrt)
        });
        values.sort_unstable_by(f64::total_cmp);
        let at = |p| nearest_rank(&values, p);
        Stat {
            n: values.len() as u64,
            mean,
            stddev,
            p1: at(1.0),
            p25: at(25.0),
            p50: at(50.0),
            p75: at(75.0),
            p95: at(95.0),
            p99: at(99.0),
            p999: at(99.9),
            max: values.last().copied(),
        }
    }

    /// Returns the statistics of a histogram.
    pub fn of_histogram(histogram: &Histogram) -> Stat {
        let [p1, p25, p50, p75, p95, p99, p999] =
            histogram.percentiles([1.0, 25.0, 50.0, 75.0, 95.0, 99.0, 99.9]);
        Stat {
            n: histogram.count(),
            mean: histogram.mean(),
            stddev: stddev(histogram),
            p1,
            p25,
            p50,
            p75,
            p95,
            p99,
            p999,
            max: histogram.max().map(|max| max as f64),
        }
    }

    /// Returns the statistics in another unit. `convert` converts a value to the new unit.
    pub fn map(self, convert: impl Fn(f64) -> f64) -> Stat {
        Stat {
            n: self.n,
            mean: self.mean.map(&convert),
            stddev: self.stddev.map(&convert),
            p1: self.p1.map(&convert),
            p25: self.p25.map(&convert),
            p50: self.p50.map(&convert),
            p75: self.p75.map(&convert),
            p95: self.p95.map(&convert),
            p99: self.p99.map(&convert),
            p999: self.p999.map(&convert),
            max: self.max.map(&convert),
        }
    }

    /// Returns names and values in the order of the JSON. The result omits [`Stat::n`], which is
    /// the first value in the JSON.
    fn values(&self) -> [(&'static str, Option<f64>); 10] {
        [
            ("mean", self.mean),
            ("stddev", self.stddev),
            ("p1", self.p1),
            ("p25", self.p25),
            ("p50", self.p50),
            ("p75", self.p75),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p999", self.p999),
            ("max", self.max),
        ]
    }

    /// Selects by name the statistics that are written.
    pub fn only(&self, names: &'static [&'static str]) -> Only<'_> {
        Only { stat: self, names }
    }
}

/// The selected statistics of a quantity, which are written as JSON.
#[derive(Clone, Copy, Debug)]
pub struct Only<'a> {
    stat: &'a Stat,
    names: &'static [&'static str],
}

impl Serialize for Only<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if self.names.contains(&"n") {
            map.serialize_entry("n", &self.stat.n)?;
        }
        for (name, value) in self.stat.values() {
            if self.names.contains(&name) {
                map.serialize_entry(name, &value)?;
            }
        }
        map.end()
    }
}

/// Returns the value of rank ceil(p/100 x n) among sorted values, where `p` is from 0 to 100.
/// Returns `None` for an empty list. [`Histogram::percentile`] uses the same rank.
fn nearest_rank(sorted: &[f64], p: f64) -> Option<f64> {
    let n = sorted.len();
    let rank = ((p * n as f64 / 100.0).ceil() as usize).clamp(1, n.max(1));
    sorted.get(rank - 1).copied()
}

/// Returns the standard deviation (n - 1) of the values in a histogram. In this computation, the
/// middle of a bucket replaces each value in the bucket, but the mean is exact. Returns `None` for
/// fewer than two values.
fn stddev(histogram: &Histogram) -> Option<f64> {
    let mean = histogram.mean()?;
    let squares: f64 = histogram
        .buckets()
        .map(|(lower, width, count)| {
            let off = lower as f64 + (width - 1) as f64 / 2.0 - mean;
            off * off * count as f64
        })
        .sum();
    ratio(squares, histogram.count() as f64 - 1.0).map(f64::sqrt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_by_nearest_rank() {
        // Of five values, the 1st percentile is the first value, and the 25th percentile is the
        // second value (rank ceil(1.25)). The median is the third value, and the 99th percentile is
        // the fifth value.
        let stat = Stat::of(vec![50.0, 10.0, 40.0, 20.0, 30.0]);
        assert_eq!((stat.n, stat.mean, stat.max), (5, Some(30.0), Some(50.0)));
        assert_eq!(
            [stat.p1, stat.p25, stat.p50, stat.p75, stat.p99],
            [10.0, 20.0, 30.0, 40.0, 50.0].map(Some)
        );
        // The squared deviations are 400, 100, 0, 100 and 400. The sum of these squares, divided by
        // 4, is 250.
        assert_eq!(stat.stddev, Some(250_f64.sqrt()));
        // Of four values, the 25th percentile is the first value, because its rank is exactly 1.
        let stat = Stat::of(vec![4.0, 3.0, 2.0, 1.0]);
        assert_eq!([stat.p25, stat.p50, stat.p75], [1.0, 2.0, 3.0].map(Some));
        // Of 101 values, the 1st percentile is the second value. Of 100 values, the 1st percentile
        // is the first value.
        let stat = Stat::of((1..=101).map(f64::from).collect());
        assert_eq!([stat.p1, stat.p99], [Some(2.0), Some(100.0)]);
        let stat = Stat::of((1..=100).map(f64::from).collect());
        assert_eq!([stat.p1, stat.p99], [Some(1.0), Some(99.0)]);
    }

    #[test]
    fn little_has_no_spread_and_nothing_no_statistics() {
        assert_eq!(Stat::of(Vec::new()), Stat::default());
        let one = Stat::of(vec![7.0]);
        assert_eq!((one.n, one.mean, one.stddev), (1, Some(7.0), None));
        assert_eq!([one.p1, one.p99, one.max], [Some(7.0); 3]);
        assert_eq!(stddev(&Histogram::new()), None);
    }

    #[test]
    fn a_histogram_has_the_spread_of_its_values() {
        let mut histogram = Histogram::new();
        [10, 20, 30, 40, 50]
            .into_iter()
            .for_each(|v| histogram.record(v));
        let stat = Stat::of_histogram(&histogram);
        assert_eq!((stat.n, stat.stddev), (5, Some(250_f64.sqrt())));
        let values = vec![50.0, 10.0, 40.0, 20.0, 30.0];
        assert_eq!(
            stat,
            Stat::of(values),
            "below 2048 every value has its bucket"
        );
        let half = stat.map(|v| v / 2.0);
        assert_eq!((half.n, half.p25, half.max), (5, Some(10.0), Some(25.0)));
    }
}
