//! Tests changes during a run. A change to a setting must have the same effect as the same setting
//! from the start of the run. If a caller makes changes while a run advances, the results must
//! equal those of a scenario with the same changes as events. Every packet must be accounted for.

use std::sync::Arc;

use tailback_engine::aqm;
use tailback_engine::network::Network;
use tailback_engine::plan::{Change, Plan};
use tailback_engine::registry::{Kind, Opt, Value, defaults};
use tailback_engine::units::Time;
use tailback_record::{Cause, Outcome};
use tailback_scenario::{estimate_memory, load};

fn plan(text: &str) -> Arc<Plan> {
    match load(text.as_bytes(), "f.toml", &[], None) {
        Ok(mut scenario) => scenario.points.swap_remove(0).plan,
        Err(problems) => {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            panic!("{}\n{text}", lines.join("\n"))
        }
    }
}

/// Returns the first error of a scenario.
fn error(text: &str) -> String {
    match load(text.as_bytes(), "f.toml", &[], None) {
        Ok(_) => panic!("no error in\n{text}"),
        Err(problems) => problems[0].to_string(),
    }
}

fn finish(mut network: Network) -> Outcome {
    while network.advance(1 << 20) {}
    let census = network.census();
    let accounted = census.ended + census.inside + census.dropped;
    assert_eq!(census.entered, accounted, "{census:?}");
    network.finish()
}

fn run(plan: &Arc<Plan>) -> Outcome {
    finish(Network::new(plan, 1))
}

/// Runs the plan without its events. Instead, the test itself makes the change of each event at the
/// event's time.
fn run_live(plan: &Arc<Plan>) -> Outcome {
    let mut base = Plan::clone(plan);
    let events = std::mem::take(&mut base.events);
    let mut network = Network::new(&Arc::new(base), 1);
    for event in events {
        network.advance_until(event.at);
        network.change(event);
    }
    finish(network)
}

/// Returns all measurements of a run. If `all` is false, the result omits the number of calendar
/// events.
fn measured(outcome: &Outcome, all: bool) -> String {
    let mut value = serde_json::to_value(outcome).expect("numbers and names");
    if !all {
        value["events"] = 0.into();
    }
    value.to_string()
}

/// Checks that changes by the test have the same effect as the same changes as events. Returns the
/// outcome.
fn live_equals_scheduled(text: &str) -> Outcome {
    let plan = plan(text);
    assert!(!plan.events.is_empty(), "{text}");
    let scheduled = run(&plan);
    let live = run_live(&plan);
    assert!(
        measured(&scheduled, true) == measured(&live, true),
        "live differs from scheduled\n{text}"
    );
    scheduled
}

const FLOWS: &str = "[[flows]]\ncc = \"cubic\"\n[[flows]]\ncc = \"prague\"\nstart = \"300ms\"\n\
                     [[traffic]]\nkind = \"cbr\"\nrate = \"1Mbit\"\n";

/// Returns a scenario of two seconds at 10 Mbit/s with the lines `link` in `[bottleneck]` and with
/// the given events.
fn scenario(link: &str, events: &str) -> String {
    let rate = match link.starts_with("rate =") {
        true => "",
        false => "rate = \"10Mbit\"\n",
    };
    format!(
        "duration = \"2s\"\nrecord.events = true\n[bottleneck]\n{rate}{link}\n[path]\nrtt = \"20ms\"\n{FLOWS}{events}"
    )
}

fn event(at: &str, set: &str) -> String {
    format!("[[events]]\nat = \"{at}\"\nset = {{ {set} }}\n")
}

/// One example of each kind of change to a link.
const CHANGES: [&str; 5] = [
    "\"bottleneck.rate\" = \"3Mbit\"",
    "\"bottleneck.rate\" = \"0bit\"",
    "\"bottleneck.delay\" = \"7ms\"",
    "\"bottleneck.loss\" = 0.02",
    "\"bottleneck.rate\" = \"40Mbit\", \"bottleneck.delay\" = \"3ms\", \"bottleneck.loss\" = 0.001",
];

#[test]
fn every_change_at_every_queue_is_the_same_live_and_scheduled() {
    for entry in aqm::ENTRIES {
        for change in CHANGES {
            for start in [
                "",
                "delay = \"5ms\"\nloss = 0.001\n",
                "delay = \"5ms\"\njitter = \"1ms\"\n",
            ] {
                let link = format!("queue = \"{}\"\n{start}", entry.name);
                let events = [
                    event("500ms", change),
                    event(
                        "800ms",
                        "\"bottleneck.rate\" = \"8Mbit\", \"bottleneck.delay\" = \"1ms\"",
                    ),
                ];
                live_equals_scheduled(&scenario(&link, &events.concat()));
            }
        }
        let flows = "[[events]]\nat = \"150ms\"\nstart = [\"prague\"]\n\
                     [[events]]\nat = \"1s\"\nstop = [\"cubic\", \"cbr\"]\n";
        let link = format!("queue = \"{}\"\n", entry.name);
        let outcome = live_equals_scheduled(&scenario(&link, flows));
        assert!(outcome.flows[1].from_ns == 150_000_000, "starts early");
        assert!(outcome.flows[0].to_ns == 1_000_000_000, "stops early");
        assert_eq!(outcome.traffic[0].to_ns, 1_000_000_000);
    }
}

/// Returns a value that differs from the option's default (`now`), in the notation of scenario
/// files. The value has the same unit as the default.
fn other(opt: &Opt, now: Option<&Value>) -> String {
    match (opt.kind, now) {
        (Kind::Bool, Some(Value::Bool(now))) => (!now).to_string(),
        (Kind::Int { min, max }, Some(Value::Int(now))) => {
            let next = if *now < max { now + 1 } else { min };
            next.to_string()
        }
        (Kind::Int { min, max }, _) => min.midpoint(max).min(1_400).max(min).to_string(),
        (Kind::Float { min, max }, Some(Value::Float(now))) => {
            format!("{:?}", (now / 2.0).clamp(min, max))
        }
        (Kind::Time { .. } | Kind::TimeOrSize, Some(Value::Time(time))) => {
            format!("\"{}ns\"", time.ns() * 2)
        }
        (Kind::Time { .. }, _) => "\"3ms\"".to_owned(),
        (Kind::Rate, _) => "\"5Mbit\"".to_owned(),
        (_, Some(Value::Packets(packets))) => format!("\"{}p\"", (packets / 20).max(2)),
        (_, Some(Value::Bytes(bytes))) => format!("\"{}b\"", bytes.0 / 2),
        (Kind::Size { packets: true, .. }, _) => "\"20p\"".to_owned(),
        (Kind::Size { .. }, _) => "\"40000b\"".to_owned(),
        (Kind::Word(words) | Kind::WordOrInt { words, .. }, now) => {
            let other = words.iter().find(|word| now != Some(&Value::Word(word)));
            format!("\"{}\"", other.expect("two words"))
        }
        (kind, now) => panic!("{}: {kind:?} {now:?}", opt.name),
    }
}

/// Options whose change the loader rejects in this test. A step whose threshold is a time must
/// apply to packets that leave the queue, so `step.at` cannot change.
const REJECTED: [&str; 1] = ["step.at"];
/// Options that do not affect the traffic of the test, because the queue stays below its limits,
/// and there are no ACKs, short packets or overload.
const WITHOUT_EFFECT: [&str; 26] = [
    "codel.limit",
    "fq.limit",
    "fq.refill_delay",
    "fq_codel.limit",
    "fq_codel.memory_limit",
    "fq_codel.drop_batch",
    "fq_codel.ce_threshold_selector",
    "pie.bytemode",
    "fq_pie.limit",
    "fq_pie.memory_limit",
    "fq_pie.ecn_prob",
    "fq_pie.ecn",
    "fq_pie.bytemode",
    "step.threshold",
    "step.include_arriving",
    "cake.ack_filter",
    "cake.mpu",
    "cake.memlimit",
    "cake.wash",
    "dualpi2.limit",
    "dualpi2.memlimit",
    "dualpi2.any_ect",
    "dualpi2.overload",
    "dualpi2.l_drop",
    "pi2.limit",
    "pi2.coupling_factor",
];

#[test]
fn every_changeable_option_changes_live_as_scheduled() {
    let (mut rejected, mut without_effect) = (Vec::new(), Vec::new());
    for entry in aqm::ENTRIES {
        let mut options = defaults(entry.options);
        (entry.finish)(&mut options).expect("defaults");
        // Linux accepts these options only together with other options.
        let needed = |option: &str| match (entry.name, option) {
            ("fq_codel", "ce_threshold_selector") => {
                "\"bottleneck.queue.ce_threshold\" = \"1ms\", "
            }
            _ => "",
        };
        for opt in entry.options {
            if !aqm::changeable(entry.name, &options).contains(&opt.name) {
                continue;
            }
            let set = if let Kind::Table(_) = opt.kind {
                format!("\"bottleneck.queue.{}.weight\" = 0.01", opt.name)
            } else {
                let value = other(opt, options.get(opt.name));
                let needed = needed(opt.name);
                format!("{needed}\"bottleneck.queue.{}\" = {value}", opt.name)
            };
            let link = format!("queue = \"{}\"\n", entry.name);
            let name = format!("{}.{}", entry.name, opt.name);
            let text = scenario(&link, &event("700ms", &set));
            if load(text.as_bytes(), "f.toml", &[], None).is_err() {
                rejected.push(name);
                continue;
            }
            let changed = live_equals_scheduled(&text);
            let before = run(&plan(&scenario(&link, "")));
            if measured(&changed, false) == measured(&before, false) {
                without_effect.push(name);
            }
        }
    }
    assert_eq!(rejected, REJECTED);
    assert_eq!(without_effect, WITHOUT_EFFECT);
}

#[test]
fn options_of_impairments_change_live_as_scheduled() {
    let cases = [
        ("loss", "probability = 0.01", "probability", "0.1"),
        ("burst_loss", "loss = 0.01", "loss", "0.05"),
        ("duplicate", "probability = 0.01", "probability", "0.1"),
        (
            "reorder",
            "probability = 0.05\nby = \"3ms\"",
            "by",
            "\"9ms\"",
        ),
        (
            "reorder",
            "probability = 0.05\ndistance = 3",
            "distance",
            "9",
        ),
        ("jitter", "mean = \"1ms\"", "mean", "\"3ms\""),
        (
            "police",
            "rate = \"8Mbit\"\nburst = \"20kb\"",
            "rate",
            "\"2Mbit\"",
        ),
        ("two_paths", "", "delay", "\"9ms\""),
        ("delay", "", "steps", "[[\"0s\", \"30ms\"]]"),
        ("ecn", "action = \"bleach\"", "action", "\"drop\""),
    ];
    for (kind, options, name, value) in cases {
        let link = format!(
            "queue = \"codel\"\n[[bottleneck.impairments]]\nkind = \"{kind}\"\n{options}\n"
        );
        let set = format!("\"bottleneck.impairments[0].{name}\" = {value}");
        let changed = live_equals_scheduled(&scenario(&link, &event("700ms", &set)));
        let unchanged = run(&plan(&scenario(&link, "")));
        assert!(
            measured(&changed, false) != measured(&unchanged, false),
            "{kind}: {name} has no effect"
        );
    }
}

#[test]
fn a_rate_that_changes_equals_steps_of_the_rate() {
    for entry in aqm::ENTRIES {
        for more in [
            "",
            "link = \"wire\"\n",
            "burst = \"6000b\"\n",
            "delay = \"4ms\"\ncount_in_service = true\n",
        ] {
            let shapes = entry.name == "cake";
            if shapes && more.starts_with("burst") {
                continue;
            }
            let queue = format!("queue = \"{}\"\n{more}", entry.name);
            let mut rates = vec![("500001us", "2Mbit"), ("1200ms", "30Mbit")];
            // When an outage ends, an event changes Cake's rate before Cake can send. A step of the
            // link's rate may change Cake's rate afterwards, so test outages only with other
            // queues.
            if !shapes {
                rates.insert(1, ("1s", "0bit"));
            }
            let steps: Vec<String> = [("0s", "10Mbit")]
                .iter()
                .chain(&rates)
                .map(|(at, rate)| format!("[\"{at}\", \"{rate}\"]"))
                .collect();
            let steps = format!("rate = {{ steps = [{}] }}\n", steps.join(", "));
            let events = rates.iter();
            let events =
                events.map(|(at, rate)| event(at, &format!("\"bottleneck.rate\" = \"{rate}\"")));
            let changed = run(&plan(&scenario(&queue, &events.collect::<String>())));
            let stepped = run(&plan(&scenario(&format!("{steps}{queue}"), "")));
            assert!(
                measured(&changed, false) == measured(&stepped, false),
                "{queue}"
            );
        }
    }
}

#[test]
fn a_delay_that_changes_equals_steps_of_the_delay() {
    let steps =
        "delay = { steps = [[\"0s\", \"0ms\"], [\"600ms\", \"9ms\"], [\"1300ms\", \"2ms\"]] }\n";
    let events = [
        event("600ms", "\"bottleneck.delay\" = \"9ms\""),
        event("1300ms", "\"bottleneck.delay\" = \"2ms\""),
    ];
    let changed = run(&plan(&scenario("queue = \"codel\"\n", &events.concat())));
    let stepped = run(&plan(&scenario(&format!("queue = \"codel\"\n{steps}"), "")));
    assert!(measured(&changed, false) == measured(&stepped, false));
}

#[test]
fn an_option_of_the_queue_equals_the_same_option_at_the_start_of_the_run() {
    // At time 0, no packet has arrived yet. An event at time 0 therefore has the same effect as an
    // option in the file.
    let options = [
        ("fifo", "limit", "\"30p\""),
        ("codel", "target", "\"1ms\""),
        ("fq_codel", "quantum", "300"),
        ("pie", "target", "\"5ms\""),
        ("dualpi2", "step_thresh", "\"3ms\""),
        ("cake", "rtt", "\"20ms\""),
        ("red", "probability", "0.5"),
    ];
    for (queue, option, value) in options {
        let set = format!("\"bottleneck.queue.{option}\" = {value}");
        let changed = format!("queue = \"{queue}\"\n");
        let changed = run(&plan(&scenario(&changed, &event("0s", &set))));
        let own = format!("queue = {{ aqm = \"{queue}\", {option} = {value} }}\n");
        let own = run(&plan(&scenario(&own, "")));
        assert!(
            measured(&changed, false) == measured(&own, false),
            "{queue}"
        );
    }
}

#[test]
fn a_limit_that_shrinks_drops_from_the_head_or_keeps_what_it_holds() {
    // CUBIC fills the buffer within a second.
    let shrinks = |queue: &str| {
        let link = format!("queue = {{ aqm = \"{queue}\", limit = \"200p\" }}\n");
        let set = "\"bottleneck.queue.limit\" = \"10p\"";
        let plan = plan(&scenario(&link, &event("1s", set)));
        let mut network = Network::new(&plan, 1);
        network.advance_until(Time::from_ms(1_000));
        let at_once = network.backlog(0).packets;
        (at_once, finish(network))
    };
    let (held, outcome) = shrinks("fifo");
    assert!(held > 10 && outcome.links[0].counts.get(Cause::Overflow) > 0);
    let (held, _) = shrinks("fq_codel");
    assert!(held <= 10, "{held}");
}

#[test]
fn sizes_in_bdp_refer_to_the_rate_at_the_start() {
    let link = "queue = { aqm = \"fifo\", limit = \"2bdp\" }\n";
    let events = [
        event("500ms", "\"bottleneck.rate\" = \"100Mbit\""),
        event("600ms", "\"bottleneck.queue.limit\" = \"1bdp\""),
    ];
    let plan = plan(&scenario(link, &events.concat()));
    let changes: Vec<&Change> = plan.events.iter().flat_map(|e| &e.changes).collect();
    let [Change::Rate(0, _), Change::Queue(0, options)] = changes.as_slice() else {
        panic!("{changes:?}");
    };
    // The bandwidth-delay product is 10 Mbit/s x 20 ms.
    assert_eq!(options.bytes("limit"), 25_000);
}

#[test]
fn memory_is_estimated_for_the_largest_state_of_a_link() {
    let link = "queue = { aqm = \"fifo\", limit = \"100p\" }\n";
    let large = event("1s", "\"bottleneck.queue.limit\" = \"1000000p\"");
    let [small, large] = ["", &large].map(|events| plan(&scenario(link, events)));
    assert!(estimate_memory(&large) > estimate_memory(&small));
}

#[test]
fn what_cannot_change_is_rejected_at_its_place() {
    let cases = [
        (event("1s", "\"flows.cubic.cc\" = \"reno\""), "\"flows.cubic.cc\" does not change during a run"),
        (event("1s", "\"bottleneck.rat\" = \"1Mbit\""), "did you mean \"bottleneck.rate\"?"),
        (event("1s", "\"bottleneck.queue.flows\" = 3"), "\"flows\" of the queue \"fq_codel\" does not change during a run"),
        (event("1s", "\"bottleneck.queue.targt\" = \"3ms\""), "did you mean \"target\"?"),
        (event("1s", "\"bottleneck.queue.aqm\" = \"codel\""), "keeps its queue discipline during a run"),
        (event("1s", "\"bottleneck.queue\" = \"codel\""), "keeps its queue discipline during a run"),
        (event("1s", "\"bottleneck.loss\" = 2"), "wrong value 2 for \"loss\""),
        (event("1s", "\"bottleneck.duplicate\" = 0.1"), "keeps its impairments during a run"),
        (event("1s", "\"bottleneck.rate\" = { steps = [[\"0s\", \"1Mbit\"]] }"), "does not change"),
        (event("3s", "\"bottleneck.rate\" = \"1Mbit\""), "a time before the end of the run, 2s"),
        ("[[events]]\nat = \"1s\"\n".to_owned(), "the event changes nothing"),
        ("[[events]]\nat = \"1s\"\nstart = [\"cubic\"]\n".to_owned(), "\"cubic\" starts at 0s"),
        ("[[events]]\nat = \"100ms\"\nstop = [\"prague\"]\n".to_owned(), "\"prague\" does not start before 300ms"),
        ("[[events]]\nat = \"1s\"\nstop = [\"cubc\"]\n".to_owned(), "did you mean \"cubic\"?"),
        ("[[events]]\nat = \"1s\"\nstop = [\"cbr\"]\n[[events]]\nat = \"1500ms\"\nstart = [\"cbr\"]\n".to_owned(), "\"cbr\" has stopped at 1s"),
    ];
    for (events, expected) in cases {
        let error = error(&scenario("queue = \"fq_codel\"\n", &events));
        assert!(error.contains(expected), "{error}\n{events}");
        let line: usize = error
            .split(':')
            .nth(1)
            .and_then(|n| n.parse().ok())
            .expect("a line");
        assert!(line >= 16, "{error}");
    }
    let link = "rate = { steps = [[\"0s\", \"9Mbit\"], [\"1s\", \"1Mbit\"]] }\n";
    let error = error(&scenario(link, &event("1s", CHANGES[0])));
    assert!(error.contains("already changes over time"), "{error}");
}

#[test]
fn events_happen_in_the_order_of_time() {
    let one = event("1s", "\"bottleneck.rate\" = \"2Mbit\"");
    let two = event("500ms", "\"bottleneck.queue.limit\" = \"50p\"");
    let [ahead, behind] = [format!("{one}{two}"), format!("{two}{one}")];
    let [ahead, behind] = [ahead, behind].map(|events| plan(&scenario("", &events)));
    assert_eq!(ahead.events, behind.events);
    assert_eq!(ahead.events[0].at, Time::from_ms(500));
}

#[test]
fn values_of_events_are_swept() {
    let text = scenario("", &event("1s", "\"bottleneck.rate\" = \"1Mbit\""));
    let sweep = "[sweep]\n'events[0].set.\"bottleneck.rate\"' = [\"1Mbit\", \"2Mbit\"]\n";
    let scenario = load(format!("{text}{sweep}").as_bytes(), "f.toml", &[], None).expect("valid");
    let rates = scenario
        .points
        .iter()
        .map(|point| point.plan.events[0].changes.clone());
    let rates: Vec<_> = rates.collect();
    assert_eq!(rates.len(), 2);
    assert_ne!(rates[0], rates[1]);
    assert_ne!(scenario.points[0].run_id, scenario.points[1].run_id);
}

#[test]
fn a_rejected_value_is_reported_once() {
    for rejected in [
        "\"bottleneck.queue.target\" = \"0s\"",
        "\"bottleneck.queue.flows\" = 3",
    ] {
        let events = [
            event("500ms", rejected),
            event("600ms", "\"bottleneck.queue.limit\" = \"50p\""),
            event("700ms", "\"bottleneck.queue.interval\" = \"50ms\""),
        ];
        let text = scenario("queue = \"fq_codel\"\n", &events.concat());
        match load(text.as_bytes(), "f.toml", &[], None) {
            Ok(_) => panic!("no error in\n{text}"),
            Err(problems) => assert_eq!(problems.len(), 1, "{problems:?}"),
        }
    }
}

#[test]
fn less_patience_releases_held_packets_without_another_packet() {
    let text = "duration = \"2s\"\n[bottleneck]\nrate = \"10Mbit\"\nqueue = \"fifo\"\n\
                [[bottleneck.impairments]]\nkind = \"reorder\"\nprobability = 1.0\n\
                distance = 1000\npatience = \"1s\"\n[path]\nrtt = \"20ms\"\n\
                [[traffic]]\nkind = \"cbr\"\nrate = \"1Mbit\"\nstop = \"100ms\"\n";
    let set = "\"bottleneck.impairments[0].patience\" = \"50ms\"";
    let text = format!("{text}{}", event("300ms", set));
    let mut network = Network::new(&plan(&text), 1);
    network.advance_until(Time::from_ms(299));
    assert!(network.census().inside > 0, "packets are held");
    network.advance_until(Time::from_ms(350));
    assert_eq!(network.census().inside, 0);
    live_equals_scheduled(&text);
}

/// A scenario of two seconds with three links and no sources. The packets of `a` and `b` share a
/// pipe, because both links have the same delay.
const LINKS: &str = "duration = \"2s\"\n\
                     [links.a]\nrate = \"10Mbit\"\ndelay = \"50ms\"\nqueue = \"fifo\"\n\
                     [links.b]\nrate = \"10Mbit\"\ndelay = \"50ms\"\nqueue = \"fifo\"\n\
                     [links.slow]\nrate = \"1200kbit\"\nqueue = \"fifo\"\n\
                     [path]\nrtt = \"20ms\"\n";

/// Returns a source of datagrams of 1250 bytes.
fn cbr(route: &str, rate: &str, start: &str) -> String {
    format!(
        "[[traffic]]\nkind = \"cbr\"\nrate = \"{rate}\"\npacket_size = 1250\nstart = \"{start}\"\n\
         route = [{route}]\n"
    )
}

#[test]
fn a_shorter_delay_does_not_wait_for_packets_of_other_links() {
    let set = "\"links.a.delay\" = \"1ms\"";
    // The first packet of `a` reaches the link `a` after the change of its delay.
    let sources = [
        cbr("\"a\"", "1Mbit", "200ms"),
        cbr("\"b\"", "1Mbit", "0s"),
        cbr("\"slow\"", "1Mbit", "0s"),
    ];
    let text = format!("{LINKS}{}{}", sources.concat(), event("200ms", set));
    let outcome = live_equals_scheduled(&text);
    let longest = |source: usize| outcome.traffic[source].one_way.max().expect("packets");
    assert!(longest(0) < 25_000_000, "{}", longest(0));
    assert!(longest(1) > 50_000_000, "{}", longest(1));
}

#[test]
fn a_packet_does_not_overtake_one_that_is_due_at_the_same_time() {
    // The source sends a packet every 50 ms. Each packet reaches link `a` at the moment when the
    // previous packet has completed the delay of `a`. If a packet overtook the previous packet, the
    // previous packet would have to wait at the link `slow`.
    let source = cbr("\"a\", \"slow\"", "200kbit", "0s");
    let others = ["b", "slow"].map(|link| cbr(&format!("\"{link}\""), "8kbit", "1900ms"));
    let text = format!("{LINKS}{source}{}", others.concat());
    let set = "\"links.a.delay\" = \"0s\"";
    let changed = live_equals_scheduled(&format!("{text}{}", event("505ms", set)));
    let unchanged = run(&plan(&text));
    let [changed, unchanged] = [&changed, &unchanged].map(|o| o.traffic[0].one_way.max());
    assert_eq!(changed, unchanged);
}
