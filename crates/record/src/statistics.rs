//! Mean, spread and percentiles of a list of values.

use serde::Serialize;

/// What is said of a list of values; `None` where there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// How many there are.
    pub n: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation of the values (over n - 1); of one value: `None`.
    pub stddev: Option<f64>,
    /// 1st percentile, by nearest rank as all of them.
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

impl Statistics {
    /// Of these values, none of which is NaN; sorts them.
    pub fn of(values: &mut [f64]) -> Statistics {
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len();
        let mean = (n > 0).then(|| values.iter().sum::<f64>() / n as f64);
        let stddev = mean.filter(|_| n > 1).map(|mean| {
            let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
            (squares / (n - 1) as f64).sqrt()
        });
        // The value of rank ceil(p/100 n), from 1.
        let percentile = |p: usize| values.get((p * n).div_ceil(100).max(1) - 1).copied();
        Statistics {
            n: n as u64,
            mean,
            stddev,
            p1: percentile(1),
            p25: percentile(25),
            p50: percentile(50),
            p75: percentile(75),
            p99: percentile(99),
            max: values.last().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_few_values() {
        let mut values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let all = Statistics::of(&mut values);
        assert_eq!((all.n, all.mean, all.max), (200, Some(100.5), Some(200.0)));
        let percentiles = [all.p1, all.p25, all.p50, all.p75, all.p99];
        assert_eq!(percentiles, [2.0, 50.0, 100.0, 150.0, 198.0].map(Some));
        // (n^2 - 1)/12 is the variance over n.
        let variance = (200.0 * 200.0 - 1.0) / 12.0 * 200.0 / 199.0;
        assert!((all.stddev.expect("many") - f64::sqrt(variance)).abs() < 1e-9);

        let one = Statistics::of(&mut [3.0]);
        assert_eq!((one.p1, one.p99, one.stddev), (Some(3.0), Some(3.0), None));
        assert_eq!(Statistics::of(&mut []), Statistics::default());
    }
}
