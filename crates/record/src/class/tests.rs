use super::*;
use crate::{Cause, FlowOutcome, LinkOutcome, Outcome, Summary};

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// Returns the recorder of a link of 1 Mbyte/s. Class L has flow 0 and flow 2, which starts at 2 s.
/// Class C has flow 1 and source 4. Flow 3 has no class. The measured time is 1 to 4.5 s.
fn recorder(interval_ns: u64) -> ClassRecorder {
    let flow = |flow, rtt_ms| ClassFlow {
        flow,
        base_rtt_ns: rtt_ms * MS,
    };
    let classes = vec![
        ClassPlan {
            name: "L".to_owned(),
            number: 1,
            flows: vec![flow(0, 10), flow(2, 20)],
            sources: Vec::new(),
        },
        ClassPlan {
            name: "C".to_owned(),
            number: 0,
            flows: vec![flow(1, 40)],
            sources: vec![4],
        },
    ];
    ClassRecorder::new(classes, S, 4 * S + S / 2, interval_ns).expect("classes")
}

fn outcome(recorder: ClassRecorder) -> Outcome {
    let flow = |name: &str, from_ns| FlowOutcome {
        name: name.to_owned(),
        from_ns,
        to_ns: 4 * S + S / 2,
        ..FlowOutcome::default()
    };
    let mut outcome = Outcome {
        duration_ns: 4 * S + S / 2,
        warmup_ns: S,
        flows: vec![
            flow("l", S),
            flow("c", S),
            flow("late", 2 * S),
            flow("none", S),
        ],
        ..Outcome::default()
    };
    let capacity = |from: u64, to: u64| (to - from) as f64 / 1e3;
    let (classes, samples) = recorder.finish(0, outcome.duration_ns, capacity);
    outcome.links.push(LinkOutcome {
        name: "bottleneck".to_owned(),
        samples,
        ..LinkOutcome::default()
    });
    outcome.classes = classes;
    outcome.classes.sort_by_key(|class| class.class.number);
    outcome
}

#[test]
fn definitions() {
    let mut recorder = recorder(S);
    // The recorder ignores packets during the warm-up, and accepts events in any order.
    recorder.forward(0, 9999, 1, S - 1);
    recorder.count(0, Cause::Mark, S - 1);
    recorder.forward(0, 100_000, 3 * MS, 3 * S + 5);
    recorder.forward(0, 100_000, MS, S);
    recorder.forward(0, 300_000, 3 * MS, 2 * S - 1);
    recorder.forward(2, 50_000, 2 * MS, 3 * S + 9);
    recorder.forward(1, 400_000, 20 * MS, S + 7);
    recorder.forward(4, 80_000, 30 * MS, S + 8);
    recorder.forward(3, 20_000, 50 * MS, S + 9);
    // The totals include the incomplete last interval of half a second, but the samples do not.
    recorder.forward(0, 1_000, 9 * MS, 4 * S + 1);
    recorder.count(0, Cause::StepMark, S + 1);
    recorder.count(0, Cause::SceMark, S + 1);
    recorder.count(2, Cause::Mark, 3 * S + 1);
    recorder.count(2, Cause::Overflow, 3 * S + 1);
    recorder.count(2, Cause::Loss, 3 * S + 1);
    recorder.count(4, Cause::Aqm, 2 * S + 1);
    recorder.count(3, Cause::Aqm, 2 * S + 1);
    let mut outcome = outcome(recorder);
    let summary = Summary::new(&outcome, "", 1);

    // The summary lists classes in the order of the scenario.
    let [c, l] = &summary.classes[..] else {
        panic!("two classes")
    };
    assert_eq!((c.name.as_str(), l.name.as_str()), ("C", "L"));
    assert_eq!((l.flows, l.sources, c.flows, c.sources), (2, 0, 1, 1));
    assert_eq!((l.packets, l.bytes), (Some(5), Some(551_000)));
    assert_eq!((l.drops, l.marks, l.sce_marks), (Some(2), Some(2), Some(1)));
    assert_eq!((c.packets, c.drops, c.marks), (Some(2), Some(1), Some(0)));
    // The delays of the five packets are 1, 2, 3, 3 and 9 ms, with a mean of 3.6 ms.
    assert!((l.delay_ms.mean.expect("packets") - 3.6).abs() < 1e-12);
    let near = |got: Option<f64>, ms: f64| (got.expect("packets") / ms - 1.0).abs() < 1e-3;
    assert!(near(l.delay_ms.p25, 2.0) && near(l.delay_ms.p50, 3.0));
    assert!(near(l.delay_ms.p1, 1.0) && near(l.delay_ms.p75, 3.0));
    assert!(near(l.delay_ms.p99, 9.0) && l.delay_ms.max == Some(9.0));
    // The squared deviations are 6.76, 2.56, 0.36, 0.36 and 29.16. The sum of the squared
    // deviations, divided by n - 1 = 4, is 9.8.
    assert!(near(l.delay_ms.stddev, 9.8_f64.sqrt()));

    let samples = l.samples.as_ref().expect("samples");
    // Flow `l` sends 400 kB, 0 and 100 kB in the three intervals. Flow `late`, which starts at 2 s,
    // sends 0 and 50 kB in the last two intervals.
    let rate = samples.rate_mbit;
    assert_eq!((rate.n, rate.max), (5, Some(3.2)));
    assert!((rate.mean.expect("five") - (3.2 + 0.8 + 0.4) / 5.0).abs() < 1e-12);
    assert_eq!(
        [rate.p1, rate.p25, rate.p50, rate.p75, rate.p99],
        [0.0, 0.0, 0.4, 0.8, 3.2].map(Some)
    );
    // The windows of flow `l` are 400 kB/s x (2 + 10) ms, 0, and 100 kB/s x (2.5 + 10) ms. The
    // windows of flow `late` are 0 and 50 kB/s x (2.5 + 20) ms.
    let window = samples.window_bytes;
    assert_eq!((window.n, window.max), (5, Some(4_800.0)));
    assert_eq!([window.p50, window.p75], [Some(1_125.0), Some(1_250.0)]);
    assert_eq!(window.mean, Some((4_800.0 + 1_250.0 + 1_125.0) / 5.0));
    // The link can carry 1 MB in an interval.
    let used = samples.utilisation;
    assert_eq!([used.p1, used.p50, used.p99], [0.0, 0.15, 0.4].map(Some));
    // In two of the three intervals, one of two packets is marked. The interval without packets has
    // no mark rate.
    let (marks, drops) = (samples.mark_share, samples.drop_share);
    assert_eq!((marks.n, marks.mean), (2, Some(0.5)));
    // In one interval, none of 2 packets is dropped. In another interval, 2 packets are forwarded
    // and 1 packet is dropped. A packet lost after the queue counts as forwarded.
    assert_eq!((drops.n, drops.p1), (2, Some(0.0)));
    assert_eq!(drops.max, Some(1.0 / 3.0));
    assert_eq!(samples.delay_ms.p1, Some(2.0));
    assert_eq!(samples.delay_ms.max, Some(2.5));

    let samples = c.samples.as_ref().expect("samples");
    // The utilisation includes the source's bytes, but the rates of flows do not.
    assert_eq!(samples.utilisation.max, Some(0.48));
    assert_eq!(samples.rate_mbit.max, Some(3.2));
    // The source's packets count in the class's mean delay, which is 25 ms. The window is therefore
    // 400 kB/s x (25 + 40) ms.
    assert_eq!(samples.window_bytes.max, Some(26_000.0));
    // In one interval, the queue drops one packet and forwards no packet, so the drop rate is 1.
    assert_eq!(samples.drop_share.max, Some(1.0));
    let whole = summary.queues[0].samples.as_ref().expect("samples");
    assert_eq!((whole.utilisation.n, whole.utilisation.max), (3, Some(0.9)));

    outcome.record_samples();
    let rows: Vec<(String, u64, f64)> = outcome
        .series
        .rows()
        .map(|row| {
            let key = &outcome.series.keys[row.key as usize];
            let of = key.flow.as_ref().or(key.link.as_ref()).expect("either");
            (format!("{of} {}", key.quantity), row.time_ns / S, row.value)
        })
        .collect();
    let of = |name: &str| -> Vec<(u64, f64)> {
        let rows = rows.iter().filter(|(n, _, _)| n == name);
        rows.map(|(_, at, value)| (*at, *value)).collect()
    };
    assert_eq!(
        of("bottleneck class.L.utilisation"),
        [(2, 0.4), (3, 0.0), (4, 0.15)]
    );
    assert_eq!(of("bottleneck class.L.delay_ms"), [(2, 2.0), (4, 2.5)]);
    assert_eq!(of("bottleneck class.C.drop_share"), [(2, 0.0), (3, 1.0)]);
    assert_eq!(of("late rate_mbit"), [(3, 0.0), (4, 0.4)]);
    assert!(of("none rate_mbit").is_empty());
}

#[test]
fn without_samples_there_are_totals_only() {
    let mut recorder = recorder(0);
    recorder.forward(0, 1_000, MS, S);
    recorder.forward(3, 1_000, MS, S);
    let mut outcome = outcome(recorder);
    outcome.record_samples();
    assert!(outcome.series.keys.is_empty());
    let summary = Summary::new(&outcome, "", 1);
    assert_eq!(summary.classes[1].packets, Some(1));
    assert_eq!(summary.classes[1].samples, None);
    assert_eq!(summary.queues[0].samples, None);
    assert!(ClassRecorder::new(Vec::new(), S, 2 * S, 0).is_none());
}

#[test]
fn of_packets_nobody_watched_nothing_is_known() {
    let mut outcome = outcome(recorder(S));
    outcome.unwatched = true;
    let json = serde_json::to_value(Summary::new(&outcome, "", 1)).expect("plain data");
    for name in ["packets", "bytes", "drops", "marks", "causes", "samples"] {
        assert!(json["classes"][0][name].is_null(), "{name}");
    }
    assert!(json["queue"]["samples"].is_null());
    outcome.record_samples();
    assert!(outcome.series.is_empty());
}

#[test]
fn a_run_that_ended_early_has_the_intervals_it_had() {
    let recorder = recorder(S);
    let (classes, samples) = recorder.finish(0, 3 * S + 5, |_, _| 1.0);
    assert_eq!(samples.expect("samples").bytes.len(), 2);
    assert_eq!(classes[0].intervals.len(), 2);
    assert_eq!(classes[0].flow_bytes, [[0, 0], [0, 0]]);
}

#[test]
fn without_classes_a_link_has_samples_only() {
    let mut recorder = ClassRecorder::new(Vec::new(), S, 4 * S, S).expect("samples");
    recorder.forward(3, 500, MS, 2 * S);
    recorder.count(3, Cause::Mark, 2 * S);
    let (classes, samples) = recorder.finish(0, 4 * S, |from, to| (from + 100 * to) as f64);
    assert!(classes.is_empty());
    let samples = samples.expect("samples");
    assert_eq!(samples.bytes, [0, 500, 0]);
    let between = [1, 2, 3].map(|from| ((from + 100 * (from + 1)) * S) as f64);
    assert_eq!(samples.capacity_bytes, between);
}

#[test]
fn owners_beyond_the_last_that_has_a_class_are_of_none() {
    let mut recorder = recorder(S);
    for owner in [3, 4, 5, 1000] {
        recorder.forward(owner, 100, MS, S);
        recorder.count(owner, Cause::Mark, S);
    }
    let (classes, samples) = recorder.finish(0, 4 * S, |_, _| 1.0);
    let packets: Vec<u64> = classes.iter().map(|class| class.packets).collect();
    assert_eq!(packets, [0, 1], "the source of class C");
    assert_eq!(samples.expect("samples").bytes, [400, 0, 0]);
}

#[test]
fn a_flow_that_the_outcome_does_not_have_has_no_series() {
    let mut recorder = recorder(S);
    for owner in [0, 1, 2] {
        recorder.forward(owner, 1_000, MS, 2 * S);
    }
    let mut outcome = outcome(recorder);
    // If flow 2 is missing from the outcome, no other flow gets its number 2.
    outcome.flows.truncate(2);
    outcome.record_samples();
    let keys = outcome.series.keys.iter();
    let rates: Vec<&str> = keys
        .filter(|key| &*key.quantity == "rate_mbit")
        .filter_map(|key| key.flow.as_deref())
        .collect();
    assert_eq!(rates, ["c", "l"]);
}
