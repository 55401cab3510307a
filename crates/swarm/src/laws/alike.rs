//! Invariant: identical flows are interchangeable, so a flow's result does not depend on its
//! position in the file.
//!
//! For each of several seeds, the check ranks flows that differ only in their names by throughput.
//! Spearman's coefficient measures the correlation of these ranks with the flows' positions in the
//! file. If positions do not matter, the coefficient for n flows has mean 0 and variance 1/(n-1).
//! From this variance, the check computes the standard deviation of the sum of the coefficients
//! over all seeds.

use tailback_engine::{aqm, cc};
use tailback_record::Outcome;
use toml::{Table, Value};

use super::{Check, Law, Verdict, broken, loaded, outside, played_as};
use crate::draw::Draw;
use crate::generate::values::{Taste, bit, entry, ns};
use crate::trial::Limits;

pub(super) const LAW: Law = Law {
    name: "alike",
    doc: "equal flows have no order: throughput does not depend on the place in the file",
    draw,
    check,
};

const SEEDS: u64 = 8;

/// Number of standard deviations above which a correlation is an error. Without an error, the
/// correlation exceeds this number in one of three million cases.
const MOST: f64 = 5.0;

fn draw(seed: u64) -> Table {
    let mut draw = Draw::new(seed ^ 0xa11e);
    let taste = Taste {
        set: *draw.pick(&[0.0, 0.0, 0.1]),
        extreme: 0.0,
    };
    let flows = draw.log(4.0, 80.0) as i64;
    let rate = draw.log(5e5, 5e7);
    let packets = draw.log(300.0, 4_000.0);
    let rtt = draw.log(1e6, 3e8);
    let duration = (packets * 1514.0 * 8e9 / rate).max(rtt * 10.0);
    let (queue, _) = if draw.chance(0.4) {
        let queue = Table::from_iter([
            ("aqm".to_owned(), Value::String("fifo".to_owned())),
            (
                "limit".to_owned(),
                Value::String(format!("{}p", draw.log(2.0, 200.0) as u64)),
            ),
        ]);
        (Value::Table(queue), "fifo")
    } else {
        entry(&mut draw, "aqm", aqm::ENTRIES, taste)
    };
    let (control, _) = entry(&mut draw, "name", cc::ENTRIES, taste);
    let mut root = Table::from_iter([
        ("duration".to_owned(), ns(duration)),
        (
            "seed".to_owned(),
            Value::Integer(draw.between(0, 1_000_000)),
        ),
    ]);
    if draw.chance(0.3) {
        root.insert("start_jitter".to_owned(), ns(rtt * draw.log(1e-3, 10.0)));
    }
    let link = Table::from_iter([("rate".to_owned(), bit(rate)), ("queue".to_owned(), queue)]);
    root.insert("bottleneck".to_owned(), Value::Table(link));
    let path = Table::from_iter([("rtt".to_owned(), ns(rtt))]);
    root.insert("path".to_owned(), Value::Table(path));
    let record = Table::from_iter([("series".to_owned(), Value::Boolean(false))]);
    root.insert("record".to_owned(), Value::Table(record));
    let mut flow = Table::from_iter([
        ("name".to_owned(), Value::String("alike".to_owned())),
        ("cc".to_owned(), control),
        ("count".to_owned(), Value::Integer(flows)),
    ]);
    if draw.chance(0.3) {
        flow.insert("ecn".to_owned(), Value::Boolean(true));
    }
    root.insert("flows".to_owned(), Value::Array(vec![Value::Table(flow)]));
    root
}

fn check(scenario: &Table, _seed: u64, limits: &Limits) -> Check {
    let leaning = leaning(scenario, limits)?;
    if leaning.abs() > MOST {
        let what = format!("{leaning:.1} standard deviations from no correlation");
        return Err(broken("throughput goes with the place in the file", what));
    }
    Ok(())
}

/// Returns the sum of the rank correlations between throughput and position over all seeds, in
/// multiples of the standard deviation of this sum.
fn leaning(scenario: &Table, limits: &Limits) -> Result<f64, Verdict> {
    let scenario = loaded(scenario)?;
    let point = &scenario.points[0];
    let mut sum = 0.0;
    let mut variance = 0.0;
    for more in 0..SEEDS {
        let (_, outcome) = played_as(&point.plan, point.seed.wrapping_add(more), limits)?;
        if let Some(correlation) = correlation(&outcome) {
            sum += correlation;
            variance += 1.0 / (outcome.flows.len() as f64 - 1.0);
        }
    }
    if variance == 0.0 {
        return Err(outside("all flows have the same throughput"));
    }
    Ok(sum / variance.sqrt())
}

/// Returns the rank correlation between throughputs and positions, or `None` if all throughputs are
/// equal.
fn correlation(outcome: &Outcome) -> Option<f64> {
    let rates = outcome.flows.iter().map(|flow| {
        let time = flow.to_ns.saturating_sub(flow.from_ns).max(1);
        flow.delivered_bytes as f64 / time as f64
    });
    let ranks = ranks(&rates.collect::<Vec<f64>>());
    let middle = (ranks.len() as f64 - 1.0) / 2.0;
    let (mut both, mut of_ranks, mut of_places) = (0.0, 0.0, 0.0);
    for (place, rank) in ranks.iter().enumerate() {
        let (place, rank) = (place as f64 - middle, rank - middle);
        both += place * rank;
        of_ranks += rank * rank;
        of_places += place * place;
    }
    (of_ranks > 0.0).then(|| both / (of_ranks * of_places).sqrt())
}

/// Returns the rank of each value, counted from 0. Equal values get their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
    let equal = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
    let ranks = values.iter();
    ranks
        .map(|value| below(*value) + (equal(*value) - 1.0) / 2.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::LIMITS;
    use tailback_record::FlowOutcome;

    fn of(bytes: &[u64]) -> Outcome {
        let flows = bytes.iter().map(|bytes| FlowOutcome {
            delivered_bytes: *bytes,
            to_ns: 1_000,
            ..FlowOutcome::default()
        });
        Outcome {
            flows: flows.collect(),
            ..Outcome::default()
        }
    }

    /// The expected values come from SciPy's `spearmanr([0, 1, 2, 3, 4], ...)`.
    #[test]
    fn rank_correlation() {
        let rounded = |bytes: &[u64]| correlation(&of(bytes)).map(|c| (c * 1e4).round() / 1e4);
        assert_eq!(rounded(&[1, 2, 30, 40, 500]), Some(1.0));
        assert_eq!(rounded(&[5, 4, 3, 2, 1]), Some(-1.0));
        assert_eq!(rounded(&[3, 1, 4, 1, 5]), Some(0.4104));
        assert_eq!(rounded(&[7, 7, 7]), None);
    }

    /// The mean over 60 scenarios must be within four standard deviations of zero. The mean over
    /// many scenarios reveals correlations that are too small to be found in a single scenario.
    #[test]
    fn no_lean_over_many_cases() {
        let cases = (0..60).filter_map(|seed| leaning(&draw(seed), &LIMITS).ok());
        let cases: Vec<f64> = cases.collect();
        assert!(cases.len() > 40, "{}", cases.len());
        let mean = cases.iter().sum::<f64>() / (cases.len() as f64).sqrt();
        assert!(mean.abs() < 4.0, "{mean:.2} standard deviations");
    }
}
