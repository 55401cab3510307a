//! Tests how `[[events]]` are mapped for the kernel engine.

use super::*;
use tailback_engine::plan::{Change, EventPlan};
use tailback_engine::registry::Options;

/// Returns a plan with one event at 10 s that makes the given changes.
fn changed(mut plan: Plan, changes: Vec<Change>) -> Plan {
    let at = Time::from_secs(10);
    plan.events.push(EventPlan { at, changes });
    plan
}

/// Returns the options of the first link's queue, with another value for one option.
fn options(plan: &Plan, name: &'static str, value: Value) -> Options {
    let (_, options) = plan.links[0].queue.known().expect("a queue of tailback");
    let mut options = options.clone();
    options.set(name, value);
    options
}

/// Returns the command lines that the agent executes during the run, with their times in ms.
fn lines(plan: &Plan) -> Vec<(u64, String)> {
    script(plan);
    let job = map(plan, 1, &kit()).expect("Linux supports the plan");
    let changes = job.changes.into_iter();
    changes
        .map(|change| (change.at_ns / 1_000_000, change.batch.lines.join("\n")))
        .collect()
}

/// Returns the messages about a plan that Linux does not support.
fn refused(plan: &Plan) -> Vec<String> {
    let refusals = judge(plan, &kit()).into_iter();
    refusals
        .map(|refusal| format!("{}: {}", refusal.path, refusal.message))
        .collect()
}

#[test]
fn a_rate_changes_as_with_steps() {
    for mode in [LinkMode::Shaper, LinkMode::Wire] {
        let mut plan = simple();
        plan.links[0].mode = mode;
        let slow = Rate(5_000_000);
        let event = changed(plan.clone(), vec![Change::Rate(0, slow)]);
        let first = (Time::ZERO, Rate(100_000_000));
        plan.links[0].rate = RatePlan::Steps(vec![first, (Time::from_secs(10), slow)]);
        assert_eq!(map(&event, 1, &kit()), map(&plan, 1, &kit()));
    }
    let at_start = EventPlan {
        at: Time::ZERO,
        changes: vec![Change::Rate(0, Rate(0)), Change::Rate(0, Rate(7_000_000))],
    };
    let mut plan = simple();
    plan.events.push(at_start);
    let job = map(&plan, 1, &kit()).expect("Linux supports the plan");
    assert_eq!(job.links[0].rates, [(0, 100_000_000), (1, 7_000_000)]);
}

#[test]
fn an_outage_needs_its_module() {
    let plan = changed(simple(), vec![Change::Rate(0, Rate(0))]);
    assert!(modules(&plan).contains("sch_outage"));
    assert!(!modules(&simple()).contains("sch_outage"));
}

#[test]
fn delay_and_loss_change_one_netem() {
    let mut plan = simple();
    plan.links[0].delay = MS(20);
    let mut plan = changed(plan, vec![Change::Delay(0, MS(5))]);
    plan.events.push(EventPlan {
        at: Time::from_secs(20),
        changes: vec![Change::Loss(0, 0.25), Change::Delay(0, MS(40))],
    });
    plan.events.push(EventPlan {
        at: Time::from_secs(30),
        changes: vec![Change::Loss(0, 0.0)],
    });
    let text = script(&plan);
    // Packets must arrive in the order in which they leave the queue.
    assert!(text.contains("qdisc add dev out root netem limit 1000000 delay 20000us rate 100tbit"));
    let lines = lines(&plan);
    let words = |line: &str| format!("qdisc change dev out root netem limit 1000000 {line}");
    assert_eq!(lines[0], (10_000, words("delay 5000us rate 100tbit")));
    let lossy = words("delay 40000us rate 100tbit loss random 25% seed ");
    assert!(lines[1].1.starts_with(&lossy), "{lines:?}");
    assert_eq!(lines[2], (30_000, words("delay 40000us rate 100tbit")));
    let job = map(&plan, 1, &kit()).expect("Linux supports the plan");
    assert!(job.links[0].loss_namespace.is_some());
}

#[test]
fn a_link_without_netem_gets_one_for_its_events() {
    let plan = changed(simple(), vec![Change::Loss(0, 0.5)]);
    let text = script(&plan);
    assert!(
        text.contains("qdisc add dev out root netem limit 1000000\n"),
        "{text}"
    );
    let [(10_000, line)] = &lines(&plan)[..] else {
        panic!("one change");
    };
    assert!(line.contains("netem limit 1000000 loss random 50% seed "));
    let mut plan = plan;
    let burst = impairment("burst_loss", &[("loss", "0.01"), ("burst", "4")]);
    plan.links[0].impairments.push(burst);
    assert!(refused(&plan)[0].contains("one impairment that loses packets"));
}

#[test]
fn the_rate_of_a_wire_survives_a_change_of_its_delay() {
    let mut plan = simple();
    plan.links[0].mode = LinkMode::Wire;
    plan.links[0].delay = MS(20);
    let plan = changed(plan, vec![Change::Rate(0, Rate(9_000_000))]);
    let mut plan = changed(plan, vec![Change::Delay(0, MS(30))]);
    plan.events[1].at = Time::from_secs(20);
    let netem = |line: &(u64, String)| line.1.contains("netem").then(|| line.clone());
    let lines: Vec<_> = lines(&plan).iter().filter_map(netem).collect();
    assert!(
        lines[0].1.contains("delay 20000us rate 9000000bit"),
        "{lines:?}"
    );
    assert!(
        lines[1].1.contains("delay 30000us rate 9000000bit"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn tc_gets_the_options_that_change() {
    for (aqm, option, value, words) in [
        (
            "codel",
            "target",
            Value::Time(MS(2)),
            "parent 1:1 handle 10: codel target 2000us",
        ),
        (
            "codel",
            "ecn",
            Value::Bool(true),
            "parent 1:1 handle 10: codel ecn",
        ),
        (
            "fq_codel",
            "limit",
            Value::Packets(64),
            "parent 1:1 handle 10: fq_codel limit 64",
        ),
        (
            "pie",
            "target",
            Value::Time(MS(7)),
            "parent 1:1 handle 10: pie target 7000us",
        ),
        (
            "fifo",
            "limit",
            Value::Packets(33),
            "parent 1:1 handle 10: pfifo limit 33",
        ),
        (
            "cake",
            "rtt",
            Value::Time(MS(50)),
            "root handle 10: cake bandwidth 100000000bit rtt 50000us",
        ),
    ] {
        let mut plan = simple();
        let set = match aqm {
            "fifo" => vec![("limit", Value::Packets(100))],
            _ => vec![],
        };
        plan.links[0] = link(100_000_000, aqm, &set);
        let options = options(&plan, option, value);
        let plan = changed(plan, vec![Change::Queue(0, options)]);
        assert_eq!(
            lines(&plan),
            [(10_000, format!("qdisc change dev out {words}"))]
        );
    }
}

/// The command of tc contains Cake's `mpu` only if `mpu` is not 0. A change of `mpu` to 0 would
/// therefore have no effect.
#[test]
fn a_value_that_tc_does_not_write_is_rejected() {
    let with_mpu = |before, after| {
        let mut plan = simple();
        plan.links[0] = link(100_000_000, "cake", &[("mpu", Value::Int(before))]);
        let mut options = options(&plan, "mpu", Value::Int(after));
        options.set("rtt", Value::Time(MS(50)));
        changed(plan, vec![Change::Queue(0, options)])
    };
    assert!(lines(&with_mpu(0, 64))[0].1.ends_with("rtt 50000us mpu 64"));
    let message = "events[0]: tc does not change mpu of cake to this value";
    assert_eq!(refused(&with_mpu(64, 0)), [message]);
}

#[test]
fn red_gets_all_options_and_its_timer() {
    let set = [
        ("limit", Value::Bytes(Bytes(400_000))),
        ("avpkt", Value::Bytes(Bytes(1_000))),
        ("adaptive", Value::Bool(true)),
    ];
    let mut plan = simple();
    plan.links[0] = link(100_000_000, "red", &set);
    let add = script(&plan);
    let options = options(&plan, "limit", Value::Bytes(Bytes(300_000)));
    let lines = lines(&changed(plan, vec![Change::Queue(0, options)]));
    let [(_, red), (_, adapt)] = &lines[..] else {
        panic!("two changes: {lines:?}");
    };
    let all = red.split("red limit 300000 ").nth(1).expect("all options");
    assert!(
        add.contains(&format!("red limit 400000 {all}")),
        "{red}\n{add}"
    );
    assert_eq!(adapt, "out");
}

#[test]
fn drops_are_attributed_with_the_limit_of_their_time() {
    let plan = simple();
    let options = options(&plan, "limit", Value::Packets(10));
    let plan = changed(plan, vec![Change::Queue(0, options)]);
    let job = map(&plan, 1, &kit()).expect("Linux supports the plan");
    let limits = (job.links[0].limit, &job.links[0].limits[..]);
    let after = [(10_000_000_000, crate::job::Limit::Packets(10))];
    assert_eq!(limits, (crate::job::Limit::Packets(1000), &after[..]));
}

#[test]
fn an_impairment_gets_its_new_options() {
    let mut plan = simple();
    plan.links[0].impairments = vec![impairment("loss", &[("probability", "0.01")])];
    let options = impairment("loss", &[("probability", "0.2")]).options;
    let change = Change::Impairment {
        link: 0,
        place: 0,
        options,
    };
    let plan = changed(plan, vec![change]);
    let [(10_000, line)] = &lines(&plan)[..] else {
        panic!("one change");
    };
    assert!(line.contains("loss random 20%"), "{line}");
}

#[test]
fn each_copy_of_a_flow_starts_and_stops_at_its_event() {
    let mut plan = simple();
    plan.flows[0].count = 2;
    plan.flows[0].start = Time::from_secs(50);
    plan.traffic.push(cbr("stream"));
    let plan = changed(plan, vec![Change::Start(1), Change::Stop(2)]);
    let job = map(&plan, 1, &kit()).expect("Linux supports the plan");
    let ten = 10_000_000_000;
    assert_ne!(job.flows[0].start_ns, ten);
    assert_eq!((job.flows[1].start_ns, job.flows[1].stop_ns), (ten, None));
    assert_eq!(job.sources[0].stop_ns, Some(ten));
    let plain = map(&simple(), 1, &kit()).expect("Linux supports the plan");
    assert!(plain.changes.is_empty() && plain.links[0].limits.is_empty());
}

#[test]
fn what_linux_cannot_change_is_rejected() {
    let mut plan = simple();
    plan.links[0].impairments = vec![impairment("ack_batch", &[("packets", "4")])];
    let options = impairment("ack_batch", &[("packets", "8")]).options;
    let change = Change::Impairment {
        link: 0,
        place: 0,
        options,
    };
    plan.flows[0].back = vec![0];
    let mut kit = kit();
    let module = (
        "sch_impair".to_owned(),
        vec!["/modules/sch_impair.ko".to_owned()],
    );
    kit.extra.extend([module]);
    let plan = changed(plan, vec![Change::Rate(0, Rate(5_000_000))]);
    let refusals = judge(&changed(plan, vec![change]), &kit);
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!(refusals[0].path, "events[1]");
    assert!(refusals[0].message.contains("ack_batch keeps its options"));
}
