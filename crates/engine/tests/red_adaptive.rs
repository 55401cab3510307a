//! Tests RED's adaptive mode in a network. This mode keeps the average queue at its target for
//! different numbers of flows. A constant marking probability cannot do this.

mod common;

use common::*;
use tailback_engine::plan::SeriesMode;
use tailback_engine::registry::Value;
use tailback_engine::units::{Bytes, Time};

/// Runs 20 to 120 flows over 50 Mbit/s and 40 ms. These flows need a marking probability between 1
/// % and 50 %, which are the limits of the adaptive mode. Returns the means of the average queue
/// and of the maximum probability over the last 30 s of 60 s. Also returns the range of the maximum
/// probability over all 60 s.
fn settled(flows: u64, adaptive: bool) -> (f64, f64, [f64; 2]) {
    let set = [
        ("limit", Value::Bytes(Bytes(400_000))),
        ("weight", Value::Float(1.0 / 512.0)),
        ("adaptive", Value::Bool(adaptive)),
        ("ecn", Value::Bool(true)),
    ];
    let mut flow = flow("reno", "reno", Time::from_ms(40), &[]);
    (flow.count, flow.ecn) = (flows, true);
    let mut p = plan(
        Time::from_secs(60),
        vec![link(50_000_000, "red", &set)],
        vec![flow],
    );
    p.start_jitter = Time::from_ms(100);
    p.record.series = SeriesMode::Interval;
    let series = run(network(&p)).series;
    let values = |quantity: &str, from: u64| -> Vec<f64> {
        let rows = series.rows();
        let rows = rows.filter(|row| &*series.keys[row.key as usize].quantity == quantity);
        let rows = rows.filter(|row| row.time_ns >= from * 1_000_000_000);
        rows.map(|row| row.value).collect()
    };
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let all = values("red_max_p", 0);
    let lowest = all.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = all.iter().copied().fold(0.0, f64::max);
    (
        mean(values("red_avg_bytes", 30)),
        mean(values("red_max_p", 30)),
        [lowest, highest],
    )
}

#[test]
fn the_average_comes_to_the_target() {
    // If the range is 33333 (min) to 100000 (max), the target is the middle fifth of this range:
    // 59999 to 73332.
    let target = 59_999.0..73_332.0;
    let mut before = 0.0;
    for flows in [30, 40, 50, 60] {
        let (average, probability, range) = settled(flows, true);
        assert!(target.contains(&average), "{flows}: {average}");
        assert!(range[0] >= 0.009 && range[1] <= 0.51, "{flows}: {range:?}");
        assert!(probability > before, "{flows}: {probability}");
        before = probability;
    }
    // With a constant probability of 2 %, the average queue depends on the number of flows.
    let (few, many) = (settled(20, false).0, settled(60, false).0);
    assert!(few < target.start && many > target.end, "{few} {many}");
}
