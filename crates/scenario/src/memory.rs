//! Estimates the memory of a run before it begins.

use std::collections::BTreeSet;

use tailback_engine::plan::{
    Conduct, FlowPlan, LinkPlan, Plan, RatePlan, SeriesMode, TcpPlan, TrafficPlan,
};
use tailback_engine::registry::{Options, Value};
use tailback_engine::traffic::{Transport, transport};
use tailback_engine::units::{Rate, Time};
use tailback_record::sample::When;
use tailback_record::{FlowState, LinkState};

use crate::read::{Diagnostic, Place, Problem, Span};
use crate::scenario::Scenario;

/// Bytes for a flow. The sender, the receiver, names, series keys and counters need 4 KiB. A
/// histogram of round-trip times needs 1 KiB of buckets for each of four powers of two.
const FLOW: u64 = 8 << 10;
/// Bytes for an entry in a histogram's list of carries, which contains counts from full buckets.
const CARRIED: u64 = 32;
/// At most one in this number of samples adds an entry to a histogram's list of carries.
const SAMPLES_CARRIED: u64 = 256;
/// Largest number of carries in a histogram of packet times, because its number of buckets is
/// limited.
const BUCKETS_CARRIED: u64 = 4096;
const SOURCE: u64 = 2 << 10;
/// Number of sampled values (gauges) that a queue reports.
const GAUGES: u64 = 2;
/// Bytes for one simultaneous connection of a source, with its counters at a link.
const SLOT: u64 = 256;
/// Bytes for the measurements of a request: time of completion, size and duration.
const REQUEST: u64 = 48;
/// Bytes for a link. The number includes the queue and the sink of the link, and a histogram of
/// delays over ten powers of two.
const LINK: u64 = 88 << 10;
/// Bytes for a segment in flight: 64 in a queue or pipe, 64 for its acknowledgement, and two slots
/// of 32 in scoreboards. The number includes the unused part of buffers that grow by doubling.
const SEGMENT: u64 = 384;
/// Bytes for a packet in a queue or pipe. The number includes the unused part of buffers that grow
/// by doubling.
const PACKET: u64 = 160;
/// Bytes for a packet that has been recorded at a link but not yet written to the file.
const CAPTURED: u64 = 512;
/// Bytes that a queue may hold if its options do not limit it (Cake's smallest limit is 4 MiB).
const UNLIMITED: u64 = 32 << 20;
/// Bytes for a row of a time series or of the packet record.
const ROW: u64 = 40;
/// Bytes for a class of flows. The number includes a histogram of delays over ten powers of two.
const CLASS: u64 = 84 << 10;
/// Bytes for a sample of a class for `record.statistics`.
const CLASS_SAMPLE: u64 = 48;
/// Bytes for a sample of a link for `record.statistics`.
const LINK_SAMPLE: u64 = 24;
/// Bytes for a sample of a flow for `record.statistics`.
const FLOW_SAMPLE: u64 = 40;
/// Bytes for code, libraries and everything else that does not depend on the plan.
const BASE: u64 = 16 << 20;

/// Estimates the memory that one run needs, in bytes. Unless flows behave unusually, the run needs
/// at most this much memory. If links change during the run, the result is the largest estimate for
/// any state of the links.
pub fn estimate_memory(plan: &Plan) -> u64 {
    let changed = plan.links_after_events().map(|links| {
        let plan = Plan {
            links,
            events: Vec::new(),
            ..plan.clone()
        };
        estimate_unchanged(&plan)
    });
    changed.fold(estimate_unchanged(plan), u64::max)
}

fn estimate_unchanged(plan: &Plan) -> u64 {
    let flows = plan.flow_count() as u64;
    let links = plan.links.len() as u64;
    let sources = plan.source_count() as u64;
    let mut bytes = BASE
        .saturating_add(flows.saturating_mul(FLOW))
        .saturating_add(sources.saturating_mul(SOURCE))
        .saturating_add(links.saturating_mul(LINK));
    for source in &plan.traffic {
        let (Some(Transport::Connections { gap, .. }), Some(connections)) =
            (transport(source.kind), &source.connections)
        else {
            continue;
        };
        // Assume a third more requests than the mean number, and two rows for each request.
        let requests = plan.duration.0 / gap(&source.options).0.max(1) / 3 * 4;
        let row = if plan.record.series == SeriesMode::Off {
            0
        } else {
            2 * ROW
        };
        let each = (u64::from(connections.limit) * SLOT * (1 + links))
            .saturating_add(requests.saturating_mul(REQUEST + row));
        bytes = bytes.saturating_add(each.saturating_mul(source.count));
    }

    // The segments in flight fit into the paths and the queues, except for an initial window of
    // each flow. The receive windows also limit the number of segments in flight.
    let rtt = plan.flows.iter().map(|flow| flow.rtt).max();
    let links_hold = plan.links.iter().map(|link| {
        let behind = link.delay + link.longest_impairment();
        let on_path = carried(plan, link, rtt.unwrap_or_default() + behind);
        let on_path = on_path.saturating_mul(link.most_copies());
        // TCP does not send faster than ACKs arrive, so a queue never grows by more bytes than its
        // link can carry in the run.
        let queue = carried(plan, link, plan.duration).min(capacity(link).of(frame(plan)));
        on_path.saturating_add(queue)
    });
    let window = |flow: &FlowPlan| flow.tcp.rwnd.0 / u64::from(flow.tcp.mss.max(1));
    let windows = plan.flows.iter();
    let windows = windows.map(|flow| window(flow).saturating_mul(flow.count));
    let initial = plan.flows.iter();
    let initial = sum(initial.map(|flow| u64::from(flow.tcp.initial_cwnd) * flow.count));
    // If a receiver acknowledges segments before they arrive, the number of segments in flight is
    // limited only by the windows.
    let early = plan.flows.iter();
    let early = early.filter(|flow| acknowledges_early(&flow.tcp));
    let early = sum(early.map(|flow| window(flow).saturating_mul(flow.count)));
    let early = early.saturating_add(sum(plan.traffic.iter().map(|t| early_of_source(plan, t))));
    let segments = sum(links_hold).min(sum(windows));
    let segments = segments.saturating_add(initial).saturating_add(early);
    bytes = bytes
        .saturating_add(segments.saturating_mul(SEGMENT))
        .saturating_add(unresponsive_packets(plan).saturating_mul(PACKET));
    if plan.record.packets {
        // Recorded packets that are sent at the same time stay in memory until they are written.
        let at_once = initial.saturating_add(early);
        bytes = bytes.saturating_add(at_once.saturating_mul(CAPTURED * (1 + links)));
    }

    let each_packet = u64::from(plan.record.events)
        + match plan.record.series {
            SeriesMode::Off | SeriesMode::Interval => 0,
            SeriesMode::Changes => 1,
            SeriesMode::Acks => FlowState::rows(&[When::State, When::Ack]),
        };
    let packets = sum(plan
        .links
        .iter()
        .map(|link| carried(plan, link, plan.duration)));
    let histograms = (plan.flows.len() + plan.links.len()) as u64;
    let carried = (packets / SAMPLES_CARRIED).min(histograms * BUCKETS_CARRIED);
    bytes = bytes.saturating_add(carried * CARRIED);
    let rounds = plan.duration.0 / rtt.unwrap_or_default().0.max(1) + 1;
    let mut rows = packets
        .saturating_add(initial)
        .saturating_add(early.saturating_mul(rounds))
        .saturating_mul(2 * each_packet);
    rows = rows.saturating_add(sampled_rows(plan));
    bytes = bytes.saturating_add(
        rows.min(tailback_record::series::MAX_ROWS as u64)
            .saturating_mul(ROW),
    );
    let members = plan.flows.iter().filter(|flow| flow.class.is_some());
    let members: u64 = members.map(|flow| flow.count).sum();
    let classes = plan.flows.iter().map(|flow| &flow.class);
    let classes = classes.chain(plan.traffic.iter().map(|source| &source.class));
    let classes: BTreeSet<&String> = classes.flatten().collect();
    let classes = classes.len() as u64;
    bytes = bytes.saturating_add(classes.saturating_mul(CLASS));
    if plan.record.statistics > Time::ZERO {
        let intervals = plan.duration.since(plan.warmup).0 / plan.record.statistics.0;
        let each = classes * CLASS_SAMPLE + links * LINK_SAMPLE + members * FLOW_SAMPLE;
        bytes = bytes.saturating_add(intervals.saturating_mul(each));
    }
    let traces: u64 = plan
        .links
        .iter()
        .map(|link| {
            let rate = match &link.rate {
                RatePlan::Trace(times) => times.len() as u64 * 16,
                RatePlan::Steps(steps) => steps.len() as u64 * 32,
                RatePlan::Constant(_) => 0,
            };
            let schedule = link.schedule.as_ref();
            let scheduled = schedule.map_or(0, |s| s.marks.len() + s.drops.len());
            let listed: usize = (link.impairments.iter())
                .map(|impairment| impairment.during.0.len() + listed(&impairment.options))
                .sum();
            rate + (scheduled + 2 * listed) as u64 * 24
        })
        .sum();
    bytes.saturating_add(traces)
}

/// Returns whether a receiver acknowledges segments so early that the sender can send more data
/// than the links can carry.
fn acknowledges_early(tcp: &TcpPlan) -> bool {
    matches!(tcp.receiver, Conduct::DividesAcks | Conduct::Optimistic)
}

/// Returns how many segments a source's connections may have in flight if their receivers
/// acknowledge early. An endless connection may have a whole window of segments in flight. A
/// connection with limited data may have all its data in flight.
fn early_of_source(plan: &Plan, source: &TrafficPlan) -> u64 {
    let (Some(Transport::Connections { largest, gap }), Some(connections)) =
        (transport(source.kind), &source.connections)
    else {
        return 0;
    };
    if !acknowledges_early(&connections.tcp) {
        return 0;
    }
    let mss = u64::from(connections.tcp.mss.max(1));
    let window = connections.tcp.rwnd.0 / mss;
    let each = match source.options.get("most_connections") {
        Some(Value::Int(most)) => window.saturating_mul(*most as u64),
        _ => {
            let requests = plan.duration.0 / gap(&source.options).0.max(1) / 3 * 4;
            let open = requests.min(u64::from(connections.limit));
            open.saturating_mul(window.min(largest(&source.options) / mss + 1))
        }
    };
    each.saturating_mul(source.count)
}

/// Returns the total length of the options that are lists.
fn listed(options: &Options) -> usize {
    let lengths = options.iter().map(|(_, value)| match value {
        Value::List(list) => list.len(),
        Value::Pairs(pairs) => pairs.len(),
        _ => 0,
    });
    lengths.sum()
}

/// Returns the largest number of rows that samples at the record interval can produce.
pub(crate) fn sampled_rows(plan: &Plan) -> u64 {
    if plan.record.series == SeriesMode::Off {
        return 0;
    }
    let samples = plan.duration.0 / plan.record.interval.0.max(1) + 1;
    let flow = FlowState::rows(&[When::State, When::Interval, When::NoAcks]);
    let link = LinkState::rows(&[When::Interval]) + GAUGES;
    samples.saturating_mul(flow * plan.flow_count() as u64 + link * plan.links.len() as u64)
}

fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

/// Returns the length of the shortest full frame of any flow, in bytes.
fn frame(plan: &Plan) -> u64 {
    let flows = plan.flows.iter().map(|flow| &flow.tcp);
    let frames = flows.map(|tcp| u64::from(tcp.mss) + u64::from(tcp.header));
    frames.min().unwrap_or(1514)
}

/// Returns how many full segments a link can carry in a time. A negative overhead increases this
/// number. If a negative overhead cancels the whole frame, the number of segments has no bound.
fn carried(plan: &Plan, link: &LinkPlan, time: Time) -> u64 {
    let charged = frame(plan).saturating_add_signed(i64::from(link.overhead.min(0)));
    let bytes = link.rate.nominal().bytes_in(time);
    bytes.checked_div(charged).unwrap_or(u64::MAX)
}

/// Limits of a queue.
#[derive(Clone, Copy)]
struct Capacity {
    packets: u64,
    bytes: u64,
}

impl Capacity {
    /// Returns how many packets of the given length fit into a queue.
    fn of(self, frame: u64) -> u64 {
        self.packets.min(self.bytes / frame.max(1))
    }
}

/// Returns the limits of a link's queue: the options whose names contain "limit".
fn capacity(link: &LinkPlan) -> Capacity {
    fn least(options: &Options) -> Option<Capacity> {
        let mut found: Option<Capacity> = None;
        let mut inner: Option<Capacity> = None;
        for (name, value) in options.iter() {
            let (packets, bytes) = match value {
                Value::Packets(packets) if name.contains("limit") => (*packets, u64::MAX),
                Value::Bytes(bytes) if name.contains("limit") => (u64::MAX, bytes.0),
                Value::Table(table) => {
                    // Inner queues hold packets in addition to the outer queue, so add their
                    // limits.
                    if let Some(one) = least(table) {
                        let sum = inner.map_or((0, 0), |c| (c.packets, c.bytes));
                        inner = Some(Capacity {
                            packets: sum.0.saturating_add(one.packets),
                            bytes: sum.1.saturating_add(one.bytes),
                        });
                    }
                    continue;
                }
                _ => continue,
            };
            let before = found.map_or((u64::MAX, u64::MAX), |c| (c.packets, c.bytes));
            found = Some(Capacity {
                packets: before.0.min(packets),
                bytes: before.1.min(bytes),
            });
        }
        found.or(inner)
    }
    let options = link.queue.known().map(|(_, options)| options);
    options.and_then(least).unwrap_or(Capacity {
        packets: u64::MAX,
        bytes: UNLIMITED.max(link.rate.nominal().bytes_in(Time::from_secs(1))),
    })
}

/// Returns the rate and the frame length of a source that does not respond to congestion.
fn offered(source: &TrafficPlan) -> Option<(Rate, u64)> {
    match transport(source.kind) {
        Some(Transport::Datagrams(of)) => {
            let datagrams = of(&source.options);
            Some((datagrams.rate, u64::from(datagrams.len)))
        }
        _ => None,
    }
}

/// Returns the largest number of packets of unresponsive sources that queues and pipes can hold.
fn unresponsive_packets(plan: &Plan) -> u64 {
    let active = |source: &TrafficPlan| {
        let end = source
            .stop
            .map_or(plan.duration, |stop| stop.min(plan.duration));
        end.since(source.start)
    };
    let sources: Vec<(&TrafficPlan, Rate, u64)> = plan
        .traffic
        .iter()
        .filter_map(|source| offered(source).map(|(rate, size)| (source, rate, size)))
        .collect();
    let mut packets = 0_u64;
    for (source, rate, size) in &sources {
        let (_, delay) = plan.alone(source);
        let on_path = rate.bytes_in(delay.min(active(source))) / size;
        packets = packets.saturating_add(on_path.saturating_mul(source.count));
    }
    for (link, index) in plan.links.iter().zip(0_u32..) {
        let here = sources.iter().filter(|(s, ..)| s.route.contains(&index));
        let (mut rate, mut time, mut smallest) = (0_u64, Time::ZERO, u64::MAX);
        for (source, offers, size) in here {
            rate = rate.saturating_add(offers.0.saturating_mul(source.count));
            time = time.max(active(source));
            smallest = smallest.min(*size);
        }
        if rate == 0 {
            continue;
        }
        let excess = excess_bytes(&link.rate, Rate(rate), time);
        let room = capacity(link);
        packets = packets.saturating_add((excess.min(room.bytes) / smallest).min(room.packets));
    }
    packets
}

/// Returns the largest number of bytes by which the offered traffic can exceed the capacity of a
/// link.
fn excess_bytes(link: &RatePlan, offered: Rate, time: Time) -> u64 {
    let over = |rate: Rate, time: Time| Rate(offered.0.saturating_sub(rate.0)).bytes_in(time);
    match link {
        RatePlan::Constant(rate) => over(*rate, time),
        RatePlan::Steps(steps) => {
            let ends = steps.iter().skip(1).map(|step| step.0);
            let ends = ends.chain([time]).map(|end| end.min(time));
            let parts = steps.iter().zip(ends);
            parts
                .map(|((start, rate), end)| over(*rate, end.since(*start)))
                .fold(0, u64::saturating_add)
        }
        // Assume that opportunities are evenly spaced. Gaps between opportunities may be longer, so
        // add the traffic of one period of the trace.
        RatePlan::Trace(times) => {
            let period = times.last().copied().unwrap_or_default();
            over(link.nominal(), time).saturating_add(offered.bytes_in(period.min(time)))
        }
    }
}

/// Rejects a scenario if one of its runs needs more than the available memory.
pub fn check_memory(scenario: &Scenario, available_bytes: u64) -> Result<(), Diagnostic> {
    let largest = scenario
        .points
        .iter()
        .map(|p| estimate_memory(&p.plan))
        .max();
    let needed = largest.unwrap_or(0);
    if needed <= available_bytes {
        return Ok(());
    }
    let message = format!(
        "a run needs about {} MiB of memory, and {} MiB are available",
        mib(needed),
        mib(available_bytes)
    );
    Err(Diagnostic::new(
        Place::start(&scenario.file),
        message,
        "fewer flows, smaller windows or queues, a longer record.interval or record.series = \"off\"",
    ))
}

/// Returns an error if the given number of flows does not fit into memory.
pub(crate) fn refuse_flows(flows: u64, available: u64, span: Span) -> Option<Problem> {
    let needed = BASE.saturating_add(flows.saturating_mul(FLOW));
    (needed > available).then(|| {
        let (needed, available) = (mib(needed), mib(available));
        Problem::new(
            span,
            format!(
                "{flows} flows need about {needed} MiB of memory, and {available} MiB are available"
            ),
        )
        .expected("fewer flows")
    })
}

pub(crate) fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}
