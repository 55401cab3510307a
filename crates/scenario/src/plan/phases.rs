//! Finds FIFOs at which flows may stay in phase.
//!
//! Without random delays, packets reach a full FIFO at fixed offsets from the times at which
//! packets leave the FIFO. These offsets depend on the round-trip times modulo the time that the
//! link needs for a packet. The offsets determine which packets are dropped (Floyd and Jacobson,
//! "On traffic phase effects in packet-switched gateways", 1992).

use tailback_engine::aqm::fifo::{self, Limit};
use tailback_engine::plan::{FlowPlan, LinkPlan, RatePlan, spreading_jitter};
use tailback_engine::units::Time;

use super::links::Links;
use crate::declare::{InPhase, Reader};

/// Records the first FIFO at which flows may stay in phase. `packet` is the time that the slowest
/// link needs for a packet.
pub(super) fn check(
    reader: &mut Reader<'_>,
    links: &Links,
    flows: &[FlowPlan],
    end: Time,
    packet: Option<Time>,
) {
    let steady: Vec<&FlowPlan> = flows
        .iter()
        .filter(|flow| {
            let way = flow.route.iter().chain(&flow.back);
            let mut way = way.filter_map(|link| links.plans.get(*link as usize));
            !way.any(varies)
        })
        .collect();
    for (number, (link, (queue, _))) in (0..).zip(links.plans.iter().zip(&links.queues)) {
        let Some((name, options)) = link.queue.known() else {
            continue;
        };
        if name != fifo::ENTRY.name {
            continue;
        }
        let here = steady.iter().filter(|flow| flow.route.contains(&number));
        let here: Vec<&FlowPlan> = here.copied().collect();
        let limit = Limit::of(options.get("limit"));
        if meet(&here, end) && fills(&here, limit) && !limited_elsewhere(&here, number, links) {
            let found = InPhase {
                queue: *queue,
                jitter: packet.map(spreading_jitter),
            };
            let known = reader.in_phase.take();
            reader.in_phase = Some(known.map_or(found, |known| known.and(found)));
        }
    }
}

/// Returns whether packets leave a link at random times, or at irregular times because of a trace.
fn varies(link: &LinkPlan) -> bool {
    link.loss > 0.0
        || link.jitter > Time::ZERO
        || link.slots.is_some()
        || matches!(link.rate, RatePlan::Trace(_))
}

/// Returns whether two or more of the given flows are active at the same time.
fn meet(flows: &[&FlowPlan], end: Time) -> bool {
    if flows.iter().any(|flow| flow.count > 1) {
        return true;
    }
    let mut times: Vec<(Time, Time)> = flows
        .iter()
        .map(|flow| (flow.start, flow.stop.unwrap_or(end).min(end)))
        .filter(|(start, stop)| start < stop)
        .collect();
    times.sort_unstable();
    times.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

/// Returns whether the windows of the given flows together exceed the limit of the queue.
fn fills(flows: &[&FlowPlan], limit: Limit) -> bool {
    let segments = |flow: &FlowPlan| {
        let most = flow.bytes.map_or(u64::MAX, |bytes| bytes.0);
        let most = most.min(flow.tcp.rwnd.0);
        let segments = most.div_ceil(u64::from(flow.tcp.mss.max(1)));
        u128::from(segments) * u128::from(flow.count)
    };
    let frame = |flow: &FlowPlan| u128::from(flow.tcp.mss) + u128::from(flow.tcp.header);
    match limit {
        Limit::Packets(limit) => {
            flows.iter().map(|flow| segments(flow)).sum::<u128>() > u128::from(limit)
        }
        Limit::Bytes(limit) => {
            let bytes = flows.iter().map(|flow| segments(flow) * frame(flow));
            bytes.sum::<u128>() > u128::from(limit)
        }
    }
}

/// Returns whether the flows cannot fill a link, because their routes contain slower links.
fn limited_elsewhere(flows: &[&FlowPlan], number: u32, links: &Links) -> bool {
    let rate = |link: u32| {
        let link = links.plans.get(link as usize);
        link.map_or(u64::MAX, |link| link.rate.nominal().0)
    };
    let mut slowest: Vec<u32> = Vec::new();
    for flow in flows {
        let others = flow.route.iter().filter(|link| **link != number);
        let Some(link) = others.min_by_key(|link| rate(**link)) else {
            return false;
        };
        slowest.push(*link);
    }
    slowest.sort_unstable();
    slowest.dedup();
    let sum: u128 = slowest.iter().map(|link| u128::from(rate(*link))).sum();
    let this = links.plans[number as usize].rate.lowest().0;
    sum < u128::from(this)
}
