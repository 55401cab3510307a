//! The summary of a run, which `--json` prints. The summary does not contain the parameters of a
//! sweep, because the same run may belong to several sweeps.
//!
//! A value that is not available is `null`, never 0. Names and units of fields do not change. To
//! add a field, add one declaration ([`field`]).

mod chunks;
pub mod field;
mod media;
pub mod metric;
mod program;
mod requests;

use std::ops::{Deref, DerefMut};

use serde::{Serialize, Serializer};

pub use chunks::ChunkSummary;
pub use media::{EchoSummary, FrameSummary, ResponsivenessSummary};
pub use program::{MeasuresSummary, ProgramSummary, TupleSummary};
pub use requests::{BINS, CompletionBin, CompletionSummary};

use field::Weight::{Bytes, Count, Flows, Intervals, Once, Packets, Requests, Samples, Time};
use field::{Kind, Record, about, fields, measured, values};

use crate::class::Interval;
use crate::stat::Stat;
use crate::{
    Cause, ClassOutcome, Counts, FlowOutcome, LinkOutcome, Outcome, TrafficOutcome, ratio,
};

fields! {
    /// Summary of one run.
    pub struct Summary<'a> {
        /// Seed of the run.
        seed: u64 = about();
        /// Identity of the run.
        run_id: RunId<'a> = about();
        /// Length of the run, s.
        duration_s: f64 = about();
        /// Start of the measurement, s.
        warmup_s: f64 = about();
        /// A summary for each flow, in the order of the scenario file.
        flows: FlowSummaries<'a> = about();
        /// The first link.
        queue: Option<QueueSummary> = about();
        /// Every link by name, in file order.
        queues: Links = about();
        /// A summary for each source of traffic.
        traffic: Vec<TrafficSummary> = about();
        /// A summary for each entry of `[[programs]]`, in file order; absent in a run without
        /// programs.
        programs: Vec<ProgramSummary> = about().or_left_out();
        /// A summary for each class of flows, in the order of the scenario.
        classes: Vec<ClassSummary> = about();
        /// Jain's index of the flows' throughputs. The index is 1 if all throughputs are equal.
        jain: Option<f64> = measured("", Flows).at_most(1.0).more();
    }
}

/// The flows of a run. Each summary of a flow is computed only when needed, because a hundred
/// thousand summaries would need 50 MB.
#[derive(Clone, Copy, Debug)]
pub struct FlowSummaries<'a> {
    flows: &'a [FlowOutcome],
    watched: bool,
}

impl<'a> FlowSummaries<'a> {
    /// Iterates over the summaries of the flows, in file order.
    pub fn iter(self) -> impl Iterator<Item = FlowSummary<'a>> {
        (self.flows.iter()).map(move |flow| FlowSummary::new(flow, self.watched))
    }
}

impl PartialEq for FlowSummaries<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Serialize for FlowSummaries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

fields! {
    /// Summary of one TCP flow.
    pub struct FlowSummary<'a> {
        /// Name of the flow.
        name: &'a str = about();
        /// Name of the flow's congestion control.
        cc: &'a str = about();
        /// Payload delivered in order, divided by the flow's measured time.
        throughput_mbit: Option<f64> = measured("Mbit/s", Bytes).more();
        /// RTT of unretransmitted data.
        rtt_ms: Stat = measured("ms", Samples).only(&["mean", "p50", "p99", "max"]).less();
        /// Mean of the sender's smoothed RTT, sampled once per `record.interval`.
        srtt_ms_mean: Option<f64> = measured("ms", Samples).less();
        /// Number of data packets sent, including retransmissions.
        packets: u64 = measured("packets", Count);
        /// Number of data packets that were retransmitted.
        retransmits: u64 = measured("packets", Count).less();
        /// Number of retransmission timeouts.
        timeouts: u64 = measured("", Count).less();
        /// Number of the flow's packets that were dropped, summed over all links.
        drops: Option<u64> = measured("packets", Count).less();
        /// Number of the flow's packets that were marked with CE, summed over all links.
        marks: Option<u64> = measured("packets", Count);
        /// Number of the flow's packets that were marked with SCE, summed over all links.
        sce_marks: Option<u64> = measured("packets", Count);
        /// Drops and marks by cause, without causes that did not occur.
        causes: Option<Causes> = about();
        /// Time from the flow's start until the delivery of its last byte.
        completion_s: Option<f64> = measured("s", Once).less();
        /// Payload delivered in order during the measured time.
        delivered_bytes: u64 = measured("byte", Bytes).more();
        /// Start of the flow's measured time, s.
        from_s: f64 = about();
        /// End of the flow's measured time, s.
        to_s: f64 = about();
        /// Share of the samples in which the receive window limited the sender. The sender is
        /// sampled once per `record.interval`.
        rwnd_limited: Option<f64> = measured("", Samples).at_most(1.0).added();
        /// The durations of the flow's chunks; only for flows with chunks.
        chunks: Option<ChunkSummary> = about().or_left_out().beside();
    }
}

fields! {
    /// Summary of one link and its queue.
    pub struct QueueSummary {
        /// Name of the link.
        name: String = about();
        /// Name of the queue discipline.
        aqm: String = about();
        /// Queue delay of forwarded packets. The queue delay excludes a packet's own transmission
        /// time.
        delay_ms: Stat = measured("ms", Packets)
            .only(&["mean", "p1", "p25", "p50", "p75", "p99", "max"])
            .less();
        /// Packets forwarded.
        packets: u64 = measured("packets", Count);
        /// Frame bytes forwarded.
        bytes: u64 = measured("byte", Bytes);
        /// Number of drops, from all causes.
        drops: Option<u64> = measured("packets", Count).less();
        /// Number of CE marks, from all causes.
        marks: Option<u64> = measured("packets", Count);
        /// SCE marks.
        sce_marks: Option<u64> = measured("packets", Count);
        /// Drops and marks by cause, without causes that did not occur.
        causes: Option<Causes> = about();
        /// Frame bytes sent, divided by the bytes that the link could carry in the measured time.
        utilisation: Option<f64> = measured("", Bytes).at_most(1.0).more();
        /// Time-weighted mean of the backlog. The packet in transmission counts only if
        /// `count_in_service` is set.
        occupancy_bytes_mean: Option<f64> = measured("byte", Time).less();
        /// Largest backlog, without the packet in transmission.
        occupancy_bytes_max: Option<u64> = measured("byte", Once).less().added();
        /// Statistics of samples; null if none were taken.
        samples: Option<QueueSamples> = about().beside();
    }
}

fields! {
    /// Statistics of a link's samples, which are taken in each interval after the warm-up.
    pub struct QueueSamples {
        /// Utilisation of the link. There is one sample for each interval of `record.statistics`.
        utilisation: Stat = measured("", Intervals).more();
    }
}

fields! {
    /// Summary of one source of traffic.
    pub struct TrafficSummary {
        /// Name of the source.
        name: String = about();
        /// Kind of the source.
        kind: String = about();
        /// Frame bytes that arrived, divided by the measured time. For TCP, only data packets
        /// count.
        throughput_mbit: Option<f64> = measured("Mbit/s", Bytes).more();
        /// Packets sent; for TCP, only data packets count.
        sent_packets: u64 = measured("packets", Count);
        /// Packets that arrived; for TCP, only data packets count.
        received_packets: u64 = measured("packets", Count);
        /// Drops of the source's packets at every link.
        drops: Option<u64> = measured("packets", Count).less();
        /// CE marks of the source's packets at every link.
        marks: Option<u64> = measured("packets", Count);
        /// SCE marks of the source's packets at every link.
        sce_marks: Option<u64> = measured("packets", Count);
        /// Drops and marks by cause, without causes that did not occur.
        causes: Option<Causes> = about();
        /// One-way delay of the datagrams that reached the end of the source's route.
        one_way_delay_ms: Stat = measured("ms", Packets).only(Stat::OF_DELAYS).less().added();
        /// RTT of unretransmitted data.
        rtt_ms: Stat = measured("ms", Samples)
            .only(&["mean", "p50", "p95", "p99", "p999", "max"])
            .less()
            .added();
        /// The outcome of the source's echo requests; only for sources whose datagrams are echoed.
        echoes: Option<EchoSummary> = about().or_left_out().beside();
        /// The outcome of the source's frames; only for sources of media.
        frames: Option<FrameSummary> = about().or_left_out().beside();
        /// Page load time, from the start of a page's first connection to the arrival of the page's
        /// last byte.
        page_load_ms: Stat = measured("ms", Requests).only(Stat::OF_DELAYS).less().added();
        /// Responsiveness under working conditions; only for sources that measure the
        /// responsiveness.
        responsiveness: Option<ResponsivenessSummary> = about().or_left_out().beside();
        /// The durations of the source's requests; only for sources with requests.
        completions: Option<CompletionSummary> = about().or_left_out().beside();
    }
}

fields! {
    /// Summary of one class of flows at the first link of their route.
    pub struct ClassSummary {
        /// Name of the class.
        name: String = about();
        /// Name of the link.
        link: String = about();
        /// TCP flows and programs in the class.
        flows: u64 = about();
        /// Unresponsive sources in the class.
        sources: u64 = about();
        /// Packets forwarded.
        packets: Option<u64> = measured("packets", Count);
        /// Frame bytes forwarded.
        bytes: Option<u64> = measured("byte", Bytes);
        /// Number of drops, from all causes.
        drops: Option<u64> = measured("packets", Count).less();
        /// Number of CE marks, from all causes.
        marks: Option<u64> = measured("packets", Count);
        /// SCE marks.
        sce_marks: Option<u64> = measured("packets", Count);
        /// Drops and marks by cause, without causes that did not occur.
        causes: Option<Causes> = about();
        /// Queue delay of the class's forwarded packets.
        delay_ms: Stat = measured("ms", Packets)
            .only(&["mean", "stddev", "p1", "p25", "p50", "p75", "p99", "max"])
            .less();
        /// Statistics of samples; null if none were taken.
        samples: Option<SampleSummary> = about().beside();
    }
}

fields! {
    /// Statistics of a class's samples over the intervals after the warm-up.
    pub struct SampleSummary {
        /// Rate of a TCP flow, including the headers of each frame. There is one sample for each
        /// flow and each interval of `record.statistics`.
        rate_mbit: Stat = measured("Mbit/s", Intervals).more();
        /// Estimated window of a TCP flow. There is one sample for each flow and each interval of
        /// `record.statistics`. Each sample is the flow's rate x (mean queue delay + base RTT).
        window_bytes: Stat = measured("byte", Intervals);
        /// Share of the link's capacity that the class uses. There is one sample for each interval
        /// of `record.statistics`.
        utilisation: Stat = measured("", Intervals);
        /// Mark rate: CE marks divided by packets forwarded. There is one sample for each interval
        /// of `record.statistics`.
        mark_share: Stat = measured("", Intervals).at_most(1.0);
        /// Drop rate: drops divided by the number of packets forwarded or dropped. There is one
        /// sample for each interval of `record.statistics`.
        drop_share: Stat = measured("", Intervals).at_most(1.0).less();
        /// Queue delay of the class's packets. There is one sample for each interval of
        /// `record.statistics`. Each sample is the mean over the packets of one interval.
        delay_ms: Stat = measured("ms", Intervals).called("sampled_delay_ms").less();
    }
}

/// Counters by cause. The JSON omits counters that are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Causes(pub Counts);

impl Serialize for Causes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let happened = Cause::ALL
            .iter()
            .filter(|&&cause| self.0.get(cause) > 0)
            .map(|&cause| (cause.name(), self.0.get(cause)));
        serializer.collect_map(happened)
    }
}

/// The id of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RunId<'a>(&'a str);

/// The links by name, in file order.
#[derive(Clone, Debug, PartialEq)]
pub struct Links(Vec<QueueSummary>);

impl Deref for Links {
    type Target = [QueueSummary];

    fn deref(&self) -> &[QueueSummary] {
        &self.0
    }
}

impl DerefMut for Links {
    fn deref_mut(&mut self) -> &mut [QueueSummary] {
        &mut self.0
    }
}

impl Serialize for Links {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|link| (&link.name, link)))
    }
}

values! {
    RunId<'_>: Kind::Identity;
    FlowSummaries<'_>: Kind::List(FlowSummary::FIELDS);
    Links: Kind::ByName(QueueSummary::FIELDS);
}

impl<'a> Summary<'a> {
    /// Summarises the measurements of a run.
    pub fn new(outcome: &'a Outcome, run_id: &'a str, seed: u64) -> Summary<'a> {
        let measured_ns = outcome.duration_ns.saturating_sub(outcome.warmup_ns);
        let watched = !outcome.unwatched;
        let queues: Vec<QueueSummary> = outcome
            .links
            .iter()
            .map(|link| QueueSummary::new(link, measured_ns, watched))
            .collect();
        let throughputs: Vec<f64> = (outcome.flows.iter())
            .filter_map(FlowOutcome::throughput_mbit)
            .collect();
        Summary {
            seed,
            run_id: RunId(run_id),
            duration_s: seconds(outcome.duration_ns),
            warmup_s: seconds(outcome.warmup_ns),
            jain: jain(&throughputs),
            flows: FlowSummaries {
                flows: &outcome.flows,
                watched,
            },
            queue: queues.first().cloned(),
            queues: Links(queues),
            traffic: outcome
                .traffic
                .iter()
                .map(|source| TrafficSummary::new(source, watched))
                .collect(),
            programs: (outcome.programs.iter())
                .map(|program| ProgramSummary::new(program, watched))
                .collect(),
            classes: outcome
                .classes
                .iter()
                .map(|class| ClassSummary::new(class, outcome))
                .collect(),
        }
    }
}

impl FlowOutcome {
    fn throughput_mbit(&self) -> Option<f64> {
        mbit(self.delivered_bytes, self.from_ns, self.to_ns)
    }
}

impl<'a> FlowSummary<'a> {
    fn new(flow: &'a FlowOutcome, watched: bool) -> FlowSummary<'a> {
        let counts = watched.then_some(flow.counts);
        FlowSummary {
            name: &flow.name,
            cc: &flow.cc,
            throughput_mbit: flow.throughput_mbit(),
            rtt_ms: Stat::of_histogram(&flow.rtt).map(ms),
            srtt_ms_mean: ratio(flow.samples.srtt_ns as f64, flow.samples.n as f64).map(ms),
            packets: flow.packets,
            retransmits: flow.retransmits,
            timeouts: flow.timeouts,
            drops: counts.map(|c| c.drops()),
            marks: counts.map(|c| c.marks()),
            sce_marks: counts.map(|c| c.sce_marks()),
            causes: counts.map(Causes),
            completion_s: flow.completion_ns.map(seconds),
            delivered_bytes: flow.delivered_bytes,
            from_s: seconds(flow.from_ns),
            to_s: seconds(flow.to_ns),
            rwnd_limited: ratio(flow.samples.rwnd_limited as f64, flow.samples.n as f64),
            chunks: flow.chunks.as_deref().map(ChunkSummary::new),
        }
    }
}

impl QueueSummary {
    fn new(link: &LinkOutcome, measured_ns: u64, watched: bool) -> QueueSummary {
        let counts = watched.then_some(link.counts);
        let totals = link.totals.filter(|_| !watched);
        QueueSummary {
            name: link.name.clone(),
            aqm: link.aqm.clone(),
            delay_ms: Stat::of_histogram(&link.delay).map(ms),
            packets: link.packets,
            bytes: link.bytes,
            drops: counts.map(|c| c.drops()).or(totals.map(|t| t.drops)),
            marks: counts.map(|c| c.marks()).or(totals.and_then(|t| t.marks)),
            sce_marks: counts.map(|c| c.sce_marks()),
            causes: counts.map(Causes),
            utilisation: ratio(link.bytes as f64, link.capacity_bytes),
            occupancy_bytes_mean: ratio(link.backlog_byte_ns as f64, measured_ns as f64)
                .filter(|_| watched),
            occupancy_bytes_max: watched.then_some(link.backlog_max_bytes),
            samples: link.samples.as_ref().filter(|_| watched).map(|samples| {
                let bytes = samples.bytes.iter().enumerate();
                let shares = bytes.filter_map(|(i, bytes)| samples.utilisation(i, *bytes));
                QueueSamples {
                    utilisation: Stat::of(shares.collect()),
                }
            }),
        }
    }
}

impl TrafficSummary {
    fn new(source: &TrafficOutcome, watched: bool) -> TrafficSummary {
        let counts = watched.then_some(source.counts);
        TrafficSummary {
            name: source.name.clone(),
            kind: source.kind.clone(),
            throughput_mbit: mbit(source.received_bytes, source.from_ns, source.to_ns),
            sent_packets: source.sent_packets,
            received_packets: source.received_packets,
            drops: counts.map(|c| c.drops()),
            marks: counts.map(|c| c.marks()),
            sce_marks: counts.map(|c| c.sce_marks()),
            causes: counts.map(Causes),
            one_way_delay_ms: Stat::of_histogram(&source.one_way).map(ms),
            rtt_ms: (source.echoes.as_ref())
                .map_or_else(Stat::default, |of| Stat::of_histogram(&of.rtt).map(ms)),
            page_load_ms: Stat::of_histogram(&source.loads).map(ms),
            responsiveness: (source.responsiveness.as_deref()).map(ResponsivenessSummary::new),
            echoes: source.echoes.as_deref().map(EchoSummary::new),
            frames: (source.frames.as_deref())
                .map(|frames| FrameSummary::new(frames, source.from_ns, source.to_ns)),
            completions: source.completions.as_ref().map(CompletionSummary::new),
        }
    }
}

impl ClassSummary {
    fn new(class: &ClassOutcome, outcome: &Outcome) -> ClassSummary {
        let watched = !outcome.unwatched;
        let counts = watched.then_some(class.counts);
        let link = outcome.links.get(class.link as usize);
        ClassSummary {
            name: class.class.name.clone(),
            link: link.map(|link| link.name.clone()).unwrap_or_default(),
            flows: class.class.flows.len() as u64,
            sources: class.class.sources.len() as u64,
            packets: watched.then_some(class.packets),
            bytes: watched.then_some(class.bytes),
            drops: counts.map(|c| c.drops()),
            marks: counts.map(|c| c.marks()),
            sce_marks: counts.map(|c| c.sce_marks()),
            causes: counts.map(Causes),
            delay_ms: Stat::of_histogram(&class.delay).map(ms),
            samples: outcome.samples_of(class).map(|samples| {
                let (rates, windows) = samples.rates_and_windows(class).into_iter().unzip();
                let rates: Vec<f64> = rates;
                let intervals = &class.intervals;
                let used = intervals.iter().enumerate();
                let used = used.filter_map(|(i, now)| samples.link.utilisation(i, now.bytes));
                let each = |of: fn(&Interval) -> Option<f64>| {
                    Stat::of(intervals.iter().filter_map(of).collect())
                };
                SampleSummary {
                    rate_mbit: Stat::of(rates.iter().map(|rate| rate * 8.0 / 1e6).collect()),
                    window_bytes: Stat::of(windows),
                    utilisation: Stat::of(used.collect()),
                    mark_share: each(Interval::mark_share),
                    drop_share: each(Interval::drop_share),
                    delay_ms: each(|now| now.mean_delay_ns().map(ms)),
                }
            }),
        }
    }
}

/// Returns Jain's fairness index (sum x)^2 / (n sum x^2), or `None` if there are no flows or if
/// they delivered no data.
fn jain(throughputs: &[f64]) -> Option<f64> {
    let sum: f64 = throughputs.iter().sum();
    let squares: f64 = throughputs.iter().map(|x| x * x).sum();
    ratio(sum * sum, throughputs.len() as f64 * squares)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

/// Returns the mean rate at which `bytes` bytes were sent between two times, in Mbit/s.
fn mbit(bytes: u64, from_ns: u64, to_ns: u64) -> Option<f64> {
    let elapsed_ns = to_ns.checked_sub(from_ns)?;
    // One bit/ns is one Gbit/s.
    ratio(bytes as f64 * 8.0 * 1e3, elapsed_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Totals;

    fn flow(bytes: u64, from_s: u64, to_s: u64) -> FlowOutcome {
        FlowOutcome {
            name: "a".to_owned(),
            from_ns: from_s * 1_000_000_000,
            to_ns: to_s * 1_000_000_000,
            delivered_bytes: bytes,
            ..FlowOutcome::default()
        }
    }

    #[test]
    fn definitions() {
        let mut outcome = Outcome {
            duration_ns: 12_000_000_000,
            warmup_ns: 2_000_000_000,
            flows: vec![flow(12_500_000, 2, 12), flow(6_250_000, 7, 12)],
            ..Outcome::default()
        };
        outcome.flows[0].rtt.record(20_000_000);
        for (srtt_ms, limited) in [(20, false), (21, true), (22, false)] {
            outcome.flows[0].samples.add(srtt_ms * 1_000_000, limited);
        }
        outcome.flows[0].completion_ns = Some(1_500_000_000);
        let mut link = LinkOutcome {
            name: "bottleneck".to_owned(),
            bytes: 9_000,
            capacity_bytes: 10_000.0,
            backlog_byte_ns: 30_000_000_000_000,
            ..LinkOutcome::default()
        };
        (1..=100).for_each(|v| link.delay.record(v * 1_000));
        link.counts.add(Cause::Overflow);
        link.counts.add(Cause::Loss);
        link.counts.add(Cause::StepMark);
        link.counts.add(Cause::SceMark);
        outcome.links.push(link);

        let summary = Summary::new(&outcome, "0123", 7);
        assert_eq!(summary.duration_s, 12.0);
        let flows: Vec<FlowSummary<'_>> = summary.flows.iter().collect();
        assert_eq!(flows[0].throughput_mbit, Some(10.0));
        assert_eq!(flows[1].throughput_mbit, Some(10.0));
        assert_eq!(summary.jain, Some(1.0));
        assert_eq!(flows[0].rtt_ms.mean, Some(20.0));
        assert_eq!(flows[0].srtt_ms_mean, Some(21.0));
        assert_eq!(flows[0].rwnd_limited, Some(1.0 / 3.0));
        assert_eq!(flows[0].completion_s, Some(1.5));
        let queue = summary.queue.as_ref().expect("the first link");
        assert_eq!(queue.utilisation, Some(0.9));
        // The backlog is 30,000 byte x s over the 10 s after the warm-up.
        assert_eq!(queue.occupancy_bytes_mean, Some(3_000.0));
        assert_eq!(
            (queue.drops, queue.marks, queue.sce_marks),
            (Some(2), Some(1), Some(1))
        );
        assert_eq!(queue.delay_ms.max, Some(0.1));
        assert_eq!(queue.delay_ms.p1, Some(0.001));

        let json = serde_json::to_value(&summary).expect("plain data");
        assert_eq!(json["queues"]["bottleneck"], json["queue"]);
        assert_eq!(
            json["queue"]["causes"].to_string(),
            r#"{"loss":1,"overflow":1,"sce_mark":1,"step_mark":1}"#
        );
    }

    #[test]
    fn what_is_not_available_is_null() {
        let outcome = Outcome {
            duration_ns: 1_000_000_000,
            flows: vec![flow(0, 1, 1), flow(0, 2, 1)],
            links: vec![LinkOutcome::default()],
            ..Outcome::default()
        };
        let json = serde_json::to_value(Summary::new(&outcome, "", 0)).expect("plain data");
        for flow in 0..2 {
            let flow = &json["flows"][flow];
            assert!(flow["throughput_mbit"].is_null());
            assert!(flow["rtt_ms"]["p50"].is_null());
            assert!(flow["srtt_ms_mean"].is_null());
            assert!(flow["completion_s"].is_null());
        }
        assert!(json["jain"].is_null());
        assert!(json["queue"]["utilisation"].is_null());
        assert!(json["queue"]["delay_ms"]["mean"].is_null());
        // A queue that was always empty has a backlog of 0, not `null`.
        assert_eq!(json["queue"]["occupancy_bytes_mean"], 0.0);
    }

    #[test]
    fn of_packets_nobody_watched_only_totals_are_known() {
        let mut outcome = Outcome {
            duration_ns: 1_000_000_000,
            flows: vec![flow(1_000, 0, 1)],
            links: vec![LinkOutcome {
                packets: 7,
                totals: Some(Totals {
                    drops: 3,
                    marks: None,
                }),
                ..LinkOutcome::default()
            }],
            traffic: vec![TrafficOutcome::default()],
            unwatched: true,
            ..Outcome::default()
        };
        let json = serde_json::to_value(Summary::new(&outcome, "", 0)).expect("plain data");
        for part in [&json["flows"][0], &json["traffic"][0]] {
            for name in ["drops", "marks", "sce_marks", "causes"] {
                assert!(part[name].is_null(), "{name}");
            }
        }
        let queue = &json["queue"];
        assert_eq!((&queue["packets"], &queue["drops"]), (&7.into(), &3.into()));
        for name in ["marks", "sce_marks", "causes"] {
            assert!(queue[name].is_null(), "{name}");
        }
        assert!(queue["occupancy_bytes_mean"].is_null());
        assert!(queue["occupancy_bytes_max"].is_null());
        outcome.links[0].totals = Some(Totals {
            drops: 0,
            marks: Some(4),
        });
        assert_eq!(
            Summary::new(&outcome, "", 0).queues[0].marks,
            Some(4),
            "where the queue counts them"
        );
    }

    #[test]
    fn jain_of_one_starved_flow() {
        assert_eq!(jain(&[3.0, 0.0]), Some(0.5));
        assert_eq!(jain(&[1.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 0.0]), None);
    }
}
