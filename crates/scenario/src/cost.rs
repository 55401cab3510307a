//! The number of packets of a run, estimated before it begins.

use tailback_engine::plan::{Delack, FlowPlan, Plan, RatePlan, TrafficPlan};
use tailback_engine::traffic::{Role, Transport, transport};
use tailback_engine::units::Time;

use crate::response;

/// Bytes that an ACK counts for at a link.
const ACK: u64 = 66;

/// A full frame, bytes.
const FRAME: u64 = 1514;

/// Estimates how many packets pass the links in a run, each counted at every link: what senders
/// offer, but no more than a link carries. ACKs count at the links that they pass. Where losses and
/// marks that do not depend on a queue leave Reno or CUBIC less than its link, they send less.
pub fn estimate_packets(plan: &Plan) -> u64 {
    let mut passing = vec![Passing::default(); plan.links.len()];
    let mut add = |route: &[u32], packets: u64, frame: u64| {
        for link in route {
            if let Some(link) = passing.get_mut(*link as usize) {
                link.packets = link.packets.saturating_add(packets);
                link.bytes = link.bytes.saturating_add(packets.saturating_mul(frame));
            }
        }
    };
    for flow in &plan.flows {
        let segments = segments(plan, flow).saturating_mul(flow.count);
        let frame = u64::from(flow.tcp.mss) + u64::from(flow.tcp.header);
        add(&flow.route, segments, frame);
        add(&flow.back, acks(segments, flow.tcp.delack), ACK);
    }
    for source in &plan.traffic {
        let active = active(plan, source.start, source.stop);
        match (transport(source.kind), &source.connections) {
            (Some(Transport::Datagrams(of)), _) => {
                let datagrams = of(&source.options);
                let frame = u64::from(datagrams.len);
                let packets = datagrams.rate.bytes_in(active) / frame.max(1);
                let packets = packets.saturating_mul(source.count);
                add(&source.route, packets, frame);
                if datagrams.role == Role::Echo {
                    add(source.back().unwrap_or_default(), packets, frame);
                }
            }
            (Some(Transport::Connections { largest, gap }), Some(connections)) => {
                let requests = active.0 / gap(&source.options).0.max(1);
                let mss = u64::from(connections.tcp.mss);
                let each = largest(&source.options).div_ceil(mss.max(1));
                let most = requests
                    .saturating_mul(each)
                    .min(carried(plan, source, active));
                let segments = most.saturating_mul(source.count);
                let frame = mss + u64::from(connections.tcp.header);
                add(&source.route, segments, frame);
                add(
                    &connections.back,
                    acks(segments, connections.tcp.delack),
                    ACK,
                );
            }
            _ => {}
        }
    }
    for program in &plan.programs {
        // What a program sends is unknown: it counts as much as its links carry.
        for link in program.route.iter().chain(&program.back) {
            if let Some(plan_of) = plan.links.get(*link as usize) {
                let frames = capacity(&plan_of.rate, plan.duration) / FRAME;
                add(&[*link], frames, FRAME);
            }
        }
    }
    let counts = plan.links.iter().zip(passing).map(|(link, passing)| {
        let carries = capacity(&link.rate, plan.duration);
        // Packets with the mean length of the offered ones.
        if passing.bytes <= carries {
            return passing.packets;
        }
        let share = passing.packets as f64 / passing.bytes.max(1) as f64;
        (carries as f64 * share) as u64
    });
    counts.fold(0, u64::saturating_add)
}

/// The traffic that is offered to a link.
#[derive(Clone, Copy, Default)]
struct Passing {
    packets: u64,
    bytes: u64,
}

/// Segments that a flow can send: all it has, or what its window, its losses and marks, and the
/// slowest link allow.
fn segments(plan: &Plan, flow: &FlowPlan) -> u64 {
    let mss = u64::from(flow.tcp.mss).max(1);
    let active = active(plan, flow.start, flow.stop);
    let bytes = flow.bytes.map_or(u64::MAX, |bytes| bytes.0.div_ceil(mss));
    let written = written_segments(flow, active, mss).unwrap_or(u64::MAX);
    let rtt = plan.rtt_over(flow.rtt, &flow.route, &flow.back);
    let rounds = active.0 as f64 / rtt.0.max(1) as f64;
    let windows = ((rounds + 1.0) * (flow.tcp.rwnd.0 as f64 / mss as f64)) as u64;
    let responding = response::segments(plan, flow, rtt, rounds).unwrap_or(f64::INFINITY) as u64;
    let frame = mss + u64::from(flow.tcp.header);
    let links = flow
        .route
        .iter()
        .filter_map(|at| plan.links.get(*at as usize));
    let slowest = links.map(|link| capacity(&link.rate, active) / frame).min();
    let most = bytes.min(windows).min(responding).min(written);
    most.min(slowest.unwrap_or_default())
}

/// Segments that the application of a flow writes, if it limits the flow.
fn written_segments(flow: &FlowPlan, active: Time, mss: u64) -> Option<u64> {
    if let Some(rate) = flow.rate {
        return Some(rate.bytes_in(active) / mss + 1);
    }
    let chunks = flow.chunks.as_ref()?;
    let gap = chunks.every.or(chunks.think)?.0.max(1);
    let count = (active.0 / gap + 1).min(chunks.count.unwrap_or(u64::MAX));
    Some(count.saturating_mul(chunks.bytes.0.div_ceil(mss)))
}

/// Segments of the slowest link of a source of connections.
fn carried(plan: &Plan, source: &TrafficPlan, active: Time) -> u64 {
    let links = source
        .route
        .iter()
        .filter_map(|at| plan.links.get(*at as usize));
    let slowest = links.map(|link| capacity(&link.rate, active) / FRAME).min();
    slowest.unwrap_or_default()
}

/// ACKs of so many segments.
fn acks(segments: u64, delack: Delack) -> u64 {
    segments / u64::from(delack.segments())
}

/// How long a sender sends.
fn active(plan: &Plan, start: Time, stop: Option<Time>) -> Time {
    stop.map_or(plan.duration, |stop| stop.min(plan.duration))
        .since(start)
}

/// Bytes that a link carries from the start of a run on.
fn capacity(rate: &RatePlan, time: Time) -> u64 {
    rate.capacity_bytes(Time::ZERO, time) as u64
}
