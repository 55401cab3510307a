//! Tests that a run on several cores has the same results as a run on one core.

use std::sync::Arc;
use std::thread;

use proptest::prelude::*;
use proptest::sample::select;
use tailback_engine::network::Network;
use tailback_engine::network::parts::{Ended, Meeting, Split};
use tailback_engine::plan::Plan;
use tailback_record::Outcome;

/// Returns the results of a run: all counters, and the rows of each series.
fn digest(mut outcome: Outcome) -> (String, Vec<String>, Vec<(u32, u64, u64)>) {
    // Ignore the number of events, because a packet that moves from one part to another causes an
    // event in both parts.
    outcome.events = 0;
    let series = std::mem::take(&mut outcome.series);
    let rows = series.rows();
    let rows = rows.map(|row| (row.key, row.time_ns, row.value.to_bits()));
    let mut rows: Vec<_> = rows.collect();
    // Sort the rows by series, as in the file `series.parquet`.
    rows.sort_by_key(|(key, _, _)| *key);
    let keys = series.keys.iter().map(|key| format!("{key:?}"));
    let counted = serde_json::to_string(&outcome).expect("an outcome is data");
    (counted, keys.collect(), rows)
}

fn whole(plan: &Arc<Plan>) -> Outcome {
    let mut network = Network::new(plan, 1);
    while network.advance(1 << 20) {}
    network.finish()
}

/// Runs a plan in several parts. Returns the way in which each part ended, and the combined results
/// of all parts.
fn in_parts(plan: &Arc<Plan>, split: &Split) -> (Vec<Ended>, Outcome) {
    let meeting = Meeting::new(split);
    let play = |own| split.play(plan, 1, own, &meeting, &mut |_| true);
    let played: Vec<_> = thread::scope(|scope| {
        let play = &play;
        let threads: Vec<_> = (0..split.parts())
            .map(|own| scope.spawn(move || play(own)))
            .collect();
        let joined = threads.into_iter().map(|t| t.join().expect("no panic"));
        joined.collect()
    });
    let (ended, mut networks): (Vec<_>, Vec<_>) = played.into_iter().unzip();
    let first = networks.remove(0);
    (ended, first.join(networks).finish())
}

fn load(text: &str) -> Option<Arc<Plan>> {
    let scenario = tailback_scenario::load(text.as_bytes(), "parts", &[], None).ok()?;
    Some(Arc::clone(&scenario.points[0].plan))
}

/// Tests the order of simultaneous events. In the test, flows start at the same time and pass ten
/// equal links in a row. Until queues form, each event happens at many links in the same
/// nanosecond.
#[test]
fn what_is_simultaneous_keeps_its_order() {
    let mut text =
        "duration = \"2s\"\n[record]\nseries = \"acks\"\n[path]\nrtt = \"2ms\"\n".to_owned();
    for i in 0..10 {
        text += &format!("[links.l{i}]\nrate = \"100Mbit\"\nqueue = \"codel\"\ndelay = \"1ms\"\n");
    }
    let route = |links: std::ops::Range<usize>| {
        let names: Vec<String> = links.map(|i| format!("\"l{i}\"")).collect();
        names.join(", ")
    };
    for way in [0..5, 5..10, 0..10, 2..7, 0..2, 5..7, 3..4, 8..9] {
        text += &format!("[[flows]]\ncc = \"cubic\"\nroute = [{}]\n", route(way));
    }
    let plan = load(&text).expect("it is a scenario");
    let expected = digest(whole(&plan));
    for parts in [2, 3, 5] {
        let split = Split::of(&plan, parts).expect("it has delays between all links");
        assert_eq!(split.window().ns(), 1_000_000);
        let (ended, joined) = in_parts(&plan, &split);
        assert_eq!(ended, vec![Ended::Done; parts]);
        assert_eq!(digest(joined), expected, "{parts}");
    }
}

/// Tests that a network is split at its longest delays, into parts with about equal work.
#[test]
fn what_cannot_be_cut_is_not() {
    let lot = |links: &[&str], more: &str| {
        let mut text = "duration = \"1s\"\n".to_owned();
        let mut names = Vec::new();
        for (i, link) in links.iter().enumerate() {
            text += &format!("[links.l{i}]\nrate = \"10Mbit\"\n{link}\n");
            names.push(format!("\"l{i}\""));
        }
        text += &format!(
            "{more}\n[[flows]]\ncc = \"reno\"\nroute = [{}]\n",
            names.join(", ")
        );
        Split::of(&load(&text).expect("it is a scenario"), 2).map(|split| split.window().ns())
    };
    let [far, near] = ["delay = \"5ms\"", "delay = \"1ms\""];
    assert_eq!(lot(&[near, far, near, far], ""), Some(5_000_000));
    assert_eq!(lot(&[far, near, near, near], ""), Some(1_000_000));
    assert_eq!(lot(&["", "", "", far], ""), None);
    assert_eq!(lot(&[far], ""), None);
    let varies = "delay = \"5ms\"\njitter = \"1ms\"";
    assert_eq!(lot(&[varies, varies], ""), None);
    assert_eq!(lot(&[far, far], "[record]\npackets = true"), None);
    // A source reuses a connection after the connection's last packet has left the network, and the
    // last packet may be in any part.
    let web = "[[traffic]]\nkind = \"web\"\narrival = \"50ms\"\nroute = [\"l0\", \"l1\"]";
    assert_eq!(lot(&[far, far], web), None);
    assert_eq!(lot(&[far, far, far, far], web), Some(5_000_000));
}

#[derive(Clone, Debug)]
struct Ring {
    links: usize,
    delays: Vec<&'static str>,
    both: bool,
}

fn ring() -> impl Strategy<Value = Ring> {
    let delay = select(&["1ms", "1ms", "1ms", "1ms", "2ms", "2ms", "500us", "0ms"][..]);
    (prop::collection::vec(delay, 2..7), any::<bool>()).prop_map(|(delays, both)| Ring {
        links: delays.len(),
        delays,
        both,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn several_cores_change_nothing(
        ring in ring(),
        rate in select(&["2Mbit", "10Mbit", "40Mbit"][..]),
        queue in select(&["fifo", "codel", "fq_codel", "dualpi2", "cake"][..]),
        ways in prop::collection::vec((0usize..6, 1usize..6, select(&["2ms", "4ms", "1ms", "9ms"][..]),
            select(&["cubic", "reno", "bbr", "prague"][..]), any::<bool>()), 2..9),
        traffic in select(&["", "kind = \"cbr\"\nrate = \"1Mbit\"\n", "kind = \"web\"\narrival = \"20ms\"\n"][..]),
        record in select(&["", "series = \"acks\"", "events = true", "series = \"changes\"", "statistics = \"10ms\""][..]),
        (link, host, stop) in (
            select(&["", "", "jitter = \"300us\"", "loss = 0.01", "burst = \"15kB\"", "link = \"wire\"",
                "rate = { steps = [[\"0s\", \"5Mbit\"], [\"300ms\", \"20Mbit\"]] }",
                "slots = { min = \"1ms\", max = \"2ms\", packets = 4 }"][..]),
            select(&["", "", "", "host_jitter = \"10us\"", "start_jitter = \"5ms\""][..]),
            select(&["", "", "stop = \"400ms\""][..]),
        ),
        parts in 2usize..4,
    ) {
        let mut text = format!("duration = \"700ms\"\nwarmup = \"100ms\"\n{host}\n[record]\n{record}\n");
        for (i, delay) in ring.delays.iter().enumerate() {
            let special = if i == 1 { link } else { "" };
            let rate = if special.contains("rate") { String::new() } else { format!("rate = \"{rate}\"\n") };
            text += &format!(
                "[links.l{i}]\n{rate}queue = \"{queue}\"\ndelay = \"{delay}\"\nboth_directions = {}\n{special}\n",
                ring.both
            );
        }
        let route = |from: usize, hops: usize| {
            let hops = (0..hops.min(ring.links)).map(|hop| format!("\"l{}\"", (from + hop) % ring.links));
            hops.collect::<Vec<_>>().join(", ")
        };
        for (from, hops, rtt, cc, short) in &ways {
            let short = if *short { "bytes = 30000" } else { stop };
            text += &format!("[[flows]]\ncc = \"{cc}\"\nrtt = \"{rtt}\"\nroute = [{}]\n{short}\n", route(*from, *hops));
        }
        if !traffic.is_empty() {
            text += &format!("[[traffic]]\n{traffic}route = [{}]\n", route(0, 2));
        }
        let plan = load(&text);
        prop_assume!(plan.is_some());
        let plan = plan.expect("it is assumed");
        let Some(split) = Split::of(&plan, parts) else {
            return Ok(());
        };
        let (ended, joined) = in_parts(&plan, &split);
        // If the order of simultaneous events is ambiguous, all parts report the ambiguity.
        prop_assert!(ended.iter().all(|e| *e == ended[0]), "{ended:?}");
        if ended[0] == Ended::Done {
            let joined = digest(joined);
            let whole = digest(whole(&plan));
            let same = joined.0.bytes().zip(whole.0.bytes()).take_while(|(a, b)| a == b).count();
            let near = |text: &str| text[same.saturating_sub(60)..(same + 60).min(text.len())].to_owned();
            prop_assert_eq!(near(&joined.0), near(&whole.0), "{}", text);
            prop_assert_eq!(joined.1, whole.1);
            prop_assert_eq!(joined.2, whole.2, "{}", text);
        } else {
            prop_assert_eq!(ended[0], Ended::Whole);
        }
    }
}
