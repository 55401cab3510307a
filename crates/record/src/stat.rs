//! Statistics of samples: mean, spread and percentiles by nearest rank.

use serde::Serialize;

use crate::Histogram;

/// Statistics of some numbers, in their unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stat {
    /// How many there are.
    pub n: u64,
    /// Mean; `None` without any.
    pub mean: Option<f64>,
    /// Standard deviation of a sample (n - 1); `None` for fewer than two.
    pub stddev: Option<f64>,
    /// 1st percentile.
    pub p1: Option<f64>,
    /// 25th percentile.
    pub p25: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Stat {
    /// The statistics of some numbers, none of them NaN.
    pub fn of(mut values: Vec<f64>) -> Stat {
        let n = values.len() as f64;
        // Before sorting: the sum is that of the order in which they were taken.
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
            p99: at(99.0),
            max: values.last().copied(),
        }
    }
}

/// The value of rank ceil(p/100 x n) of sorted values, `p` in 0..=100; `None`
/// without any. [`Histogram::percentile`] has the same rank.
pub fn nearest_rank(sorted: &[f64], p: f64) -> Option<f64> {
    let n = sorted.len();
    let rank = ((p * n as f64 / 100.0).ceil() as usize).clamp(1, n.max(1));
    sorted.get(rank - 1).copied()
}

/// Standard deviation of what a histogram has counted, of a sample (n - 1);
/// each value as the middle of its bucket, about the exact mean. `None` for
/// fewer than two.
pub fn stddev(histogram: &Histogram) -> Option<f64> {
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

fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_by_nearest_rank() {
        // Of five values the 25th percentile is the second (rank ceil(1.25)),
        // the median the third, the 99th the fifth, the 1st the first.
        let stat = Stat::of(vec![50.0, 10.0, 40.0, 20.0, 30.0]);
        assert_eq!((stat.n, stat.mean, stat.max), (5, Some(30.0), Some(50.0)));
        assert_eq!(
            [stat.p1, stat.p25, stat.p50, stat.p75, stat.p99],
            [10.0, 20.0, 30.0, 40.0, 50.0].map(Some)
        );
        // Squares 400 + 100 + 0 + 100 + 400 over 4.
        assert_eq!(stat.stddev, Some(250_f64.sqrt()));
        // Of four the 25th percentile is the first: rank 1 exactly.
        let stat = Stat::of(vec![4.0, 3.0, 2.0, 1.0]);
        assert_eq!([stat.p25, stat.p50, stat.p75], [1.0, 2.0, 3.0].map(Some));
        // Of 101 the 1st percentile is the second, of 100 the first.
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
        assert_eq!(stddev(&histogram), Some(250_f64.sqrt()));
    }
}
