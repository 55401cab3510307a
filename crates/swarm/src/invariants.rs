//! Rules that hold for every run.

use tailback_engine::plan::{Plan, RatePlan};
use tailback_record::{Outcome, Summary};

use crate::finding::Finding;

/// Series whose values may be negative.
const SIGNED: [&str; 5] = ["credit", "correction", "gap", "red_count", "_count"];

/// Tolerance of byte counts, in bytes. One frame may be in transmission at the start of the
/// measured time, and another frame at the end of the measured time.
const TWO_FRAMES: f64 = 2.0 * 65_600.0;

/// Checks the measurements of a run.
pub(crate) fn check(plan: &Plan, seed: u64, outcome: &Outcome, found: &mut Vec<Finding>) {
    let summary = Summary::new(outcome, "swarm", seed);
    numbers(&format!("{summary:?}"), found);
    if let Some(jain) = summary.jain
        && !(0.0..=1.0 + 1e-9).contains(&jain)
    {
        found.push(Finding::new("jain", jain));
    }
    series(outcome, found);
    links(plan, outcome, found);
    flows(plan, outcome, found);
    let copies = plan.links.iter().any(|link| link.most_copies() > 1);
    for source in &outcome.traffic {
        if plan.warmup.ns() == 0 && !copies && source.received_packets > source.sent_packets {
            let (received, sent) = (source.received_packets, source.sent_packets);
            let what = format!("{}: {received} of {sent}", source.name);
            found.push(Finding::new("received more packets than were sent", what));
        }
    }
}

/// Checks that every number of a summary is finite and not negative. The JSON does not reveal a
/// number that is not finite, because it contains null both for such a number and for a missing
/// number.
fn numbers(text: &str, found: &mut Vec<Finding>) {
    let around = |at: usize| {
        let before: String = text[..at].chars().rev().take(100).collect();
        let before: String = before.chars().rev().collect();
        let behind: String = text[at..].chars().take(20).collect();
        format!("{before}{behind}")
    };
    for word in ["NaN", "inf,", "inf)", "inf }"] {
        if let Some(at) = text.find(word) {
            found.push(Finding::new("not finite", around(at)));
        }
    }
    let negative = |(at, _): &(usize, &str)| {
        let before = text[..*at].ends_with([' ', '(', '[']);
        before && text[at + 1..].starts_with(|c: char| c.is_ascii_digit())
    };
    if let Some((at, _)) = text.match_indices('-').find(negative) {
        found.push(Finding::new("negative", around(at)));
    }
}

fn series(outcome: &Outcome, found: &mut Vec<Finding>) {
    let series = &outcome.series;
    let mut wrong = std::collections::BTreeMap::new();
    for row in series.rows() {
        let quantity = &series.keys[row.key as usize].quantity;
        let value = row.value;
        let what = if !value.is_finite() {
            "a sample is not finite"
        } else if value < 0.0 && !SIGNED.iter().any(|part| quantity.contains(part)) {
            "a sample is negative"
        } else if row.time_ns > outcome.duration_ns {
            "a sample is taken after the end"
        } else {
            continue;
        };
        wrong.entry((what, quantity.to_string())).or_insert(value);
    }
    for ((what, quantity), value) in wrong {
        found.push(Finding::new(what, format!("{quantity} {value}")));
    }
}

fn links(plan: &Plan, outcome: &Outcome, found: &mut Vec<Finding>) {
    let measured = (outcome.duration_ns - outcome.warmup_ns) as f64;
    for (link, planned) in outcome.links.iter().zip(&plan.links) {
        let name = &link.name;
        if link.delay.count() != link.packets {
            let what = format!("{name}: {} of {}", link.delay.count(), link.packets);
            found.push(Finding::new("packets without a delay", what));
        }
        if link
            .delay
            .max()
            .is_some_and(|most| most > outcome.duration_ns)
        {
            found.push(Finding::new("a delay longer than the run", name));
        }
        // Skip links with a negative overhead, because such links count fewer bytes than they send.
        // Also skip Cake, because Cake has its own shaper.
        if planned.overhead >= 0 && link.capacity_bytes > 0.0 && planned.queue.name() != "cake" {
            let opportunity = match planned.rate {
                RatePlan::Trace(_) => 1504.0,
                _ => 0.0,
            };
            let burst = planned.burst.0 as f64;
            let slack = TWO_FRAMES + opportunity + burst + link.capacity_bytes * 1e-6;
            if link.bytes as f64 > link.capacity_bytes + slack {
                let what = format!("{name}: {} of {:.0} bytes", link.bytes, link.capacity_bytes);
                found.push(Finding::new("utilisation above 1", what));
            }
        }
        let most = link.backlog_max_bytes as f64 * measured;
        if !planned.count_in_service && link.backlog_byte_ns as f64 > most * 1.0001 + 1e15 {
            found.push(Finding::new("a mean backlog above the largest", name));
        }
    }
}

fn flows(plan: &Plan, outcome: &Outcome, found: &mut Vec<Finding>) {
    for (flow, planned) in outcome.flows.iter().zip(plan.each_flow()) {
        let planned = planned.of;
        let name = &flow.name;
        let sent = flow.packets.saturating_mul(u64::from(planned.tcp.mss));
        if plan.warmup.ns() == 0 && flow.delivered_bytes > sent {
            let what = format!("{name}: {} of {sent} bytes", flow.delivered_bytes);
            found.push(Finding::new("delivered more than was sent", what));
        }
        if planned
            .bytes
            .is_some_and(|all| flow.delivered_bytes > all.0)
        {
            found.push(Finding::new("delivered more than there was", name));
        }
        if flow.retransmits > flow.packets {
            found.push(Finding::new("more retransmissions than packets", name));
        }
        if flow
            .completion_ns
            .is_some_and(|at| at > outcome.duration_ns)
        {
            found.push(Finding::new("completed after the end", name));
        }
        if let Some((lower, width, _)) = flow.rtt.buckets().next()
            && lower + width < planned.rtt.ns()
        {
            let what = format!("{name}: {lower} of {} ns", planned.rtt.ns());
            found.push(Finding::new("a round-trip time below the path's", what));
        }
    }
}
