//! Tests that results do not depend on the sequence number of the first segment. The simulation of
//! flows that last for days is therefore as correct as that of flows that last for seconds.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use tailback_engine::network::Network;
use tailback_engine::plan::Plan;
use tailback_engine::{aqm, cc};
use tailback_record::Outcome;

/// Returns the results of a run: all counters, and every row of its series.
fn digest(mut outcome: Outcome) -> (String, Vec<String>, Vec<(u32, u64, u64)>) {
    let series = std::mem::take(&mut outcome.series);
    let rows = series.rows();
    let rows = rows.map(|row| (row.key, row.time_ns, row.value.to_bits()));
    let keys = series.keys.iter().map(|key| format!("{key:?}"));
    let counted = serde_json::to_string(&outcome).expect("an outcome is data");
    (counted, keys.collect(), rows.collect())
}

fn run(plan: &Arc<Plan>, first_segment: u64) -> Outcome {
    let mut network = Network::numbered_from(plan, 1, first_segment);
    while network.advance(1 << 20) {}
    network.finish()
}

fn names<B>(entries: &[&'static tailback_engine::registry::Entry<B>]) -> Vec<&'static str> {
    entries.iter().map(|entry| entry.name).collect()
}

proptest! {
    #[test]
    fn where_numbers_begin_changes_nothing(
        ccs in prop::collection::vec(select(names(cc::ENTRIES)), 1..3),
        queue in select(names(aqm::ENTRIES)),
        rate in select(&["2Mbit", "20Mbit", "100Mbit"][..]),
        rtt_ms in 1u64..120,
        loss in select(&[0.0, 0.0, 0.001, 0.02, 0.1][..]),
        jitter in select(&["", "jitter = \"3ms\"\n", "schedule = { marks = [40, 50], drops = [90, 91] }\n"][..]),
        tcp in select(&["", "timestamps = false", "delack = false", "pacing = \"fq\"", "growth = \"acks\"",
            "ecn_feedback = \"accecn\"", "rcvbuf = \"auto\"", "sce_receiver = \"dither\"", "initial_cwnd = 200"][..]),
        web in any::<bool>(),
        bytes in select(&["", "bytes = 100000\n", "stop = \"1s\"\n"][..]),
        around in select(&[1_u64 << 24, 1 << 31, 1 << 32, 1 << 33, 1 << 48][..]),
        before in prop_oneof![0_u64..20, 20_u64..2_000],
    ) {
        let mut text = format!(
            "duration = \"3s\"\nwarmup = \"200ms\"\n[bottleneck]\nrate = \"{rate}\"\nqueue = \"{queue}\"\n\
             loss = {loss:?}\n{jitter}[path]\nrtt = \"{rtt_ms}ms\"\n[tcp]\n{tcp}\n[record]\nseries = \"acks\"\n"
        );
        for name in &ccs {
            text += &format!("[[flows]]\ncc = \"{name}\"\n{bytes}");
        }
        if web {
            text += "[[traffic]]\nkind = \"web\"\narrival = \"50ms\"\n";
        }
        // Skip invalid combinations, such as AccECN with a congestion control that has its own
        // feedback.
        let Ok(scenario) = tailback_scenario::load(text.as_bytes(), "shift", &[], None) else {
            return Err(TestCaseError::reject("refused"));
        };
        let plan = &scenario.points[0].plan;
        let (counted, keys, rows) = digest(run(plan, 0));
        let (shifted, shifted_keys, shifted_rows) = digest(run(plan, around - before));
        prop_assert_eq!(keys, shifted_keys);
        let first = rows.iter().zip(&shifted_rows).position(|(a, b)| a != b);
        prop_assert!(first.is_none(), "row {first:?} of the series differs:\n{text}");
        prop_assert_eq!(rows.len(), shifted_rows.len());
        prop_assert_eq!(counted, shifted, "{}", text);
    }
}
