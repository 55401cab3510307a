//! Tests the estimate of packets for flows that are limited by losses or marks, not by the link.

use std::sync::Arc;

use tailback_engine::network::Network;
use tailback_engine::plan::Plan;
use tailback_scenario::{estimate_packets, load};

/// Returns a plan with a flow on a link that is so fast that it never fills. `signals` contains
/// keys of the link.
fn plan(seconds: u64, rtt_ms: u64, signals: &str, cc: &str, flow: &str) -> Arc<Plan> {
    let text = format!(
        "duration = \"{seconds}s\"\n[bottleneck]\nrate = \"10Gbit\"\n{signals}\n[path]\n\
         rtt = \"{rtt_ms}ms\"\n[tcp]\ninitial_ssthresh = 40\n[record]\nseries = false\n\
         [[flows]]\ncc = {cc}\n{flow}\n"
    );
    let scenario = load(text.as_bytes(), "f.toml", &[], None);
    let scenario = scenario.unwrap_or_else(|errors| panic!("{errors:?} of\n{text}"));
    scenario.points[0].plan.clone()
}

/// Returns how many packets the links forward when the simulator runs the plan.
fn forwarded(plan: &Arc<Plan>) -> u64 {
    let mut network = Network::new(plan, 1);
    while network.advance(1 << 20) {}
    network.finish().links[0].packets
}

/// Returns a schedule that marks or drops one of every `period` segments, `count` times.
fn schedule(kind: &str, period: u64, count: u64) -> String {
    let numbers: Vec<String> = (1..=count).map(|at| (at * period).to_string()).collect();
    format!("schedule = {{ {kind} = [{}] }}", numbers.join(", "))
}

const MARKED: &str = "ecn = true";

/// Number of frames of 1514 bytes that a link of 10 Gbit/s carries in a second.
const CARRIED: u64 = 825_627;

#[test]
fn marks_and_losses_bound_the_estimate_near_what_is_sent() {
    let marks = schedule("marks", 1000, 400);
    let drops = schedule("drops", 1000, 400);
    for (seconds, rtt_ms, signals, cc, flow) in [
        (60, 50, marks.as_str(), "\"reno\"", MARKED),
        (
            60,
            50,
            &marks,
            "{ name = \"reno\", beta_ecn = 0.8 }",
            MARKED,
        ),
        (60, 50, &drops, "\"reno\"", ""),
        (60, 50, "loss = 0.001", "\"reno\"", ""),
        (60, 50, "loss = 0.001", "\"cubic\"", ""),
        // With these numbers, the cubic function determines CUBIC's window, not the Reno-friendly
        // region.
        (120, 200, &schedule("drops", 10_000, 400), "\"cubic\"", ""),
    ] {
        let plan = plan(seconds, rtt_ms, signals, cc, flow);
        let (expected, sent) = (estimate_packets(&plan), forwarded(&plan));
        let ratio = expected as f64 / sent as f64;
        assert!(
            (0.7..=1.4).contains(&ratio),
            "{cc} {signals:.30}: {expected} expected, {sent} sent"
        );
        assert!(expected < seconds * CARRIED / 50);
    }
}

#[test]
fn what_responds_to_nothing_counts_as_much_as_its_link_carries() {
    let every = 10 * CARRIED;
    for (signals, cc, flow) in [
        ("", "\"reno\"", ""),
        ("loss = 0.001", "\"bbr\"", ""),
        // The schedule ends long before the flow, so the schedule has little effect on the flow.
        (&*schedule("marks", 10, 3), "\"reno\"", MARKED),
    ] {
        let plan = plan(10, 1, signals, cc, flow);
        let expected = estimate_packets(&plan);
        assert!(
            expected.abs_diff(every) <= every / 1000,
            "{cc} {signals}: {expected}, {every}"
        );
    }
    // The flows share the link's schedule, so each flow gets only some of the marks.
    let marks = schedule("marks", 1000, 100);
    let alone = estimate_packets(&plan(60, 50, &marks, "\"reno\"", MARKED));
    let flows = format!("{MARKED}\ncount = 5");
    let shared = estimate_packets(&plan(60, 50, &marks, "\"reno\"", &flows));
    assert!(alone < 60 * CARRIED / 500, "{alone}");
    assert!(shared > 59 * CARRIED, "{shared}");
}

/// Tests that the size of a flow and its receive window also limit the estimate.
#[test]
fn bytes_and_the_receive_window_bound_the_estimate_too() {
    let of = |flow: &str| estimate_packets(&plan(60, 50, "loss = 0.001", "\"reno\"", flow));
    assert_eq!(of("bytes = 14480"), 10);
    // The receive window limits the flow to 20 segments per round trip. The response function alone
    // would permit 39 segments.
    assert_eq!(of("tcp = { rwnd = \"28960b\" }"), 20 * 1201);
}

/// Returns the estimated number of packets of a run, and the number of packets that the simulator
/// counts.
fn counts(link: &str, cc: &str, flow: &str) -> (u64, u64) {
    let text = format!(
        "duration = \"6s\"\nseed = 1\nhost_jitter = \"5us\"\n[bottleneck]\nrate = \"50Mbit\"\n{link}\n\
         [path]\nrtt = \"20ms\"\n[record]\nseries = false\n[[flows]]\ncc = \"{cc}\"\n{flow}\n"
    );
    let scenario = load(text.as_bytes(), "f.toml", &[], None);
    let scenario = scenario.unwrap_or_else(|errors| panic!("{errors:?} of\n{text}"));
    let plan = &scenario.points[0].plan;
    let mut network = Network::new(plan, 1);
    while network.advance(1 << 20) {}
    let links = network.finish().links;
    let counted = links.iter().map(|link| link.packets).sum();
    (estimate_packets(plan), counted)
}

/// Tests that the estimated number of packets is 0.65 to 3.2 times the number that a run counts.
/// The ratio is lowest for bursts of loss, because a run contains only a few bursts. The ratio is
/// highest for five BBR flows that recover from an outage.
#[test]
fn the_estimate_is_near_what_a_run_counts() {
    let schedule = schedule("marks", 100, 400);
    let mark =
        "[[bottleneck.impairments]]\nkind = \"police\"\nrate = \"10Mbit\"\naction = \"mark\"";
    let gilbert = "loss = { gilbert = { p = 0.001, r = 0.2, good = 0, bad = 1 } }";
    let out = "[[bottleneck.impairments]]\nkind = \"loss\"\nprobability = 1.0\nduring = [[\"2s\", \"4s\"]]";
    let links = [
        ("plain", ""),
        ("loss 0.1 %", "loss = 0.001"),
        ("loss 1 %", "loss = 0.01"),
        ("loss 3 %", "loss = 0.03"),
        ("loss 5 %", "loss = 0.05"),
        ("loss 20 %", "loss = 0.2"),
        ("bursts", gilbert),
        (
            "policer",
            "policer = { rate = \"10Mbit\", burst = \"64kb\" }",
        ),
        ("marking policer", mark),
        ("duplicates", "both_directions = true\nduplicate = 0.2"),
        ("only duplicates", "both_directions = true\nduplicate = 1.0"),
        ("both ways", "both_directions = true"),
        (
            "late packets",
            "reorder = { probability = 0.01, delay = \"10ms\" }",
        ),
        ("outage", out),
        ("schedule", &schedule),
    ];
    let flows = [
        ("reno", ""),
        ("cubic", ""),
        ("cubic", "ecn = true\ncount = 5"),
        ("bbr", ""),
        ("bbr", "count = 5"),
        ("bbr3", ""),
        ("dctcp", ""),
        ("prague", ""),
        ("cubic-sce", ""),
        ("dctcp-sce", ""),
        ("ledbat", ""),
    ];
    let mut wrong = Vec::new();
    for (name, link) in links {
        for (cc, flow) in flows {
            let (expected, counted) = counts(link, cc, flow);
            let ratio = expected as f64 / counted as f64;
            if !(0.65..=3.2).contains(&ratio) {
                wrong.push(format!(
                    "{name}, {cc} {flow:?}: {expected} expected, {counted} counted"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
