//! Invariant: flows and sources in another order have the same results.
//!
//! Each component's random stream is seeded with its name, so the order in a file affects only two
//! things:
//!
//! - The order of events in the same nanosecond. The simulator sorts such events by kind, and then
//!   by the order of the file. To avoid simultaneous events, the check moves start times and
//!   round-trip times by some nanoseconds. Events may still coincide by chance, so the check tries
//!   several random sets of times, some with host jitter, before it reports a difference. The
//!   invariant does not apply to scenarios in which events coincide repeatedly. Flows on one host,
//!   and all flows with `timer_phase`, share the ticks of their timers. After a pause, all flows
//!   with this pause resume at the same moment. An impairment that holds packets releases several
//!   packets at once. Packets of a link above 10 Gbit/s are only a few nanoseconds apart. Many
//!   flows that start within a short round-trip time also start only a few nanoseconds apart.
//! - The queue that `fq`, `fq_codel`, `fq_pie` and `cake` choose for a flow. Linux hashes addresses
//!   and ports, but the simulator computes the hash from the seed and the flow's number. If the
//!   order of flows changes, the groups of flows that share a queue change. If several queues have
//!   the largest length, packets may also be dropped from a different queue. The invariant does not
//!   apply to scenarios with `fq`, `fq_codel`, `fq_pie` or `cake`.

use std::sync::Arc;

use tailback_engine::units::{Rate, Time};
use toml::{Table, Value};

use super::digest::Digest;
use super::{Check, Law, broken, links, loaded, ns_of, outside, played, tables};
use crate::draw::Draw;
use crate::generate;
use crate::trial::Limits;

pub(super) const LAW: Law = Law {
    name: "permute",
    doc: "flows and sources in another order have the same results",
    draw,
    check,
};

/// Queues that distinguish flows by their number.
const BY_NUMBER: [&str; 4] = ["fq", "fq_codel", "fq_pie", "cake"];

/// Impairments that hold packets, or that delay several packets until the same moment.
const HOLDING: [&str; 5] = ["ack_batch", "delay", "jitter", "reorder", "two_paths"];

/// Draws a scenario with at least two flows. The invariant does not apply to some of the drawn
/// scenarios, such as a scenario with a queue that distinguishes flows by number. Other examples
/// are an impairment that holds packets, and several flows that pause.
fn draw(seed: u64) -> Table {
    let mut root = generate::scenario(seed);
    let mut draw = Draw::new(seed ^ 0x5eed);
    for link in links(&mut root) {
        if by_number(link) && draw.chance(0.95) {
            let queues = ["fifo", "red", "codel", "pie", "pi2", "step", "dualpi2"];
            let queue = *draw.pick(&queues);
            link.insert("queue".to_owned(), Value::String(queue.to_owned()));
        }
        if let Some(Value::Array(impairments)) = link.get_mut("impairments")
            && draw.chance(0.95)
        {
            let holds = |one: &Value| {
                let kind = one.get("kind").and_then(Value::as_str);
                kind.is_some_and(|kind| HOLDING.contains(&kind))
            };
            impairments.retain(|one| !holds(one));
            if impairments.is_empty() {
                link.remove("impairments");
            }
        }
    }
    if draw.chance(0.95) {
        for key in ["flows", "traffic"] {
            for end in tables(&mut root, key) {
                let count = end.get("count").and_then(Value::as_integer);
                if count.is_some_and(|count| count > MANY) {
                    end.insert("count".to_owned(), Value::Integer(MANY));
                }
            }
        }
    }
    let one_pauses = draw.chance(0.9);
    root.remove("timer_phase");
    // Remove hosts that hold packets, because they release several packets at once.
    root.remove("hosts");
    for key in ["flows", "traffic"] {
        for end in tables(&mut root, key) {
            end.remove("hosts");
        }
    }
    if let Some(Value::Array(flows)) = root.get_mut("flows")
        && let [Value::Table(only)] = flows.as_slice()
    {
        let mut other = only.clone();
        other.insert("name".to_owned(), Value::String("other".to_owned()));
        flows.push(Value::Table(other));
    }
    if one_pauses {
        for (number, flow) in tables(&mut root, "flows").enumerate() {
            if number > 0 {
                flow.remove("pause");
            } else if flow.contains_key("pause") {
                flow.remove("count");
            }
        }
    }
    root
}

/// The largest `count` of a table in `[[flows]]` in most scenarios. All flows start within a
/// round-trip time. The more flows there are, the more flows start in the same nanosecond.
const MANY: i64 = 16;

/// Link rate above which events in the same nanosecond are common.
const FASTEST: Rate = Rate(10_000_000_000);

/// Number of random sets of start times and round-trip times (spreads) to try before a difference
/// is reported. Events are unlikely to coincide with all these sets of times.
const SPREADS: u64 = 5;

/// Largest delay that is added to each direction of a path, in ns. A link with jitter or slots
/// releases packets of several flows at once. If all paths were equally long, the ACKs of packets
/// from several flows would arrive at the next link at the same time.
const MORE_WAY: u64 = 1000;

/// Number of spreads in which hosts send without jitter. Without jitter, the departure times of
/// ACK-clocked flows are sums of start times, round-trip times and the link's slots. Two flows may
/// therefore send in the same nanosecond in every spread without jitter.
const EXACT: u64 = 2;

/// Host jitter, in ns, in all spreads after the first `EXACT` spreads.
const HOST_JITTER: u64 = 1000;

fn by_number(link: &Table) -> bool {
    let queue = link.get("queue");
    let name = queue.and_then(|queue| queue.get("aqm")).or(queue);
    let name = name.and_then(Value::as_str);
    name.is_some_and(|name| BY_NUMBER.contains(&name))
}

fn check(scenario: &Table, seed: u64, limits: &Limits) -> Check {
    if links(&mut scenario.clone())
        .into_iter()
        .any(|link| by_number(link))
    {
        return Err(outside("its queue tells flows apart by their number"));
    }
    let plan = Arc::clone(&loaded(scenario)?.points[0].plan);
    if plan.links.iter().any(|link| link.rate.nominal() > FASTEST) {
        return Err(outside("its packets are a few nanoseconds apart"));
    }
    let on_one_host = plan.timer_phase.is_some()
        || plan.flows.iter().any(|flow| flow.hosts.is_some())
        || plan.traffic.iter().any(|source| source.hosts.is_some());
    if on_one_host {
        return Err(outside("the timers of several flows tick together"));
    }
    let pausing = plan.flows.iter().filter(|flow| !flow.pause.is_empty());
    if pausing.map(|flow| flow.count).sum::<u64>() > 1 {
        return Err(outside("several flows resume at the end of a pause"));
    }
    let mut impairments = plan.links.iter().flat_map(|link| &link.impairments);
    if impairments.any(|impairment| HOLDING.contains(&impairment.kind)) {
        return Err(outside("an impairment lets several packets go at once"));
    }
    let ends = (plan.flow_count() + plan.source_count()) as u64;
    if plan.start_jitter > Time::ZERO && ends * ends > plan.start_jitter.ns() {
        return Err(outside("several of its flows start in one nanosecond"));
    }
    let named = |key| tables(&mut scenario.clone(), key).all(|end| end.contains_key("name"));
    if !named("flows") || !named("traffic") {
        return Err(outside("its flows are named by their order"));
    }
    let mut draw = Draw::new(seed);
    let mut difference = String::new();
    for number in 0..SPREADS {
        let spread = spread(scenario, &mut draw, number >= EXACT);
        let other = permuted(&spread, &mut draw);
        if other == spread {
            return Err(outside("it has one flow or source, or all are the same"));
        }
        let (plan, outcome) = played(&spread, limits)?;
        let before = Digest::of(&plan, outcome);
        let (plan, outcome) = played(&other, limits)?;
        match before.difference(&Digest::of(&plan, outcome)) {
            None => return Ok(()),
            Some(what) => difference = what,
        }
    }
    Err(broken("the order of flows matters", difference))
}

/// Returns the scenario after changing its times. All flows and sources get different start times.
/// All flows get different round-trip times.
fn spread(scenario: &Table, draw: &mut Draw, jitter: bool) -> Table {
    let mut root = scenario.clone();
    if jitter && ns_of(root.get("host_jitter")).unwrap_or_default() == 0 {
        let jitter = Value::String(format!("{HOST_JITTER}ns"));
        root.insert("host_jitter".to_owned(), jitter);
    }
    if ns_of(root.get("start_jitter")) == Some(0) {
        root.remove("start_jitter");
    }
    let most = ns_of(root.get("duration")).unwrap_or_default() / 50;
    let most = most.min(1_000_000);
    let rtt_of_path = ns_of(root.get("path").and_then(|path| path.get("rtt")));
    for key in ["flows", "traffic"] {
        for end in tables(&mut root, key) {
            let later = draw.below(most);
            let start = ns_of(end.get("start")).unwrap_or_default();
            let start = Value::String(format!("{}ns", start + later));
            end.insert("start".to_owned(), start);
            if let Some(rtt) = ns_of(end.get("rtt")).or(rtt_of_path) {
                // Each direction of the path takes half of the round-trip time.
                let rtt = Value::String(format!("{}ns", rtt + 2 * draw.below(MORE_WAY)));
                end.insert("rtt".to_owned(), rtt);
            }
            if let Some(stop) = ns_of(end.get("stop")) {
                let stop = Value::String(format!("{}ns", stop + later));
                end.insert("stop".to_owned(), stop);
            }
        }
    }
    root
}

fn permuted(scenario: &Table, draw: &mut Draw) -> Table {
    let mut root = scenario.clone();
    for key in ["flows", "traffic"] {
        if let Some(ends) = root.get_mut(key).and_then(Value::as_array_mut) {
            match ends.len() {
                2 => ends.reverse(),
                _ => draw.shuffle(ends),
            }
        }
    }
    root
}
