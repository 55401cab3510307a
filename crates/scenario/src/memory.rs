//! How much memory a run needs, before it is begun.

use tailback_engine::plan::{Plan, RatePlan, SeriesMode};
use tailback_engine::units::Time;

use crate::Scenario;
use crate::diagnostic::{Diagnostic, Problem};
use crate::tree::Span;

/// A flow whatever it does: sender, receiver, plan, names, series keys and
/// counters (4 KiB), and a histogram of round-trip times of four blocks of
/// 8 KiB.
const FLOW: u64 = 36 << 10;
/// A source of traffic.
const SOURCE: u64 = 2 << 10;
/// A place for a connection of a source, and its counters at each link.
const PLACE: u64 = 256;
/// A request, as long as it is kept: when it was done, size and time taken.
const REQUEST: u64 = 48;
/// A link: queue, sink and a histogram of delays of ten blocks.
const LINK: u64 = 88 << 10;
/// A segment on its way: 64 bytes in a queue or pipe, as much for its
/// acknowledgement, two slots of 32 in the scoreboards, and the growth of
/// their buffers by doubling.
const SEGMENT: u64 = 384;
/// A row of a series: key, time and value, and the growth of its columns.
const ROW: u64 = 40;
/// A class of flows: a histogram of delays of ten blocks.
const CLASS: u64 = 84 << 10;
/// A sample for statistics of a class, of a link, of a flow.
const CLASS_SAMPLE: u64 = 48;
const LINK_SAMPLE: u64 = 24;
const FLOW_SAMPLE: u64 = 40;
/// The program itself.
const BASE: u64 = 16 << 20;

/// An estimate of the memory that one run needs, bytes: an upper bound for
/// what the scenario is likely to do, not for what it could do.
pub fn estimate_memory(plan: &Plan) -> u64 {
    let flows = plan.flows.len() as u64;
    let links = plan.links.len() as u64;
    let sources = plan.traffic.len() as u64;
    let mut bytes = BASE
        .saturating_add(flows.saturating_mul(FLOW))
        .saturating_add(sources.saturating_mul(SOURCE))
        .saturating_add(links.saturating_mul(LINK));
    for source in plan.traffic.iter().filter(|s| s.connections.is_some()) {
        let places = u64::from(source.connections.as_ref().map_or(0, |c| c.limit));
        // A third more than the mean, and as many rows.
        let requests = plan.duration.0 / source.options.time("arrival").0.max(1) / 3 * 4;
        let row = if plan.record.series == SeriesMode::Off {
            0
        } else {
            2 * ROW
        };
        bytes = bytes
            .saturating_add(places.saturating_mul(PLACE * (1 + links)))
            .saturating_add(requests.saturating_mul(REQUEST + row));
    }

    // Segments: what the path and a queue of as much again hold, but no more
    // than the receive windows, and an initial window for each flow.
    let rtt = plan.flows.iter().map(|flow| flow.rtt).max();
    let on_path: u64 = plan
        .links
        .iter()
        .map(|link| {
            link.rate
                .nominal()
                .bytes_in(rtt.unwrap_or_default() + link.delay)
        })
        .fold(0, u64::saturating_add);
    let windows = plan
        .flows
        .iter()
        .map(|flow| flow.tcp.rwnd.0)
        .fold(0, u64::saturating_add);
    let mss = plan.flows.iter().map(|flow| flow.tcp.mss).min();
    let segments = on_path.saturating_mul(2).min(windows) / u64::from(mss.unwrap_or(1448).max(1))
        + plan
            .flows
            .iter()
            .map(|flow| u64::from(flow.tcp.initial_cwnd))
            .sum::<u64>();
    bytes = bytes.saturating_add(segments.saturating_mul(SEGMENT));

    if plan.record.series != SeriesMode::Off {
        let samples = plan.duration.0 / plan.record.interval.0.max(1) + 1;
        let rows = samples.saturating_mul(5 * flows + 4 * links);
        bytes = bytes.saturating_add(
            rows.min(tailback_record::series::MAX_ROWS as u64)
                .saturating_mul(ROW),
        );
    }
    let classes: Vec<_> = (0..links as u32).map(|i| plan.classes_at(i)).collect();
    let classes = classes.iter().flatten();
    let members: u64 = classes.clone().map(|class| class.flows.len() as u64).sum();
    let classes = classes.count() as u64;
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
            rate + scheduled as u64 * 24
        })
        .sum();
    bytes.saturating_add(traces)
}

/// Refuses a scenario of which a run does not fit into the memory there is.
pub fn check_memory(scenario: &Scenario, available_bytes: u64) -> Result<(), Diagnostic> {
    let largest = scenario
        .points
        .iter()
        .map(|p| estimate_memory(&p.shape))
        .max();
    let needed = largest.unwrap_or(0);
    if needed <= available_bytes {
        return Ok(());
    }
    Err(Diagnostic {
        file: scenario.file.clone(),
        line: 1,
        column: 1,
        message: format!(
            "a run needs about {} MiB of memory, and {} MiB are available",
            mib(needed),
            mib(available_bytes)
        ),
        expected: Some(
            "fewer flows, smaller windows, a longer record.interval or record.series = \"off\""
                .to_owned(),
        ),
        nearest: None,
    })
}

/// Refuses so many flows if they do not fit.
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

/// MiB, rounded up.
pub(crate) fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}
